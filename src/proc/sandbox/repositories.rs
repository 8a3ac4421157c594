//! Where else git would run something: repositories that lie in folders which commands may change, and programs there that git's configuration names.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::linked_worktree::pointer;
use super::noted_files::{NotedFiles, Role, Stamp, entries};
use crate::base::word_list::WordList;

/// What is looked at for repositories before the first command: an open folder costs as much as fifty entries. Before later ones only what has changed is.
const BEFORE: SearchLimits = SearchLimits {
    folders: MAX_FOLDERS,
    entries: 200_000,
    depth: 50,
    repositories: 1_000,
};
/// Most folders that are searched for repositories: each costs a question to the system around every command.
pub(super) const MAX_FOLDERS: usize = 10_000;
/// What is looked at of what a command has made.
const AFTER: SearchLimits = SearchLimits {
    folders: 20_000,
    entries: 200_000,
    depth: 50,
    repositories: 1_000,
};
/// Most files and folders that configurations name.
const MAX_NAMED: usize = 50;

/// Keys of git's configuration whose values are programs, folders of them, or further configuration; see git-config(1).
const KEYS: WordList = WordList(
    "hookspath fsmonitor sshcommand gitproxy pager editor askpass program command textconv clean smudge process driver helper attributesfile path",
);

/// Where repositories are, and the folders in which none was.
#[derive(Debug, Default)]
pub(super) struct RepositorySearch {
    /// The `.git` of repositories, and folders that are one by themselves: as paths in the workspace, or absolute in other folders. Not the `.git` of the
    /// workspace.
    pub found: Vec<PathBuf>,
    /// Every folder that was seen; those whose names were all read with what the system said of them.
    folders: BTreeMap<PathBuf, Option<Stamp>>,
    /// There was more than is looked at.
    pub is_cut: bool,
}

/// How much is looked at.
struct SearchLimits {
    folders: usize,
    entries: usize,
    depth: usize,
    repositories: usize,
}

impl RepositorySearch {
    /// Searches in `dir` and the folders `added`.
    pub(super) fn of(dir: &Path, added: &[PathBuf]) -> Self {
        let others = added.iter().filter(|other| !other.starts_with(dir));
        let tops = std::iter::once(PathBuf::new()).chain(others.cloned());
        let mut search = Self::default();
        search.run(dir, tops.collect(), BEFORE, &BTreeMap::new());
        search
    }

    /// The same later: only folders that have changed, and what is new in them, are read.
    pub(super) fn again(mut self, dir: &Path, added: &[PathBuf]) -> Self {
        // Of what comes and goes the names stay.
        if self.folders.len() > 2 * MAX_FOLDERS {
            return Self::of(dir, added);
        }
        let made = self.new_since(dir);
        self.folders.extend(made.folders);
        self.found.extend(made.found);
        self.found
            .retain(|path| fs::symlink_metadata(dir.join(path)).is_ok());
        self.is_cut |= made.is_cut;
        self
    }

    /// What a command has made since: only folders that changed, and what is new in them, are read.
    pub(super) fn new_since(&self, dir: &Path) -> Self {
        let is_changed = |folder: &Path, stamp: &Option<Stamp>| {
            let Some(stamp) = stamp else {
                return false;
            };
            let found = fs::symlink_metadata(dir.join(folder));
            let is_same = |now: Stamp| now == *stamp && stamp.is_settled;
            found.is_ok_and(|found| found.is_dir() && !is_same(Stamp::of(&found)))
        };
        let changed = self.folders.iter();
        let changed = changed.filter(|(folder, stamp)| is_changed(folder, stamp));
        let changed = changed.map(|(folder, _)| folder.clone()).collect();
        let mut search = Self::default();
        search.run(dir, changed, AFTER, &self.folders);
        search.found.retain(|path| !self.found.contains(path));
        search
    }

    /// Looks into `tops` and the folders in them that are not `known`.
    fn run(
        &mut self,
        dir: &Path,
        tops: Vec<PathBuf>,
        mut left: SearchLimits,
        known: &BTreeMap<PathBuf, Option<Stamp>>,
    ) {
        let mut folders: VecDeque<_> = tops.into_iter().map(|top| (top, 0)).collect();
        while let Some((folder, depth)) = folders.pop_front() {
            if left.folders == 0 || left.entries == 0 || self.found.len() >= left.repositories {
                self.is_cut = true;
                break;
            }
            left.folders -= 1;
            let place = dir.join(&folder);
            // Before the names: what comes later is seen by the next look.
            let stamp = fs::symlink_metadata(&place).map(|found| Stamp::of(&found));
            let listing = Listing::of(&place, &mut left.entries);
            let git = folder.join(".git");
            if listing.has_git && git != Path::new(".git") {
                self.found.push(git);
            }
            if listing.is_repository {
                self.found.push(folder.clone());
                continue;
            }
            let is_too_deep = depth >= left.depth && !listing.folders.is_empty();
            self.is_cut |= listing.is_cut || is_too_deep;
            for name in listing.folders {
                let below = folder.join(name);
                if known.contains_key(&below) {
                    continue;
                }
                self.folders.insert(below.clone(), None);
                if !is_too_deep {
                    folders.push_back((below, depth + 1));
                }
            }
            let stamp = stamp.ok().filter(|_| !listing.is_cut);
            self.folders.insert(folder, stamp);
        }
    }
}

/// What a folder holds.
#[derive(Default)]
struct Listing {
    has_git: bool,
    /// It is a repository by itself; see gitrepository-layout(5).
    is_repository: bool,
    folders: Vec<OsString>,
    is_cut: bool,
}

impl Listing {
    fn of(place: &Path, left: &mut usize) -> Self {
        let mut listing = Self::default();
        let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
        let Ok(entries) = entries(place) else {
            // Its owner took away the right to list it, which git does not need.
            let has = |name| fs::symlink_metadata(place.join(name)).is_ok();
            return Self {
                has_git: has(".git"),
                is_repository: has("HEAD"),
                is_cut: true,
                folders: Vec::new(),
            };
        };
        for (name, kind) in entries {
            if *left == 0 {
                listing.is_cut = true;
                break;
            }
            *left -= 1;
            match name.as_encoded_bytes() {
                b".git" => {
                    listing.has_git = true;
                    continue;
                }
                b"HEAD" => head = true,
                b"objects" => objects = true,
                b"refs" => refs = true,
                b"commondir" => common = true,
                _ => {}
            }
            if kind.is_dir() {
                listing.folders.push(name);
            }
        }
        listing.is_repository = head && (common || (objects && refs));
        listing
    }
}

/// The repository to which the `.git` at `path` leads, if it is no folder: as a path in `dir`, or absolute in one of `added`. An error when it leads elsewhere.
pub(super) fn led_to(dir: &Path, added: &[PathBuf], path: &Path) -> Result<PathBuf, Elsewhere> {
    let place = dir.join(path);
    let target = match pointer(&place) {
        Some(text) => {
            let named = text.strip_prefix("gitdir:").map(str::trim);
            let top = place.parent().ok_or(Elsewhere)?;
            top.join(named.ok_or(Elsewhere)?)
        }
        None => place,
    };
    let target = target.canonicalize().map_err(|_| Elsewhere)?;
    if !target.is_dir() {
        return Err(Elsewhere);
    }
    if let Ok(inside) = target.strip_prefix(dir) {
        return Ok(inside.to_owned());
    }
    let is_added = added.iter().any(|folder| target.starts_with(folder));
    is_added.then_some(target).ok_or(Elsewhere)
}

/// A repository that is not watched, or none.
pub(super) struct Elsewhere;

/// Files and folders in `dir` that the configurations among `noted` name, those of the user's own, which are absolute, as seen from the top of the workspace.
/// Where nothing is yet, something may be made.
pub(super) fn named_by(noted: &NotedFiles, of_user: &NotedFiles, dir: &Path) -> Vec<PathBuf> {
    let mut named = BTreeSet::new();
    let own = noted.iter().map(|(path, file)| (path.as_path(), file));
    let of_user = of_user
        .values()
        .map(|file| (Path::new(".git/config"), file));
    for (path, file) in own.chain(of_user) {
        let repository = path.parent().unwrap_or(Path::new(""));
        let top = repository.parent().unwrap_or(Path::new(""));
        let Some(bytes) = &file.bytes else {
            continue;
        };
        if file.role == Role::Whole && path.ends_with("hooks") {
            // A link to the folder of hooks.
            let leads_to = Path::new(OsStr::from_bytes(bytes));
            named.extend(beneath(dir, &repository.join(leads_to)));
        }
        if file.role != Role::Config {
            continue;
        }
        let text = String::from_utf8_lossy(bytes);
        for (key, word) in text.lines().filter_map(first_word) {
            // From the top of the working tree, and as an included file from that of the configuration.
            for base in [top, repository] {
                let Some(path) = beneath(dir, &base.join(word)) else {
                    continue;
                };
                let is_path = word.contains('/') || key == "hookspath";
                let is_there = || fs::symlink_metadata(dir.join(&path)).is_ok();
                if named.len() < MAX_NAMED && (is_path || is_there()) {
                    named.insert(path);
                }
            }
        }
    }
    named.into_iter().collect()
}

/// The key, and the first word of a value that git would run or read.
fn first_word(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once('=')?;
    // A section may stand on the same line.
    let key = key.rsplit(']').next()?.trim().to_ascii_lowercase();
    let value = value.trim().trim_start_matches(['"', '!']);
    let word = value.split([' ', '\t', '"', ';', '#']).next()?;
    (KEYS.has(&key) && !word.is_empty()).then_some((key, word))
}

/// `path` without `.` and `..`, in `dir` and not `dir` itself.
pub(super) fn beneath(dir: &Path, path: &Path) -> Option<PathBuf> {
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
