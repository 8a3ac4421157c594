//! Documents of the project above: copied before the first phase, so that children can read what their work must agree with. Nobody here changes them:
//! the fence refuses to write below their folder.

use std::path::Path;

use super::{Run, worktree};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::paths::PROJECT_UPSTREAM;

/// Documents that are copied when they are there.
const NAMES: [&str; 8] = [
    "MARVIN_API_SPEC.md",
    "MARVIN_SPEC.md",
    "MARVIN_DESIGN.md",
    "TOOLS.md",
    "SHARP_EDGES.md",
    "REFERENCE.md",
    "WEB_SPEC.md",
    "WEB_DESIGN.md",
];
/// Every folder may have one of these, so it is copied only from a project: a folder with another document or a repository.
const README: &str = "README.md";
/// Largest document in bytes.
const CAP: u64 = 5 << 20;

/// Copies the documents of the folder above the project, and of the program's, into `.marvin/upstream`: those that are new or newer than their copy. One
/// that cannot be read is told and left out.
///
/// # Errors
/// A copy cannot be written.
pub(crate) fn copy(run: &Run) -> Outcome<()> {
    // In a worktree, the one above the folder from which it was made.
    let origin = worktree::record::of(&run.root).map(|record| record.origin);
    let project = origin.as_deref().unwrap_or(run.root.path());
    let folders = [project.parent(), run.program.parent()];
    for folder in folders.into_iter().flatten() {
        for name in documents(folder) {
            copy_one(run, &folder.join(name), name)?;
        }
    }
    Ok(())
}

fn documents(folder: &Path) -> Vec<&'static str> {
    let mut found: Vec<&str> = NAMES
        .into_iter()
        .filter(|name| folder.join(name).is_file())
        .collect();
    let is_project = !found.is_empty() || folder.join(".git").exists();
    if is_project && folder.join(README).is_file() {
        found.push(README);
    }
    found
}

fn copy_one(run: &Run, from: &Path, name: &str) -> Outcome<()> {
    let folder = run.root.path().join(PROJECT_UPSTREAM);
    atomic::make_folder(&folder, Access::Private)?;
    let to = folder.join(name);
    let is_link = to.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let is_inside = folder
        .canonicalize()
        .is_ok_and(|folder| folder.starts_with(run.root.path()));
    if is_link || !is_inside {
        return Err(Problem::refused(format!(
            "{PROJECT_UPSTREAM} leads out of the project through a symbolic link."
        ))
        .next("Remove the link."));
    }
    let age = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    if to.exists() && age(&to) >= age(from) {
        return Ok(());
    }
    match open::text(from, CAP) {
        Ok(text) => atomic::write(&to, text.as_bytes(), Access::Private),
        Err(error) => {
            run.warn(format!("{} is not copied: {error}.", from.display()));
            Ok(())
        }
    }
}
