//! Result pages of DuckDuckGo: whatever they contain, a result has a web address and its text is on one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::web_results::read;

fuzz_target!(|bytes: &[u8]| {
    let page = read(&String::from_utf8_lossy(bytes));
    for hit in page.hits {
        let (scheme, rest) = hit.url.split_once("://").unwrap();
        assert!(scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"));
        assert!(
            !rest.is_empty()
                && !hit
                    .url
                    .contains(|c: char| c.is_whitespace() || c.is_control())
        );
        for words in [&hit.title, &hit.snippet] {
            assert!(!words.contains(['\n', '\r', '\u{1b}']), "{words:?}");
        }
        assert!(!hit.title.is_empty());
    }
});
