//! Resolves a path to a handle of its folder and its last name, and finds the guarded parts on the way.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::open_beneath::{self, AccessError, FOLDER, FolderId, MAX_LINKS, id};
use super::root::Root;
use crate::base::problem::Outcome;
use crate::disk::beneath::rel_path::{GuardedPart, RelPath};

/// Maximum components of a path; each takes a handle.
pub(super) const DEEPEST: usize = 256;

/// Maximum bytes of a path; the kernel's limit.
const MAX_PATH_BYTES: usize = 4_095;

/// Maximum folders climbed on the way back to the root: symlinks can lead deeper than the path's text.
const MAX_CLIMB: usize = 8 * DEEPEST;

/// Entries of a repository's own folder that run code or hold its content. Such a folder need not be called `.git`: a `.git` file can point to any folder.
const GIT_FOLDERS: [&str; 7] = [
    "hooks",
    "info",
    "objects",
    "refs",
    "logs",
    "modules",
    "worktrees",
];
const GIT_FILES: [&str; 5] = ["HEAD", "config", "config.worktree", "packed-refs", "index"];

/// A name inside an opened folder. Without a name it is the folder itself.
pub(super) struct Located {
    pub(super) dir: OwnedFd,
    pub(super) name: Option<OsString>,
    pub(super) guard: Option<GuardedPart>,
}

impl Located {
    /// The name, for operations that need one.
    pub(super) fn name(&self) -> Result<&OsStr, AccessError> {
        self.name.as_deref().ok_or(AccessError::Kind("a folder"))
    }

    /// Metadata of the entry, without following a symlink at the end.
    pub(super) fn stat(&self) -> Result<Stat, Errno> {
        match &self.name {
            Some(name) => statat(&self.dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW),
            None => fstat(&self.dir),
        }
    }
}

/// How to treat a symlink at the end of the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FinalLink {
    Follow,
    Keep,
}

impl RelPath {
    /// The path for the system.
    pub(super) fn fitting(&self) -> Result<&OsStr, AccessError> {
        if self.as_str().len() > MAX_PATH_BYTES || self.parts().count() > DEEPEST {
            return Err(AccessError::Os(Errno::NAMETOOLONG));
        }
        Ok(OsStr::new(self.as_str()))
    }
}

impl Root {
    /// Finds the folder and the last name of `rel`. Tickets are refused here, for every operation.
    pub(super) fn locate(&self, rel: &RelPath, last: FinalLink) -> Result<Located, AccessError> {
        let mut path = rel.fitting()?.to_owned();
        for _ in 0..=MAX_LINKS {
            let (parent, name) = split(&path);
            let dir = self.folder(&parent)?;
            let guard = self.guard(dir.as_fd(), name.as_deref())?;
            if guard == Some(GuardedPart::Tickets) {
                return Err(AccessError::Guard(GuardedPart::Tickets));
            }
            let link = match (&name, last) {
                (Some(name), FinalLink::Follow) => match open_beneath::link_text(dir.as_fd(), name)
                {
                    Err(Errno::NOENT) => None,
                    answer => answer?,
                },
                _ => None,
            };
            let Some(target) = link else {
                return Ok(Located { dir, name, guard });
            };
            path = self.beside(&parent, &target)?;
        }
        Err(AccessError::Loop)
    }

    /// Opens a folder by a path that may contain `..` from link targets.
    pub(super) fn folder(&self, path: &OsStr) -> Result<OwnedFd, AccessError> {
        open_beneath::folder(self.engine, self.handle.as_fd(), &self.path, path)
    }

    /// The path, relative to the root, of a link in `parent` with this target.
    fn beside(&self, parent: &OsStr, target: &OsStr) -> Result<OsString, AccessError> {
        if target.as_bytes().starts_with(b"/") {
            let inside = Path::new(target).strip_prefix(&self.path);
            return Ok(inside
                .map_err(|_| AccessError::Outside)?
                .as_os_str()
                .to_owned());
        }
        let mut path = parent.to_owned();
        if !path.is_empty() {
            path.push("/");
        }
        path.push(target);
        Ok(path)
    }

    /// The guarded parts that exist now: this directory's, and those of the one that it was chosen from.
    pub(super) fn fences(&self) -> Vec<(FolderId, GuardedPart)> {
        let parts = [
            (".tickets", GuardedPart::Tickets),
            (".git", GuardedPart::Git),
            (".marvin/upstream", GuardedPart::Upstream),
        ];
        let mut fences = Vec::new();
        for root in [Some(self), self.kept.as_deref()].into_iter().flatten() {
            for (part, guard) in parts {
                if let Ok(stat) = statat(&*root.handle, part, AtFlags::empty()) {
                    fences.push((id(&stat), guard));
                }
            }
        }
        fences
    }

    /// Climbs from `dir` to the root: which guarded part, if any, `name` in `dir` (or `dir` itself) belongs to.
    ///
    /// A climb that misses the root is [`AccessError::Outside`]: the folder was moved away after it was opened.
    pub(super) fn guard(
        &self,
        dir: BorrowedFd<'_>,
        name: Option<&OsStr>,
    ) -> Result<Option<GuardedPart>, AccessError> {
        let fences = self.fences();
        let fence = |here: FolderId| {
            fences
                .iter()
                .find(|(id, _)| *id == here)
                .map(|(_, guard)| *guard)
        };
        let mut here = fstat(dir).map(|stat| id(&stat))?;
        let mut found = name.and_then(|name| self.guard_of_name(dir, here, name, &fence));
        let mut held: Option<OwnedFd> = None;
        for _ in 0..MAX_CLIMB {
            found = stricter(found, fence(here));
            if here == self.id {
                return Ok(found);
            }
            let below = held.as_ref().map_or(dir, AsFd::as_fd);
            let up = openat(below, "..", FOLDER, Mode::empty())?;
            let above = id(&fstat(&up)?);
            if above == here {
                return Err(AccessError::Outside);
            }
            let is_git =
                statat(&up, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| id(&stat) == here);
            let is_git = is_git || is_part_of_git(up.as_fd(), here);
            found = stricter(found, is_git.then_some(GuardedPart::Git));
            here = above;
            held = Some(up);
        }
        Err(AccessError::Outside)
    }

    /// The guarded part that a name denotes, whether it exists yet or not.
    fn guard_of_name(
        &self,
        dir: BorrowedFd<'_>,
        here: FolderId,
        name: &OsStr,
        fence: &dyn Fn(FolderId) -> Option<GuardedPart>,
    ) -> Option<GuardedPart> {
        let is_top = here == self.id || self.kept.as_ref().is_some_and(|kept| here == kept.id);
        if is_top && name == ".tickets" {
            return Some(GuardedPart::Tickets);
        }
        let own = || {
            GIT_FILES
                .iter()
                .chain(&GIT_FOLDERS)
                .any(|part| name == *part)
        };
        if name.eq_ignore_ascii_case(".git") || (own() && is_git_folder(dir)) {
            return Some(GuardedPart::Git);
        }
        let stat = statat(dir, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        fence(id(&stat))
    }
}

impl Root {
    /// The guarded part of this directory that `other` is or lies in, however it was reached: a fence around `other` would open it.
    pub fn closed_part(&self, other: &Self) -> Outcome<Option<&'static str>> {
        let known: Vec<(FolderId, &str)> = [".tickets", ".git", ".marvin/upstream", ".marvin"]
            .into_iter()
            .filter_map(|part| {
                let stat = statat(&*self.handle, part, AtFlags::empty()).ok()?;
                Some((id(&stat), part))
            })
            .collect();
        let mut found = None;
        other.climb(&mut |here, up| {
            let part = known.iter().find(|(id, _)| *id == here);
            found = part.map(|(_, part)| *part);
            if found.is_none() && is_part_of_git(up, here) {
                found = Some("a git repository's own folder");
            }
            found.is_some()
        })?;
        Ok(found)
    }

    /// True when a part of the path is a symbolic link now, wherever it leads.
    pub fn goes_through_link(&self, rel: &RelPath) -> bool {
        let mut path = String::new();
        rel.parts().any(|part| {
            path.push_str(part);
            let is_link = statat(&*self.handle, path.as_str(), AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink());
            path.push('/');
            is_link
        })
    }

    /// True when `other` is this directory or lies below it.
    pub fn holds(&self, other: &Self) -> Outcome<bool> {
        let mut holds = false;
        other.climb(&mut |here, _| {
            holds = here == self.id;
            holds
        })?;
        Ok(holds)
    }

    /// Visits this folder and each parent, with the handle of the one above, until `seen` returns true or the root is reached.
    fn climb(&self, seen: &mut dyn FnMut(FolderId, BorrowedFd<'_>) -> bool) -> Outcome<()> {
        let mut climb = || -> Result<(), AccessError> {
            let mut here = self.id;
            let mut held: Option<OwnedFd> = None;
            for _ in 0..MAX_CLIMB {
                let below = held.as_ref().map_or(self.handle.as_fd(), AsFd::as_fd);
                let up = openat(below, "..", FOLDER, Mode::empty())?;
                let above = id(&fstat(&up)?);
                if seen(here, up.as_fd()) || above == here {
                    return Ok(());
                }
                here = above;
                held = Some(up);
            }
            Err(AccessError::Os(Errno::NAMETOOLONG))
        };
        climb().map_err(|stop| self.problem("look above", &RelPath::here(), stop))
    }
}

/// True for a repository's own folder, whatever its name.
fn is_git_folder(dir: BorrowedFd<'_>) -> bool {
    let is = |name: &str, kind: FileType| {
        statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == kind)
    };
    is("HEAD", FileType::RegularFile)
        && is("objects", FileType::Directory)
        && is("refs", FileType::Directory)
}

/// True when the folder `here` in `up` is one of those that make up a repository.
fn is_part_of_git(up: BorrowedFd<'_>, here: FolderId) -> bool {
    is_git_folder(up)
        && GIT_FOLDERS.iter().any(|name| {
            statat(up, *name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| id(&stat) == here)
        })
}

/// Tickets are also closed for reading, so they take precedence.
fn stricter(a: Option<GuardedPart>, b: Option<GuardedPart>) -> Option<GuardedPart> {
    match (a, b) {
        (Some(GuardedPart::Tickets), _) | (_, Some(GuardedPart::Tickets)) => {
            Some(GuardedPart::Tickets)
        }
        (a, b) => a.or(b),
    }
}

/// The folder's path and the last name; a path that ends in `.` or `..` is a folder without a name.
fn split(path: &OsStr) -> (OsString, Option<OsString>) {
    let bytes = path.as_bytes();
    let end = bytes
        .iter()
        .rposition(|b| *b != b'/')
        .map_or(0, |at| at + 1);
    let bytes = bytes.get(..end).unwrap_or_default();
    let from = bytes
        .iter()
        .rposition(|b| *b == b'/')
        .map_or(0, |at| at + 1);
    let (parent, name) = bytes.split_at(from);
    if matches!(name, b"" | b"." | b"..") {
        return (OsStr::from_bytes(bytes).to_owned(), None);
    }
    (
        OsStr::from_bytes(parent).to_owned(),
        Some(OsStr::from_bytes(name).to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_split_off() {
        let parts = |text: &str| {
            let (parent, name) = split(OsStr::new(text));
            (
                parent.into_string().unwrap(),
                name.map(|n| n.into_string().unwrap()),
            )
        };
        assert_eq!(parts("a/b//"), ("a/".into(), Some("b".into())));
        assert_eq!(parts("b"), (String::new(), Some("b".into())));
        assert_eq!(parts("a/.."), ("a/..".into(), None));
        assert_eq!(parts("."), (".".into(), None));
        assert_eq!(parts(""), (String::new(), None));
    }
}
