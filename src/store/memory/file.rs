//! One file of the memory: read again when another process has changed it. What is corrupt is set aside: a record, or the file.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::salvage::Damage;
use super::{DIARY, GRAPH, INDEX, VECTORS};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{plural, thousands};
use crate::disk::atomic::{self, Access};
use crate::disk::lock::Lock;

/// Largest file in bytes; a decade of memories takes a few millions.
pub(super) const MAX_FILE_BYTES: u64 = 256 << 20;
/// How long to wait for another process that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);
/// In the names of files that could not be understood.
const BAD_MARK: &str = "bad";
/// In the name of the file with the records that could not be, before that mark.
const LOST: &str = ".records";

/// What is in a file.
pub(super) trait Content: Sized {
    /// The content, and what is wrong with the file if a part of it is lost by this.
    fn parse(bytes: &[u8], clock: &Clock) -> (Self, Option<Damage>);

    /// The bytes of the file.
    ///
    /// # Errors
    /// Never for valid content.
    fn bytes(&self) -> Outcome<Vec<u8>>;
}

/// The folder of the files and what they have in common.
pub(super) struct MemoryDir {
    pub path: PathBuf,
    pub clock: Clock,
    /// What the user should know and has not been told yet.
    pub warnings: Mutex<Vec<String>>,
}

impl MemoryDir {
    /// The lock of all files of the memory. What killed processes left half written is removed under it: nobody is writing then.
    ///
    /// # Errors
    /// Another process holds it for too long; the folder is not writable.
    pub(super) fn lock(&self) -> Outcome<Lock> {
        let lock = self.lock_as_it_is()?;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if is_temporary(&entry.file_name().to_string_lossy()) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(lock)
    }

    /// [`MemoryDir::lock`] for a caller who tells the user what is removed.
    pub(super) fn lock_as_it_is(&self) -> Outcome<Lock> {
        Lock::of_folder(&self.path, LOCK_TIMEOUT, &Cancel::new())
    }

    pub(super) fn warn(&self, warning: String) {
        self.warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(warning);
    }
}

/// Whether a file of this name is what a write of ours begins with, as [`atomic::write`] names it.
pub(super) fn is_temporary(name: &str) -> bool {
    let is_ours = |plain: &str| {
        let mut own = [DIARY, GRAPH, VECTORS, INDEX].into_iter();
        own.any(|own| plain.starts_with(own))
    };
    name.strip_prefix('.').is_some_and(is_ours) && name.ends_with(".tmp")
}

/// What tells one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub seconds: i64,
    pub nanoseconds: i64,
    pub bytes: u64,
    pub inode: u64,
}

impl FileStamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for FileStamp {
    fn from(about: &Metadata) -> Self {
        Self {
            seconds: about.mtime(),
            nanoseconds: about.mtime_nsec(),
            bytes: about.len(),
            inode: about.ino(),
        }
    }
}

/// A file and what was last read from it or written to it.
pub(super) struct MemoryFile<T> {
    name: &'static str,
    held: Option<(Option<FileStamp>, T)>,
}

impl<T: Content> MemoryFile<T> {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, held: None }
    }

    pub(super) fn path(&self, dir: &MemoryDir) -> PathBuf {
        dir.path.join(self.name)
    }

    /// The content, read again if the file has changed since; `on_read` sees it right after it was read. `lock` is the held lock, if it is: a
    /// corrupt file is moved aside under it.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or cannot be moved aside.
    pub(super) fn get(
        &mut self,
        dir: &MemoryDir,
        lock: Option<&Lock>,
        on_read: impl FnOnce(&mut T),
    ) -> Outcome<&mut T> {
        let path = self.path(dir);
        let stamp = FileStamp::of(&path);
        let (was, value) = match self.held.take() {
            Some((was, value)) if was == stamp => (was, value),
            _ => {
                let (stamp, mut value) = Self::read(&path, stamp, dir, lock)?;
                on_read(&mut value);
                (stamp, value)
            }
        };
        Ok(&mut self.held.insert((was, value)).1)
    }

    fn read(
        path: &Path,
        stamp: Option<FileStamp>,
        dir: &MemoryDir,
        lock: Option<&Lock>,
    ) -> Outcome<(Option<FileStamp>, T)> {
        let bytes = atomic::read(path, MAX_FILE_BYTES)?.unwrap_or_default();
        let (value, damage) = T::parse(&bytes, &dir.clock);
        let Some(damage) = damage else {
            return Ok((stamp, value));
        };
        let Some(_) = lock else {
            // Another process may have set it aside meanwhile: it is read once more under the lock.
            let lock = dir.lock()?;
            return Self::read(path, FileStamp::of(path), dir, Some(&lock));
        };
        match damage {
            Damage::Whole(why) => {
                let what = format!("{} cannot be understood: {why}.", path.display());
                dir.warn(atomic::set_aside_as(BAD_MARK, path, &dir.clock, &what)?);
            }
            Damage::Records { count: 0, why, .. } => {
                dir.warn(format!("{} was repaired: {why}.", path.display()));
            }
            Damage::Records { count, why, lines } => {
                // Before they are gone from the file: a crash in between leaves them twice.
                let mut aside = path.as_os_str().to_owned();
                aside.push(LOST);
                let aside = PathBuf::from(aside);
                atomic::write(&aside, &lines, Access::Private)?;
                let what = format!(
                    "What cannot be understood of {} is set aside, {}: {why}.",
                    path.display(),
                    plural(count, "record")
                );
                dir.warn(atomic::set_aside_as(BAD_MARK, &aside, &dir.clock, &what)?);
            }
        }
        let bytes = value.bytes()?;
        atomic::write(path, &bytes, Access::Private)?;
        Ok((FileStamp::of(path), value))
    }

    /// Writes the content, which was changed under the lock. If that fails, the next use reads the file again.
    ///
    /// # Errors
    /// It has grown too large; the disk is full or not writable. The file is then as it was.
    pub(super) fn write(&mut self, dir: &MemoryDir, _lock: &Lock) -> Outcome<()> {
        let Some((_, value)) = self.held.take() else {
            return Ok(());
        };
        let path = self.path(dir);
        let bytes = value.bytes()?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_large(&path));
        }
        atomic::write(&path, &bytes, Access::Private)?;
        self.held = Some((FileStamp::of(&path), value));
        Ok(())
    }

    /// Whether what is held is what the file has.
    pub(super) fn is_current(&self, stamp: FileStamp) -> bool {
        matches!(&self.held, Some((Some(held), _)) if *held == stamp)
    }

    /// The next use reads the file again: what is held may be half changed, or takes too much memory.
    pub(super) fn invalidate(&mut self) {
        self.held = None;
    }
}

pub(super) fn too_large(path: &Path) -> Problem {
    Problem::limit(format!(
        "{} would become larger than {} bytes.",
        path.display(),
        thousands(MAX_FILE_BYTES)
    ))
    .next("Erase what is not needed with marvin memory forget.")
}
