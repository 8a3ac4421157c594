//! The runs of a project: the one in its folder, and those in worktrees of their own.

use std::time::Duration;

use super::status::{self, RunState, RunStatus};
use crate::base::problem::{Outcome, ProblemKind};
use crate::base::shared_sort::SharedSort as _;
use crate::disk::beneath::Root;
use crate::pipeline::record;
use crate::pipeline::worktree::record::{self as worktree_record, WorktreeKind, WorktreeRecord};
use crate::proc::git::repository;

/// The worktrees of runs that are there, the newest first.
fn worktrees(root: &Root) -> Vec<(WorktreeRecord, Root)> {
    let Ok(Some(found)) = repository::find(root.path()) else {
        return Vec::new();
    };
    let records = worktree_record::all(found.common()).into_iter().rev();
    records
        .filter(|record| record.kind == WorktreeKind::Run && record.root() != root.path())
        .filter(|record| record.is_there(found.common()))
        .filter_map(|record| {
            let root = Root::open(&record.root()).ok()?;
            Some((record, root))
        })
        .collect()
}

/// The status of every run of the project: those that run come first, then that of the folder itself, then the newest.
///
/// # Errors
/// There is none, or what is recorded cannot be read.
pub(crate) fn status(root: &Root, now: Duration) -> Outcome<RunStatus> {
    let mut found = Vec::new();
    let own = match status::status(root, now) {
        Err(problem) if problem.kind == ProblemKind::Missing => Some(problem),
        own => {
            found.push(own?);
            None
        }
    };
    for (record, root) in worktrees(root) {
        match status::status(&root, now) {
            // It was made, and its run has not begun.
            Err(problem) if problem.kind == ProblemKind::Missing => {}
            status => found.push(RunStatus {
                folder: Some(root.path().display().to_string()),
                branch: Some(record.branch),
                ..status?
            }),
        }
    }
    found.shared_sort_by_key(|status| match status.state {
        RunState::Running => 0,
        RunState::Done | RunState::Paused | RunState::Failed | RunState::Dead => 1,
        // A state that was merged or cloned along says nothing of a run here.
        RunState::Recorded => 2,
    });
    let mut found = found.into_iter();
    match (found.next(), own) {
        (Some(first), _) => Ok(RunStatus {
            others: found.collect(),
            ..first
        }),
        (None, Some(problem)) => Err(problem),
        (None, None) => Err(status::no_run(
            root,
            "No run of the pipeline is recorded in",
        )),
    }
}

/// The folder of the run that somebody in `root` means: one that runs, else the one in the folder itself, else the newest.
pub(crate) fn root_of_run(root: Root) -> Root {
    let mut found = worktrees(&root);
    if record::is_running(&root) {
        return root;
    }
    if let Some(at) = found.iter().position(|(_, root)| record::is_running(root)) {
        return found.swap_remove(at).1;
    }
    match (status::is_known(&root), found.into_iter().next()) {
        (false, Some((_, newest))) => newest,
        _ => root,
    }
}
