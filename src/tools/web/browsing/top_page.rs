//! The page behind a search result: for models that answer from what they read in one call, and otherwise from memory.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use super::fetch::{ContentKind, fetch_with, readable_text};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::clip;
use crate::formats::address::Address;
use crate::formats::html;
use crate::net::service::time_limit::limited;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

/// Pages that are read.
const MAX_PAGES: usize = 3;
/// Redirects followed on the way to a page.
const MAX_REDIRECTS: usize = 3;
const MAX_EXTRACT_CHARS: usize = 1_500;
/// Shorter words of a query say nothing about a page.
const MIN_WORD_CHARS: usize = 3;

/// An extract of the first of the pages found that can be read within `limit` and is about the query; `None` when none is. `results` is the text of a
/// web search.
pub(crate) fn extract(
    ctx: &ToolContext,
    query: &str,
    results: &str,
    limit: Duration,
) -> Option<String> {
    let words = words(query);
    let addresses: Vec<Address> = addresses(results).collect();
    // All at once; the first one in the order of the results that is fit ends the others.
    let (done, _with_turn) = ctx.stop.child();
    let found = thread::scope(|scope| {
        let readers: Vec<_> = addresses
            .iter()
            .filter_map(|address| {
                let (words, done) = (&words, &done);
                let reader = thread::Builder::new().name("page".to_owned());
                let read = move || {
                    let text = read(ctx, address, limit, done).ok()?;
                    Some((address.to_string(), about(&text, words)?))
                };
                reader.spawn_scoped(scope, read).ok()
            })
            .collect();
        let mut pages = readers
            .into_iter()
            .filter_map(|reader| reader.join().ok().flatten());
        let found = pages.next();
        done.fire();
        found
    });
    let (address, text) = found?;
    Some(fenced(&address, &text))
}

/// The addresses in a list of results.
fn addresses(results: &str) -> impl Iterator<Item = Address> {
    let lines = results.lines().map(str::trim);
    let links = lines.filter(|line| line.starts_with("https://") || line.starts_with("http://"));
    links
        .filter_map(|link| Address::parse(link).ok())
        .take(MAX_PAGES)
}

fn read(ctx: &ToolContext, address: &Address, limit: Duration, stop: &Cancel) -> Outcome<String> {
    limited(stop, limit, &address.host.to_string(), |stop| {
        let ctx = ToolContext {
            stop: stop.clone(),
            ..ctx.clone()
        };
        let client = ctx.guarded_client()?.with_hops(MAX_REDIRECTS);
        let page = fetch_with(&ctx, &client, address)?;
        if page.status >= 300 {
            return Err(Problem::network("There is no such page."));
        }
        Ok(match page.kind {
            ContentKind::Text => readable_text(&page.text),
            ContentKind::Html => html::page(&page.text).text,
        })
    })
}

/// The text from the first paragraph that has a word of the query; `None` when there is none.
fn about(text: &str, words: &HashSet<String>) -> Option<String> {
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        if self::words(line).iter().any(|word| words.contains(word)) {
            let rest = text.get(from..).unwrap_or_default().trim();
            return Some(clip(rest, MAX_EXTRACT_CHARS));
        }
        from += line.len();
    }
    None
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= MIN_WORD_CHARS)
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extract_begins_where_the_page_is_about_the_query() {
        let page = "Menu\nLog in\n\nGlass Harbor was directed by Mira Okafor.\nMore.\n";
        let expected = "Glass Harbor was directed by Mira Okafor.\nMore.";
        assert_eq!(about(page, &words("who directed it")).unwrap(), expected);
        assert_eq!(about(page, &words("is it so")), None);
        let long = about(&"harbor ".repeat(1_000), &words("the harbor")).unwrap();
        assert_eq!(long.chars().count(), MAX_EXTRACT_CHARS + 1);
    }

    #[test]
    fn three_addresses_of_a_list_of_results_are_read() {
        let list = "1. A\n   https://a.test/x\n   says https://no.test\n\n2. B\n   http://b.test/\n3. C\n   ftp://c.test\n4. D\n   https://d.test\n5. E\n   https://e.test";
        let found: Vec<String> = addresses(list).map(|address| address.to_string()).collect();
        assert_eq!(found.len(), 3);
        assert!(
            found[0].contains("a.test") && found[2].contains("d.test"),
            "{found:?}"
        );
    }
}
