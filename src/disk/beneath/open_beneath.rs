//! Opens a folder beneath a handle so that no component leads outside: with `openat2` where the kernel has it, else component by component.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, Stat, openat, readlinkat};
use rustix::io::Errno;

use crate::disk::beneath::rel_path::GuardedPart;

/// Symbolic links followed in one path; the kernel's limit.
pub(super) const MAX_LINKS: usize = 40;

/// How folders are opened. `openat2` is one call and cannot race. Component by component serves kernels before 5.6, sandboxes that forbid the call, and other
/// systems, and also decides about symlinks that name the working directory by its absolute path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenMethod {
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    Kernel,
    #[cfg_attr(target_os = "linux", allow(dead_code))]
    Walk,
}

/// Device and inode: identifies a folder under any name.
pub(super) type FolderId = (u64, u64);

#[allow(
    clippy::unnecessary_cast,
    reason = "the fields' types differ by system"
)]
pub(super) fn id(stat: &Stat) -> FolderId {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// Why a path was not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AccessError {
    /// It leaves the working directory.
    Outside,
    /// Too many symbolic links.
    Loop,
    Guard(GuardedPart),
    /// It has the wrong type for the operation: a folder, a FIFO, a device.
    Kind(&'static str),
    /// The entry kept changing during every attempt.
    Unsteady,
    /// Longer than the reader accepts.
    TooLong {
        cap: u64,
    },
    /// Any other error of the system.
    Os(Errno),
}

impl From<Errno> for AccessError {
    fn from(errno: Errno) -> Self {
        if errno == Errno::LOOP {
            Self::Loop
        } else {
            Self::Os(errno)
        }
    }
}

impl From<std::io::Error> for AccessError {
    fn from(error: std::io::Error) -> Self {
        Errno::from_io_error(&error).map_or(Self::Os(Errno::IO), Self::from)
    }
}

/// Flags for opening folders: O_PATH where available, which needs no read permission.
#[cfg(target_os = "linux")]
pub(super) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(super) const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens the folder `path` beneath `root`, following links that stay inside. `base` is the root's own absolute path.
pub(super) fn folder(
    engine: OpenMethod,
    root: BorrowedFd<'_>,
    base: &Path,
    path: &OsStr,
) -> Result<OwnedFd, AccessError> {
    match engine {
        OpenMethod::Kernel => match by_kernel(root, path) {
            Err(
                Errno::NOSYS
                | Errno::PERM
                | Errno::INVAL
                | Errno::AGAIN
                | Errno::XDEV
                | Errno::LOOP,
            ) => by_components(root, base, path),
            answer => Ok(answer?),
        },
        OpenMethod::Walk => by_components(root, base, path),
    }
}

#[cfg(target_os = "linux")]
fn by_kernel(root: BorrowedFd<'_>, path: &OsStr) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let path = if path.is_empty() {
        OsStr::new(".")
    } else {
        path
    };
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // AGAIN: something was renamed while the kernel looked at a "..".
    for _ in 0..16 {
        match openat2(root, path, FOLDER, Mode::empty(), within) {
            Err(Errno::AGAIN) => {}
            answer => return answer,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
fn by_kernel(_root: BorrowedFd<'_>, _path: &OsStr) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens component by component with a handle for each and never lets the system follow a link: the target of each link is read and walked as well. A `..` goes
/// back to the previous handle, and never above the root.
fn by_components(root: BorrowedFd<'_>, base: &Path, path: &OsStr) -> Result<OwnedFd, AccessError> {
    let mut open: Vec<OwnedFd> = Vec::new();
    let mut todo: Vec<OsString> = Vec::new();
    let mut hops = 0;
    push(&mut todo, Path::new(path))?;
    while let Some(part) = todo.pop() {
        if part == ".." {
            open.pop().ok_or(AccessError::Outside)?;
            continue;
        }
        let top = open.last().map_or(root, AsFd::as_fd);
        match openat(top, &part, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(next) => open.push(next),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                let target = link_text(top, &part)?.ok_or(AccessError::Os(Errno::NOTDIR))?;
                hops += 1;
                if hops > MAX_LINKS {
                    return Err(AccessError::Loop);
                }
                let target = Path::new(&target);
                if target.is_absolute() {
                    let inside = target
                        .strip_prefix(base)
                        .map_err(|_| AccessError::Outside)?;
                    open.clear();
                    push(&mut todo, inside)?;
                } else {
                    push(&mut todo, target)?;
                }
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    match open.pop() {
        Some(last) => Ok(last),
        None => Ok(openat(root, ".", FOLDER, Mode::empty())?),
    }
}

/// Pushes the components of a path, the first one on top.
fn push(todo: &mut Vec<OsString>, path: &Path) -> Result<(), AccessError> {
    let from = todo.len();
    for part in path.components() {
        match part {
            Component::Normal(name) => todo.push(name.to_owned()),
            Component::ParentDir => todo.push("..".into()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(AccessError::Outside),
        }
    }
    if let Some(added) = todo.get_mut(from..) {
        added.reverse();
    }
    Ok(())
}

/// The target of the symlink `name` in `dir`; `None` when it is not a symlink.
pub(super) fn link_text(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<OsString>, Errno> {
    match readlinkat(dir, name.as_bytes(), Vec::new()) {
        Ok(text) => Ok(Some(OsString::from_vec(text.into_bytes()))),
        Err(Errno::INVAL) => Ok(None),
        Err(errno) => Err(errno),
    }
}
