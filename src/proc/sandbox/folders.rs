//! What is in folders. One that cannot be listed is never taken for an empty one: a command may have hidden something in it.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path};

use rustix::fs::{
    Access, AtFlags, Dir, FileType, Mode, OFlags, Stat, accessat, fstat, openat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// How a folder is opened whose names are read.
pub(super) const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// How one is opened to which there may be no right.
#[cfg(target_os = "linux")]
const HANDLE: OFlags = FOLDER.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlags = FOLDER;
/// What the owner of a folder needs to list it, and to reach what is in it.
const LISTING: u32 = 0o500;
/// All that the owner of a folder can have.
const ALL: u32 = 0o700;

/// Lists folders.
pub(super) struct Lister {
    /// What their paths are in, unless they are absolute.
    base: OwnedFd,
    user: u32,
}

/// A folder that was opened.
pub(super) struct Opened {
    handle: File,
    /// As it was when it was opened.
    pub found: Metadata,
    pub was_given_back: bool,
}

impl Lister {
    pub(super) fn new(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            base: rustix::fs::open(dir, HANDLE, Mode::empty())?,
            user: geteuid().as_raw(),
        })
    }

    /// The folder at `path`, which can be listed and entered; none if there is no folder. With `gives_back` rights to it that its owner, who runs this, has
    /// taken away are given back.
    ///
    /// # Errors
    /// It cannot be listed or entered.
    pub(super) fn open(&self, path: &Path, gives_back: bool) -> io::Result<Option<Opened>> {
        let mut was_given_back = false;
        loop {
            let error = match self.try_open(path) {
                Ok((handle, found)) => {
                    return Ok(Some(Opened {
                        handle,
                        found,
                        was_given_back,
                    }));
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(error) => error,
            };
            if error != Errno::ACCESS || !gives_back || was_given_back {
                return Err(error.into());
            }
            self.give_back(path)?;
            was_given_back = true;
        }
    }

    /// What the system says of what is at `path`, which is not followed if it is a link. By its handle the folder that paths are in is seen without a right to
    /// enter it.
    pub(super) fn look(&self, path: &Path) -> rustix::io::Result<Stat> {
        match path.as_os_str().is_empty() {
            true => fstat(&self.base),
            false => statat(&self.base, path, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    fn try_open(&self, path: &Path) -> rustix::io::Result<(File, Metadata)> {
        let at = match path == Path::new("") {
            true => Path::new("."),
            false => path,
        };
        let handle = File::from(openat(&self.base, at, FOLDER, Mode::empty())?);
        let found = handle.metadata().map_err(|_| Errno::IO)?;
        let is_mine = found.uid() == self.user;
        if !is_mine || found.mode() & LISTING != LISTING {
            let needed = Access::READ_OK | Access::EXEC_OK;
            accessat(&self.base, at, needed, AtFlags::empty())?;
        }
        Ok((handle, found))
    }

    /// Gives the owner all rights to a folder. Nothing else can be in its place by then.
    fn give_back(&self, path: &Path) -> io::Result<()> {
        let mut at = openat(&self.base, ".", HANDLE, Mode::empty()).or_else(|error| {
            // It is the one that may not be entered.
            (error == Errno::ACCESS && path == Path::new(""))
                .then(|| rustix::io::dup(&self.base))
                .ok_or(error)?
        })?;
        for part in path.components() {
            at = match part {
                Component::RootDir => rustix::fs::open("/", HANDLE, Mode::empty())?,
                part => openat(&at, part.as_os_str(), HANDLE, Mode::empty())?,
            };
        }
        // A handle without rights is reached by its number alone; see open(2) of Linux, O_PATH.
        let place = format!("/proc/self/fd/{}", at.as_raw_fd());
        let mode = fs::metadata(&place)?.mode() | ALL;
        fs::set_permissions(place, Permissions::from_mode(mode & 0o7777))
    }
}

impl Opened {
    /// Calls `each` with the name and the kind of what is in the folder, until it wants no more.
    ///
    /// # Errors
    /// Not all names could be read.
    pub(super) fn list(
        self,
        mut each: impl FnMut(&OsStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut dir = Dir::new(self.handle)?;
        while let Some(entry) = dir.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say it here.
                FileType::Unknown => match statat(dir.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => FileType::from_raw_mode(found.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(error) => return Err(error.into()),
                },
                kind => kind,
            };
            if each(name, kind).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Whether something is at `path`, or may be: only what is certainly gone is not.
pub(super) fn is_there(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    let gone = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    found.map_or_else(|error| !gone.contains(&error.kind()), |_| true)
}
