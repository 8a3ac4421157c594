//! What Ctrl-C does, in both faces: it stops what runs, and leaves only when nothing runs, nothing waits, and it was pressed twice
//! in a row.

use std::time::{Duration, Instant};

use crate::app::session::Session;

/// Within this time a second Ctrl-C leaves.
const TWICE: Duration = Duration::from_secs(2);

/// The exit status after two of them.
pub(super) const INTERRUPTED: u8 = 130;

/// What a press came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// Something ran, and was told to stop.
    Stopped,
    /// Nothing that could be stopped runs, but messages wait to be sent.
    Waiting,
    /// Nothing runs: one more within two seconds leaves.
    Idle,
    /// Time to leave.
    Leave,
}

/// Remembers the last press.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    last: Option<Instant>,
}

impl Interrupts {
    /// The last press does not count: nobody was told that one more leaves.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Ctrl-C was pressed. `draft` says that the input holds text, which is cleared before a press can leave.
    pub(super) fn press(&mut self, session: &mut Session, draft: bool) -> Pressed {
        let twice = self
            .last
            .replace(Instant::now())
            .is_some_and(|at| at.elapsed() < TWICE);
        if session.cancel() {
            Pressed::Stopped
        } else if session.queue().next().is_some() {
            Pressed::Waiting
        } else if twice && !draft {
            Pressed::Leave
        } else {
            Pressed::Idle
        }
    }
}
