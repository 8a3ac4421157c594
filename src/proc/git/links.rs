//! Links in a repository's folder through which git would write elsewhere: an archive may hold a `.git` whose
//! `COMMIT_EDITMSG` is a link to a file of the person who unpacks it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::place::Place;
use crate::base::error::{Outcome, Problem};

/// What git writes when it commits or switches; folders with all that is in them. Hooks are not run and ignore lists not
/// written, so these may be links. A folder of objects only ever gets new files, which are named by their content.
const WRITTEN: [&str; 7] = [
    "HEAD",
    "ORIG_HEAD",
    "COMMIT_EDITMSG",
    "index",
    "packed-refs",
    "refs",
    "logs",
];
/// Folders in folders that are looked at; branch names are not that long.
const DEEPEST: u8 = 32;

/// Refuses a repository in which one of the files that git writes is a link to the outside.
///
/// # Errors
/// `Refused`, with the link.
pub(super) fn check(place: &Place) -> Outcome<()> {
    for folder in [place.git(), place.common()] {
        for name in WRITTEN {
            if let Some(link) = leaving(&folder.join(name), place, DEEPEST) {
                return Err(Problem::refused(format!(
                    "{} is a link that leads out of the repository; git would write through it.",
                    link.display()
                ))
                .next("Remove the link, or put the real file there."));
            }
        }
    }
    Ok(())
}

/// The first link at or below `path` that leads out.
fn leaving(path: &Path, place: &Place, depth: u8) -> Option<PathBuf> {
    let kind = path.symlink_metadata().ok()?.file_type();
    if kind.is_symlink() {
        return (!stays(path, place)).then(|| path.to_owned());
    }
    if !kind.is_dir() {
        return None;
    }
    if depth == 0 {
        return Some(path.to_owned());
    }
    let entries = fs::read_dir(path).ok()?.filter_map(Result::ok);
    // The kind is known without a look at each file.
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_file()))
        .find_map(|entry| leaving(&entry.path(), place, depth - 1))
}

/// True when the link ends inside the repository. One to nothing yet, as `HEAD` may be, must say so by itself.
fn stays(link: &Path, place: &Place) -> bool {
    if let Ok(end) = link.canonicalize() {
        return end.starts_with(place.git()) || end.starts_with(place.common());
    }
    fs::read_link(link).is_ok_and(|to| {
        to.components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && link
                .parent()
                .is_some_and(|dir| dir.join(&to).symlink_metadata().is_err())
    })
}
