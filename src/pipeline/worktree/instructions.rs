//! The user's instructions for a project, which are kept by the path of its folder or beside its files without being tracked: a worktree gets a copy of them.

use std::path::Path;

use crate::base::open;
use crate::base::problem::Outcome;
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;

/// Largest file of instructions in bytes.
const CAP: u64 = 1 << 20;

/// Has what holds for `origin` hold for the worktree's folder `root`, unless it is there already.
///
/// # Errors
/// The copy cannot be written.
pub(super) fn copy(paths: &Paths, origin: &Path, root: &Path) -> Outcome<()> {
    let found = paths.instructions(origin).into_iter().find_map(|path| {
        let text = open::bytes(&path, CAP).ok()?;
        Some((path, text))
    });
    let Some((path, text)) = found else {
        return Ok(());
    };
    let tracked = path.strip_prefix(origin).map(|rel| root.join(rel));
    if tracked.is_ok_and(|path| path.exists()) {
        return Ok(());
    }
    let copy = paths.instructions_for(root)?;
    if let Some(dir) = copy.parent() {
        atomic::make_folder(dir, Access::Private)?;
    }
    atomic::write(&copy, &text, Access::Private)
}

/// Removes the copy.
pub(super) fn remove(paths: &Paths, root: &Path) {
    if let Ok(copy) = paths.instructions_for(root) {
        // Nobody has to know whether there was one.
        let _ = std::fs::remove_file(copy);
    }
}
