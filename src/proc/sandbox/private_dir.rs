//! The private folder for temporary files of this process's sandboxed commands.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::base::problem::{Outcome, Problem};

static DIR: Mutex<Option<(TempDir, PathBuf)>> = Mutex::new(None);

/// Its real path; it is made when it is first needed, and again when a command has removed or replaced it.
pub(super) fn path() -> Outcome<PathBuf> {
    let mut dir = DIR.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, path)) = &*dir
        && path.symlink_metadata().is_ok_and(|found| found.is_dir())
    {
        return Ok(path.clone());
    }
    let failed = |error| {
        Problem::system(
            "Cannot make a folder for temporary files of commands",
            error,
        )
    };
    let made = tempfile::Builder::new()
        .prefix("marvin-sandbox-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(failed)?;
    let path = made.path().canonicalize().map_err(failed)?;
    *dir = Some((made, path.clone()));
    Ok(path)
}

/// Removes it with what is in it, before this process ends.
pub(crate) fn remove() {
    drop(DIR.lock().unwrap_or_else(PoisonError::into_inner).take());
}
