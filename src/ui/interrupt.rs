//! Ctrl-C in both interfaces: it cancels what is running. It quits only when nothing is running or queued and it is pressed twice in a row.

use std::time::{Duration, Instant};

use crate::app::session::Session;

/// A second Ctrl-C within this time quits.
const DOUBLE_PRESS: Duration = Duration::from_secs(2);

/// The exit status after two of them: 128 + SIGINT.
pub(super) const INTERRUPTED: u8 = 130;

/// The outcome of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptAction {
    /// Something was running and was cancelled, or messages that waited are back in the input.
    Stopped,
    /// Nothing is running: another press within two seconds quits.
    Idle,
    /// Quit now.
    Leave,
}

/// Remembers the last press.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    last: Option<Instant>,
}

impl Interrupts {
    /// Forgets the last press: its hint was not shown.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Until when another press quits.
    pub(super) fn end(&self) -> Option<Instant> {
        Some(self.last? + DOUBLE_PRESS)
    }

    /// Handles Ctrl-C. `draft` says that the input holds text, which is cleared before a press can quit.
    pub(super) fn press(&mut self, session: &mut Session, draft: bool) -> InterruptAction {
        let twice = self
            .last
            .replace(Instant::now())
            .is_some_and(|last_press| last_press.elapsed() < DOUBLE_PRESS);
        if session.cancel() {
            InterruptAction::Stopped
        } else if twice && !draft {
            InterruptAction::Leave
        } else {
            InterruptAction::Idle
        }
    }
}
