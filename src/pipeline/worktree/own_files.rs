//! Files of Marvin's own in a merge: two runs side by side have each their specification, and neither is a version of the other.

use super::state::{UserTree, WorktreeStatus};
use crate::base::problem::Outcome;
use crate::disk::beneath::Root;
use crate::disk::paths::PROJECT_FOLDER;
use crate::pipeline::next_task;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record as run_record;
use crate::proc::git::trees::Replacements;
use std::sync::Arc;

/// A merge without conflicts in such files.
pub(super) struct Settled {
    /// The tree.
    pub tree: String,
    /// The folder in which those are that were there before.
    pub earlier: String,
}

/// What comes out of the merge with the conflicts `paths` when the files of the run that is merged are taken, and those before it are set aside. `None` where
/// others conflict, too, the files are a feature's, of which there is one, or no other run has left any.
///
/// # Errors
/// git failed.
pub(super) fn settle(
    tree: &UserTree<'_>,
    status: &WorktreeStatus,
    (head, tip): (&str, &str),
    (merged, paths): (&str, &[String]),
) -> Outcome<Option<Settled>> {
    let record = &status.record;
    let folder = record.folder.to_string_lossy();
    let own = match folder.is_empty() {
        true => format!("{PROJECT_FOLDER}/"),
        false => format!("{folder}/{PROJECT_FOLDER}/"),
    };
    if !record.feature.is_empty() || !paths.iter().all(|path| path.starts_with(&own)) {
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
        tree.git.files_of(head, paths)?,
        tree.git.files_of(tip, paths)?,
    );
    let mut files = Replacements::new();
    for path in paths {
        let rest = path.strip_prefix(&own).unwrap_or(path);
        if let Some(entry) = ours.get(path) {
            files.insert(format!("{own}{name}/{rest}"), Some(entry.clone()));
        }
        files.insert(path.clone(), theirs.get(path).cloned());
    }
    Ok(Some(Settled {
        tree: tree.git.tree_with(merged, &files)?,
        earlier: format!("{own}{name}"),
    }))
}
