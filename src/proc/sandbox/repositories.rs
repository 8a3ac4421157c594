//! Where else git would run something: repositories that lie in folders which commands may change, and programs there that git's configuration names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::folders::{Lister, is_there};
use super::linked_worktree::pointer;
use super::noted_files::{NotedFiles, Role, Stamp};
use super::shared_work::map_shared;
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

/// Those of them whose values are no programs.
const FILES: WordList = WordList("hookspath attributesfile path");

/// Where repositories are, and the folders in which none was.
#[derive(Debug, Default)]
pub(super) struct RepositorySearch {
    /// The `.git` of repositories, and folders that are one by themselves: as paths in the workspace, or absolute in other folders. Not the `.git` of the
    /// workspace.
    pub found: Vec<PathBuf>,
    /// Every folder that was seen, its path as bytes, by which it comes before those in it; with what the system said of it unless that is never compared.
    folders: BTreeMap<OsString, Option<Stamp>>,
    /// There was more than is looked at.
    pub is_cut: bool,
    /// Folders whose rights were given back.
    pub given_back: Vec<PathBuf>,
    /// Folders that cannot be listed.
    pub closed: Vec<PathBuf>,
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
        search.run(dir, tops.collect(), BEFORE, &Self::default(), false);
        search
    }

    /// The same later: only folders that have changed, and what is new in them, are read.
    pub(super) fn again(mut self, dir: &Path, added: &[PathBuf]) -> Self {
        // Of what comes and goes the names stay.
        if self.folders.len() > 2 * MAX_FOLDERS {
            return Self::of(dir, added);
        }
        let made = self.looked_again(dir, false);
        self.folders.extend(made.folders);
        self.found.extend(made.found);
        self.found.retain(|path| is_there(&dir.join(path)));
        self.closed.extend(made.closed);
        self.is_cut |= made.is_cut;
        self
    }

    /// What a command has made since: only folders that changed, and what is new in them, are read. Rights that it took away are given back.
    pub(super) fn new_since(&self, dir: &Path) -> Self {
        self.looked_again(dir, true)
    }

    fn looked_again(&self, dir: &Path, gives_back: bool) -> Self {
        let known = self.folders.iter();
        let known: Vec<(&Path, &Stamp)> = known
            .filter_map(|(folder, stamp)| Some((Path::new(folder), stamp.as_ref()?)))
            .collect();
        let lister = Lister::new(dir);
        let look = |(folder, stamp): &(&Path, &Stamp)| {
            let found = match &lister {
                Ok(lister) => lister.look(folder),
                Err(_) => rustix::fs::lstat(dir.join(folder)),
            };
            Look::of(found, stamp)
        };
        let looks = map_shared(&known, &look);
        let mut search = Self::default();
        let mut changed = Vec::new();
        for (known, mut seen) in known.iter().zip(looks) {
            let folder = known.0;
            if seen == Look::Refused {
                // By now the folders around it can be entered.
                seen = look(known);
            }
            if matches!(seen, Look::Same | Look::Gone) {
                continue;
            }
            changed.push(folder.to_owned());
            if gives_back && let Ok(lister) = &lister {
                let opened = lister.open(folder, !self.closed.iter().any(|it| it == folder));
                let was_given_back = opened.is_ok_and(|it| it.is_some_and(|it| it.was_given_back));
                search
                    .given_back
                    .extend(was_given_back.then(|| folder.to_owned()));
            }
        }
        search.run(dir, changed, AFTER, self, gives_back);
        search.found.retain(|path| !self.found.contains(path));
        search.closed.retain(|path| !self.closed.contains(path));
        search
    }

    /// Looks into `tops` and the folders in them that are not `known`.
    fn run(
        &mut self,
        dir: &Path,
        tops: Vec<PathBuf>,
        mut left: SearchLimits,
        known: &Self,
        gives_back: bool,
    ) {
        let Ok(lister) = Lister::new(dir) else {
            let closed = tops.into_iter().filter(|top| is_there(&dir.join(top)));
            self.closed.extend(closed);
            return;
        };
        let entries = AtomicUsize::new(left.entries);
        let read = |folder: &PathBuf| {
            let gives_back = gives_back && !known.closed.contains(folder);
            let limit = entries.load(Ordering::Relaxed);
            let listing = Listing::of(&lister, (dir, folder), gives_back, limit);
            let seen = listing.entries.min(limit);
            let _ = entries.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(seen))
            });
            listing
        };
        let mut level: Vec<PathBuf> = tops;
        let mut depth = 0;
        while !level.is_empty() {
            let unread = level.split_off(level.len().min(left.folders));
            left.folders -= level.len();
            let listings = map_shared(&level, &read);
            let mut below = Vec::new();
            for (folder, listing) in level.into_iter().zip(listings) {
                if self.found.len() >= left.repositories {
                    self.is_cut = true;
                    return;
                }
                if listing.was_given_back {
                    self.given_back.push(folder.clone());
                }
                if listing.is_closed {
                    self.closed.push(folder.clone());
                }
                let git = folder.join(".git");
                if listing.has_git && git != Path::new(".git") {
                    self.found.push(git);
                }
                if listing.is_repository {
                    self.found.push(folder);
                    continue;
                }
                let is_too_deep = depth >= left.depth && !listing.folders.is_empty();
                self.is_cut |= listing.is_cut || is_too_deep;
                for name in listing.folders {
                    let path = folder.join(name);
                    if known.folders.contains_key(path.as_os_str()) {
                        continue;
                    }
                    match is_too_deep {
                        true => drop(self.folders.insert(path.into(), None)),
                        false => below.push(path),
                    }
                }
                let stamp = listing.stamp.filter(|_| !listing.is_cut);
                self.folders.insert(folder.into(), stamp);
            }
            if !unread.is_empty() || (entries.load(Ordering::Relaxed) == 0 && !below.is_empty()) {
                self.is_cut = true;
                let unread = unread.into_iter().chain(below);
                self.folders
                    .extend(unread.map(|folder| (folder.into(), None)));
                return;
            }
            level = below;
            depth += 1;
        }
    }
}

/// How a folder is, by what the system says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Same,
    Changed,
    /// There is none any more.
    Gone,
    /// It is not to be known.
    Refused,
}

impl Look {
    fn of(found: rustix::io::Result<Stat>, before: &Stamp) -> Self {
        match found {
            Ok(found) if !FileType::from_raw_mode(found.st_mode).is_dir() => Self::Gone,
            Ok(found) if Stamp::of_stat(&found) == *before && before.is_settled => Self::Same,
            Ok(_) => Self::Changed,
            Err(Errno::NOENT | Errno::NOTDIR) => Self::Gone,
            Err(_) => Self::Refused,
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
    entries: usize,
    is_cut: bool,
    /// It could not be listed.
    is_closed: bool,
    was_given_back: bool,
    stamp: Option<Stamp>,
}

impl Listing {
    fn of(lister: &Lister, (dir, folder): (&Path, &Path), gives_back: bool, limit: usize) -> Self {
        let opened = match lister.open(folder, gives_back) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Self::default(),
            Err(_) => return Self::of_closed(&dir.join(folder)),
        };
        let mut listing = Self {
            was_given_back: opened.was_given_back,
            // Before the names: what comes later is seen by the next look.
            stamp: Some(Stamp::of(&opened.found)),
            ..Self::default()
        };
        let (mut head, mut objects, mut refs, mut common) = (false, false, false, false);
        let done = opened.list(|name, kind| {
            if listing.entries >= limit {
                listing.is_cut = true;
                return ControlFlow::Break(());
            }
            listing.entries += 1;
            match name.as_bytes() {
                b".git" => {
                    listing.has_git = true;
                    return ControlFlow::Continue(());
                }
                b"HEAD" => head = true,
                b"objects" => objects = true,
                b"refs" => refs = true,
                b"commondir" => common = true,
                _ => {}
            }
            if kind.is_dir() {
                listing.folders.push(name.to_owned());
            }
            ControlFlow::Continue(())
        });
        listing.is_closed = done.is_err();
        listing.is_repository = head && (common || (objects && refs));
        listing
    }

    /// Of a folder that may be entered, but not listed: git does not need more.
    fn of_closed(place: &Path) -> Self {
        let has = |name| fs::symlink_metadata(place.join(name)).is_ok();
        let found = fs::symlink_metadata(place).ok();
        Self {
            has_git: has(".git"),
            is_repository: has("HEAD"),
            is_closed: true,
            stamp: found.map(|found| Stamp::of(&found)),
            ..Self::default()
        }
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
        if !matches!(file.role, Role::Config | Role::WorktreeConfig) {
            continue;
        }
        let text = String::from_utf8_lossy(bytes);
        for (key, word) in text.lines().filter_map(first_word) {
            // From the top of the working tree, and as an included file from that of the configuration.
            for base in [top, repository] {
                let Some(path) = beneath(dir, &base.join(word)) else {
                    continue;
                };
                // A program without a slash is looked for elsewhere.
                let is_path = word.contains('/') || FILES.has(&key);
                if named.len() < MAX_NAMED && (is_path || is_there(&dir.join(&path))) {
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
