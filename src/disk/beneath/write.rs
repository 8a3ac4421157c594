//! Writes beneath the working directory: whole files, by a temporary file and a rename in the same opened folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, Gid, Mode, OFlags, Stat, Uid, accessat, fchmod, fchown, fstat, mkdirat,
    openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::open_beneath::{AccessError, id};
use super::read::{open_name, require_regular};
use super::root::Root;
use crate::base::ids;
use crate::base::problem::Outcome;
use crate::disk::beneath::located::{FinalLink, Located};
use crate::disk::beneath::rel_path::{GuardedPart, RelPath};

/// Modes before the umask.
const FILE: Mode = Mode::from_raw_mode(0o666);
const DIR: Mode = Mode::from_raw_mode(0o777);
const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);
const PRIVATE_DIR: Mode = Mode::from_raw_mode(0o700);
/// The mode bits that a copy of a file gets, and all mode bits.
const PERMISSIONS: u32 = 0o777;
const ANY: Mode = Mode::from_raw_mode(0o7777);

impl Root {
    /// Creates a new file and its parent folders.
    ///
    /// # Errors
    /// Something exists there already (even a dangling symlink); the fence refuses it; the disk fails, in which case nothing is left.
    pub fn create_new(&self, rel: &RelPath, bytes: &[u8]) -> Outcome<()> {
        self.make(rel, bytes)
            .map_err(|stop| self.problem("create", rel, stop))
    }

    /// Creates a new file and its parent folders, open for many small additions. What is written is not forced to the disk: it is worth nothing after a loss of
    /// power.
    ///
    /// # Errors
    /// As [`Root::create_new`].
    pub fn create_open(&self, rel: &RelPath) -> Outcome<File> {
        self.make_empty(rel)
            .map(|(file, _)| file)
            .map_err(|stop| self.problem("create", rel, stop))
    }

    /// Replaces the content of an existing file atomically; its permissions stay. A symlink inside stays one; its target is replaced.
    ///
    /// # Errors
    /// It is missing, not a regular file, not writable, or the fence refuses it; the old content is then intact.
    pub fn replace(&self, rel: &RelPath, bytes: &[u8]) -> Outcome<()> {
        self.writable(rel, FinalLink::Follow)
            .and_then(|spot| {
                let old = spot.stat()?;
                swap_in(&spot, bytes, Some(&old), None, self.mode_mask(rel))
            })
            .map_err(|stop| self.problem("write", rel, stop))
    }

    /// [`Root::replace`], or a new file with its parent folders if it does not exist.
    pub fn put(&self, rel: &RelPath, bytes: &[u8]) -> Outcome<()> {
        self.put_or_stop(rel, bytes, None)
            .map_err(|stop| self.problem("write", rel, stop))
    }

    /// [`Root::put`] with the permissions of the file `like`, for one that is moved.
    ///
    /// # Errors
    /// As [`Root::put`], and when `like` is missing.
    pub fn put_like(&self, rel: &RelPath, bytes: &[u8], like: &RelPath) -> Outcome<()> {
        let mode = || -> Result<Mode, AccessError> {
            let stat = self.locate(like, FinalLink::Follow)?.stat()?;
            Ok(Mode::from_raw_mode(stat.st_mode) & Mode::from_raw_mode(PERMISSIONS))
        };
        let mode = mode().map_err(|stop| self.problem("read", like, stop))?;
        self.put_or_stop(rel, bytes, Some(mode))
            .map_err(|stop| self.problem("write", rel, stop))
    }

    /// True when both paths, with links resolved, are the same file: writing one and removing the other would lose it.
    ///
    /// # Errors
    /// The fence refuses one of them.
    pub fn is_same_file(&self, one: &RelPath, other: &RelPath) -> Outcome<bool> {
        let found = |rel: &RelPath| match self.locate(rel, FinalLink::Follow) {
            Ok(spot) => {
                let dir = id(&fstat(&spot.dir)?);
                Ok(Some((dir, spot.stat().ok(), spot.name)))
            }
            Err(AccessError::Os(Errno::NOENT | Errno::NOTDIR)) => Ok(None),
            Err(stop) => Err(stop),
        };
        let same = || -> Result<bool, AccessError> {
            let (Some(one), Some(other)) = (found(one)?, found(other)?) else {
                return Ok(false);
            };
            // On some systems names that differ only in case are one file; two names of a file with two hard links are not.
            let alone = match (&one.1, &other.1) {
                (Some(a), Some(b)) => id(a) == id(b) && a.st_nlink == 1,
                _ => false,
            };
            Ok(alone || (one.0 == other.0 && one.2 == other.2))
        };
        same().map_err(|stop| self.problem("look at", other, stop))
    }

    /// The mode bits that a file may have: private files keep only the owner's, so that a script can still be run.
    fn mode_mask(&self, rel: &RelPath) -> Mode {
        match self.is_private(rel) {
            true => PRIVATE_DIR,
            false => ANY,
        }
    }

    /// Creates a folder and its parents; an existing one is left unchanged.
    ///
    /// # Errors
    /// A component is a file, or the fence refuses it.
    pub fn make_folder(&self, rel: &RelPath) -> Outcome<()> {
        // `parents` creates the folders above this name.
        self.parents(&rel.child("x"))
            .map_err(|stop| self.problem("make the folder", rel, stop))
    }

    /// Appends to an existing file; returns its new length in bytes.
    ///
    /// # Errors
    /// As [`Root::replace`]. A write cut short by a full disk is undone.
    pub fn append(&self, rel: &RelPath, bytes: &[u8]) -> Outcome<u64> {
        self.append_or_stop(rel, bytes)
            .map_err(|stop| self.problem("append to", rel, stop))
    }

    /// Removes a file or a link (not what it points at).
    ///
    /// # Errors
    /// It is missing, a folder, or the fence refuses it.
    pub fn remove_file(&self, rel: &RelPath) -> Outcome<()> {
        self.writable(rel, FinalLink::Keep)
            .and_then(|spot| match spot.stat() {
                Ok(stat) if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() => {
                    Err(AccessError::Kind("a folder"))
                }
                Ok(_) => Ok(unlinkat(
                    &spot.dir,
                    spot.name()?.as_bytes(),
                    AtFlags::empty(),
                )?),
                Err(errno) => Err(errno.into()),
            })
            .map_err(|stop| self.problem("delete", rel, stop))
    }

    /// The fence's decision about a write, without changing anything.
    pub(super) fn may_write(&self, rel: &RelPath) -> Result<(), AccessError> {
        if let Some(guard) = rel.write_guard() {
            return Err(AccessError::Guard(guard));
        }
        match self.writable(rel, FinalLink::Follow) {
            Ok(_) => Ok(()),
            Err(AccessError::Os(Errno::NOENT)) if !rel.parent().is_here() => {
                // Its folder is missing, or its symlink leads to a missing one: then the parent decides.
                self.may_write(&rel.parent())
            }
            Err(stop) => Err(stop),
        }
    }

    fn writable(&self, rel: &RelPath, last: FinalLink) -> Result<Located, AccessError> {
        if let Some(guard) = rel.write_guard() {
            return Err(AccessError::Guard(guard));
        }
        let spot = self.locate(rel, last)?;
        match spot.guard {
            Some(guard) => Err(AccessError::Guard(guard)),
            None => Ok(spot),
        }
    }

    fn make(&self, rel: &RelPath, bytes: &[u8]) -> Result<(), AccessError> {
        let (mut file, spot) = self.make_empty(rel)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(reason) = written {
            let _ = unlinkat(&spot.dir, spot.name()?.as_bytes(), AtFlags::empty());
            return Err(reason.into());
        }
        Ok(())
    }

    fn make_empty(&self, rel: &RelPath) -> Result<(File, Located), AccessError> {
        self.parents(rel)?;
        let spot = self.writable(rel, FinalLink::Keep)?;
        let Some(name) = &spot.name else {
            return Err(AccessError::Os(Errno::EXIST));
        };
        let file = new_file(&spot.dir, name, FILE & self.mode_mask(rel))?;
        Ok((file, spot))
    }

    fn put_or_stop(
        &self,
        rel: &RelPath,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> Result<(), AccessError> {
        self.parents(rel)?;
        let spot = self.writable(rel, FinalLink::Follow)?;
        match spot.stat() {
            Ok(old) => swap_in(&spot, bytes, Some(&old), mode, self.mode_mask(rel)),
            Err(Errno::NOENT) => swap_in(&spot, bytes, None, mode, self.mode_mask(rel)),
            Err(errno) => Err(errno.into()),
        }
    }

    fn append_or_stop(&self, rel: &RelPath, bytes: &[u8]) -> Result<u64, AccessError> {
        let mut file = self.appender(rel)?;
        let before = file.metadata()?.len();
        if let Err(reason) = file.write_all(bytes) {
            let _ = file.set_len(before);
            return Err(reason.into());
        }
        Ok(file.metadata()?.len())
    }

    fn appender(&self, rel: &RelPath) -> Result<File, AccessError> {
        let spot = self.writable(rel, FinalLink::Follow)?;
        let old = spot.stat()?;
        require_regular(&old)?;
        let file = open_name(
            spot.dir.as_fd(),
            spot.name()?,
            OFlags::WRONLY | OFlags::APPEND,
        )?;
        let mode = Mode::from_raw_mode(old.st_mode) & ANY;
        let allowed = mode & self.mode_mask(rel);
        if allowed != mode {
            // A file of another owner that is writable by others keeps its mode.
            let _ = fchmod(&file, allowed);
        }
        Ok(file)
    }

    /// Creates the folders above `rel`, each opened again through the fence before the next.
    fn parents(&self, rel: &RelPath) -> Result<(), AccessError> {
        let folder = rel.parent();
        if let Some(guard) = rel.write_guard() {
            return Err(AccessError::Guard(guard));
        }
        if folder.is_here() {
            return Ok(());
        }
        match self.folder(folder.fitting()?) {
            Err(AccessError::Os(Errno::NOENT)) => {}
            answer => return answer.map(drop),
        }
        self.parents(&folder)?;
        let spot = self.writable(&folder, FinalLink::Keep)?;
        let mode = match self.is_private(&folder) {
            true => PRIVATE_DIR,
            false => DIR,
        };
        match mkdirat(&spot.dir, spot.name()?.as_bytes(), mode) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.open_written_folder(&folder)
    }

    fn open_written_folder(&self, folder: &RelPath) -> Result<(), AccessError> {
        let dir = self.folder(folder.fitting()?)?;
        match self.guard(dir.as_fd(), None)? {
            Some(guard @ (GuardedPart::Tickets | GuardedPart::Git | GuardedPart::Upstream)) => {
                Err(AccessError::Guard(guard))
            }
            None => Ok(()),
        }
    }
}

/// Writes a temporary file beside the target, syncs it and renames it over the target's name. The rename replaces the name itself, so a symlink that appeared
/// there in between is not followed. The file gets `mode`, else that of the old file, restricted by `mask`.
fn swap_in(
    spot: &Located,
    bytes: &[u8],
    old: Option<&Stat>,
    mode: Option<Mode>,
    mask: Mode,
) -> Result<(), AccessError> {
    let name = spot.name()?;
    if let Some(stat) = old {
        require_regular(stat)?;
        accessat(
            &spot.dir,
            name.as_bytes(),
            Access::WRITE_OK,
            AtFlags::empty(),
        )?;
    }
    let temp = OsString::from(format!(".marvin-{}.tmp", ids::hex(8)));
    let fill = || -> Result<(), AccessError> {
        let old_mode = || old.map(|stat| Mode::from_raw_mode(stat.st_mode) & ANY);
        let exact = mode.or_else(old_mode).map(|mode| mode & mask);
        // Nobody else can open it before it has its mode.
        let mut file = new_file(
            &spot.dir,
            &temp,
            exact.map_or(FILE & mask, |_| PRIVATE_FILE),
        )?;
        if let Some(stat) = old {
            // The owner first: changing it clears some permission bits. Only root may do it, so a failure is ignored.
            let _ = fchown(
                &file,
                Some(Uid::from_raw(stat.st_uid)),
                Some(Gid::from_raw(stat.st_gid)),
            );
        }
        if let Some(mode) = exact {
            fchmod(&file, mode)?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        Ok(renameat(
            &spot.dir,
            temp.as_bytes(),
            &spot.dir,
            name.as_bytes(),
        )?)
    };
    fill().inspect_err(|_| {
        let _ = unlinkat(&spot.dir, temp.as_bytes(), AtFlags::empty());
    })
}

/// Creates a file that must not exist yet.
fn new_file(dir: &OwnedFd, name: &OsStr, mode: Mode) -> Result<File, Errno> {
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(dir, name.as_bytes(), new, mode).map(File::from)
}
