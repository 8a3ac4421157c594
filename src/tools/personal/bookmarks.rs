//! Module `bookmarks`: saved links, in the profile's `bookmarks.json`.

use std::fmt::Write as _;
use std::path::PathBuf;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

mod age;

use crate::base::params::{Param, Type};
use crate::base::patterns::MAX_QUERY_BYTES;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, thousands};
use crate::disk::json_records;
use crate::tools::engine::context::ToolContext;
use crate::tools::{READ, RECORDS};

crate::tools! { "bookmarks";
    /// Save a link.
    bookmark_save(BookmarkSave; RECORDS.seconds(5)) {
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

/// Bytes of an address at most.
const MAX_URL_BYTES: usize = 8_000;

/// Words separated by commas, or a list of them.
#[derive(Debug, Clone)]
pub(crate) struct Tags(Vec<String>);

impl Param for Tags {
    const TYPE: Type = Type::Text;
    fn read(value: &Value) -> Option<Self> {
        let text = match value {
            Value::Array(items) => {
                let items: Option<Vec<String>> = items.iter().map(String::read).collect();
                items?.join(",")
            }
            one => String::read(one)?,
        };
        let mut tags: Vec<String> = Vec::new();
        for tag in text.split([',', '\n']) {
            let tag = tag.trim().trim_start_matches('#');
            if !tag.is_empty() && !tags.iter().any(|other| same(other, tag)) {
                tags.push(tag.to_owned());
            }
        }
        Some(Self(tags))
    }
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// One link, with the fields that could be read.
#[derive(Debug, Default)]
struct Bookmark {
    url: String,
    title: String,
    tags: Vec<String>,
    notes: String,
    saved: String,
}

impl Bookmark {
    fn of(raw: &str) -> Self {
        let map = json_records::object(raw);
        let text = |key: &str| match map.get(key) {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        let tags = map.get("tags").and_then(Tags::read);
        let saved = match text("saved_at") {
            empty if empty.is_empty() => text("created"),
            saved => saved,
        };
        Self {
            url: text("url"),
            title: text("title"),
            tags: tags.map_or_else(Vec::new, |Tags(tags)| tags),
            notes: text("notes"),
            saved,
        }
    }

    /// The title, unless it is empty or the address.
    fn own_title(&self) -> Option<&str> {
        let title = self.title.trim();
        (!title.is_empty() && title != self.url.trim()).then_some(title)
    }

    /// An entry edited manually, with nothing to show.
    fn is_blank(&self) -> bool {
        self.url.is_empty() && self.title.trim().is_empty()
    }

    fn holds(&self, words: &Regex) -> bool {
        let is_in = |text: &String| words.is_match(text);
        is_in(&self.title) || is_in(&self.url) || is_in(&self.notes) || self.tags.iter().any(is_in)
    }

    fn write(&self, out: &mut String) {
        let title = self.own_title();
        let heading = title.unwrap_or(&self.url);
        let _ = write!(out, "{}", escape_controls(heading).replace('\n', " "));
        if !self.tags.is_empty() {
            let _ = write!(out, " [{}]", escape_controls(&self.tags.join(", ")));
        }
        out.push('\n');
        if title.is_some() && !self.url.is_empty() {
            let _ = writeln!(out, "  {}", escape_controls(&self.url));
        }
        for line in escape_controls(&self.notes).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
}

/// The profile's file, and the one that all profiles once shared.
fn files(ctx: &ToolContext) -> Outcome<(PathBuf, PathBuf)> {
    let paths = &ctx.world.paths;
    let own = paths.profile(&ctx.world.profile())?.bookmarks();
    Ok((own, paths.shared_bookmarks()?))
}

fn save(ctx: &ToolContext, args: BookmarkSave) -> Outcome<String> {
    let url = address(&args.url)?;
    let key = key(&url);
    let words = pattern(key.split_once("://").map_or(key.as_str(), |(_, rest)| rest))?;
    let title = match args.title.trim() {
        "" => url.clone(),
        title => title.to_owned(),
    };
    let Tags(tags) = args.tags;
    let mut new = Map::new();
    new.insert("url".to_owned(), url.clone().into());
    new.insert("title".to_owned(), title.clone().into());
    new.insert("tags".to_owned(), tags.into());
    new.insert("notes".to_owned(), args.notes.trim().into());
    new.insert("saved_at".to_owned(), ctx.world.clock.utc().into());
    let (own, shared) = files(ctx)?;
    let mut total = 0;
    let notice = json_records::update(&own, Some(&shared), &ctx.world.clock, |records| {
        let old = records
            .iter()
            .map(|raw| raw.get())
            .filter(|raw| may_hold(raw, &words))
            .map(Bookmark::of)
            .find(|old| self::key(&old.url) == key);
        if let Some(old) = old {
            return Err(already(&old));
        }
        records.push(json_records::record(&new)?);
        total = records.len();
        Ok(())
    })?;
    let said = format!(
        "Bookmarked {} ({} in all).",
        clip(&escape_controls(&title), 200),
        thousands(total as u64)
    );
    Ok(notice.map_or(said.clone(), |notice| format!("{said}\n{notice}")))
}

fn already(old: &Bookmark) -> Problem {
    let since = match old.saved.get(..10) {
        Some(day) => format!(" since {day}"),
        None => String::new(),
    };
    let named = old.own_title().map_or(String::new(), |title| {
        format!(", as \"{}\"", clip(&escape_controls(title), 200))
    });
    Problem::refused(format!(
        "{} is bookmarked already{since}{named}.",
        escape_controls(&old.url)
    ))
    .next("Nothing was changed.")
}

/// An address as it is stored: with a scheme, without spaces.
fn address(text: &str) -> Outcome<String> {
    let text = text.trim().trim_matches(['<', '>', '"', '\'']);
    let wrong = |why: &str| {
        let shown = clip(&escape_controls(text), 80);
        Err(
            Problem::input(format!("\"{shown}\" is not a web address: {why}."))
                .next("For example https://example.org/page."),
        )
    };
    if text.is_empty() {
        return wrong("it is empty");
    }
    if text.len() > MAX_URL_BYTES {
        return wrong("it is too long");
    }
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return wrong("it holds white space or control characters");
    }
    let has_scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        // "host:8080/x" has a port there and no scheme.
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(word)
            && !rest.starts_with(|c: char| c.is_ascii_digit())
    });
    let hostless = text
        .split_once("://")
        .is_some_and(|(_, rest)| matches!(rest.chars().next(), None | Some('/' | '?' | '#')));
    if has_scheme && hostless && !text.to_ascii_lowercase().starts_with("file:") {
        return wrong("it names no host");
    }
    if has_scheme {
        return Ok(text.to_owned());
    }
    if !text.contains('.') && !text.starts_with("localhost") {
        return wrong("it names no host");
    }
    Ok(format!("https://{text}"))
}

/// The comparison key of an address: scheme and host in lower case, without the last slash.
fn key(url: &str) -> String {
    let url = url.trim();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (host, path) = rest.split_at(at);
            let path = path.trim_end_matches('/');
            format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
        }
        None => url.to_owned(),
    }
}

fn pattern(words: &str) -> Outcome<Regex> {
    let too_long =
        || Problem::limit("The words are too long to look for.").next("Give a few of them.");
    if words.len() > MAX_QUERY_BYTES {
        return Err(too_long());
    }
    RegexBuilder::new(&regex::escape(words))
        .case_insensitive(true)
        .build()
        .map_err(|why| too_long().because(why))
}

/// False when a record cannot contain the words: most are never parsed. Escapes may hide them.
fn may_hold(raw: &str, words: &Regex) -> bool {
    words.is_match(raw) || raw.contains('\\')
}

/// The newest `limit` matching links, the number of matches (one more than `limit` when there are more), and the total.
fn newest(
    ctx: &ToolContext,
    limit: u32,
    words: Option<&Regex>,
    fits: impl Fn(&Bookmark) -> bool,
) -> Outcome<(String, usize, usize)> {
    let (own, shared) = files(ctx)?;
    let (path, bytes) = match json_records::read(&own)? {
        Some(bytes) => (own, bytes),
        None => {
            let bytes = json_records::read(&shared)?;
            (shared, bytes.unwrap_or_default())
        }
    };
    let all = json_records::raw(&path, &bytes)?;
    let limit = limit as usize;
    let (mut out, mut count) = (String::new(), 0);
    let last_first = all.iter().rev().copied();
    // All of them, also for a search: one without a date is as old as the one before it, whether that fits or not.
    let newest_first: Box<dyn Iterator<Item = &str>> = if age::in_order(&all) {
        Box::new(last_first)
    } else {
        let zone = ctx.world.clock.now().time_zone().clone();
        Box::new(age::newest_first(last_first.collect(), &zone).into_iter())
    };
    for raw in newest_first.filter(|raw| words.is_none_or(|words| may_hold(raw, words))) {
        ctx.stop.check()?;
        let bookmark = Bookmark::of(raw);
        if bookmark.is_blank() || !fits(&bookmark) {
            continue;
        }
        count += 1;
        if count > limit {
            break;
        }
        bookmark.write(&mut out);
    }
    Ok((out, count, all.len()))
}

fn list(ctx: &ToolContext, args: BookmarkList) -> Outcome<String> {
    let tag = args.tag.trim().trim_start_matches('#');
    let words = match tag {
        "" => None,
        tag => Some(pattern(tag)?),
    };
    let tagged = |one: &Bookmark| tag.is_empty() || one.tags.iter().any(|other| same(other, tag));
    let (out, count, all) = newest(ctx, args.limit, words.as_ref(), tagged)?;
    let what = match tag {
        "" => String::new(),
        tag => format!(" tagged \"{}\"", clip(&escape_controls(tag), 60)),
    };
    Ok(told(out, count, all, args.limit, &what))
}

fn search(ctx: &ToolContext, args: BookmarkSearch) -> Outcome<String> {
    let query = args.query.trim();
    if query.is_empty() {
        return Err(Problem::input("The query is empty.").next("Give the words to look for."));
    }
    let words = pattern(query)?;
    let (out, count, all) = newest(ctx, args.limit, Some(&words), |one| one.holds(&words))?;
    let what = format!(" with \"{}\"", clip(&escape_controls(query), 60));
    Ok(told(out, count, all, args.limit, &what))
}

fn told(out: String, count: usize, all: usize, limit: u32, what: &str) -> String {
    let number = |count: usize| thousands(count as u64);
    match count {
        0 if all == 0 => "There are no bookmarks.".to_owned(),
        0 => format!("No bookmark{what} among {}.", number(all)),
        1 => format!("{out}1 bookmark{what}."),
        _ if count > limit as usize && what.is_empty() => {
            format!(
                "{out}{limit} of {} bookmarks, the newest first.",
                number(all)
            )
        }
        _ if count > limit as usize => {
            format!("{out}The newest {limit}{what} are shown; there are more.")
        }
        _ => format!("{out}{} bookmarks{what}.", number(count)),
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
    fn the_same_address_in_another_spelling_is_the_same() {
        assert_eq!(key("HTTPS://A.org/"), key("https://a.org"));
        assert_ne!(key("https://a.org/X"), key("https://a.org/x"));
        assert_ne!(key("https://a.org/?q=/"), key("https://a.org/?q"));
    }

    #[test]
    fn records_in_any_state_are_read() {
        let of = Bookmark::of;
        let mut out = String::new();
        of(r#"{"title":"no address","notes":"n"}"#).write(&mut out);
        assert_eq!(out, "no address\n  n\n");
        out.clear();
        of(r#"{"url":"https://a.org","title":"https://a.org","tags":["x"]}"#).write(&mut out);
        of(r#"{"url":"https://b.org"}"#).write(&mut out);
        assert_eq!(out, "https://a.org [x]\nhttps://b.org\n");
        assert!(of("7").is_blank() && of("{}").is_blank());
        let old = of(r#"{"url":"u","tags":"a, B,b","created":"2020-01-01T00:00:00","title":null}"#);
        assert_eq!(
            (old.tags.len(), old.saved.len(), old.title.len()),
            (2, 19, 0)
        );
        assert_eq!(of("7").url, "");
        assert_eq!(of(r#"{"tags":[1,"x"]}"#).tags, ["1", "x"]);
    }
}
