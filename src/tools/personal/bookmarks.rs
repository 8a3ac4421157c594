//! Module `bookmarks`: saved links of the profile.

use std::fmt::Write as _;

use serde_json::Value;

use crate::base::params::{Param, Type};
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, escape_controls, thousands};
use crate::store::bookmarks::{self, Bookmark, BookmarkPage, Bookmarks};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{READ, RECORDS};

tools! { "bookmarks";
    /// Save a link.
    bookmark_save(BookmarkSave; RECORDS.seconds(5).planned_as_written()) {
        /// address
        url: String, example: "https://example.org/", alias: &["link", "address"];
        /// title; default the URL
        title: String = "", alias: &["name"];
        /// comma-separated
        tags: Tags = "", example: "rust, reading", alias: &["tag"];
        /// text
        notes: String = "", alias: &["note", "description"];
    } => save, says ["bookmark {url} as {title}", "bookmark {url}"];

    /// List links.
    bookmark_list(BookmarkList; READ.seconds(5)) {
        /// filter
        tag: String = "", alias: &["tags"];
        /// how many
        limit: u32 = 20, min: 1, alias: &["count", "max_results"];
    } => list, says ["show my bookmarks", "list bookmarks", "my bookmarks", "bookmarks"];

    /// Search links.
    bookmark_search(BookmarkSearch; READ.seconds(5)) {
        /// text in title, URL, notes or tags
        query: String, example: "rust", alias: &["text", "q"];
        /// how many
        limit: u32 = 10, min: 1, alias: &["count", "max_results"];
    } => search, says ["search my bookmarks for {query}", "search bookmarks for {query}", "find {query} in my bookmarks"];
}

/// Longest address in bytes.
const MAX_URL_BYTES: usize = 8_000;

/// Words separated by commas, or a list of them.
#[derive(Debug, Clone)]
pub(crate) struct Tags(Vec<String>);

impl Param for Tags {
    const TYPE: Type = Type::Text;
    fn read(value: &Value) -> Option<Self> {
        bookmarks::tags(value).map(Self)
    }
}

fn all(ctx: &ToolContext) -> Outcome<Bookmarks<'_>> {
    let session = &ctx.session;
    Bookmarks::of(&session.paths, &session.profile(), &session.clock)
}

fn save(ctx: &ToolContext, args: BookmarkSave) -> Outcome<String> {
    let url = address(&args.url)?;
    let title = match args.title.trim() {
        "" => url.clone(),
        title => title.to_owned(),
    };
    let Tags(tags) = args.tags;
    let new = Bookmark::new(url, title, tags, args.notes.trim().to_owned());
    let (total, notice) = all(ctx)?.add(&new)?;
    let report = format!(
        "Bookmarked {} ({} in all).",
        clip(&escape_controls(&new.title), 200),
        thousands(total as u64)
    );
    Ok(match notice {
        Some(notice) => format!("{report}\n{notice}"),
        None => report,
    })
}

/// An address in the form in which it is saved: with a scheme, without spaces.
fn address(text: &str) -> Outcome<String> {
    let text = text.trim().trim_matches(['<', '>', '"', '\'']);
    let invalid = |reason: &str| {
        let shown = clip(&escape_controls(text), 80);
        Err(
            Problem::input(format!("\"{shown}\" is not a web address: {reason}."))
                .next("For example https://example.org/page."),
        )
    };
    if text.is_empty() {
        return invalid("it is empty");
    }
    if text.len() > MAX_URL_BYTES {
        return invalid("it is too long");
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return invalid("it holds white space or control characters");
    }
    let has_scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        // "host:8080/x" has a port rather than a scheme.
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(word)
            && !rest.starts_with(|c: char| c.is_ascii_digit())
    });
    let hostless = text
        .split_once("://")
        .is_some_and(|(_, rest)| matches!(rest.chars().next(), None | Some('/' | '?' | '#')));
    if has_scheme && hostless && !text.to_ascii_lowercase().starts_with("file:") {
        return invalid("it names no host");
    }
    if has_scheme {
        return Ok(text.to_owned());
    }
    if !text.contains('.') && !text.starts_with("localhost") {
        return invalid("it names no host");
    }
    Ok(format!("https://{text}"))
}

fn list(ctx: &ToolContext, args: BookmarkList) -> Outcome<String> {
    let tag = args.tag.trim().trim_start_matches('#');
    let words = match tag {
        "" => None,
        tag => Some(bookmarks::pattern(tag)?),
    };
    let fits = |one: &Bookmark| tag.is_empty() || one.is_tagged(tag);
    let page = all(ctx)?.newest(args.limit, words.as_ref(), fits, &ctx.stop)?;
    let which = match tag {
        "" => String::new(),
        tag => format!(" tagged \"{}\"", clip(&escape_controls(tag), 60)),
    };
    Ok(render(&page, &which))
}

fn search(ctx: &ToolContext, args: BookmarkSearch) -> Outcome<String> {
    let query = not_empty("query", &args.query, "Give the words to look for.")?;
    let words = bookmarks::pattern(query)?;
    let fits = |one: &Bookmark| one.contains(&words);
    let page = all(ctx)?.newest(args.limit, Some(&words), fits, &ctx.stop)?;
    let which = format!(" with \"{}\"", clip(&escape_controls(query), 60));
    Ok(render(&page, &which))
}

/// The links and their number; `which` says what they have in common.
fn render(page: &BookmarkPage, which: &str) -> String {
    let mut out = String::new();
    for bookmark in &page.bookmarks {
        entry(bookmark, &mut out);
    }
    let number = |count: usize| thousands(count as u64);
    let shown = page.bookmarks.len();
    let _ = match shown {
        0 if page.total == 0 => write!(out, "There are no bookmarks."),
        0 => write!(out, "No bookmark{which} among {}.", number(page.total)),
        _ if page.more && which.is_empty() => write!(
            out,
            "{shown} of {} bookmarks, the newest first.",
            number(page.total)
        ),
        _ if page.more => write!(out, "The newest {shown}{which} are shown; there are more."),
        1 => write!(out, "1 bookmark{which}."),
        _ => write!(out, "{} bookmarks{which}.", number(shown)),
    };
    out
}

fn entry(bookmark: &Bookmark, out: &mut String) {
    let title = bookmark.own_title();
    let heading = title.unwrap_or(&bookmark.url);
    let _ = write!(out, "{}", escape_controls(heading).replace('\n', " "));
    if !bookmark.tags.is_empty() {
        let _ = write!(out, " [{}]", escape_controls(&bookmark.tags.join(", ")));
    }
    out.push('\n');
    if title.is_some() && !bookmark.url.is_empty() {
        let _ = writeln!(out, "  {}", escape_controls(&bookmark.url));
    }
    for line in escape_controls(&bookmark.notes).lines() {
        let _ = writeln!(out, "  {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_or_refused() {
        for (given, stored) in [
            (" https://a.org/x ", Some("https://a.org/x")),
            ("<a.org/x>", Some("https://a.org/x")),
            ("a.org:8080/x", Some("https://a.org:8080/x")),
            ("localhost:3000", Some("https://localhost:3000")),
            ("mailto:ann@a.org", Some("mailto:ann@a.org")),
            ("file:///home/ann/x.html", Some("file:///home/ann/x.html")),
            ("https://", None),
            ("https:///x", None),
            ("", None),
            ("a b", None),
            ("word", None),
            ("https://a.org/\0", None),
        ] {
            assert_eq!(address(given).ok().as_deref(), stored, "{given:?}");
        }
    }

    #[test]
    fn an_entry_shows_what_it_has() {
        let mut out = String::new();
        let mut show = |url: &str, title: &str, tags: &[&str], notes: &str| {
            let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let one = Bookmark::new(url.into(), title.into(), tags, notes.into());
            out.clear();
            entry(&one, &mut out);
            out.clone()
        };
        assert_eq!(show("", "no address", &[], "n"), "no address\n  n\n");
        let (a, b) = ("https://a.org", "https://b.org");
        assert_eq!(show(a, a, &["x"], ""), "https://a.org [x]\n");
        assert_eq!(show(b, "", &[], ""), "https://b.org\n");
    }
}
