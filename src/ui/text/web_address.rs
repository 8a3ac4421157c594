//! Finds addresses in a text, for copying them in one piece.

use std::ops::Range;

const SCHEMES: [&str; 2] = ["https://", "http://"];

/// Where the web addresses of a text are, in order and apart from each other.
pub(crate) fn all(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(next_scheme) {
        let start = from + at;
        let length = text.get(start..).and_then(address).map_or(0, str::len);
        if length > 0 {
            found.push(start..start + length);
        }
        from = start + length.max(1);
    }
    found
}

/// Where the next address may begin.
fn next_scheme(text: &str) -> Option<usize> {
    let starts = SCHEMES.iter().filter_map(|scheme| text.find(scheme));
    starts.min()
}

fn address(text: &str) -> Option<&str> {
    let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>\"`|\\^{}*".contains(c);
    let mut address = text.split(is_end).next().unwrap_or_default();
    loop {
        let before = address;
        address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '_']);
        for (open, close) in [('(', ')'), ('[', ']')] {
            // A bracket that the address itself opened belongs to it.
            let count = |bracket| address.matches(bracket).count();
            if address.ends_with(close) && count(close) > count(open) {
                address = address.strip_suffix(close).unwrap_or(address);
            }
        }
        if address == before {
            break;
        }
    }
    let host = SCHEMES
        .iter()
        .find_map(|scheme| address.strip_prefix(scheme))?;
    host.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        .then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn last(text: &str) -> Option<&str> {
        let place = all(text).pop()?;
        text.get(place)
    }

    #[test]
    fn the_last_address_is_found_without_what_is_around_it() {
        for (text, expected) in [
            (
                "see https://a.example/x?y=1&z=2#f.",
                Some("https://a.example/x?y=1&z=2#f"),
            ),
            (
                "[here](http://a.example/b_(c)), ok",
                Some("http://a.example/b_(c)"),
            ),
            ("<https://a.example>", Some("https://a.example")),
            ("`https://a.example/x`", Some("https://a.example/x")),
            (
                "http://one.example and https://two.example/",
                Some("https://two.example/"),
            ),
            ("https://ü.example/日本。", Some("https://ü.example/日本。")),
            ("http:// nothing, https://", None),
            ("no address", None),
        ] {
            assert_eq!(last(text), expected, "{text}");
        }
    }

    #[test]
    fn every_address_of_a_text_is_found() {
        for (text, expected) in [
            (
                "https://a.example and (http://b.example/x), http://",
                &["https://a.example", "http://b.example/x"][..],
            ),
            ("xhttps://a.example", &["https://a.example"]),
            ("http://http://a.example", &["http://http://a.example"]),
            ("none", &[]),
        ] {
            let found: Vec<&str> = all(text).into_iter().map(|at| &text[at]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn all_addresses_are_in_the_text_and_apart(text in "(https?://|[a-z]{0,4}|[()\\[\\].,]|\\PC){0,12}") {
            let found = all(&text);
            prop_assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
            prop_assert!(found.iter().all(|at| text.get(at.clone()).is_some()));
        }

        #[test]
        fn what_is_found_is_in_the_text_and_has_no_blanks(text in "(https?://|[a-z]{0,4}|[()\\[\\].,]|\\PC){0,12}") {
            if let Some(address) = last(&text) {
                prop_assert!(text.contains(address) && !address.contains(char::is_whitespace));
            }
        }
    }
}
