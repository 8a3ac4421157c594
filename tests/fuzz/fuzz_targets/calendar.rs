//! Calendar files: scanned, shown, added to and taken from; never a panic, never another byte.
#![no_main]

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use libfuzzer_sys::fuzz_target;
use marvin::tools::calendar::ical::scan::{scan, with_event, without};
use marvin::tools::calendar::occurrence::between;

const EVENT: &str = "BEGIN:VEVENT\r\nUID:the-fuzzers-own\r\nEND:VEVENT\r\n";

fuzz_target!(|bytes: &[u8]| {
    let from = Timestamp::from_second(1_795_000_000)
        .unwrap()
        .to_zoned(TimeZone::UTC);
    let until = from.checked_add(60.days()).unwrap();
    let _ = between(bytes, &from, &until);
    if let Ok(more) = with_event(bytes, EVENT, "fuzz") {
        assert!(scan(&more).fault.is_none());
        if !bytes.trim_ascii().is_empty()
            && !scan(bytes)
                .events
                .iter()
                .any(|place| scan(bytes).uid(place).as_deref() == Some("the-fuzzers-own"))
        {
            assert_eq!(without(&more, "the-fuzzers-own").unwrap().0, bytes);
        }
    }
});
