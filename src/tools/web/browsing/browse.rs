//! `browse_web`: one page as text, in pieces that a model can read on from.

use std::sync::Arc;
use std::time::Duration;

use super::fetch::{ContentKind, FetchedPage, fetch, plain, status_words};
use super::pages::{CachedPage, Pages};
use super::{BrowseWeb, lynx, window};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, thousands};
use crate::formats::address::Address;
use crate::formats::html;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

/// Between two pages.
const GAP: Duration = Duration::from_secs(1);

/// Reads the page that `args` name.
///
/// # Errors
/// As [`fetch`]; an error page without a word is `Network`.
pub(super) fn page(ctx: &ToolContext, args: BrowseWeb) -> Outcome<String> {
    let address = Address::parse(&args.url)?;
    let key = address.to_string();
    let pages = ctx.world.modules.get::<Pages>();
    let leaf = match pages.get(&key) {
        Some(leaf) => leaf,
        None => {
            let host = address.host.to_string();
            ctx.world
                .services
                .wait_turn("browse_web", &host, GAP, &ctx.stop)?;
            let fetched = fetch(ctx, &address)?;
            let good = fetched.status < 400;
            let leaf = Arc::new(leaf(ctx, &address, fetched)?);
            if good {
                pages.put(key, &leaf);
            }
            leaf
        }
    };
    let index = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(piece(
        &leaf,
        index(args.start_index),
        index(args.max_length),
    ))
}

/// A fetched page as text.
fn leaf(ctx: &ToolContext, asked: &Address, fetched: FetchedPage) -> Outcome<CachedPage> {
    let FetchedPage {
        address,
        status,
        kind,
        text: source,
    } = fetched;
    let (title, text) = match kind {
        ContentKind::Text => (None, plain(&source)),
        ContentKind::Html => match lynx::shown(ctx, &source, &address)? {
            Some(text) => (html::title(&source), text),
            None => {
                let page = html::page(&source);
                (page.title, page.text)
            }
        },
    };
    let text = text.trim_end().to_owned();
    if status >= 300 && text.is_empty() {
        return Err(Problem::network(format!(
            "{} answered {status}{} for {}.",
            address.host,
            status_words(status),
            clip(&escape_controls(&address.target), 200)
        ))
        .next(match status {
            429 | 500..=599 => "Try again later, or look for another page with web_search.",
            _ => "Check the address, or look for the page with web_search.",
        }));
    }
    let mut head = head(asked, &address, title.as_deref());
    if status >= 400 {
        head.push_str(&format!(
            "The server answered {status}{}: this is the text of its error page.\n",
            status_words(status)
        ));
    }
    if text.is_empty() {
        let scripts = kind == ContentKind::Html && source.to_ascii_lowercase().contains("<script");
        head.push_str(match scripts {
            true => "The page has no text before its scripts run; scrape_page runs them.\n",
            false => "The page is empty.\n",
        });
    }
    Ok(CachedPage {
        head,
        source: shown(&address),
        text,
    })
}

/// The heading before a page's text.
pub(super) fn head(asked: &Address, address: &Address, title: Option<&str>) -> String {
    let mut head = String::new();
    if let Some(title) = title {
        head.push_str(&format!("Title: {}\n", clip(&escape_controls(title), 200)));
    }
    if asked != address {
        head.push_str(&format!("It redirects to {}\n", shown(address)));
    }
    head
}

/// An address for a sentence.
pub(super) fn shown(address: &Address) -> String {
    clip(&escape_controls(&address.to_string()), 500)
}

/// The characters from `start` on, at most `most`, and how to read on.
fn piece(leaf: &CachedPage, start: usize, most: usize) -> String {
    let (text, total) = window(&leaf.text, start, most);
    let count = |n: usize| thousands(n as u64);
    if total == 0 {
        return format!("{}: {}", leaf.source, leaf.head.trim_end());
    }
    if start >= total {
        return format!(
            "The page {} has {} characters; start_index={start} is behind its end.",
            leaf.source,
            count(total)
        );
    }
    let mut out = if start == 0 {
        leaf.head.clone()
    } else {
        String::new()
    };
    out.push_str(&fenced(&leaf.source, text));
    let end = start + text.chars().count();
    if end < total {
        out.push_str(&format!(
            "\nCharacters {} to {} of {}. Continue with start_index={end}.",
            count(start + 1),
            count(end),
            count(total)
        ));
    } else if start > 0 {
        out.push_str(&format!(
            "\nCharacters {} to {}: the page ends here.",
            count(start + 1),
            count(total)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_in_pieces_to_its_end() {
        let leaf = CachedPage {
            head: "Title: T\n".to_owned(),
            source: "http://a.test/".to_owned(),
            text: "é".repeat(2_500),
        };
        let first = piece(&leaf, 0, 1_000);
        assert!(
            first.starts_with("Title: T\nText of http://a.test/"),
            "{first}"
        );
        assert!(
            first.ends_with("Characters 1 to 1,000 of 2,500. Continue with start_index=1000."),
            "{first}"
        );
        let last = piece(&leaf, 2_000, 1_000);
        assert_eq!(last.matches('é').count(), 500);
        assert!(
            !last.contains("Title")
                && last.ends_with("Characters 2,001 to 2,500: the page ends here.")
        );
        assert!(
            piece(&leaf, 2_500, 1)
                .contains("has 2,500 characters; start_index=2500 is behind its end.")
        );
        assert!(!piece(&leaf, 0, 2_500).contains("Characters"));
    }
}
