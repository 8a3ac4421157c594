//! Feeds: any bytes, any content type; never a panic, never more entries than were wanted, never a line that is two.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::net::address::Address;
use marvin::net::feed::read;

fuzz_target!(|bytes: &[u8]| {
    let kinds = ["", "text/xml", "text/html; charset=shift_jis", "application/rss+xml; charset=iso-8859-1"];
    let (kind, body) = bytes.split_first().unwrap_or((&0, &[]));
    let kind = kinds[usize::from(*kind) % kinds.len()];
    let address = Address::parse("https://site.test/a/feed.xml").unwrap();
    if let Ok(feed) = read(body, kind, &address, 4) {
        assert!(feed.entries.len() <= feed.count.min(4));
        for entry in &feed.entries {
            for text in [&entry.title, &entry.date, &entry.summary] {
                assert!(!text.contains(char::is_control), "{text:?}");
            }
            if let Some(link) = &entry.link {
                assert!(!link.contains(char::is_whitespace), "{link:?}");
            }
        }
    }
});
