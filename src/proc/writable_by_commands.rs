//! Folders that commands of a model may change: what Marvin starts by itself, outside the sandbox, is not looked for there. Folders such as `.venv/bin` and
//! `node_modules/.bin` are on many a search path.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Real paths; those of all sessions of this process.
static FOLDERS: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// Notes that commands may change what lies in `folders`, real paths.
pub(crate) fn note(folders: impl IntoIterator<Item = PathBuf>) {
    let mut noted = FOLDERS.write().unwrap_or_else(PoisonError::into_inner);
    for folder in folders {
        if !noted.contains(&folder) {
            noted.push(folder);
        }
    }
}

/// Whether commands may change `path`, or what it leads to.
pub(super) fn has(path: &Path) -> bool {
    let noted = FOLDERS.read().unwrap_or_else(PoisonError::into_inner);
    if noted.is_empty() {
        return false;
    }
    let lies_in = |path: &Path| noted.iter().any(|folder| path.starts_with(folder));
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let real = path.canonicalize().ok();
    [folder, real].iter().flatten().any(|path| lies_in(path))
}

/// `path`, a search path, without the folders that commands may change.
pub(super) fn without(path: &str) -> String {
    let entries = path.split(':');
    let kept = entries.filter(|entry| !has(Path::new(entry)));
    kept.collect::<Vec<_>>().join(":")
}
