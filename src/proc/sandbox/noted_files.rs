//! Files as they were, and how they are made that again. Everything is opened part by part without following links: a command may have put a link where a folder
//! was, and what is put back must not land elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};

/// Largest file that is kept to be put back.
const MAX_KEPT_BYTES: u64 = 1 << 20;
/// Most files of one folder.
pub(super) const MAX_FILES: usize = 500;
/// Most changed files of which a copy is kept.
const MAX_COPIES: usize = 50;

/// Files by path.
pub(super) type NotedFiles = BTreeMap<PathBuf, Noted>;

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    mode: u32,
    /// None: larger than what is kept.
    pub(super) bytes: Option<Vec<u8>>,
    stamp: Stamp,
}

/// What the system says of a file; equal means that it was not written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// The paths of what is not as it was.
pub(super) fn difference(before: &NotedFiles, after: &NotedFiles) -> Vec<PathBuf> {
    let is_same = |path: &PathBuf, noted: &Noted| {
        after.get(path).is_some_and(|found| {
            let is_untouched = found.stamp == noted.stamp;
            let is_equal = found.bytes.is_some() && found.bytes == noted.bytes;
            found.mode == noted.mode && (is_untouched || is_equal)
        })
    };
    let gone = before.iter().filter(|(path, noted)| !is_same(path, noted));
    let gone = gone.map(|(path, _)| path.clone());
    let new = after.keys().filter(|path| !before.contains_key(*path));
    gone.chain(new.cloned()).collect()
}

/// Notes the files of a folder, and of those in it down to `depth`.
pub(super) fn note_folder(dir: &Path, folder: &Path, depth: usize, notes: &mut NotedFiles) {
    for name in names(&dir.join(folder)) {
        // Every repository has a dozen of git's own samples, which it never runs.
        if name.as_encoded_bytes().ends_with(b".sample") {
            continue;
        }
        let path = folder.join(name);
        match fs::symlink_metadata(dir.join(&path)) {
            Ok(found) if found.is_dir() && depth > 1 => note_folder(dir, &path, depth - 1, notes),
            Ok(found) if !found.is_dir() => note(dir, &path, notes),
            _ => {}
        }
    }
}

/// The names in a folder that is no link.
pub(super) fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let entries = is_folder.then(|| fs::read_dir(folder).ok()).flatten();
    let names = entries.into_iter().flatten().take(MAX_FILES);
    names
        .map_while(Result::ok)
        .map(|entry| entry.file_name())
        .collect()
}

/// Notes what is at `path`, in `dir` or absolute.
pub(super) fn note(dir: &Path, path: &Path, notes: &mut NotedFiles) {
    let place = dir.join(path);
    let Ok(found) = fs::symlink_metadata(&place) else {
        return;
    };
    let bytes = if found.is_symlink() {
        use std::os::unix::ffi::OsStrExt as _;
        fs::read_link(&place)
            .ok()
            .map(|link| link.as_os_str().as_bytes().to_vec())
    } else if found.is_file() && found.len() <= MAX_KEPT_BYTES {
        read(&place)
    } else {
        None
    };
    let stamp = Stamp {
        inode: found.ino(),
        size: found.len(),
        changed: (found.ctime(), found.ctime_nsec()),
    };
    let noted = Noted {
        mode: found.mode(),
        bytes,
        stamp,
    };
    notes.insert(path.to_owned(), noted);
}

fn read(path: &Path) -> Option<Vec<u8>> {
    // Neither a link nor a pipe that was put there since.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    let mut file = File::from(file).take(MAX_KEPT_BYTES + 1);
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Makes the file at `path` beneath `base` what it was, or removes it when there was none.
pub(super) fn put_back(base: &Path, path: &Path, noted: Option<&Noted>) -> io::Result<()> {
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: OwnedFd = rustix::fs::open(base, folder, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for part in path.parent().unwrap_or(Path::new("")) {
        let is_folder = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)
            .map(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir());
        match (is_folder, noted) {
            (Ok(true), _) => {}
            // What is to be removed is gone already.
            (_, None) => return Ok(()),
            (Ok(false), Some(_)) => {
                unlinkat(&at, part, AtFlags::empty())?;
                mkdirat(&at, part, Mode::from_raw_mode(0o755))?;
            }
            (Err(_), Some(_)) => mkdirat(&at, part, Mode::from_raw_mode(0o755))?,
        }
        at = openat(&at, part, folder, Mode::empty())?;
    }
    let Some(noted) = noted else {
        return match unlinkat(&at, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        };
    };
    let bytes = noted.bytes.as_ref().ok_or(io::ErrorKind::FileTooLarge)?;
    let kind = rustix::fs::FileType::from_raw_mode(noted.mode);
    let fresh = format!(".marvin-{}", crate::base::ids::hex(6));
    if kind.is_symlink() {
        use std::os::unix::ffi::OsStrExt as _;
        rustix::fs::symlinkat(std::ffi::OsStr::from_bytes(bytes), &at, &fresh)?;
    } else {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(noted.mode & 0o7777);
        let mut file = File::from(openat(&at, &fresh, flags, mode)?);
        file.write_all(bytes)?;
        rustix::fs::fchmod(&file, mode)?;
    }
    // A folder in its place stays, and is told.
    renameat(&at, &fresh, &at, name).inspect_err(|_| {
        let _left = unlinkat(&at, &fresh, AtFlags::empty());
    })?;
    Ok(())
}

/// Copies what is at `paths` now, in `dir` or absolute, into the new folder `to`, for the owner alone. False when there was nothing to copy, or it failed.
pub(super) fn keep_copies(dir: &Path, paths: &[PathBuf], to: &Path) -> bool {
    let texts = paths.iter().take(MAX_COPIES).filter_map(|path| {
        let place = dir.join(path);
        let found = fs::symlink_metadata(&place).ok()?;
        let is_small = found.is_file() && found.len() <= MAX_KEPT_BYTES;
        Some((path, is_small.then(|| read(&place)).flatten()?))
    });
    let mut is_kept = false;
    for (path, bytes) in texts {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(to);
        let name = path.to_string_lossy().replace('/', "%");
        let file = made.and_then(|()| {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            options.open(to.join(name))
        });
        is_kept |= file.is_ok_and(|mut file| file.write_all(&bytes).is_ok());
    }
    is_kept
}
