//! The working tree of a run: who may work in it, and on which branch; a child that leaves that branch is led back.
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
use crate::proc::git::{Git, head, repository};
use crate::tools::project::git_index;

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

/// The repository in which a run works.
///
/// # Errors
/// Its folder or its worktree was removed.
pub(super) fn git(run: &Run) -> Outcome<Git<'_>> {
    if !run.root().path().is_dir() {
        return Err(Problem::missing(format!(
            "The folder of this run is gone: {}. Somebody removed it.",
            run.root().path().display()
        )));
    }
    Git::open(run.root().path(), &run.ctx.session.env, &run.ctx.stop).map_err(|problem| {
        match problem.kind {
            // It had one when the run began.
            ProblemKind::Missing if !run.branch.is_empty() => Problem::missing(format!(
                "{} is in no git repository any more: the worktree of this run was removed while it worked there.",
                run.root().path().display()
            ))
            .next("Move what is left in that folder away, then run the same command again: the worktree is made again from its branch."),
            _ => problem,
        }
    })
}

/// The commit at which the branch of the run is, before a child works that can leave it; `None` where that is not looked at.
///
/// # Errors
/// Another one is checked out: what the child would do is paid, and cannot be committed.
pub(crate) fn begin_child(run: &Run) -> Outcome<Option<String>> {
    if run.branch.is_empty() {
        return Ok(None);
    }
    if let Some(commit) = head::commit_on(run.root().path(), &run.branch) {
        return Ok(Some(commit));
    }
    let git = git(run)?;
    check_branch(run, &git)?;
    git.head_commit()
}

/// Checks the branch of the run out again if the child `label` left it, which was at the commit `before` when that began, and says so to whoever watches;
/// returns what the next child should know. Only in a worktree of the run's own: in the user's folder it may have been the user.
///
/// # Errors
/// It cannot be checked out again, or lacks the commit `before` now.
pub(crate) fn end_child(run: &Run, label: &str, before: Option<&str>) -> Outcome<Option<String>> {
    let Some(before) = before else {
        return Ok(None);
    };
    if head::commit_on(run.root().path(), &run.branch).is_some() {
        return Ok(None);
    }
    let record = worktree::record::of(run.root());
    let Some(record) = record.filter(|record| record.branch == run.branch) else {
        return Ok(None);
    };
    let git = Git::open(&record.path, &run.ctx.session.env, &run.ctx.stop)?;
    if git.off_branch(&run.branch)?.is_none() {
        return Ok(None);
    }
    let branch = &run.branch;
    let tip = git.branch_commit(branch)?;
    let (Some(tip), Some(here)) = (tip, git.head_commit()?) else {
        return check_branch(run, &git).map(|()| None);
    };
    if !git.is_ancestor(before, &tip)? {
        return check_branch(run, &git).map(|()| None);
    }
    let _index = git_index::hold(&record.path, &run.ctx.stop)?;
    let message = format!("Commits that {label} made beside the branch");
    if let Err(problem) = git.put_back(branch, &tip, &message) {
        run.warn(format!(
            "{label} left the branch {branch}. {}",
            problem.one_line()
        ));
        return check_branch(run, &git).map(|()| None);
    }
    let there = here.get(..12).unwrap_or(&here);
    run.warn(format!(
        "{label} left the branch {branch} and ended at the commit {there}. The branch is checked out again, with everything that it did."
    ));
    Ok(Some(format!(
        "It had left the branch {branch}, which is checked out again with everything that it did; stay on it."
    )))
}
