//! The input line: several lines of text, edited.

pub mod complete;
pub mod view;

use crate::ui::keys::Action;
use complete::Sources;
use view::View;

/// What an action did to the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to see.
    Nothing,
    /// Text, cursor, search or menu changed: draw again.
    Changed,
    /// The input was sent and is empty now.
    Submit(String),
    /// Not the editor's: the interface decides.
    Pass(Action),
}

/// A running history search, for the prompt line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searching<'a> {
    /// What was typed.
    pub query: &'a str,
    /// Whether nothing (more) was found.
    pub failed: bool,
}

/// The multi-line input.
#[derive(Default)]
pub struct Editor {}

impl Editor {
    /// An empty input.
    pub fn new() -> Self {
        Self::default()
    }
    /// Does what a key asked for.
    pub fn act(&mut self, _action: Action, _sources: &dyn Sources) -> Outcome {
        Outcome::Nothing
    }
    /// Inserts typed text at the cursor.
    pub fn insert(&mut self, _text: &str) {}
    /// Inserts pasted text at the cursor as one step.
    pub fn paste(&mut self, _text: &str) {}
    /// The whole text.
    pub fn text(&self) -> &str {
        ""
    }
    /// Replaces the text (undoable), cursor at its end.
    pub fn set_text(&mut self, _text: &str) {}
    /// Empties the input (undoable).
    pub fn clear(&mut self) {}
    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        true
    }
    /// Replaces the history, newest last.
    pub fn set_history(&mut self, _entries: Vec<String>) {}
    /// Adds the newest history entry.
    pub fn remember(&mut self, _entry: &str) {}
    /// The running history search.
    pub fn searching(&self) -> Option<Searching<'_>> {
        None
    }
    /// The open completion menu.
    pub fn menu(&self) -> Option<&complete::Menu> {
        None
    }
    /// The visible rows at `width` columns, at most `max_rows`.
    pub fn rows(&mut self, _width: usize, _max_rows: usize) -> View {
        View::default()
    }
}
