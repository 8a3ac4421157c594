//! Removes a worktree and its branch: never while somebody works there, and work that is nowhere else only when the user says so.

use std::fs;

use super::instructions;
use super::record::{self, WorktreeRecord};
use super::state::{UserTree, WorkState, WorktreeStatus};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{counted, escape_controls, plural};
use crate::disk::paths::PROJECT_FOLDER;
use crate::pipeline::repository::is_users;
use crate::proc::git::Git;

/// The most files that a message names.
const NAMED: usize = 10;

/// Removes it; returns what to say.
///
/// # Errors
/// Somebody works there; something would be lost and `force` does not say that it may be; git failed.
pub(crate) fn remove(tree: &UserTree<'_>, status: &WorktreeStatus, force: bool) -> Outcome<String> {
    refuse_running(status)?;
    let name = &status.record.name;
    let again = status
        .record
        .command(&["worktrees", "--remove", name, "--force"]);
    let again = format!("To remove it all the same: {again}");
    if !status.uncommitted.is_empty() && !force {
        return Err(Problem::refused(format!(
            "{} in {} that {} not committed would be lost.",
            plural(status.uncommitted.len(), "changed file"),
            shown(status),
            if status.uncommitted.len() == 1 {
                "is"
            } else {
                "are"
            },
        ))
        .facts(names(&status.uncommitted))
        .next(again));
    }
    if status.unmerged > 0 && !force {
        return Err(Problem::refused(format!(
            "{} of the branch {} would be lost: they are in no other branch.",
            counted(status.unmerged, "commit"),
            status.record.branch
        ))
        .next(format!(
            "To have them first: {}",
            status.record.command(&["merge", name])
        ))
        .next(again));
    }
    let _lock = record::lock(tree.git.common(), tree.stop)?;
    clear(tree, status, true)
}

/// Removes a worktree of which a run was refused before it began; returns what to say. One that holds work stays: a commit, or files of the user.
///
/// # Errors
/// Another run works there meanwhile; git failed.
pub(crate) fn unmake(record: &WorktreeRecord, env: &Env) -> Outcome<Option<String>> {
    let stop = Cancel::new();
    let tree = UserTree::open(&record.origin, env, &stop)?;
    let status = tree.named(Some(&record.name))?;
    let has_commits = status.tip.as_ref().is_some_and(|tip| *tip != record.base);
    if has_commits || status.uncommitted.iter().any(|path| is_users(path)) {
        return Ok(None);
    }
    remove(&tree, &status, true).map(Some)
}

/// Removes folder, record and, if it is to go, the branch; returns what to say.
pub(super) fn clear(
    tree: &UserTree<'_>,
    status: &WorktreeStatus,
    with_branch: bool,
) -> Outcome<String> {
    let record = &status.record;
    let common = tree.git.common();
    let ignored = match record.is_there(common) {
        true => ignored(tree, status),
        false => Vec::new(),
    };
    if record.is_there(common) || record.path.symlink_metadata().is_err() {
        tree.git.remove_worktree(&record.path)?;
    }
    if let Some(above) = record.path.parent() {
        // Only when it is empty.
        let _ = fs::remove_dir(above);
    }
    instructions::remove(&tree.paths, &record.root());
    let mut words = format!("Removed the worktree {}.", record.name);
    if record.path.symlink_metadata().is_ok() {
        words = format!(
            "{} stays: it is no worktree of this repository any more.",
            shown(status)
        );
    }
    if !ignored.is_empty() {
        words.push_str(&format!(
            " What git ignores there went with it: {}.",
            listed(&ignored)
        ));
    }
    if let Some(tip) = status.tip.as_deref().filter(|_| with_branch) {
        tree.git.delete_branch(&record.branch, tip)?;
        words.push_str(&format!(
            " Its branch {} is deleted; \"git branch {} {tip}\" brings it back.",
            record.branch, record.branch
        ));
    }
    record.forget(common)?;
    Ok(words)
}

/// What is in no commit and goes with the folder, beside what Marvin keeps there itself.
fn ignored(tree: &UserTree<'_>, status: &WorktreeStatus) -> Vec<String> {
    let found = Git::open(&status.record.path, tree.env, tree.stop).and_then(|git| git.ignored());
    let mut found = found.unwrap_or_default();
    found.retain(|path| path.split('/').all(|part| part != PROJECT_FOLDER));
    found
}

/// Paths in a sentence.
fn listed(paths: &[String]) -> String {
    let named = paths.iter().take(NAMED).map(|path| escape_controls(path));
    let named = named.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// # Errors
/// Somebody works in the worktree.
pub(super) fn refuse_running(status: &WorktreeStatus) -> Outcome<()> {
    let WorkState::Running(pid) = status.state else {
        return Ok(());
    };
    let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    Err(
        Problem::refused(format!("{} is at work{process}.", status.record.name)).next(format!(
            "Wait until it has ended, or stop it. How far it is: {}",
            status.record.command(&["status"])
        )),
    )
}

/// The folder, for a message.
pub(super) fn shown(status: &WorktreeStatus) -> String {
    escape_controls(&status.record.path.to_string_lossy())
}

/// Paths as the facts of a problem.
pub(crate) fn names(paths: &[String]) -> String {
    let mut named: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("  {}", escape_controls(path)))
        .collect();
    if paths.len() > NAMED {
        named.push(format!("  and {} more", paths.len() - NAMED));
    }
    named.join("\n")
}
