//! The text with its cursor: edits, motions, undo.
//!
//! One string: an edit in a text of megabytes is a memmove of less than a millisecond, and nothing else grows with the text ([`super::layout`]).
//! The cursor is always between two grapheme clusters.

use std::ops::Range;

use super::layout;
use super::undo::{EditMerge, UndoLog};

/// The text, the cursor and the undo log.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    text: String,
    cursor: usize,
    log: UndoLog,
}

impl Buffer {
    /// A buffer with this text and no undo steps, cursor at the end.
    pub(super) fn of(text: String) -> Self {
        Self {
            cursor: text.len(),
            text,
            log: UndoLog::default(),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The cursor, as a byte offset.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The text in `range`; empty for a range that cuts a character.
    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Moves the cursor to the grapheme at or after `offset`. Returns whether it moved.
    pub(super) fn go(&mut self, offset: usize) -> bool {
        let offset = layout::settle(&self.text, offset);
        self.log.seal();
        std::mem::replace(&mut self.cursor, offset) != offset
    }

    /// Replaces `range` by `new` and puts the cursor after it. Returns whether anything changed.
    pub(super) fn replace(&mut self, range: Range<usize>, new: &str, merge: EditMerge) -> bool {
        let Some(old) = self.text.get(range.clone()) else {
            return false;
        };
        let changes = old != new;
        if changes {
            self.log.note(range.clone(), old, new, self.cursor, merge);
            self.set(range, new);
        }
        changes
    }

    /// Like [`Self::replace`] as an undo step of its own, even when nothing changes.
    pub(super) fn force(&mut self, range: Range<usize>, new: &str) {
        let Some(old) = self.text.get(range.clone()) else {
            return;
        };
        self.log
            .note(range.clone(), old, new, self.cursor, EditMerge::Whole);
        self.set(range, new);
    }

    pub(super) fn insert(&mut self, new: &str, merge: EditMerge) -> bool {
        self.replace(self.cursor..self.cursor, new, merge)
    }

    /// Undoes the last step.
    pub(super) fn undo(&mut self) -> bool {
        let Some(step) = self.log.undo().cloned() else {
            return false;
        };
        self.set(
            step.offset..step.offset + step.inserted.len(),
            &step.removed,
        );
        self.cursor = layout::settle(&self.text, step.cursor);
        true
    }

    /// Redoes the step that was undone last.
    pub(super) fn redo(&mut self) -> bool {
        let Some(step) = self.log.redo().cloned() else {
            return false;
        };
        self.set(
            step.offset..step.offset + step.removed.len(),
            &step.inserted,
        );
        true
    }

    /// Undoes the last step and forgets it.
    pub(super) fn revert(&mut self) {
        self.undo();
        self.log.forget_undone();
    }

    fn set(&mut self, range: Range<usize>, new: &str) {
        let end = range.start + new.len();
        self.text.replace_range(range, new);
        self.cursor = layout::settle(&self.text, end);
    }

    /// The position before the grapheme left of the cursor.
    pub(super) fn left(&self) -> usize {
        layout::previous(&self.text, self.cursor)
    }

    /// The position after the grapheme at the cursor.
    pub(super) fn right(&self) -> usize {
        layout::next(&self.text, self.cursor)
    }

    /// The line of the cursor, without its newline.
    pub(super) fn line(&self) -> Range<usize> {
        layout::line_start(&self.text, self.cursor)..layout::line_end(&self.text, self.cursor)
    }

    /// Where the word at or before the cursor begins.
    pub(super) fn word_left(&self) -> usize {
        let before = self.slice(0..self.cursor);
        let word = before.trim_end_matches(|c| !is_letter(c));
        let start = word.trim_end_matches(|c| is_letter(c) || is_mark(c)).len();
        // A combining mark there would attach to the text before the word.
        let marked = self.slice(start..self.cursor);
        self.cursor - marked.trim_start_matches(is_mark).len()
    }

    /// Where the word at or after the cursor ends.
    pub(super) fn word_right(&self) -> usize {
        let after = self.slice(self.cursor..self.text.len());
        let word = after.trim_start_matches(|c| !is_letter(c));
        let rest = word.trim_start_matches(|c| is_letter(c) || is_mark(c));
        self.text.len() - rest.len()
    }

    /// The position after the blank before the cursor.
    pub(super) fn blank_left(&self) -> usize {
        let before = self.slice(0..self.cursor);
        let word = before.trim_end_matches(char::is_whitespace);
        word.trim_end_matches(|c: char| !c.is_whitespace()).len()
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_mark(c: char) -> bool {
    !is_letter(c) && unicode_width::UnicodeWidthChar::width(c) == Some(0)
}
