//! Calendar files: scanned, shown, added to and taken from; never a panic, never another byte.
#![no_main]

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use libfuzzer_sys::fuzz_target;
use marvin::testing::ZoneFiles;
use marvin::testing::calendar::{
    CalendarEvent, EventTime, NewEvent, Zones, between, escape, scan, with_event, without,
};

const UID: &str = "the-fuzzers-own";

/// Words of the file verbatim, without control characters.
fn assert_quoted(text: &str) {
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\t'),
        "{text:?}"
    );
}

fuzz_target!(|bytes: &[u8]| {
    let now = Timestamp::from_second(1_795_000_000).unwrap();
    let from = now.to_zoned(TimeZone::UTC);
    let until = from.checked_add(60.days()).unwrap();
    let found = between(bytes, &from, &until, &ZoneFiles::default());
    // A step of recurrence is the least that an occurrence costs.
    assert!(found.list.len() <= 3_000_000 + bytes.len());
    assert!(found.list.is_sorted_by(|one, two| one.start <= two.start));
    for one in &found.list {
        assert!(one.start < until && one.end >= from && one.end >= one.start);
        for text in [&one.title, &one.place] {
            assert!(!text.contains(char::is_control), "{text:?}");
        }
        assert_quoted(&found.short.show(&one.uid));
    }
    for note in &found.notes {
        assert_quoted(note);
    }

    // Any event can be deleted, and nothing else is.
    let file = scan(bytes);
    let uids: Vec<Option<String>> = file.events.iter().map(|place| file.uid(place)).collect();
    if let Some(uid) = uids.iter().flatten().next()
        && let Ok((rest, count)) = without(bytes, uid)
    {
        let gone = file
            .events
            .iter()
            .zip(&uids)
            .filter(|(_, own)| own.as_ref() == Some(uid));
        let gone: Vec<_> = gone.map(|(place, _)| place.range.clone()).collect();
        assert_eq!(count, gone.len());
        assert_eq!(
            bytes.len() - rest.len(),
            gone.iter().map(ExactSizeIterator::len).sum::<usize>()
        );
        let kept = (0..bytes.len()).filter(|at| !gone.iter().any(|range| range.contains(at)));
        assert!(kept.map(|at| bytes[at]).eq(rest.iter().copied()));
        let rest = scan(&rest);
        assert!(rest.fault.is_none(), "{:?}", rest.fault);
        assert_eq!(rest.events.len() + count, file.events.len());
    }

    // Written text is read back unchanged, whatever it contains.
    let words = String::from_utf8_lossy(bytes);
    let half = words.floor_char_boundary(words.len() / 2);
    let (title, place) = words.split_at(half);
    let new = NewEvent {
        title: title.to_owned(),
        place: place.to_owned(),
        description: words.clone().into_owned(),
        start: EventTime::Moment(now),
        end: EventTime::Moment(now.checked_add(1.hour()).unwrap()),
    };
    let event = new.text(UID, now);
    assert!(
        event
            .split("\r\n")
            .all(|line| line.len() <= 75 && !line.contains(['\r', '\n']))
    );
    if let Ok(more) = with_event(bytes, &event, "fuzz") {
        let again = scan(&more);
        assert!(again.fault.is_none());
        let own = again
            .events
            .iter()
            .rfind(|place| again.uid(place).as_deref() == Some(UID))
            .unwrap();
        let read =
            CalendarEvent::read(&again, own, &Zones::of(&again, &ZoneFiles::default())).unwrap();
        assert_eq!(escape(&read.title), escape(title));
        assert_eq!(escape(&read.place), escape(place));
        if !bytes.trim_ascii().is_empty() && !uids.contains(&Some(UID.to_owned())) {
            assert_eq!(without(&more, UID).unwrap(), (bytes.to_vec(), 1));
        }
    }
});
