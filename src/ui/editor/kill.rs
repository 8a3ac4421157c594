//! The kill ring: consecutive kills are one entry.

use std::collections::VecDeque;

/// Kills kept.
const PIECES: usize = 16;

/// On which side of the cursor the killed text stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The pieces, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct KillRing {
    pieces: VecDeque<String>,
    growing: bool,
}

impl KillRing {
    /// Adds a kill; consecutive kills are joined.
    pub(super) fn kill(&mut self, text: &str, side: Side) {
        if text.is_empty() {
            return;
        }
        match self.pieces.front_mut().filter(|_| self.growing) {
            Some(piece) => match side {
                Side::Before => piece.insert_str(0, text),
                Side::After => piece.push_str(text),
            },
            None => {
                self.pieces.push_front(text.to_owned());
                self.pieces.truncate(PIECES);
            }
        }
        self.growing = true;
    }

    /// The next kill begins a piece.
    pub(super) fn seal(&mut self) {
        self.growing = false;
    }

    /// The newest piece.
    pub(super) fn last(&self) -> Option<&str> {
        self.pieces.front().map(String::as_str)
    }

    /// Puts the newest piece behind the oldest and gives the one before.
    pub(super) fn turn(&mut self) -> Option<&str> {
        if !self.pieces.is_empty() {
            self.pieces.rotate_left(1);
        }
        self.last()
    }
}
