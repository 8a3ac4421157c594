//! Pages from anywhere: their text, their links and their parts, without a panic, a control character or time without end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::charset::decoded;
use marvin::testing::html::{
    HtmlPage, Selector, entities, ids, line, page, page_part, text, title,
};

/// Control characters other than white space.
fn obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// No more than signs and margins make of a page: a few characters a word.
fn assert_page(page: &HtmlPage, html: &str) {
    assert!(!page.text.contains(obeyed), "{:?}", page.text);
    assert_eq!(page.text.trim_end(), page.text);
    assert!(page.text.len() <= 64 * (html.len() + 1));
    if let Some(title) = &page.title {
        assert!(
            !title.is_empty() && !title.contains(char::is_control),
            "{title:?}"
        );
    }
    for link in &page.links {
        assert!(!link.text.contains(char::is_control), "{:?}", link.text);
        assert!(
            !link.href.is_empty() && !link.href.contains(obeyed),
            "{:?}",
            link.href
        );
    }
    let links = page
        .links
        .iter()
        .map(|link| link.text.len() + link.href.len());
    assert!(links.sum::<usize>() <= 8 * html.len());
}

fuzz_target!(|input: (&[u8], &str, &str)| {
    let (bytes, kind, selector) = input;
    let html = decoded(bytes, kind);
    let whole = page(&html);
    assert_page(&whole, &html);
    assert_eq!(whole.title, title(&html));
    // Without a selector and exclusions, a part is the whole page.
    let all = page_part(&html, None, &[]).unwrap();
    assert_eq!((&all.text, &all.title), (&whole.text, &whole.title));
    let only = Selector::parse(selector);
    if let Some(part) = page_part(&html, only.as_ref(), &["nav", "script", "header"]) {
        assert_page(&part, &html);
    }
    let one = line(&html);
    assert!(!one.contains(char::is_control), "{one:?}");
    assert_eq!(
        one,
        text(&html).split_whitespace().collect::<Vec<_>>().join(" ")
    );
    let ids = ids(&html, 10);
    assert!(ids.len() <= 10 && ids.iter().all(|id| !id.trim().is_empty()));
    assert!(!ids.concat().contains(obeyed), "{ids:?}");
    if !html.contains('&') {
        assert_eq!(entities(&html), html);
    }
});
