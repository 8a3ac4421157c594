//! The open file of a session: one process at a time has it, and it only grows.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic;
use crate::disk::lock::Lock;

/// A file that records are appended to.
pub(super) struct SessionFile {
    path: PathBuf,
    file: File,
    /// Bytes in it; what comes after them was cut off by a crash.
    length: u64,
    /// The end must be repaired before the next record.
    needs_repair: bool,
    needs_line_end: bool,
    /// A power cut may take what was written last.
    is_unsynced: bool,
    /// A power cut may take the file's name.
    is_unnamed: bool,
    _lock: Lock,
}

/// What a power cut may take, to be synced without holding the file.
pub(super) struct Unsynced {
    path: PathBuf,
    file: File,
    is_unnamed: bool,
}

impl Unsynced {
    /// Waits until the disk has it.
    ///
    /// # Errors
    /// The disk is full or broken.
    pub(super) fn sync(&self) -> Outcome<()> {
        let synced = self.file.sync_data();
        synced.map_err(|error| cannot_write(&self.path, error))?;
        if self.is_unnamed {
            sync_folder(&self.path);
        }
        Ok(())
    }
}

impl SessionFile {
    /// Creates a file with `text`.
    ///
    /// # Errors
    /// It exists, or the disk is full or not writable; there is no file then.
    pub(super) fn create(path: &Path, text: &[u8], lock: Lock) -> Outcome<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        let file = open::with(&mut options, path).map_err(|error| cannot_write(path, error))?;
        let mut session = Self {
            path: path.to_owned(),
            file,
            length: 0,
            needs_repair: false,
            needs_line_end: false,
            is_unsynced: false,
            is_unnamed: true,
            _lock: lock,
        };
        if let Err(problem) = session.append(text) {
            let _ = fs::remove_file(path);
            return Err(problem);
        }
        Ok(session)
    }

    /// Opens a file whose whole lines end at `length`; nothing is written yet.
    pub(super) fn open(
        path: &Path,
        length: u64,
        needs_line_end: bool,
        lock: Lock,
    ) -> Outcome<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        let file = open::with(&mut options, path).map_err(|error| cannot_write(path, error))?;
        atomic::make_private(&file).map_err(|error| cannot_write(path, error))?;
        let now = file
            .metadata()
            .map_err(|error| cannot_write(path, error))?
            .len();
        Ok(Self {
            path: path.to_owned(),
            file,
            length,
            needs_repair: now != length,
            needs_line_end,
            is_unsynced: false,
            is_unnamed: false,
            _lock: lock,
        })
    }

    /// Appends whole lines with one write. They survive the end of this process, and a power cut once they are synced.
    ///
    /// # Errors
    /// The disk is full or not writable; the file is as before.
    pub(super) fn append(&mut self, text: &[u8]) -> Outcome<()> {
        let written = self.try_append(text);
        if written.is_err() {
            self.needs_repair = self.file.set_len(self.length).is_err();
        }
        written.map_err(|error| cannot_write(&self.path, error))
    }

    fn try_append(&mut self, text: &[u8]) -> std::io::Result<()> {
        if self.needs_repair {
            self.file.set_len(self.length)?;
            self.needs_repair = false;
        }
        let mut more = 0;
        if self.needs_line_end {
            self.file.write_all(b"\n")?;
            more = 1;
        }
        self.file.write_all(text)?;
        self.is_unsynced = true;
        self.needs_line_end = false;
        self.length += more + text.len() as u64;
        Ok(())
    }

    /// What is to be synced since this was called last.
    ///
    /// # Errors
    /// The process has too many open files.
    pub(super) fn take_unsynced(&mut self) -> Outcome<Option<Unsynced>> {
        if !self.is_unsynced {
            return Ok(None);
        }
        let file = self.file.try_clone();
        let file = file.map_err(|error| cannot_write(&self.path, error))?;
        self.is_unsynced = false;
        Ok(Some(Unsynced {
            path: self.path.clone(),
            file,
            is_unnamed: std::mem::take(&mut self.is_unnamed),
        }))
    }
}

/// Makes the name of a new file durable; where folders cannot be synced its content still is.
fn sync_folder(path: &Path) {
    if let Some(dir) = path.parent() {
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
    }
}

fn cannot_write(path: &Path, error: std::io::Error) -> Problem {
    Problem::system(format!("Cannot write {}", path.display()), error)
}
