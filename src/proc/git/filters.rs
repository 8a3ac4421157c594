//! Files with a configured filter, which does not run here.

use std::collections::BTreeSet;

use super::answer;
use super::launch::Launch;
use crate::base::problem::Outcome;
use crate::base::text::{escape_controls, plural};

/// Names that a note lists.
const SHOWN: usize = 5;

/// The files of `paths` (relative to where git runs) whose attributes name one of `filters`.
///
/// # Errors
/// git failed.
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
    // Path, attribute and value take turns.
    let mut turn = 0u8;
    let mut path = Vec::new();
    let done = launch.split(&args, Some(joined(paths)), &mut |piece| {
        match turn {
            0 => path = piece.to_owned(),
            2 if filters.contains(piece) => {
                found.insert(std::mem::take(&mut path));
            }
            _ => {}
        }
        turn = (turn + 1) % 3;
    })?;
    answer::said(&launch.dir, done)?;
    Ok(found)
}

/// Paths as git takes them on its standard input.
pub(super) fn joined(paths: &[Vec<u8>]) -> Vec<u8> {
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
        .take(SHOWN)
        .map(|path| escape_controls(&String::from_utf8_lossy(path)))
        .collect();
    let more = paths.len().saturating_sub(SHOWN);
    Some(if more == 0 {
        names.join(", ")
    } else {
        format!("{} and {} more", names.join(", "), plural(more, "file"))
    })
}
