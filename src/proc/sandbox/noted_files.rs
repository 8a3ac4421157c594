//! Files as they were, and how they are made that again. Everything is opened part by part without following links: a command may have put a link where a
//! folder was, and what is put back must not land elsewhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, chmodat, mkdirat, openat, renameat, statat, unlinkat,
};

/// Largest file that is kept to be put back.
const MAX_KEPT_BYTES: u64 = 1 << 20;
/// Most files of one folder.
pub(super) const MAX_FILES: usize = 500;
/// Most names of one folder that are passed over.
const MAX_PASSED: usize = 50_000;
/// Most changed files of which a copy is kept.
const MAX_COPIES: usize = 50;
/// The system's clock for files may stand still so long: what was changed within this time can be changed again and look the same.
const CLOCK_TICK_NANOS: i128 = 50_000_000;
/// How the open folder is opened again.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Files by path.
pub(super) type NotedFiles = BTreeMap<PathBuf, Noted>;

/// What git makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It runs or obeys it, whatever is in it.
    Whole,
    /// Configuration.
    Config,
    /// What a rebase still has to do.
    RebaseTodo,
    /// A `.git` that leads to a repository elsewhere.
    GitFile,
    /// Where the repository of a linked worktree is.
    CommonDir,
    /// Where the files of a linked worktree are.
    WorktreeFiles,
}

/// A file as it was; or a folder with more files than are noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) role: Role,
    mode: u32,
    /// Under how many names the file is there: what is written under another is written here.
    names: u64,
    /// None: larger than what is kept.
    pub(super) bytes: Option<Vec<u8>>,
    stamp: Stamp,
}

impl Noted {
    pub(super) fn is_folder(&self) -> bool {
        rustix::fs::FileType::from_raw_mode(self.mode).is_dir()
    }

    /// The same with what `reduce` leaves of it; none if it is no file that was read.
    pub(super) fn reduced(&self, reduce: impl Fn(&[u8]) -> Vec<u8>) -> Option<Self> {
        let is_file = rustix::fs::FileType::from_raw_mode(self.mode).is_file();
        let bytes = self.bytes.as_deref().filter(|_| is_file).map(reduce);
        bytes.is_some().then(|| Self {
            bytes,
            names: 1,
            ..self.clone()
        })
    }

    /// Whether the same is to be read in both.
    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.mode == other.mode && self.bytes.is_some() && self.bytes == other.bytes
    }

    /// Whether `now` is what this says, under no other names.
    pub(super) fn is_in(&self, now: &Self) -> bool {
        self.has_content_of(now) && now.names <= self.names
    }

    fn is_same(&self, now: &Self) -> bool {
        let is_settled = self.stamp.is_settled || self.bytes.is_none();
        let is_untouched = self.stamp == now.stamp && is_settled && self.mode == now.mode;
        is_untouched || self.is_in(now)
    }
}

/// What the system says of a file or folder; equal and settled means that it was not written since.
#[derive(Debug, Clone, Copy, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
    /// It had not been changed just before.
    pub(super) is_settled: bool,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        (self.inode, self.size, self.changed) == (other.inode, other.size, other.changed)
    }
}

impl Stamp {
    pub(super) fn of(found: &Metadata) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
        let changed = (found.ctime(), found.ctime_nsec());
        let nanos = i128::from(changed.0) * 1_000_000_000 + i128::from(changed.1);
        Self {
            inode: found.ino(),
            size: found.len(),
            changed,
            is_settled: now - nanos > CLOCK_TICK_NANOS,
        }
    }
}

/// The paths of what is not as it was.
pub(super) fn difference(before: &NotedFiles, after: &NotedFiles) -> Vec<PathBuf> {
    let is_same = |path: &PathBuf, noted: &Noted| {
        let found = after.get(path);
        found.is_some_and(|found| noted.is_same(found))
    };
    let gone = before.iter().filter(|(path, noted)| !is_same(path, noted));
    let gone = gone.map(|(path, _)| path.clone());
    let new = after.keys().filter(|path| !before.contains_key(*path));
    gone.chain(new.cloned()).collect()
}

/// The entries of a folder that is no link; an error when it may not be listed.
pub(super) fn entries(
    folder: &Path,
) -> io::Result<impl Iterator<Item = (OsString, FileType)> + use<>> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let entries = is_folder.then(|| fs::read_dir(folder)).transpose()?;
    let entries = entries.into_iter().flatten().map_while(Result::ok);
    Ok(entries.filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?))))
}

/// The first names in a folder that is no link.
pub(super) fn names(folder: &Path) -> impl Iterator<Item = OsString> + use<> {
    let entries = entries(folder).into_iter().flatten();
    entries.take(MAX_FILES).map(|(name, _)| name)
}

/// Every repository has a dozen of git's own samples, which it never runs.
fn is_sample(name: &OsStr) -> bool {
    name.as_bytes().ends_with(b".sample")
}

/// Notes files.
pub(super) struct Noting<'a> {
    /// What the paths are in, unless they are absolute.
    pub dir: &'a Path,
    /// What was noted before: of what was not touched since, nothing is read again.
    pub before: Option<&'a NotedFiles>,
    pub noted: NotedFiles,
}

impl Noting<'_> {
    /// Notes the files of a folder, and of those in it down to `depth`; of a folder with too many, or that may not be listed, the folder itself.
    pub(super) fn folder(&mut self, folder: &Path, depth: usize) {
        if !self.files_of(folder, depth) {
            self.noted.retain(|path, _| !path.starts_with(folder));
            self.file(folder, Role::Whole);
        }
    }

    /// False when not all could be noted.
    fn files_of(&mut self, folder: &Path, depth: usize) -> bool {
        let Ok(entries) = entries(&self.dir.join(folder)) else {
            return false;
        };
        let (mut noted, mut passed) = (0, 0);
        for (name, kind) in entries {
            if is_sample(&name) || (kind.is_dir() && depth <= 1) {
                passed += 1;
            } else {
                noted += 1;
                let path = folder.join(name);
                match kind.is_dir() {
                    true => self.folder(&path, depth - 1),
                    false => self.file(&path, Role::Whole),
                }
            }
            if noted > MAX_FILES || passed > MAX_PASSED {
                return false;
            }
        }
        true
    }

    /// Notes what is at `path`.
    pub(super) fn file(&mut self, path: &Path, role: Role) {
        let place = self.dir.join(path);
        let Ok(found) = fs::symlink_metadata(&place) else {
            return;
        };
        let mut noted = Noted {
            role,
            mode: found.mode(),
            names: found.nlink(),
            bytes: None,
            stamp: Stamp::of(&found),
        };
        let before = self.before.and_then(|before| before.get(path));
        noted.bytes = match before {
            Some(before) if before.is_same(&noted) => before.bytes.clone(),
            _ if found.is_symlink() => {
                let link = fs::read_link(&place).ok();
                link.map(|link| link.as_os_str().as_bytes().to_vec())
            }
            _ if found.is_file() && found.len() <= MAX_KEPT_BYTES => read(&place),
            _ => None,
        };
        self.noted.insert(path.to_owned(), noted);
    }
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

/// A folder that stays the same one, whatever lies at its path later.
pub(super) fn open_base(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, FOLDER, Mode::empty())?)
}

/// Makes the file at `path` beneath `base` what `noted` says, or removes it. With `may_make_folders` those on the way are made; else nothing is done without
/// them.
pub(super) fn put_back(
    base: &OwnedFd,
    path: &Path,
    noted: Option<&Noted>,
    may_make_folders: bool,
) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut at: OwnedFd = openat(base, ".", FOLDER, Mode::empty())?;
    for part in path.parent().unwrap_or(Path::new("")) {
        let is_folder = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)
            .map(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir());
        match is_folder {
            Ok(true) => {}
            // What is to be removed is gone already.
            _ if noted.is_none() || !may_make_folders => return Ok(()),
            Ok(false) => {
                unlinkat(&at, part, AtFlags::empty())?;
                mkdirat(&at, part, Mode::from_raw_mode(0o755))?;
            }
            Err(_) => mkdirat(&at, part, Mode::from_raw_mode(0o755))?,
        }
        at = openat(&at, part, FOLDER, Mode::empty())?;
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
        rustix::fs::symlinkat(OsStr::from_bytes(bytes), &at, &fresh)?;
    } else {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(noted.mode & 0o7777);
        let mut file = File::from(openat(&at, &fresh, flags, mode)?);
        file.write_all(bytes)?;
        rustix::fs::fchmod(&file, mode)?;
    }
    renameat(&at, &fresh, &at, name)
        .or_else(|_| {
            // A folder that was put in its place goes aside, with what is in it.
            renameat(&at, name, &at, format!("{fresh}-folder"))?;
            renameat(&at, &fresh, &at, name)
        })
        .inspect_err(|_| {
            let _left = unlinkat(&at, &fresh, AtFlags::empty());
        })?;
    Ok(())
}

/// Removes the files of the folder at `path` beneath `base` that are not `known`.
pub(super) fn remove_new(
    base: &OwnedFd,
    path: &Path,
    known: impl Fn(&OsStr) -> bool,
) -> io::Result<()> {
    let mut at: OwnedFd = openat(base, ".", FOLDER, Mode::empty())?;
    for part in path {
        at = openat(&at, part, FOLDER, Mode::empty()).or_else(|error| {
            let found = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)?;
            let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
            if error != rustix::io::Errno::ACCESS || !kind.is_dir() {
                return Err(error);
            }
            // It may not be listed.
            chmodat(&at, part, Mode::from_raw_mode(0o755), AtFlags::empty())?;
            openat(&at, part, FOLDER, Mode::empty())
        })?;
    }
    for entry in Dir::read_from(at.as_fd())? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_dots = name == "." || name == "..";
        if is_dots || entry.file_type().is_dir() || is_sample(name) || known(name) {
            continue;
        }
        match unlinkat(&at, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::ISDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The files among `paths`, in `dir` or absolute, with what is in them now.
pub(super) fn contents<'a>(
    dir: &'a Path,
    paths: &'a [PathBuf],
) -> impl Iterator<Item = (&'a PathBuf, Vec<u8>)> {
    paths.iter().take(MAX_COPIES).filter_map(|path| {
        let place = dir.join(path);
        let found = fs::symlink_metadata(&place).ok()?;
        let is_small = found.is_file() && found.len() <= MAX_KEPT_BYTES;
        Some((path, is_small.then(|| read(&place)).flatten()?))
    })
}

/// Copies what is at `paths` now, in `dir` or absolute, into the new folder `to`, for the owner alone. False when there was nothing to copy, or it failed.
pub(super) fn keep_copies(dir: &Path, paths: &[PathBuf], to: &Path) -> bool {
    let mut is_kept = false;
    for (path, bytes) in contents(dir, paths) {
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
