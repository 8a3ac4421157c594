//! Files with a configured filter (git-lfs, git-crypt). Filters do not run here, whoever configured them: git-lfs posts to any address that the repository
//! names.
//!
//! So such files are checked out as stored, which the result says with their names, and a commit leaves them out and says so: staged unfiltered, a secret would
//! be stored in the clear and a huge file whole. `run_command` with git does both, with the user's approval.

use std::collections::BTreeSet;

use super::launch::Launch;
use super::output;
use crate::base::problem::Outcome;
use crate::base::text::{escape_controls, plural};

/// Maximum names that a note lists.
const MAX_LISTED: usize = 5;

/// The files of `paths` (relative to where git runs) whose attributes name one of `filters`.
pub(super) fn filtered(
    launch: &Launch<'_>,
    settings: &[std::ffi::OsString],
    filters: &BTreeSet<Vec<u8>>,
    paths: &[Vec<u8>],
) -> Outcome<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::new();
    if filters.is_empty() || paths.is_empty() {
        return Ok(found);
    }
    let args: Vec<std::ffi::OsString> = settings
        .iter()
        .cloned()
        .chain(["check-attr", "-z", "--stdin", "filter"].map(Into::into))
        .collect();
    // Path, attribute and value alternate.
    let mut column = 0u8;
    let mut path = Vec::new();
    let done = launch.split(&args, Some(nul_joined(paths)), &mut |chunk| {
        match column {
            0 => path = chunk.to_owned(),
            2 if filters.contains(chunk) => {
                found.insert(std::mem::take(&mut path));
            }
            _ => {}
        }
        column = (column + 1) % 3;
    })?;
    output::git_output(&launch.dir, done)?;
    Ok(found)
}

/// Paths in the form git reads on standard input.
pub(super) fn nul_joined(paths: &[Vec<u8>]) -> Vec<u8> {
    let mut all = Vec::new();
    for path in paths {
        all.extend_from_slice(path);
        all.push(0);
    }
    all
}

/// "a.bin, b.bin and 3 more"; `None` for an empty set.
pub(super) fn list(paths: &BTreeSet<Vec<u8>>) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let names: Vec<String> = paths
        .iter()
        .take(MAX_LISTED)
        .map(|path| escape_controls(&String::from_utf8_lossy(path)))
        .collect();
    let more = paths.len().saturating_sub(MAX_LISTED);
    Some(if more == 0 {
        names.join(", ")
    } else {
        format!("{} and {} more", names.join(", "), plural(more, "file"))
    })
}
