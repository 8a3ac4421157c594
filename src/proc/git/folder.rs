//! Checks the contents of a repository's own folder: files and folders, and no symlink that leads out of it. Through a symlink git would write elsewhere (an
//! archive may contain a `.git` whose `COMMIT_EDITMSG` is a symlink to a file of the user who unpacks it), and it quotes lines that it cannot parse: a
//! `packed-refs` that is a symlink discloses any file.
//!
//! Everything that git might read or write is checked; the few names that it does not use are listed. Object stores that a shared clone borrows from may be
//! anywhere: their objects are found by hash alone. Only their own lists of further stores are text again, and must be regular files in them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Component, Path, PathBuf};

use super::repository::Repository;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;

/// Entries of a repository's folder that the tools of this module never use: hooks and filters do not run, and git is not started in submodules.
const UNUSED: [&str; 4] = ["hooks", "lfs", "annex", "modules"];
/// Folders that are checked; all others belong to other programs.
const FOLDERS: [&str; 14] = [
    "branches",
    "info",
    "logs",
    // Records of worktrees that Marvin made.
    "marvin",
    "objects",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "reftable",
    "remotes",
    "rr-cache",
    "sequencer",
    "worktrees",
    "NOTES_MERGE_WORKTREE",
];
/// git never quotes patterns in messages, and people share this file by a link.
const PATTERNS: &str = "info/exclude";
/// Maximum depth of folders that is checked; branch names are not that long.
const MAX_DEPTH: u8 = 32;
/// Maximum object stores that a shared clone may borrow from, transitively.
const MAX_ALTERNATES: usize = 64;
/// Maximum size of a list of other repositories, which has a few lines.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// Refuses a repository whose folder contains something not allowed.
///
/// # Errors
/// `Refused`, with the symlink or file.
pub(super) fn check(repository: &Repository) -> Outcome<()> {
    let mut folders = vec![repository.git()];
    if repository.is_linked() {
        folders.push(repository.common());
    }
    for folder in &folders {
        check_one(folder, &[repository.git(), repository.common()])?;
    }
    check_alternates(&repository.common().join("objects"), &mut HashSet::new())
}

fn check_one(folder: &Path, inside: &[&Path]) -> Outcome<()> {
    for entry in fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
    {
        let name = entry.file_name();
        if UNUSED.iter().any(|unused| name == *unused) {
            continue;
        }
        let depth = if FOLDERS.iter().any(|known| name == *known) {
            MAX_DEPTH
        } else {
            0
        };
        if let Some(find_forbidden) = find_forbidden(&entry, folder, inside, depth) {
            return Err(refusal(&find_forbidden));
        }
    }
    Ok(())
}

/// The first forbidden entry at or below `entry`. Folders below `depth` are skipped, but those with a known name must not be nested deeper than that.
fn find_forbidden(
    entry: &fs::DirEntry,
    top: &Path,
    inside: &[&Path],
    depth: u8,
) -> Option<PathBuf> {
    // The kind is known without reading each file's metadata.
    let kind = entry.file_type().ok()?;
    if kind.is_file() || kind.is_socket() {
        return None;
    }
    let path = entry.path();
    if kind.is_symlink() {
        let patterns = path
            .strip_prefix(top)
            .is_ok_and(|rel| rel == Path::new(PATTERNS))
            && (path.is_file() || !path.exists());
        return (!patterns && !ends_inside(&path, inside)).then_some(path);
    }
    if !kind.is_dir() {
        return Some(path);
    }
    match depth {
        0 => None,
        1 => Some(path),
        _ => fs::read_dir(&path)
            .ok()?
            .filter_map(Result::ok)
            .find_map(|entry| find_forbidden(&entry, top, inside, depth - 1)),
    }
}

/// True when the symlink ends at a file inside the repository; a folder behind one would not be checked. The target of a dangling one, as `HEAD` may be, must
/// be inside as well.
fn ends_inside(link: &Path, inside: &[&Path]) -> bool {
    if let Ok(end) = link.canonicalize() {
        return end.is_file() && inside.iter().any(|folder| end.starts_with(folder));
    }
    fs::read_link(link).is_ok_and(|to| {
        to.components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && link
                .parent()
                .is_some_and(|dir| dir.join(&to).symlink_metadata().is_err())
    })
}

/// Checks the lists of the object folders that `objects` borrows from. Its own list has been checked already.
fn check_alternates(objects: &Path, seen: &mut HashSet<PathBuf>) -> Outcome<()> {
    let list = objects.join("info/alternates");
    let Ok(about) = fs::metadata(&list) else {
        return Ok(());
    };
    if !about.is_file() || about.len() > MAX_LIST_BYTES {
        return Err(refusal(&list));
    }
    let Ok(text) = fs::read(&list) else {
        // git cannot read it either.
        return Ok(());
    };
    for line in text.split(|byte| *byte == b'\n') {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        if seen.len() >= MAX_ALTERNATES || line.starts_with(b"\"") {
            return Err(Problem::refused(format!(
                "{} leads to other repositories in a way that is not followed ({}).",
                list.display(),
                escape_controls(&String::from_utf8_lossy(line))
            ))
            .next("\"git repack -a -d\" brings the objects here; the list can go then."));
        }
        let Ok(other) = objects.join(OsStr::from_bytes(line)).canonicalize() else {
            continue;
        };
        if !seen.insert(other.clone()) {
            continue;
        }
        for name in ["info", "info/alternates"] {
            let path = other.join(name);
            let is_link = path
                .symlink_metadata()
                .is_ok_and(|about| about.is_symlink());
            if is_link && !ends_inside(&path, &[&other]) {
                return Err(refusal(&path));
            }
        }
        check_alternates(&other, seen)?;
    }
    Ok(())
}

fn refusal(path: &Path) -> Problem {
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|about| about.is_symlink());
    if is_link {
        Problem::refused(format!(
            "{} is a link that leads out of the repository, or to a folder; git would read or write another file through it.",
            path.display()
        ))
        .next("Remove the link, or put the real file there.")
    } else {
        Problem::refused(format!(
            "{} does not belong into a repository: it is neither file nor folder, too large, or lies too deep.",
            path.display()
        ))
        .next("Move it away.")
    }
}
