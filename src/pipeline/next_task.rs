//! A task for a project whose last run is done, or came to nothing: what that run left is set aside with a name, and the state begins again.

use super::Run;
use super::places::RunPlaces;
use super::record::RunRecord;
use super::review::history::History;
use crate::base::problem::Outcome;
use crate::disk::beneath::{DirEntry, Root};
use crate::disk::paths::PROJECT_FOLDER;

/// The folder of what earlier runs left, in Marvin's own; a folder for each by its ticket.
const EARLIER: &str = "earlier";
/// Largest file in bytes that is set aside.
const CAP: u64 = 64 << 20;

/// Whether `task` is another one than that of the last run, and that one is done, or failed before its first phase was: `recorded` is its state.
pub(crate) fn begins(task: &str, earlier: Option<&RunRecord>, recorded: Option<&str>) -> bool {
    earlier.is_some_and(|earlier| {
        let has_failed = recorded.is_none() && earlier.working.is_empty();
        (earlier.finished || has_failed) && earlier.task.trim() != task.trim()
    })
}

/// Moves the documents, unless they are to stay, the histories of reviews and the state of the run `earlier` into a folder of their own. Doing it again
/// after a kill moves the rest.
///
/// # Errors
/// A file cannot be moved.
pub(super) fn set_aside(run: &Run, earlier: &RunRecord, with_documents: bool) -> Outcome<()> {
    let root = run.root();
    let folder = folder(root, earlier)?;
    let mut moved = 0;
    let documents = run.places.documents();
    for path in left(&run.places)? {
        if !with_documents && documents.contains(&path) {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let from = root.check(&path)?;
        root.put(
            &root.check(&format!("{folder}/{name}"))?,
            &root.read(&from, CAP)?,
        )?;
        root.remove_file(&from)?;
        moved += 1;
    }
    // What was done inside of its last phase is no part of the next run.
    let phase = root.check(&run.places.log("phase.json"))?;
    if root.exists(&phase)? {
        root.remove_file(&phase)?;
    }
    if moved > 0 {
        let end = match earlier.finished {
            true => "is done",
            false => "failed in its first phase",
        };
        let documents = match with_documents {
            true => format!("the documents of the last one are in {folder}"),
            false => "it works from the documents that are here".to_owned(),
        };
        run.warn(format!(
            "The last task here {end}, so this one begins anew; {documents}."
        ));
    }
    Ok(())
}

/// The folder of the run `earlier`, also when a killed start has made it already.
fn folder(root: &Root, earlier: &RunRecord) -> Outcome<String> {
    let path = format!("{PROJECT_FOLDER}/{}", folder_name(earlier));
    root.make_folder(&root.check(&path)?)?;
    Ok(path)
}

/// Its path in Marvin's own folder.
pub(super) fn folder_name(earlier: &RunRecord) -> String {
    let plain: String = earlier
        .ticket
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(64)
        .collect();
    let name = if plain.is_empty() { "run" } else { &plain };
    format!("{EARLIER}/{name}")
}

/// Documents, task, state and histories of reviews that are there; the state last, because without it the documents would be written again.
pub(super) fn left(places: &RunPlaces) -> Outcome<Vec<String>> {
    let (root, folder) = (&places.root, places.folder());
    let entries = root.list(&root.check(&folder)?)?;
    let is_history = |entry: &&DirEntry| History::is_one(&entry.name);
    let histories = entries.iter().filter(is_history);
    let histories = histories.map(|entry| format!("{folder}/{}", entry.name));
    let mut paths: Vec<String> = places
        .documents()
        .into_iter()
        .chain(histories)
        .chain([places.task(), places.state()])
        .collect();
    paths.retain(|path| {
        root.check(path)
            .is_ok_and(|rel| root.exists(&rel).unwrap_or(false))
    });
    Ok(paths)
}
