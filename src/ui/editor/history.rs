//! The input history. Edits of its entries survive while walking through it, until something is submitted.

use std::collections::HashMap;

/// The entries, newest last, and the position of the walk; the draft comes after the last entry.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    entries: Vec<String>,
    index: usize,
    edits: HashMap<usize, String>,
}

impl History {
    /// Replaces the entries; the draft stays.
    pub(super) fn set(&mut self, entries: Vec<String>) {
        let draft = self.edits.remove(&self.entries.len());
        self.edits.clear();
        self.index = entries.len();
        self.edits.extend(draft.map(|draft| (self.index, draft)));
        self.entries = entries;
    }

    /// The entries, newest last.
    pub(super) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Adds the newest entry, unless it is blank or the newest already.
    pub(super) fn push(&mut self, entry: &str) {
        if entry.trim().is_empty() || self.entries.last().is_some_and(|last| last == entry) {
            return;
        }
        let draft = self.entries.len();
        if let Some(text) = self.edits.remove(&draft) {
            self.edits.insert(draft + 1, text);
        }
        if self.index == draft {
            self.index += 1;
        }
        self.entries.push(entry.to_owned());
    }

    /// The previous entry; `current` is the current input.
    pub(super) fn older(&mut self, current: &str) -> Option<String> {
        self.walk(self.index.checked_sub(1)?, current)
    }

    /// The next entry, or the draft.
    pub(super) fn newer(&mut self, current: &str) -> Option<String> {
        self.walk(self.index + 1, current)
    }

    fn walk(&mut self, to: usize, current: &str) -> Option<String> {
        if to > self.entries.len() {
            return None;
        }
        if self.shown(self.index) != current {
            self.edits.insert(self.index, current.to_owned());
        }
        self.index = to;
        Some(self.shown(to).to_owned())
    }

    fn shown(&self, index: usize) -> &str {
        let entry = || self.entries.get(index).map_or("", String::as_str);
        self.edits.get(&index).map_or_else(entry, String::as_str)
    }

    /// Ends the walk: the input was sent or cleared.
    pub(super) fn end_walk(&mut self) {
        self.index = self.entries.len();
        self.edits.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> History {
        let mut history = History::default();
        history.set(["one", "two", "three"].map(str::to_owned).to_vec());
        history
    }

    #[test]
    fn the_draft_is_restored() {
        let mut history = three();
        assert_eq!(history.older("draft").as_deref(), Some("three"));
        assert_eq!(history.older("three").as_deref(), Some("two"));
        assert_eq!(history.newer("two").as_deref(), Some("three"));
        assert_eq!(history.newer("three").as_deref(), Some("draft"));
        assert_eq!(history.newer("draft"), None);
    }

    #[test]
    fn an_edited_entry_keeps_its_edit_until_submit() {
        let mut history = three();
        history.older("");
        assert_eq!(history.older("three!").as_deref(), Some("two"));
        assert_eq!(history.newer("two").as_deref(), Some("three!"));
        history.end_walk();
        assert_eq!(history.older("").as_deref(), Some("three"));
    }

    #[test]
    fn the_walk_ends_at_the_oldest() {
        let mut history = three();
        for _ in 0..3 {
            history.older("");
        }
        assert_eq!(history.older("one"), None);
    }

    #[test]
    fn blank_and_repeated_entries_are_skipped() {
        let mut history = three();
        history.older("draft");
        history.push(" \n");
        history.push("three");
        history.push("four");
        assert_eq!(history.entries().len(), 4);
        history.newer("three");
        assert_eq!(history.newer("four").as_deref(), Some("draft"));
    }
}
