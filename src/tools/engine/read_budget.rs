//! How much of files may be read into the conversation.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of files that were read into the conversation since the user's last message or the last compaction: a guard for long
/// runs, which forget more than they keep when they read everything.
#[derive(Debug, Default)]
pub struct ReadBudget(Mutex<usize>);

/// From here a result is cut and a warning added.
pub(crate) const READ_WARN: usize = 200_000;
/// From here whole files are refused and their text goes to a file; ranges are still read.
pub(crate) const READ_STOP: usize = 300_000;
/// Longest range that is read beyond [`READ_STOP`].
pub(crate) const MAX_RANGE_CHARS: usize = 20_000;

impl ReadBudget {
    /// The count, locked so that parallel reads share the budget exactly.
    pub fn lock(&self) -> MutexGuard<'_, usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts anew: what was read before is answered, or no longer in the conversation.
    pub fn reset(&self) {
        *self.lock() = 0;
    }
}
