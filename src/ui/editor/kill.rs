//! The kill ring: consecutive kills are one entry.

use std::collections::VecDeque;

/// Maximum number of entries.
const MAX_ENTRIES: usize = 16;

/// The side of the cursor from which text was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The entries, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct KillRing {
    entries: VecDeque<String>,
    growing: bool,
}

impl KillRing {
    /// Adds a kill; consecutive kills are joined.
    pub(super) fn kill(&mut self, text: &str, side: Side) {
        if text.is_empty() {
            return;
        }
        match self.entries.front_mut().filter(|_| self.growing) {
            Some(piece) => match side {
                Side::Before => piece.insert_str(0, text),
                Side::After => piece.push_str(text),
            },
            None => {
                self.entries.push_front(text.to_owned());
                self.entries.truncate(MAX_ENTRIES);
            }
        }
        self.growing = true;
    }

    /// Ends the current entry: the next kill starts a new one.
    pub(super) fn seal(&mut self) {
        self.growing = false;
    }

    /// The newest entry.
    pub(super) fn last(&self) -> Option<&str> {
        self.entries.front().map(String::as_str)
    }

    /// Rotates the ring: moves the newest entry to the end and returns the one before it.
    pub(super) fn rotate(&mut self) -> Option<&str> {
        if !self.entries.is_empty() {
            self.entries.rotate_left(1);
        }
        self.last()
    }
}
