//! Feeds: any bytes, any content type; never a panic, never more entries than were wanted, never a line that is two.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::address::Address;
use marvin::testing::feed::{NoFeed, read};

/// One line that a terminal shows verbatim.
fn assert_line(text: &str) {
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// An address as one word.
fn assert_link(link: &str) {
    assert_line(link);
    assert!(
        !link.is_empty() && !link.contains(char::is_whitespace),
        "{link:?}"
    );
}

fuzz_target!(|bytes: &[u8]| {
    let kinds = [
        "",
        "text/xml",
        "text/html; charset=shift_jis",
        "application/rss+xml; charset=iso-8859-1",
    ];
    let (kind, body) = bytes.split_first().unwrap_or((&0, &[]));
    let kind = kinds[usize::from(*kind) % kinds.len()];
    let address = Address::parse("https://site.test/a/feed.xml").unwrap();
    match read(body, kind, &address, 4) {
        Ok(feed) => {
            assert!(feed.entries.len() <= feed.count.min(4));
            assert_line(&feed.title);
            feed.link.iter().for_each(|link| assert_link(link));
            let mut size = feed.title.len();
            for entry in &feed.entries {
                for text in [&entry.title, &entry.date, &entry.summary] {
                    assert_line(text);
                    size += text.len();
                }
                if let Some(link) = &entry.link {
                    assert_link(link);
                    // A base, its context, and three characters for each that a URL cannot hold.
                    assert!(link.len() <= 64 * body.len() + 64);
                }
            }
            // Three bytes for a byte of another charset, and a sign for one that is not shown.
            assert!(size <= 32 * body.len() + 64);
        }
        Err(NoFeed::Page(named)) => {
            assert!(named.len() <= 10);
            for feed in &named {
                assert_link(&feed.url);
                assert_line(&feed.title);
            }
        }
        Err(NoFeed::Other(root)) => assert!(!root.is_empty() && root.len() <= 3 * body.len()),
        Err(NoFeed::Broken | NoFeed::Unreadable) => {}
    }
});
