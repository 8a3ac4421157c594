//! The working tree of a run: who may work in it, and on which branch.
//!
//! A pipeline commits what lies in its tree. Several of them take part in the lock of one tree, each in a folder of its own; a review holds that of its
//! worktree alone. The lock lies in the folder of the repository, or of the linked worktree.

use std::path::PathBuf;
use std::time::Duration;

use super::{Run, worktree};
use crate::base::cancel::Cancel;
use crate::base::own_command;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::beneath::Root;
use crate::disk::lock::Lock;
use crate::proc::git::{Git, repository};

/// What the lock is of; the lock file has `.lock` at its end.
const LOCKED: &str = "marvin-run";
/// Who has it has it for hours, so waiting is no use.
const LOCK_WAIT: Duration = Duration::from_millis(300);

fn lock_path(root: &Root) -> Outcome<Option<PathBuf>> {
    let repository = repository::find(root.path())?;
    Ok(repository.map(|repository| repository.git().join(LOCKED)))
}

/// Takes part in the lock, for a pipeline; `None` without a repository.
///
/// # Errors
/// A review is running in the working tree.
pub(crate) fn share(root: &Root) -> Outcome<Option<Lock>> {
    let Some(path) = lock_path(root)? else {
        return Ok(None);
    };
    Lock::share(&path)
        .map(Some)
        .map_err(|problem| match problem.kind {
            ProblemKind::Limit => Problem::refused(
                "A review is running in this working tree, on a branch of its own.",
            )
            .next("Start again when it has ended; review_status tells how far it is."),
            _ => problem,
        })
}

/// Holds the lock alone, for a review or a merge.
///
/// # Errors
/// A pipeline or another review is running in the working tree; there is no repository.
pub(crate) fn hold(root: &Root, stop: &Cancel) -> Outcome<Option<Lock>> {
    let Some(path) = lock_path(root)? else {
        return Ok(None);
    };
    let held = Lock::take(&path, LOCK_WAIT, stop);
    held.map(Some).map_err(|problem| match problem.kind {
        ProblemKind::Limit => Problem::refused(
            "A pipeline or a review is running in this working tree, and it changes its files.",
        )
        .next(format!(
            "Start again when it has ended. How far a pipeline is: {}; a review: review_status",
            own_command::about(root.path(), &["pipeline", "status"])
        )),
        _ => problem,
    })
}

/// Makes sure that the branch of the run is checked out still.
///
/// # Errors
/// Another one is: what is committed there would be on the wrong branch.
pub(crate) fn check_branch(run: &Run, git: &Git<'_>) -> Outcome<()> {
    if run.branch.is_empty() {
        return Ok(());
    }
    match git.off_branch(&run.branch)? {
        None => Ok(()),
        Some((why, back)) => {
            let problem = Problem::refused(format!("{why} Nothing was committed.")).next(back);
            // A worktree stays on its branch.
            Err(match worktree::record::of(run.root()) {
                Some(_) => problem,
                None => problem.next("Or name another branch for the run: --branch NAME"),
            })
        }
    }
}
