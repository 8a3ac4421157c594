//! The incremental search through the history.

use regex::{Regex, RegexBuilder};

use super::paste::clean;

#[derive(Clone, Debug, Default)]
pub(super) struct HistorySearch {
    query: String,
    found: Option<HistoryMatch>,
    failed: bool,
}

#[derive(Clone, Debug)]
struct HistoryMatch {
    index: usize,
    text: String,
    offset: usize,
}

impl HistorySearch {
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// True when there is no (further) match.
    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// The match, and the position of the query in it.
    pub(super) fn found(&self) -> Option<(&str, usize)> {
        self.found
            .as_ref()
            .map(|found| (found.text.as_str(), found.offset))
    }

    /// Extends the query; the match stays while it still matches.
    pub(super) fn push(&mut self, text: &str, entries: &[String]) {
        self.query.push_str(text);
        let from = self.found.as_ref().map_or(entries.len(), |f| f.index + 1);
        self.select_first(
            entries
                .get(..from)
                .unwrap_or_default()
                .iter()
                .enumerate()
                .rev(),
        );
    }

    /// Removes the last character of the query and searches again from the newest entry.
    pub(super) fn pop(&mut self, entries: &[String]) {
        let shorter = super::layout::previous(&self.query, self.query.len());
        self.query.truncate(shorter);
        self.found = None;
        self.select_first(entries.iter().enumerate().rev());
    }

    /// The next older match.
    pub(super) fn older(&mut self, entries: &[String]) {
        let to = self.found.as_ref().map_or(entries.len(), |f| f.index);
        self.select_first(
            entries
                .get(..to)
                .unwrap_or_default()
                .iter()
                .enumerate()
                .rev(),
        );
    }

    /// The next newer match.
    pub(super) fn newer(&mut self, entries: &[String]) {
        let from = self.found.as_ref().map_or(entries.len(), |f| f.index + 1);
        self.select_first(entries.iter().enumerate().skip(from));
    }

    /// Takes the first entry that matches and differs from the current match; keeps the current one if there is none.
    fn select_first<'e>(&mut self, entries: impl Iterator<Item = (usize, &'e String)>) {
        let Some(pattern) = pattern(&self.query) else {
            self.found = None;
            self.failed = false;
            return;
        };
        let shown = self.found.take();
        let still = |found: &HistoryMatch| pattern.find(&found.text).map(|hit| hit.start());
        let mut hits = entries.filter_map(|(index, entry)| {
            let offset = pattern.find(entry)?.start();
            Some((index, entry, offset))
        });
        let next = hits.find(|(index, entry, _)| {
            shown
                .as_ref()
                .is_none_or(|shown| shown.index == *index || shown.text != **entry)
        });
        self.failed = next.is_none();
        self.found = match next {
            Some((index, entry, offset)) => {
                let before = clean(entry.get(..offset).unwrap_or_default()).len();
                Some(HistoryMatch {
                    index,
                    text: clean(entry).into_owned(),
                    offset: before,
                })
            }
            None => shown.map(|shown| HistoryMatch {
                offset: still(&shown).unwrap_or(shown.offset),
                ..shown
            }),
        };
    }
}

/// The query as a pattern, in smart case: upper case matches exactly, lower case matches both. `None` for an empty query.
fn pattern(query: &str) -> Option<Regex> {
    if query.is_empty() {
        return None;
    }
    RegexBuilder::new(&regex::escape(query))
        .case_insensitive(!query.chars().any(char::is_uppercase))
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<String> {
        [
            "cargo test",
            "Make tea",
            "cargo fmt",
            "cargo fmt",
            "more tea",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn found(search: &HistorySearch) -> (Option<(&str, usize)>, bool) {
        (search.found(), search.failed())
    }

    #[test]
    fn the_search_narrows_and_then_goes_to_older_entries() {
        let (entries, mut search) = (entries(), HistorySearch::default());
        search.push("ca", &entries);
        assert_eq!(found(&search), (Some(("cargo fmt", 0)), false));
        search.older(&entries);
        assert_eq!(found(&search), (Some(("cargo test", 0)), false));
        search.older(&entries);
        assert_eq!(
            found(&search),
            (Some(("cargo test", 0)), true),
            "the last match stays in sight"
        );
        search.newer(&entries);
        assert_eq!(found(&search), (Some(("cargo fmt", 0)), false));
    }

    #[test]
    fn upper_case_matches_exactly_and_deleting_restarts() {
        let (entries, mut search) = (entries(), HistorySearch::default());
        search.push("t", &entries);
        search.push("ea", &entries);
        assert_eq!(found(&search), (Some(("more tea", 5)), false));
        search.push("x", &entries);
        assert!(search.failed());
        for _ in 0..4 {
            search.pop(&entries);
        }
        assert_eq!(found(&search), (None, false));
        search.push("M", &entries);
        assert_eq!(found(&search), (Some(("Make tea", 0)), false));
    }
}
