//! The input: multi-line text, edited by the actions of the key table, independent of a terminal.
//!
//! `buffer` holds the text, `act` says what each action does to it, `layout` and `view` which rows are visible; beside it history, search, completion and the
//! menu of files. Called by the full screen, and by the plain lines for completion. It knows no session: candidates come from `complete::Sources`.

mod act;
mod buffer;
mod cells;
pub(crate) mod complete;
pub(crate) mod file_menu;
mod folded;
mod history;
mod kill;
mod layout;
mod menu;
pub(crate) mod paste;
mod search;
#[cfg(test)]
mod tests;
mod undo;
pub(crate) mod view;

use std::ops::Range;

use crate::ui::keys::{Action, KeyContext};
use buffer::Buffer;
use complete::Menu;
use file_menu::{FileMenu, Typing};
use folded::FoldedPastes;
use history::History;
use kill::KillRing;
use search::HistorySearch;
use undo::EditMerge;
use view::View;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing changed on screen.
    Nothing,
    /// Text, cursor, search or menu changed: draw again.
    Changed,
    /// The input was sent, and is empty now. [`Editor::remember`] puts it into the history.
    Submit(String),
    /// Not an editing action, or without effect here: the interface decides.
    Pass(Action),
}

/// A running history search, for the prompt line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Searching<'a> {
    pub query: &'a str,
    /// Whether there is no (further) match; the last one stays visible.
    pub failed: bool,
}

/// The multi-line input with its history, completion menu and search.
#[derive(Default)]
pub(crate) struct Editor {
    buffer: Buffer,
    folded: FoldedPastes,
    ring: KillRing,
    history: History,
    search: Option<HistorySearch>,
    menu: Option<Menu>,
    /// The menu of files, open while a name after `@` is typed.
    files: Option<FileMenu>,
    /// Where the name begins for which the user closed that menu.
    no_files: Option<usize>,
    /// The range inserted by the last yank; cleared by any other action.
    yanked: Option<Range<usize>>,
    /// The column that vertical motions aim for.
    goal: Option<usize>,
    /// The last key moved through the history: the next one continues there, whatever row the cursor is in.
    in_history: bool,
    /// The first visible byte, and the width it was laid out for.
    top: usize,
    width: usize,
}

impl Editor {
    /// An empty input without a history.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The whole text, also while a search shows something else.
    pub(crate) fn text(&self) -> &str {
        self.buffer.text()
    }

    /// The whole text, with folded pastes in full.
    pub(crate) fn whole_text(&self) -> String {
        self.folded.unfold(self.buffer.text()).into_owned()
    }

    /// A text that was sent, with the folded pastes as they were shown.
    pub(crate) fn labelled(&mut self, text: &str) -> String {
        self.folded.labelled(text).into_owned()
    }

    /// Inserts pasted text like [`Editor::paste`], folded if it is long.
    pub(crate) fn paste_folded(&mut self, text: &str) -> Outcome {
        let text = paste::clean(text);
        let cluster = match self.search {
            None => self.folded.fold(&text),
            Some(_) => None,
        };
        let Some(cluster) = cluster else {
            return self.paste(&text);
        };
        self.settle();
        self.menu = None;
        let outcome = changed(self.buffer.insert(&cluster, EditMerge::Whole));
        self.follow_files(Typing::No);
        outcome
    }

    /// Inserts the path of a file as the mention that attaches it, a word of its own. False, with nothing changed, where none can be.
    pub(crate) fn mention(&mut self, path: &str) -> bool {
        if self.search.is_some() || paste::clean(path) != path {
            return false;
        }
        let (before, after) = self
            .text()
            .split_at_checked(self.buffer.cursor())
            .unwrap_or_default();
        let Some(mention) = complete::mention_between(before, path, after) else {
            return false;
        };
        self.settle();
        self.menu = None;
        self.buffer.insert(&mention, EditMerge::Whole);
        self.follow_files(Typing::No);
        true
    }

    /// True when there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// Which rows of the key table apply now, apart from questions.
    pub(crate) fn key_context(&self) -> KeyContext {
        if self.is_empty() && self.search.is_none() {
            KeyContext::Empty
        } else {
            KeyContext::Typing
        }
    }

    /// Inserts typed text in whatever chunks the terminal delivers it: single characters extend the current undo step, longer text is a step of its own. During
    /// a search it goes to the query.
    pub(crate) fn insert(&mut self, text: &str) -> Outcome {
        let text = paste::clean(text);
        if let Some(search) = &mut self.search {
            let line = text.lines().next().unwrap_or_default();
            search.push(line, self.history.entries());
            return Outcome::Changed;
        }
        self.settle();
        let merge = if text.chars().nth(1).is_none() {
            EditMerge::Typed
        } else {
            EditMerge::Whole
        };
        self.menu = None;
        let outcome = changed(self.buffer.insert(&text, merge));
        self.follow_files(Typing::Yes);
        outcome
    }

    /// Inserts pasted text, cleaned by [`paste::clean`], as one step.
    pub(crate) fn paste(&mut self, text: &str) -> Outcome {
        if self.search.is_some() {
            return self.insert(text);
        }
        let text = paste::clean(text);
        self.settle();
        self.menu = None;
        let outcome = changed(self.buffer.insert(&text, EditMerge::Whole));
        self.follow_files(Typing::No);
        outcome
    }

    /// Replaces the text in one undo step and puts the cursor at its end: for text from an external editor or the queue.
    pub(crate) fn set_text(&mut self, text: &str) {
        self.settle();
        (self.menu, self.search) = (None, None);
        let all = 0..self.buffer.text().len();
        self.buffer.replace(
            all,
            &self.folded.refold(&paste::clean(text)),
            EditMerge::Whole,
        );
        self.follow_files(Typing::No);
    }

    /// Clears the input in one undo step, closes search and menu, and ends the walk through the history.
    pub(crate) fn clear(&mut self) {
        self.set_text("");
        self.history.end_walk();
    }

    /// Replaces the history, newest last; the draft stays.
    pub(crate) fn set_history(&mut self, entries: Vec<String>) {
        self.history.set(entries);
    }

    /// Adds the newest history entry, unless it is blank or the newest already.
    pub(crate) fn remember(&mut self, entry: &str) {
        self.history.push(entry);
    }

    /// The running history search; the rows show its match.
    pub(crate) fn searching(&self) -> Option<Searching<'_>> {
        self.search.as_ref().map(|search| Searching {
            query: search.query(),
            failed: search.failed(),
        })
    }

    /// The open completion menu.
    pub(crate) fn menu(&self) -> Option<&Menu> {
        self.menu.as_ref()
    }

    /// The visible rows at `width` columns, at most `max_rows`, without the prompt. The view scrolls no further than the cursor requires; vertical motions use
    /// the width of the last call.
    pub(crate) fn rows(&mut self, width: usize, max_rows: usize) -> View {
        self.width = width;
        let size = (width, max_rows);
        match self.search.as_ref().and_then(HistorySearch::found) {
            Some((found, at)) => view::view(found, layout::settle(found, at), &mut 0, size),
            None => view::view(
                self.buffer.text(),
                self.buffer.cursor(),
                &mut self.top,
                size,
            ),
        }
    }

    /// Clears the state that lasts only until the next key.
    fn settle(&mut self) {
        self.ring.seal();
        self.yanked = None;
        self.goal = None;
        self.in_history = false;
    }
}

fn changed(whether: bool) -> Outcome {
    if whether {
        Outcome::Changed
    } else {
        Outcome::Nothing
    }
}
