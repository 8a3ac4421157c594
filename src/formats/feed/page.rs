//! A web page where a feed was expected: the feeds it links to.

use crate::base::text::{clip, escape_controls, single_spaced};
use crate::formats::address::Address;
use crate::formats::html::{self, HtmlToken};

/// First elements of a page that omits `html`.
const HEAD_ELEMENTS: [&str; 12] = [
    "html", "head", "body", "meta", "title", "link", "script", "style", "p", "div", "h1", "br",
];
/// Maximum number of feeds listed.
const MAX_FEEDS: usize = 10;

/// How many bytes of a page are searched for them.
const SEARCHED_BYTES: usize = 512 * 1024;

/// A feed that a page links to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFeed {
    pub url: String,
    /// The page's title for it; may be empty.
    pub title: String,
}

/// The feeds that a page links to; `None` when `text`, whose first element is `root`, is not a page.
pub(super) fn feeds(text: &str, root: &str, address: &Address) -> Option<Vec<NamedFeed>> {
    let root = root.to_ascii_lowercase();
    let mut is_page = HEAD_ELEMENTS.contains(&root.as_str());
    let mut base: Option<Address> = None;
    let mut found: Vec<(String, String)> = Vec::new();
    let head = text
        .get(..text.floor_char_boundary(SEARCHED_BYTES))
        .unwrap_or(text);
    html::read(head, |piece| {
        let HtmlToken::Open(tag) = piece else { return };
        let attribute = |name| tag.attribute(name).unwrap_or_default().trim().to_owned();
        match tag.name() {
            "html" => is_page = true,
            "base" if base.is_none() => base = address.join(&attribute("href")).ok(),
            "link" if found.len() < MAX_FEEDS => {
                let rel = attribute("rel").to_lowercase();
                let kind = attribute("type").to_lowercase();
                let kind = kind.split(';').next().unwrap_or_default().trim();
                let is_feed = matches!(kind, "application/rss+xml" | "application/atom+xml");
                let href = attribute("href");
                if is_feed && rel.split_whitespace().any(|r| r == "alternate") && !href.is_empty() {
                    found.push((href, attribute("title")));
                }
            }
            _ => {}
        }
    });
    if !is_page && found.is_empty() {
        return None;
    }
    let base = base.as_ref().unwrap_or(address);
    let mut named: Vec<NamedFeed> = Vec::new();
    for (href, title) in found {
        let Ok(url) = base.join(&href) else { continue };
        let url = url.to_string();
        if named.iter().all(|other| other.url != url) {
            let title = single_spaced(&title);
            let title = clip(&escape_controls(&title), 80);
            named.push(NamedFeed { url, title });
        }
    }
    Some(named)
}
