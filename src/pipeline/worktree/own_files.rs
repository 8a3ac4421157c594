//! Files of Marvin's own in a merge: two runs side by side have each their specification, and neither is a version of the other.

use super::state::{UserTree, WorktreeStatus};
use crate::base::problem::Outcome;
use crate::disk::beneath::Root;
use crate::disk::paths::PROJECT_FOLDER;
use crate::pipeline::next_task;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record as run_record;
use crate::proc::git::merge::MergeResult;
use crate::proc::git::trees::Replacements;
use std::sync::Arc;

/// What is merged in the place of the user's commit, so that such files are in nobody's way.
pub(super) struct Settled {
    /// The commit that follows it.
    pub commit: String,
    /// The folder in which those are that were there before.
    pub earlier: String,
}

/// Merges two commits, without such files in the way; nothing but new objects is written.
///
/// # Errors
/// git failed.
pub(super) fn merge(
    tree: &UserTree<'_>,
    status: &WorktreeStatus,
    (head, tip): (&str, &str),
) -> Outcome<(MergeResult, Option<Settled>)> {
    let result = tree.git.merge_trees(head, tip)?;
    let MergeResult::Conflicts { paths } = &result else {
        return Ok((result, None));
    };
    match settle(tree, status, (head, tip), paths)? {
        Some(settled) => Ok((tree.git.merge_trees(&settled.commit, tip)?, Some(settled))),
        None => Ok((result, None)),
    }
}

/// Sets aside what lies at those of the conflicts `paths` that are such files, and puts that of the run that is merged in their place. `None` where there are
/// none, the files are a feature's, of which there is one, or no other run has left any.
///
/// # Errors
/// git failed.
fn settle(
    tree: &UserTree<'_>,
    status: &WorktreeStatus,
    (head, tip): (&str, &str),
    paths: &[String],
) -> Outcome<Option<Settled>> {
    let record = &status.record;
    let folder = record.folder.to_string_lossy();
    let own = match folder.is_empty() {
        true => format!("{PROJECT_FOLDER}/"),
        false => format!("{folder}/{PROJECT_FOLDER}/"),
    };
    let is_own = |path: &&String| path.starts_with(&own);
    let paths: Vec<String> = paths.iter().filter(is_own).cloned().collect();
    if !record.feature.is_empty() || paths.is_empty() {
        return Ok(None);
    }
    let here = Root::open(&tree.git.top()?.join(&record.folder))?;
    let before = run_record::known(&RunPlaces::of_project(Arc::new(here)))?;
    // Without another run they are the user's own.
    let Some(before) = before.filter(|before| before.task.trim() != record.task.trim()) else {
        return Ok(None);
    };
    let name = next_task::folder_name(&before);
    let (ours, theirs) = (
        tree.git.files_of(head, &paths)?,
        tree.git.files_of(tip, &paths)?,
    );
    let mut files = Replacements::new();
    for path in &paths {
        let rest = path.strip_prefix(&own).unwrap_or(path);
        if let Some(entry) = ours.get(path) {
            files.insert(format!("{own}{name}/{rest}"), Some(entry.clone()));
        }
        files.insert(path.clone(), theirs.get(path).cloned());
    }
    let earlier = format!("{own}{name}");
    let files = tree.git.tree_with(&tree.git.tree_of(head)?, &files)?;
    let message = format!(
        "Documents of the run before {}: to {earlier}",
        record.branch
    );
    Ok(Some(Settled {
        commit: tree.git.commit_tree(&files, &[head], &message)?,
        earlier,
    }))
}
