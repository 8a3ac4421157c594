//! Where else git would run something: repositories that lie in folders which commands may change, and programs there that git's configuration names.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::noted_files::{NotedFiles, names};
use crate::base::word_list::WordList;

/// Most entries of folders that are looked at for repositories.
const MAX_ENTRIES: usize = 2_000;
/// How deep they may lie.
const MAX_DEPTH: usize = 5;
/// Most repositories.
const MAX_REPOSITORIES: usize = 100;
/// Most files and folders that configurations name.
const MAX_NAMED: usize = 50;

/// Keys of git's configuration whose values are programs, folders of them, or further configuration; see git-config(1).
const KEYS: WordList = WordList(
    "hookspath fsmonitor sshcommand gitproxy pager editor askpass program command textconv clean smudge process driver helper attributesfile path",
);

/// The `.git` of repositories below `dir`, as paths in it, and of those in and below the folders `added`, absolute; not that of `dir` itself.
pub(super) fn nested(dir: &Path, added: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = MAX_ENTRIES;
    let others = added.iter().filter(|other| !other.starts_with(dir));
    let tops = std::iter::once(PathBuf::new()).chain(others.cloned());
    let mut folders: VecDeque<(PathBuf, usize)> = tops.map(|top| (top, 0)).collect();
    while let Some((folder, depth)) = folders.pop_front() {
        for name in names(&dir.join(&folder)) {
            if left == 0 || found.len() == MAX_REPOSITORIES {
                return found;
            }
            left -= 1;
            let path = folder.join(&name);
            if name == OsStr::new(".git") {
                if path != Path::new(".git") {
                    found.push(path);
                }
                continue;
            }
            let is_folder =
                || fs::symlink_metadata(dir.join(&path)).is_ok_and(|found| found.is_dir());
            if depth < MAX_DEPTH && is_folder() {
                folders.push_back((path, depth + 1));
            }
        }
    }
    found
}

/// Files and folders in `dir` that the configurations among `noted` name.
pub(super) fn named_by(noted: &NotedFiles, dir: &Path) -> Vec<PathBuf> {
    let mut named = BTreeSet::new();
    for (path, file) in noted {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let (true, Some(bytes)) = (name.starts_with("config"), &file.bytes) else {
            continue;
        };
        let repository = path.parent().unwrap_or(Path::new(""));
        let top = repository.parent().unwrap_or(Path::new(""));
        let text = String::from_utf8_lossy(bytes);
        for word in text.lines().filter_map(first_word) {
            // From the top of the working tree, and as an included file from that of the configuration.
            for base in [top, repository] {
                let Some(path) = beneath(dir, &base.join(word)) else {
                    continue;
                };
                if named.len() < MAX_NAMED && fs::symlink_metadata(dir.join(&path)).is_ok() {
                    named.insert(path);
                }
            }
        }
    }
    named.into_iter().collect()
}

/// The first word of a value that git would run or read.
fn first_word(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    // A section may stand on the same line.
    let key = key.rsplit(']').next()?.trim().to_ascii_lowercase();
    let value = value.trim().trim_start_matches(['"', '!']);
    let word = value.split([' ', '\t', '"', ';', '#']).next()?;
    (KEYS.has(&key) && !word.is_empty()).then_some(word)
}

/// `path` without `.` and `..`, in `dir` and not `dir` itself.
fn beneath(dir: &Path, path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for part in path.strip_prefix(dir).unwrap_or(path).components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !parts.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (parts.iter().next().is_some() && parts != Path::new(".git")).then_some(parts)
}
