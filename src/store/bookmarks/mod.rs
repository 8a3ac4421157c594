//! `bookmarks.json`: the links that a profile has saved. As long as it has none, the old file shared by all profiles is used.

mod age;

use std::path::PathBuf;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::params::Param as _;
use crate::base::patterns::MAX_QUERY_BYTES;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::disk::json_records;
use crate::disk::paths::Paths;

/// A link, with the fields that could be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bookmark {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) tags: Vec<String>,
    pub(crate) notes: String,
    /// When it was saved, as written in the file.
    saved: String,
}

impl Bookmark {
    /// A link that has not been saved yet.
    pub(crate) fn new(url: String, title: String, tags: Vec<String>, notes: String) -> Self {
        Self {
            url,
            title,
            tags,
            notes,
            saved: String::new(),
        }
    }

    fn read(raw: &str) -> Self {
        let map = json_records::object(raw);
        let text = |key: &str| match map.get(key) {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        let saved = match text("saved_at") {
            empty if empty.is_empty() => text("created"),
            saved => saved,
        };
        Self {
            url: text("url"),
            title: text("title"),
            tags: map.get("tags").and_then(tags).unwrap_or_default(),
            notes: text("notes"),
            saved,
        }
    }

    /// The title, unless it is empty or just the address.
    pub(crate) fn own_title(&self) -> Option<&str> {
        let title = self.title.trim();
        (!title.is_empty() && title != self.url.trim()).then_some(title)
    }

    /// Whether it has the tag, ignoring case.
    pub(crate) fn is_tagged(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| same(own, tag))
    }

    /// Whether title, address, notes or tags contain the words.
    pub(crate) fn contains(&self, words: &Regex) -> bool {
        let is_in = |text: &String| words.is_match(text);
        is_in(&self.title) || is_in(&self.url) || is_in(&self.notes) || self.tags.iter().any(is_in)
    }

    /// True for an entry with nothing to show, which only manual editing leaves.
    fn is_blank(&self) -> bool {
        self.url.is_empty() && self.title.trim().is_empty()
    }
}

/// Tags from comma-separated words or a list of them, without `#` and duplicates. `None` for any other value.
pub(crate) fn tags(value: &Value) -> Option<Vec<String>> {
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
    Some(tags)
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[derive(Debug, Default)]
pub(crate) struct BookmarkPage {
    /// The newest matches, newest first.
    pub(crate) bookmarks: Vec<Bookmark>,
    /// Whether there are more matches.
    pub(crate) more: bool,
    /// Number of records in the file.
    pub(crate) total: usize,
}

/// The bookmarks of one profile. Several processes may use them at the same time.
pub(crate) struct Bookmarks<'a> {
    own: PathBuf,
    shared: PathBuf,
    clock: &'a Clock,
}

impl<'a> Bookmarks<'a> {
    /// Opens the bookmarks of the profile; nothing is read or created yet.
    ///
    /// # Errors
    /// The name cannot be a profile's, or there is no place for Marvin's files.
    pub(crate) fn of(paths: &Paths, profile: &str, clock: &'a Clock) -> Outcome<Self> {
        Ok(Self {
            own: paths.profile(profile)?.bookmarks(),
            shared: paths.shared_bookmarks()?,
            clock,
        })
    }

    /// Adds a link. Returns the number of links afterwards, and what the user should know about the file.
    ///
    /// # Errors
    /// `Refused` when the address is bookmarked already; the lock or the disk. The file is then as it was.
    pub(crate) fn add(&self, new: &Bookmark) -> Outcome<(usize, Option<String>)> {
        let key = key(&new.url);
        let words = pattern(key.split_once("://").map_or(key.as_str(), |(_, rest)| rest))?;
        let mut record = Map::new();
        record.insert("url".to_owned(), new.url.as_str().into());
        record.insert("title".to_owned(), new.title.as_str().into());
        record.insert("tags".to_owned(), new.tags.clone().into());
        record.insert("notes".to_owned(), new.notes.as_str().into());
        record.insert("saved_at".to_owned(), self.clock.utc().into());
        let mut total = 0;
        let notice = json_records::update(&self.own, Some(&self.shared), self.clock, |records| {
            let old = records
                .iter()
                .map(|raw| raw.get())
                .filter(|raw| may_hold(raw, &words))
                .map(Bookmark::read)
                .find(|old| self::key(&old.url) == key);
            if let Some(old) = old {
                return Err(already(&old));
            }
            records.push(json_records::record(&record)?);
            total = records.len();
            Ok(())
        })?;
        Ok((total, notice))
    }

    /// The newest `limit` links that match. `words` has to occur in every match, so that most records need not be parsed.
    ///
    /// # Errors
    /// The file cannot be read or is not understood; cancelled.
    pub(crate) fn newest(
        &self,
        limit: u32,
        words: Option<&Regex>,
        fits: impl Fn(&Bookmark) -> bool,
        stop: &Cancel,
    ) -> Outcome<BookmarkPage> {
        let (path, bytes) = match json_records::read(&self.own)? {
            Some(bytes) => (&self.own, bytes),
            None => (
                &self.shared,
                json_records::read(&self.shared)?.unwrap_or_default(),
            ),
        };
        let all = json_records::raw(path, &bytes)?;
        let mut page = BookmarkPage {
            total: all.len(),
            ..BookmarkPage::default()
        };
        let last_first = all.iter().rev().copied();
        // All records, also for a search: one without a date is as old as the one before it, whether that one matches or not.
        let newest_first: Box<dyn Iterator<Item = &str>> = if age::in_order(&all) {
            Box::new(last_first)
        } else {
            let zone = self.clock.now().time_zone().clone();
            Box::new(age::newest_first(last_first.collect(), &zone).into_iter())
        };
        for raw in newest_first.filter(|raw| words.is_none_or(|words| may_hold(raw, words))) {
            stop.check()?;
            let bookmark = Bookmark::read(raw);
            if bookmark.is_blank() || !fits(&bookmark) {
                continue;
            }
            if page.bookmarks.len() >= limit as usize {
                page.more = true;
                break;
            }
            page.bookmarks.push(bookmark);
        }
        Ok(page)
    }
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

/// The key for comparing addresses: scheme and host in lower case, without a trailing slash.
fn key(url: &str) -> String {
    let url = url.trim();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let pos = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (host, path) = rest.split_at(pos);
            let path = path.trim_end_matches('/');
            format!("{}://{}{path}", scheme.to_lowercase(), host.to_lowercase())
        }
        None => url.to_owned(),
    }
}

/// A pattern for the literal words, ignoring case.
///
/// # Errors
/// There are too many of them.
pub(crate) fn pattern(words: &str) -> Outcome<Regex> {
    let too_long =
        || Problem::limit("The words are too long to look for.").next("Give a few of them.");
    if words.len() > MAX_QUERY_BYTES {
        return Err(too_long());
    }
    RegexBuilder::new(&regex::escape(words))
        .case_insensitive(true)
        .build()
        .map_err(|error| too_long().because(error))
}

/// False when a record cannot contain the words, so that most records need not be parsed. Escapes may hide them.
fn may_hold(raw: &str, words: &Regex) -> bool {
    words.is_match(raw) || raw.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_address_in_another_spelling_is_the_same() {
        assert_eq!(key("HTTPS://A.org/"), key("https://a.org"));
        assert_ne!(key("https://a.org/X"), key("https://a.org/x"));
        assert_ne!(key("https://a.org/?q=/"), key("https://a.org/?q"));
    }

    #[test]
    fn records_in_any_state_are_read() {
        let read = Bookmark::read;
        assert!(read("7").is_blank() && read("{}").is_blank());
        let old =
            read(r#"{"url":"u","tags":"a, B,b","created":"2020-01-01T00:00:00","title":null}"#);
        assert_eq!(
            (old.tags.len(), old.saved.len(), old.title.len()),
            (2, 19, 0)
        );
        assert_eq!(read("7").url, "");
        assert_eq!(read(r#"{"tags":[1,"x"]}"#).tags, ["1", "x"]);
    }
}
