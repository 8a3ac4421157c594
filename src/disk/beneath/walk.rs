//! Walks every file below the working directory, by handles alone.
//!
//! A folder is opened through the handle of its parent and never through a symlink, so a folder that is swapped for a symlink during the walk is
//! skipped, and a file is opened by its name in the folder that was listed. Only regular files are read: neither the searched files nor ignore
//! files can be devices or pipes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
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
        open_name(self.dir.as_fd(), &self.name, OFlags::RDONLY).map_err(|stop| match stop {
            AccessError::Os(errno) => errno.into(),
            _ => Errno::LOOP.into(),
        })
    }
}

/// A folder being walked.
struct WalkFrame<M> {
    dir: Arc<OwnedFd>,
    rel: RelPath,
    entries: IntoIter<(OsString, bool)>,
    rules: Rc<IgnoreRules>,
    mark: M,
}

impl Root {
    /// Walks all files in the order of their paths, compared by component. Symlinks, pipes and devices are skipped; `.git` and the tickets are
    /// never entered. `ignore_files` are the names of files with ignore patterns.
    pub fn walk<V: WalkVisitor>(&self, ignore_files: &[&str], mark: V::Mark, visit: &mut V) {
        let fences = self.fences().into_iter();
        let closed: Vec<FolderId> = fences
            .filter(|(_, guard)| matches!(guard, GuardedPart::Tickets | GuardedPart::Git))
            .map(|(id, _)| id)
            .collect();
        let rules = match ignore_files {
            [] => IgnoreRules::none(),
            files => IgnoreRules::above(self, &RelPath::here(), files),
        };
        let mut stack: Vec<WalkFrame<V::Mark>> = Vec::new();
        let open = |dir: OwnedFd, rel: RelPath, above: Rc<IgnoreRules>, mark, visit: &mut V| {
            let entries = entries(&dir, &rel, visit);
            let rules = IgnoreRules::of_folder(self, dir.as_fd(), &rel, above, ignore_files);
            WalkFrame {
                dir: Arc::new(dir),
                rel,
                entries: entries.into_iter(),
                rules,
                mark,
            }
        };
        match openat(&*self.handle, ".", READABLE, Mode::empty()) {
            Ok(top) => stack.push(open(top, RelPath::here(), rules, mark, visit)),
            Err(reason) => visit.unreadable(&RelPath::here(), reason.into()),
        }
        while let Some(frame) = stack.last_mut() {
            if visit.is_over() {
                return;
            }
            let Some((name, is_folder)) = frame.entries.next() else {
                stack.pop();
                continue;
            };
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
