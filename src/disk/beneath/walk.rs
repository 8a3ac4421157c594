//! Walks every file below the working directory, by handles alone.
//!
//! A folder is opened through the handle of its parent and never through a symlink, so a folder that is swapped for a symlink during the walk is
//! skipped, and a file is opened by its name in the folder that was listed. Only regular files are read: neither the searched files nor ignore
//! files can be devices or pipes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::vec::IntoIter;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::ignored::IgnoreRules;
use super::open_beneath::{AccessError, FolderId, id};
use super::read::open_name;
use super::root::Root;
use crate::disk::beneath::located::DEEPEST;
use crate::disk::beneath::rel_path::{GuardedPart, RelPath};

/// Entries between two checks for cancellation.
const CANCEL_CHECK_ENTRIES: usize = 4_096;

/// Maximum bytes of the names of [`Root::top_entries`].
const MAX_TOP_BYTES: usize = 24 << 10;

/// Decides where a walk goes and receives its files.
pub trait WalkVisitor {
    /// State that a folder passes on to its entries.
    type Mark: Copy;

    /// Whether to enter or visit an entry, and its mark. `ignored` when an ignore file hides it.
    fn enter(
        &mut self,
        entry: &WalkEntry<'_>,
        ignored: bool,
        above: Self::Mark,
    ) -> Option<Self::Mark>;

    fn file(&mut self, file: WalkFile) -> ControlFlow<()>;

    /// Whether the files of this folder are handed over by their names alone, to [`WalkVisitor::run`]. Most visitors decide on each file.
    fn takes_runs(&mut self, _folder: &RelPath) -> bool {
        false
    }

    /// Files between two folders; the visitor decides later which of them count.
    fn run(&mut self, _run: WalkRun<Self::Mark>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called for a folder that cannot be read.
    fn unreadable(&mut self, folder: &RelPath, reason: io::Error);

    /// Polled now and then: true ends the walk.
    fn is_over(&mut self) -> bool;
}

/// An entry on which a visitor decides.
pub struct WalkEntry<'a> {
    /// Its path; bytes that are not UTF-8 are shown as U+FFFD.
    pub rel: &'a RelPath,
    /// Whether it is a folder; otherwise it is a regular file.
    pub is_folder: bool,
}

/// A file in a folder that is held open.
pub struct WalkFile {
    /// Its path; bytes that are not UTF-8 are shown as U+FFFD.
    pub rel: RelPath,
    dir: Arc<OwnedFd>,
    name: OsString,
}

impl WalkFile {
    /// Opens the file if it is still a regular one; a link put in its place is not followed, and a pipe does not block.
    ///
    /// # Errors
    /// It is gone, may not be read, or has become something else.
    pub fn open(&self) -> io::Result<File> {
        open_name(self.dir.as_fd(), &self.name, OFlags::RDONLY).map_err(io_error)
    }
}

/// Files of a folder that follow each other in the order of paths. Nothing is open, so there may be many.
pub struct WalkRun<M> {
    pub folder: RelPath,
    /// The folder's.
    pub mark: M,
    pub names: Vec<String>,
    rules: Rc<IgnoreRules>,
}

impl<M> WalkRun<M> {
    /// The path of a file in it.
    pub fn path(&self, name: &str) -> RelPath {
        self.folder.child(name)
    }

    /// Whether an ignore file hides one of its files.
    pub fn is_ignored(&self, root: &Root, file: &RelPath) -> bool {
        self.rules.hides(root.path(), file, false)
    }
}

/// A folder being walked.
struct WalkFrame<M> {
    dir: Arc<OwnedFd>,
    rel: RelPath,
    entries: IntoIter<(OsString, bool)>,
    rules: Rc<IgnoreRules>,
    mark: M,
    takes_runs: bool,
    /// Names of the run that goes on.
    names: Vec<String>,
}

impl<M: Copy> WalkFrame<M> {
    /// Hands over the run that ends here.
    fn end_run<V: WalkVisitor<Mark = M>>(&mut self, visit: &mut V) -> ControlFlow<()> {
        if self.names.is_empty() {
            return ControlFlow::Continue(());
        }
        visit.run(WalkRun {
            folder: self.rel.clone(),
            mark: self.mark,
            names: std::mem::take(&mut self.names),
            rules: Rc::clone(&self.rules),
        })
    }
}

impl Root {
    /// The entries of the top folder that hold nothing of what is never entered, which a walk would: `.` when that is all of them. Those whose names are not
    /// UTF-8 are left out, and what comes after [`MAX_TOP_BYTES`] of names.
    pub fn top_entries(&self) -> io::Result<Vec<String>> {
        let closed = self.closed();
        if closed.is_empty() {
            return Ok(vec![".".to_owned()]);
        }
        // The folder that another root keeps closed may lie deeper.
        let kept = self.kept.as_deref();
        let kept = kept.and_then(|kept| kept.path.strip_prefix(&self.path).ok()?.iter().next());
        let top = openat(&*self.handle, ".", READABLE, Mode::empty())?;
        let mut found = Vec::new();
        read_entries(&top, &mut found, &mut || false)?;
        let mut left = MAX_TOP_BYTES;
        let names = found.into_iter().filter_map(|(name, is_folder)| {
            let is_closed = is_folder
                && statat(&top, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| closed.contains(&id(&stat)));
            let is_open = !is_closed && kept != Some(name.as_os_str());
            name.into_string().ok().filter(|_| is_open)
        });
        let names = names.take_while(|name| {
            let is_room = name.len() <= left;
            left = left.saturating_sub(name.len());
            is_room
        });
        Ok(names.collect())
    }

    /// A path by which a child that is started now, while this root is open, enters the folder, whatever it is called by then.
    pub fn child_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// Opens a file that a walk found, by its path. A link in its place, or in that of the file, is not followed out of the folder.
    ///
    /// # Errors
    /// It is gone, may not be read, has become something else, or lies in what is closed by now.
    pub fn open_found(&self, rel: &RelPath) -> io::Result<File> {
        let opened = self.open_folder(&rel.parent()).and_then(|dir| {
            let closed = self.guard(dir.as_fd(), None)?;
            let name = rel.name().unwrap_or_default();
            match closed {
                Some(GuardedPart::Git) => Err(AccessError::Loop),
                _ => open_name(dir.as_fd(), OsStr::new(name), OFlags::RDONLY),
            }
        });
        opened.map_err(io_error)
    }

    /// What a walk never enters.
    fn closed(&self) -> Vec<FolderId> {
        let fences = self.fences().into_iter();
        let closed =
            fences.filter(|(_, guard)| matches!(guard, GuardedPart::Tickets | GuardedPart::Git));
        closed.map(|(id, _)| id).collect()
    }

    /// Walks all files in the order of their paths, compared by component. Symlinks, pipes and devices are skipped; `.git` and the tickets are
    /// never entered. `ignore_files` are the names of files with ignore patterns.
    pub fn walk<V: WalkVisitor>(&self, ignore_files: &[&str], mark: V::Mark, visit: &mut V) {
        let closed = self.closed();
        let rules = match ignore_files {
            [] => IgnoreRules::none(),
            files => IgnoreRules::above(self, &RelPath::here(), files),
        };
        let mut stack: Vec<WalkFrame<V::Mark>> = Vec::new();
        let open = |dir: OwnedFd, rel: RelPath, above: Rc<IgnoreRules>, mark, visit: &mut V| {
            let entries = entries(&dir, &rel, visit);
            let rules = IgnoreRules::of_folder(self, dir.as_fd(), &rel, above, ignore_files);
            WalkFrame {
                takes_runs: visit.takes_runs(&rel),
                dir: Arc::new(dir),
                rel,
                entries: entries.into_iter(),
                rules,
                mark,
                names: Vec::new(),
            }
        };
        match openat(&*self.handle, ".", READABLE, Mode::empty()) {
            Ok(top) => stack.push(open(top, RelPath::here(), rules, mark, visit)),
            Err(reason) => visit.unreadable(&RelPath::here(), reason.into()),
        }
        while let Some(frame) = stack.last_mut() {
            if frame.names.is_empty() && visit.is_over() {
                return;
            }
            let Some((mut name, is_folder)) = frame.entries.next() else {
                if frame.end_run(visit).is_break() {
                    return;
                }
                stack.pop();
                continue;
            };
            if frame.takes_runs && !is_folder {
                match name.into_string() {
                    Ok(name) => {
                        frame.names.push(name);
                        continue;
                    }
                    Err(other) => name = other,
                }
            }
            if frame.end_run(visit).is_break() {
                return;
            }
            let rel = frame.rel.child(&name.to_string_lossy());
            let ignored = frame.rules.hides(self.path(), &rel, is_folder);
            let found = WalkEntry {
                rel: &rel,
                is_folder,
            };
            let Some(mark) = visit.enter(&found, ignored, frame.mark) else {
                continue;
            };
            if !is_folder {
                let file = WalkFile {
                    rel,
                    dir: Arc::clone(&frame.dir),
                    name,
                };
                if visit.file(file).is_break() {
                    return;
                }
                continue;
            }
            let (dir, rules) = (Arc::clone(&frame.dir), Rc::clone(&frame.rules));
            if stack.len() >= DEEPEST {
                visit.unreadable(&rel, Errno::NAMETOOLONG.into());
                continue;
            }
            match openat(
                &*dir,
                name.as_bytes(),
                READABLE | OFlags::NOFOLLOW,
                Mode::empty(),
            ) {
                // It has become a link or a file since.
                Err(Errno::LOOP | Errno::NOTDIR | Errno::NOENT | Errno::MLINK) => {}
                Err(reason) => visit.unreadable(&rel, reason.into()),
                Ok(dir) if fstat(&dir).is_ok_and(|stat| closed.contains(&id(&stat))) => {}
                Ok(dir) => stack.push(open(dir, rel, rules, mark, visit)),
            }
        }
    }
}

fn io_error(stop: AccessError) -> io::Error {
    match stop {
        AccessError::Os(errno) => errno.into(),
        _ => Errno::LOOP.into(),
    }
}

const READABLE: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The files and folders in `dir` by name, each with whether it is a folder; as many as can be read.
fn entries<V: WalkVisitor>(dir: &OwnedFd, rel: &RelPath, visit: &mut V) -> Vec<(OsString, bool)> {
    let mut entries = Vec::new();
    if let Err(reason) = read_entries(dir, &mut entries, &mut || visit.is_over()) {
        visit.unreadable(rel, reason.into());
    }
    entries.sort_unstable();
    entries
}

fn read_entries(
    dir: &OwnedFd,
    entries: &mut Vec<(OsString, bool)>,
    is_over: &mut dyn FnMut() -> bool,
) -> Result<(), Errno> {
    for (count, item) in Dir::read_from(dir)?.enumerate() {
        if count % CANCEL_CHECK_ENTRIES == CANCEL_CHECK_ENTRIES - 1 && is_over() {
            return Ok(());
        }
        let item = item?;
        let name = item.file_name().to_bytes();
        if matches!(name, b"." | b"..") || name.eq_ignore_ascii_case(b".git") {
            continue;
        }
        let kind = match item.file_type() {
            FileType::Unknown => match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            known => known,
        };
        if kind == FileType::RegularFile || kind == FileType::Directory {
            entries.push((
                OsString::from_vec(name.to_vec()),
                kind == FileType::Directory,
            ));
        }
    }
    Ok(())
}
