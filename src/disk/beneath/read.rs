//! Reading beneath the working directory: files, metadata, and folder contents.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::open_beneath::{AccessError, link_text};
use super::root::Root;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;
use crate::disk::beneath::located::FinalLink;
use crate::disk::beneath::rel_path::{GuardedPart, RelPath};

/// Attempts when a name changes between checking and opening.
const MAX_TRIES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    /// A symbolic link, only where links are not followed.
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

/// Metadata of a path.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Its kind, symlinks followed.
    pub kind: FileKind,
    pub len: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name; bytes that are not UTF-8 are shown as U+FFFD.
    pub name: String,
    /// Its kind, symlinks not followed.
    pub kind: FileKind,
}

impl Root {
    /// Opens a regular file for reading. Never blocks on a FIFO or a device.
    ///
    /// # Errors
    /// It is missing, leads outside, belongs to the tickets, or is not a regular file.
    pub fn open_read(&self, rel: &RelPath) -> Outcome<File> {
        self.reader(rel)
            .map(|(file, _)| file)
            .map_err(|stop| self.problem("read", rel, stop))
    }

    /// Reads an ordinary file of at most `cap` bytes.
    ///
    /// # Errors
    /// As [`Root::open_read`]; `Limit` when it is longer.
    pub fn read(&self, rel: &RelPath, cap: u64) -> Outcome<Vec<u8>> {
        self.bytes(rel, cap)
            .map_err(|stop| self.problem("read", rel, stop))
    }

    /// Metadata of `rel`; symlinks inside are followed.
    ///
    /// # Errors
    /// It is missing, leads outside, or belongs to the tickets.
    pub fn metadata(&self, rel: &RelPath) -> Outcome<Meta> {
        self.locate(rel, FinalLink::Follow)
            .and_then(|spot| Ok(meta(&spot.stat()?)))
            .map_err(|stop| self.problem("look at", rel, stop))
    }

    /// True when `rel` exists; a dangling symlink does not count.
    pub fn exists(&self, rel: &RelPath) -> Outcome<bool> {
        let found = self
            .locate(rel, FinalLink::Follow)
            .and_then(|spot| Ok(spot.stat()?));
        match found {
            Ok(_) => Ok(true),
            Err(AccessError::Os(Errno::NOENT | Errno::NOTDIR)) if !self.is_gone() => Ok(false),
            Err(stop) => Err(self.problem("look at", rel, stop)),
        }
    }

    /// The target of the symlink at `rel`, as stored; `None` if it is not a symlink.
    pub fn link_target(&self, rel: &RelPath) -> Outcome<Option<String>> {
        self.locate(rel, FinalLink::Keep)
            .and_then(|spot| Ok(link_text(spot.dir.as_fd(), spot.name()?)?))
            .map(|target| target.map(|target| target.to_string_lossy().into_owned()))
            .map_err(|stop| self.problem("look at", rel, stop))
    }

    /// The kind of `rel` without following a symlink, for messages: "named pipe".
    pub fn kind_name(&self, rel: &RelPath) -> Outcome<&'static str> {
        let stat = self
            .locate(rel, FinalLink::Keep)
            .and_then(|spot| Ok(spot.stat()?))
            .map_err(|stop| self.problem("look at", rel, stop))?;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => "file",
            FileType::Directory => "folder",
            FileType::Symlink => "link",
            FileType::Fifo => "named pipe",
            FileType::Socket => "socket",
            FileType::CharacterDevice | FileType::BlockDevice => "device",
            FileType::Unknown => "of an unknown kind",
        })
    }

    /// The entries of a folder sorted by name, without `.`, `..` and the tickets.
    ///
    /// # Errors
    /// It is missing, not a folder, leads outside, or belongs to the tickets.
    pub fn list(&self, rel: &RelPath) -> Outcome<Vec<DirEntry>> {
        let mut entries = self
            .entries(rel, usize::MAX)
            .map_err(|stop| self.problem("list", rel, stop))?;
        entries.shared_sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    pub(super) fn bytes(&self, rel: &RelPath, cap: u64) -> Result<Vec<u8>, AccessError> {
        let (file, len) = self.reader(rel)?;
        let mut bytes = Vec::with_capacity(usize::try_from(len.min(cap)).unwrap_or_default());
        file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > cap {
            return Err(AccessError::TooLong { cap });
        }
        Ok(bytes)
    }

    fn reader(&self, rel: &RelPath) -> Result<(File, u64), AccessError> {
        for _ in 0..MAX_TRIES {
            let spot = self.locate(rel, FinalLink::Follow)?;
            let opened = require_regular(&spot.stat()?)
                .and_then(|()| open_name(spot.dir.as_fd(), spot.name()?, OFlags::RDONLY));
            match opened {
                // It has become a link since it was checked.
                Err(AccessError::Loop | AccessError::Unsteady) => {}
                Err(stop) => return Err(stop),
                Ok(file) => {
                    let len = file.metadata()?.len();
                    return Ok((file, len));
                }
            }
        }
        Err(AccessError::Unsteady)
    }

    /// Opens a folder for listing and checks that it is not the tickets folder under another name.
    pub(super) fn open_folder(&self, rel: &RelPath) -> Result<OwnedFd, AccessError> {
        let dir = self.folder(rel.fitting()?)?;
        match self.guard(dir.as_fd(), None)? {
            Some(GuardedPart::Tickets) => Err(AccessError::Guard(GuardedPart::Tickets)),
            _ => Ok(dir),
        }
    }

    /// At most `max` entries in directory order.
    pub(super) fn entries(&self, rel: &RelPath, max: usize) -> Result<Vec<DirEntry>, AccessError> {
        let dir = self.open_folder(rel)?;
        let mut entries = Vec::new();
        let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for item in Dir::new(openat(&dir, ".", readable, Mode::empty())?)? {
            let item = item?;
            let name = item.file_name().to_bytes();
            let hidden = rel.is_here() && name == b".tickets";
            if matches!(name, b"." | b"..") || hidden {
                continue;
            }
            if entries.len() == max {
                break;
            }
            let kind = match item.file_type() {
                FileType::Unknown => statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileKind::Other, |stat| meta(&stat).kind),
                known => kind(known),
            };
            entries.push(DirEntry {
                name: String::from_utf8_lossy(name).into_owned(),
                kind,
            });
        }
        if entries.is_empty() && self.is_gone() {
            return Err(AccessError::Os(Errno::NOENT));
        }
        Ok(entries)
    }
}

/// Opens a name without following a link and without waiting; the result is an ordinary file.
pub(super) fn open_name(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    how: OFlags,
) -> Result<File, AccessError> {
    let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(dir, name.as_bytes(), how | careful, Mode::empty())?);
    require_regular(&rustix::fs::fstat(&file)?)?;
    Ok(file)
}

/// Refuses anything but a regular file.
pub(super) fn require_regular(stat: &Stat) -> Result<(), AccessError> {
    Err(AccessError::Kind(
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(()),
            FileType::Directory => "a folder",
            FileType::Fifo => "a named pipe (FIFO)",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Symlink => return Err(AccessError::Unsteady),
            FileType::Unknown => "of an unknown kind",
        },
    ))
}

fn kind(from: FileType) -> FileKind {
    match from {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => FileKind::Other,
    }
}

fn meta(stat: &Stat) -> Meta {
    Meta {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        len: u64::try_from(stat.st_size).unwrap_or_default(),
    }
}
