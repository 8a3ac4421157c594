//! How much file text may be read into the conversation.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters read from files since the user's last message or the last compaction: a guard for long runs, which forget more than they keep when they
/// read everything.
#[derive(Debug, Default)]
pub struct ReadBudget(Mutex<usize>);

/// From here on results are cut, with a warning.
pub(crate) const READ_WARN: usize = 200_000;
/// From here on whole files are refused and their text goes to a file; ranges can still be read.
pub(crate) const READ_STOP: usize = 300_000;
/// Longest range beyond [`READ_STOP`].
pub(crate) const MAX_RANGE_CHARS: usize = 20_000;

impl ReadBudget {
    /// The count, locked so that parallel reads share the budget exactly.
    pub fn lock(&self) -> MutexGuard<'_, usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts over: what was read before has been answered or is no longer in the conversation.
    pub fn reset(&self) {
        *self.lock() = 0;
    }
}
