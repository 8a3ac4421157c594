//! Files as they were, and how they are made that again. Everything is opened part by part without following links: a command may have put a link where a
//! folder was, and what is put back must not land elsewhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{
    Access, AtFlags, Dir, Mode, OFlags, Stat, accessat, fchmod, fstat, mkdirat, openat, renameat,
    statat, unlinkat,
};

use super::folders::{FOLDER, Lister, Opened};
use crate::base::text::clip;

/// Largest file that is kept to be put back.
const MAX_KEPT_BYTES: u64 = 1 << 20;
/// Most files of one folder.
pub(super) const MAX_FILES: usize = 500;
/// Most names of one folder that are passed over.
const MAX_PASSED: usize = 50_000;
/// Most names that are read where links are looked for.
const MAX_NAMES: usize = 1_000_000;
/// Most changed files of which a copy is kept.
const MAX_COPIES: usize = 50;
/// The system's clock for files may stand still so long: what was changed within this time can be changed again and look the same.
const CLOCK_TICK_NANOS: i128 = 50_000_000;

/// Files by path.
pub(super) type NotedFiles = BTreeMap<PathBuf, Noted>;

/// What git makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It runs or obeys it, whatever is in it.
    Whole,
    /// Configuration.
    Config,
    /// That of one worktree alone.
    WorktreeConfig,
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

    /// What it is, as it is shown behind its path: at most `max_chars` of a file.
    pub(super) fn shown(&self, max_chars: usize) -> String {
        let kind = rustix::fs::FileType::from_raw_mode(self.mode);
        let text = self.bytes.as_deref().map(String::from_utf8_lossy);
        match text {
            Some(target) if kind.is_symlink() => format!(" a link to {target}"),
            Some(text) => format!("\n{}", clip(text.trim_end(), max_chars)),
            None if kind.is_file() => format!(" {} bytes, which are not shown", self.stamp.size),
            None => " no file, and what is in it is not shown".to_owned(),
        }
    }

    /// What tells it from any other; none where what is in it was not read.
    pub(super) fn version(&self) -> Option<Vec<u8>> {
        let mut version = self.mode.to_le_bytes().to_vec();
        version.extend_from_slice(self.bytes.as_deref()?);
        Some(version)
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
        let changed = (found.ctime(), found.ctime_nsec());
        Self::new(found.ino(), found.len(), changed)
    }

    /// The same of what was looked at without a handle of its own.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the fields' types differ by system"
    )]
    pub(super) fn of_stat(found: &Stat) -> Self {
        let size = u64::try_from(found.st_size).unwrap_or_default();
        let changed = (found.st_ctime as i64, found.st_ctime_nsec as i64);
        Self::new(found.st_ino as u64, size, changed)
    }

    fn new(inode: u64, size: u64, changed: (i64, i64)) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
        let nanos = i128::from(changed.0) * 1_000_000_000 + i128::from(changed.1);
        Self {
            inode,
            size,
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

/// Every repository has a dozen of git's own samples, which it never runs.
fn is_sample(name: &OsStr) -> bool {
    name.as_bytes().ends_with(b".sample")
}

/// What is in a folder, as far as it matters where links are looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenFolder {
    stamp: Option<Stamp>,
    pub(super) folders: Vec<OsString>,
    pub(super) links: Vec<OsString>,
}

/// Folders by path.
pub(super) type SeenFolders = BTreeMap<PathBuf, SeenFolder>;

/// Notes files.
pub(super) struct Noting<'a> {
    /// What the paths are in, unless they are absolute.
    pub dir: &'a Path,
    lister: io::Result<Lister>,
    /// What was noted before a command: of what was not touched since, nothing is read again.
    before: Option<&'a NotedFiles>,
    /// The same of folders.
    seen_before: Option<&'a SeenFolders>,
    /// Folders that could not be seen before a command, which leaves their rights as they are; none before there was one.
    closed_before: Option<&'a [PathBuf]>,
    names_left: usize,
    pub noted: NotedFiles,
    pub seen: SeenFolders,
    /// Folders whose rights were given back.
    pub given_back: Vec<PathBuf>,
    /// Folders in which not everything could be seen.
    pub closed: Vec<PathBuf>,
}

impl<'a> Noting<'a> {
    pub(super) fn new(dir: &'a Path, seen_before: Option<&'a SeenFolders>) -> Self {
        Self {
            dir,
            lister: Lister::new(dir),
            before: None,
            seen_before,
            closed_before: None,
            names_left: MAX_NAMES,
            noted: NotedFiles::new(),
            seen: SeenFolders::new(),
            given_back: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// After a command. Rights to folders that are missing are given back, unless they were `closed` before.
    pub(super) fn after(mut self, noted: &'a NotedFiles, closed: &'a [PathBuf]) -> Self {
        self.before = Some(noted);
        self.closed_before = Some(closed);
        self
    }

    /// The folder at `path`, if there is one that can be listed and entered.
    pub(super) fn open(&mut self, path: &Path) -> Option<Opened> {
        let is_open = |closed: &[PathBuf]| !closed.iter().any(|closed| closed == path);
        let gives_back = self.closed_before.is_some_and(is_open);
        let opened = match &self.lister {
            Ok(lister) => lister.open(path, gives_back),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => Err(error.kind().into()),
        };
        match opened {
            Ok(opened) => {
                let opened = opened?;
                if opened.was_given_back {
                    self.given_back.push(path.to_owned());
                }
                Some(opened)
            }
            Err(_) => {
                self.closed.push(path.to_owned());
                None
            }
        }
    }

    /// The folders and links in a folder, which is read only where it has changed since it was seen: a name that is new in it changes it.
    pub(super) fn links(&mut self, folder: &Path) -> SeenFolder {
        let place = self.dir.join(folder);
        let before = self.seen_before.and_then(|before| before.get(folder));
        let unchanged = before.filter(|seen| {
            let found = fs::symlink_metadata(&place);
            let is_settled = |stamp: &&Stamp| stamp.is_settled;
            let stamp = seen.stamp.as_ref().filter(is_settled);
            stamp.is_some_and(|stamp| found.is_ok_and(|found| Stamp::of(&found) == *stamp))
        });
        let seen = unchanged
            .cloned()
            .unwrap_or_else(|| self.read_links(folder));
        if seen.stamp.is_some() {
            self.seen.insert(folder.to_owned(), seen.clone());
        }
        seen
    }

    fn read_links(&mut self, folder: &Path) -> SeenFolder {
        let mut seen = SeenFolder::default();
        let Some(opened) = self.open(folder) else {
            return seen;
        };
        // Before the names: what comes later is seen by the next look.
        let stamp = Stamp::of(&opened.found);
        let left = &mut self.names_left;
        let done = opened.list(|name, kind| {
            match kind {
                rustix::fs::FileType::Directory => seen.folders.push(name.to_owned()),
                rustix::fs::FileType::Symlink => seen.links.push(name.to_owned()),
                _ => {}
            }
            *left = left.saturating_sub(1);
            match *left {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        if done.is_err() || self.names_left == 0 {
            self.closed.push(folder.to_owned());
        } else {
            seen.stamp = Some(stamp);
        }
        seen
    }

    /// The first names in a folder.
    pub(super) fn names(&mut self, folder: &Path) -> Vec<OsString> {
        let mut names = Vec::new();
        let Some(opened) = self.open(folder) else {
            return names;
        };
        let done = opened.list(|name, _| {
            names.push(name.to_owned());
            match names.len() > MAX_FILES {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if done.is_err() || names.len() > MAX_FILES {
            self.closed.push(folder.to_owned());
        }
        names
    }

    /// Notes the files of a folder, and of those in it down to `depth`; of a folder with too many, or that may not be listed, the folder itself.
    pub(super) fn folder(&mut self, folder: &Path, depth: usize) {
        if !self.files_of(folder, depth) {
            self.noted.retain(|path, _| !path.starts_with(folder));
            self.file(folder, Role::Whole);
        }
    }

    /// False when not all could be noted.
    fn files_of(&mut self, folder: &Path, depth: usize) -> bool {
        let Some(opened) = self.open(folder) else {
            return !self.closed.iter().any(|closed| closed == folder);
        };
        let mut found = Vec::new();
        let mut passed = 0;
        let done = opened.list(|name, kind| {
            match is_sample(name) || (kind.is_dir() && depth <= 1) {
                true => passed += 1,
                false => found.push((folder.join(name), kind)),
            }
            match found.len() > MAX_FILES || passed > MAX_PASSED {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let is_whole = found.len() <= MAX_FILES && passed <= MAX_PASSED;
        for (path, kind) in found {
            match kind.is_dir() {
                true => self.folder(&path, depth - 1),
                false => self.file(&path, Role::Whole),
            }
        }
        is_whole && done.is_ok()
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

/// Gives the owner the right to change what is in a folder back, if a command has taken it away.
fn make_changeable(folder: &OwnedFd) {
    if accessat(folder, ".", Access::WRITE_OK, AtFlags::empty()).is_err()
        && let Ok(found) = fstat(folder)
    {
        // Where it is not ours, what follows fails.
        let _refused = fchmod(folder, Mode::from_raw_mode(found.st_mode) | Mode::RWXU);
    }
}

/// Makes the file at `path` beneath `base` what `noted` says, or removes it. With `may_make_folders` those on the way are made; else nothing is done without
/// them. The new name of a folder that was in the file's place.
pub(super) fn put_back(
    base: &OwnedFd,
    path: &Path,
    noted: Option<&Noted>,
    may_make_folders: bool,
) -> io::Result<Option<PathBuf>> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut at: OwnedFd = openat(base, ".", FOLDER, Mode::empty())?;
    for part in path.parent().unwrap_or(Path::new("")) {
        let is_folder = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)
            .map(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir());
        match is_folder {
            Ok(true) => {}
            // What is to be removed is gone already.
            _ if noted.is_none() || !may_make_folders => return Ok(None),
            Ok(false) => {
                make_changeable(&at);
                unlinkat(&at, part, AtFlags::empty())?;
                mkdirat(&at, part, Mode::from_raw_mode(0o755))?;
            }
            Err(_) => {
                make_changeable(&at);
                mkdirat(&at, part, Mode::from_raw_mode(0o755))?;
            }
        }
        at = openat(&at, part, FOLDER, Mode::empty())?;
    }
    make_changeable(&at);
    let Some(noted) = noted else {
        return match unlinkat(&at, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(None),
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
        fchmod(&file, mode)?;
    }
    let mut aside = None;
    renameat(&at, &fresh, &at, name)
        .or_else(|_| {
            // A folder that was put in its place goes aside, with what is in it.
            let other = format!("{fresh}-folder");
            renameat(&at, name, &at, &other)?;
            aside = Some(path.with_file_name(other));
            renameat(&at, &fresh, &at, name)
        })
        .inspect_err(|_| {
            let _left = unlinkat(&at, &fresh, AtFlags::empty());
        })?;
    Ok(aside)
}

/// Removes the files of the folder at `path` beneath `base` that are not `known`.
pub(super) fn remove_new(
    base: &OwnedFd,
    path: &Path,
    known: impl Fn(&OsStr) -> bool,
) -> io::Result<()> {
    let mut at: OwnedFd = openat(base, ".", FOLDER, Mode::empty())?;
    for part in path {
        at = openat(&at, part, FOLDER, Mode::empty())?;
    }
    make_changeable(&at);
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
fn contents<'a>(
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
