//! `browse_web`: one page as text, in parts that a model can continue reading.

use std::sync::Arc;
use std::time::Duration;

use super::fetch::{ContentKind, FetchedPage, fetch, readable_text, status_words};
use super::pages::{CachedPage, Pages};
use super::{BrowseWeb, lynx, window};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, thousands};
use crate::formats::address::Address;
use crate::formats::html;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

/// Minimum interval between two pages.
const PAGE_INTERVAL: Duration = Duration::from_secs(1);

/// Reads the page in `args`.
///
/// # Errors
/// As [`fetch`]; an error page without text is `Network`.
pub(super) fn page(ctx: &ToolContext, args: BrowseWeb) -> Outcome<String> {
    let address = Address::parse(&args.url)?;
    let key = address.to_string();
    let pages = ctx.session.modules.get::<Pages>();
    let to_cached_page = match pages.get(&key) {
        Some(to_cached_page) => to_cached_page,
        None => {
            let host = address.host.to_string();
            ctx.session
                .services
                .wait_turn("browse_web", &host, PAGE_INTERVAL, &ctx.stop)?;
            let fetched = fetch(ctx, &address)?;
            let good = fetched.status < 400;
            let to_cached_page = Arc::new(to_cached_page(ctx, &address, fetched)?);
            if good {
                pages.put(key, &to_cached_page);
            }
            to_cached_page
        }
    };
    let index = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(part(
        &to_cached_page,
        index(args.start_index),
        index(args.max_length),
    ))
}

/// A fetched page as text.
fn to_cached_page(
    ctx: &ToolContext,
    requested: &Address,
    fetched: FetchedPage,
) -> Outcome<CachedPage> {
    let FetchedPage {
        address,
        status,
        kind,
        text: source,
    } = fetched;
    let (title, text) = match kind {
        ContentKind::Text => (None, readable_text(&source)),
        ContentKind::Html => match lynx::render(ctx, &source, &address)? {
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
    let mut head = head(requested, &address, title.as_deref());
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
        source: clipped_address(&address),
        text,
    })
}

/// The heading before a page's text.
pub(super) fn head(requested: &Address, address: &Address, title: Option<&str>) -> String {
    let mut head = String::new();
    if let Some(title) = title {
        head.push_str(&format!("Title: {}\n", clip(&escape_controls(title), 200)));
    }
    if requested != address {
        head.push_str(&format!("It redirects to {}\n", clipped_address(address)));
    }
    head
}

/// An address, clipped for messages.
pub(super) fn clipped_address(address: &Address) -> String {
    clip(&escape_controls(&address.to_string()), 500)
}

/// At most `max` characters from `start` on, and how to continue.
fn part(to_cached_page: &CachedPage, start: usize, max: usize) -> String {
    let (text, total) = window(&to_cached_page.text, start, max);
    let count = |n: usize| thousands(n as u64);
    if total == 0 {
        return format!(
            "{}: {}",
            to_cached_page.source,
            to_cached_page.head.trim_end()
        );
    }
    if start >= total {
        return format!(
            "The page {} has {} characters; start_index={start} is behind its end.",
            to_cached_page.source,
            count(total)
        );
    }
    let mut out = if start == 0 {
        to_cached_page.head.clone()
    } else {
        String::new()
    };
    out.push_str(&fenced(&to_cached_page.source, text));
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
    use crate::base::testing::assert_has;

    #[test]
    fn a_page_can_be_read_in_parts_to_its_end() {
        let to_cached_page = CachedPage {
            head: "Title: T\n".to_owned(),
            source: "http://a.test/".to_owned(),
            text: "é".repeat(2_500),
        };
        let first = part(&to_cached_page, 0, 1_000);
        assert!(
            first.starts_with("Title: T\nText of http://a.test/"),
            "{first}"
        );
        assert!(
            first.ends_with("Characters 1 to 1,000 of 2,500. Continue with start_index=1000."),
            "{first}"
        );
        let last = part(&to_cached_page, 2_000, 1_000);
        assert_eq!(last.matches('é').count(), 500);
        assert!(
            !last.contains("Title")
                && last.ends_with("Characters 2,001 to 2,500: the page ends here.")
        );
        assert_has(
            &part(&to_cached_page, 2_500, 1),
            &["has 2,500 characters; start_index=2500 is behind its end."],
        );
        assert!(!part(&to_cached_page, 0, 2_500).contains("Characters"));
    }
}
