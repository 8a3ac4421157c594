//! Pages from anywhere: their text, their links and their parts, without a panic, a control character or time without end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::net::charset::decoded;
use marvin::net::html::{Selector, ids, line, page, page_part, text, title};

fuzz_target!(|input: (&[u8], &str, &str)| {
    let (bytes, kind, selector) = input;
    let html = decoded(bytes, kind);
    let whole = page(&html);
    assert!(!whole.text.contains('\u{1b}'));
    assert_eq!(whole.text.trim_end(), whole.text);
    // Signs and margins are a few characters a word.
    assert!(whole.text.len() <= 64 * (html.len() + 1));
    assert_eq!(whole.title, title(&html));
    let _ = (text(&html), line(&html), ids(&html, 10));
    let only = Selector::parse(selector);
    let _ = page_part(&html, only.as_ref(), &["nav", "script", "header"]);
});
