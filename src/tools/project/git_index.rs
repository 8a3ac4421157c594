//! Who stages and commits in a working tree: one Marvin at a time. Two of them would want git's own lock, and one would commit what the other has staged.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::lock::Lock;
use crate::proc::git::repository;

/// What is locked, in the folder of the repository or of the linked worktree, which has the index; the lock file has `.lock` at its end.
const LOCKED: &str = "marvin-index";
/// A commit takes seconds at most, in a large tree.
const LOCK_WAIT: Duration = Duration::from_secs(60);
/// How long git's own lock may be somebody else's; one that is left over stays, and git says so.
const FOREIGN_WAIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits until no other Marvin stages and commits in the working tree around `dir`, then a moment for a git of somebody else.
///
/// # Errors
/// Another Marvin takes too long; the caller was stopped; what is there cannot be a repository.
pub(crate) fn hold(dir: &Path, stop: &Cancel) -> Outcome<Option<Lock>> {
    let Some(repository) = repository::find(dir)? else {
        return Ok(None);
    };
    let git = repository.git();
    let lock = match Lock::take(&git.join(LOCKED), LOCK_WAIT, stop) {
        Ok(lock) => Some(lock),
        Err(problem) if matches!(problem.kind, ProblemKind::Limit | ProblemKind::Cancelled) => {
            return Err(problem);
        }
        // Where no file can be made, git says why better.
        Err(_) => None,
    };
    let until = Instant::now() + FOREIGN_WAIT;
    while git.join("index.lock").exists() && Instant::now() < until {
        if !stop.sleep(POLL_INTERVAL) {
            return Err(Problem::cancelled());
        }
    }
    Ok(lock)
}
