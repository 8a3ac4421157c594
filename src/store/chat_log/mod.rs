//! The conversation on disk: `chat_log.json`, one JSON array that grows in place.
//!
//! A torn write costs at most the entry that was being written: the closing bracket is overwritten in one write, under the lock, and the next process
//! cuts off an incomplete end.

mod entry;
mod forget;
mod style;

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::open;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::atomic::{self, Access, STATE_CAP};
use crate::disk::jsonl::{Tail, tail_array};
use crate::disk::lock::Lock;

pub(crate) use entry::LogEntry;
pub use entry::LogRole;
pub(crate) use entry::messages;
pub(crate) use forget::ForgetEntries;
use style::{LogStyle, NewEntry};

/// How long to wait for another Marvin that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// What follows the last entry.
const CLOSE: &str = "\n]\n";
/// An empty log.
const EMPTY: &str = "[\n]\n";
/// Between the log's name and the time in the name of a backup.
const BACKUP: &str = ".backup.";
/// Entries read first when looking for the user's last message.
const NEAR: usize = 32;

pub(crate) type RawEntry = Map<String, Value>;

/// The chat log of one profile. Keeps no file open; several processes may use the same log.
#[derive(Debug, Clone)]
pub struct ChatLog {
    path: PathBuf,
    clock: Clock,
}

impl ChatLog {
    /// The log in this file (`ProfilePaths::chat_log`); nothing is read or created yet.
    pub fn new(path: PathBuf, clock: &Clock) -> Self {
        Self {
            path,
            clock: clock.clone(),
        }
    }

    /// The file of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends entries durably in one write; empty texts are left out. A torn end is repaired first; a file that is not a log is set aside, with a
    /// message to `warn`. The cost does not depend on the length of the log.
    ///
    /// # Errors
    /// The file, its folder or the disk cannot be written, or another process holds the lock too long. The log is as before.
    pub fn append(&self, entries: &[(LogRole, &str)], warn: &mut dyn FnMut(String)) -> Outcome<()> {
        let undated: Vec<_> = entries
            .iter()
            .map(|(role, text)| (*role, *text, None))
            .collect();
        self.append_dated(&undated, warn)
    }

    /// As [`ChatLog::append`], with the moment for entries that are to become memory.
    pub(crate) fn append_dated(
        &self,
        entries: &[(LogRole, &str, Option<Timestamp>)],
        warn: &mut dyn FnMut(String),
    ) -> Outcome<()> {
        let time = self.clock.hour_minute();
        let entries: Vec<NewEntry<'_>> = entries
            .iter()
            .filter(|(_, text, _)| !text.trim().is_empty())
            .map(|(role, text, at)| NewEntry {
                role: role.word(),
                text,
                time: &time,
                at: at.map(|at| at.to_string()),
            })
            .collect();
        if entries.is_empty() {
            return Ok(());
        }
        let locked = self.lock(1, warn)?;
        let file = self.open()?;
        let last = locked.tail.spans.last();
        let style = match last {
            Some(span) => {
                LogStyle::of(&file, span.start).map_err(|error| self.cannot("read", error))?
            }
            None => LogStyle::default(),
        };
        let (at, lead) = match last {
            Some(span) => (span.end, ",\n"),
            None => (0, "[\n"),
        };
        let length: usize = entries.iter().map(|entries| entries.text.len() + 64).sum();
        let mut text = Vec::with_capacity(length + length / 8);
        text.extend_from_slice(lead.as_bytes());
        for (nth, entry) in entries.iter().enumerate() {
            if nth > 0 {
                text.extend_from_slice(b",\n");
            }
            style
                .write(entry, &mut text)
                .map_err(|error| self.cannot("write", error.into()))?;
        }
        text.extend_from_slice(CLOSE.as_bytes());
        self.replace_from(&file, at, &text)
    }

    /// The last `n` entries, oldest first, from the end of the file. Problems go to `warn`, and the session continues.
    pub fn last(&self, n: usize, warn: &mut dyn FnMut(String)) -> Vec<LogEntry> {
        let looked = self.read_tail(n);
        let tail = match looked {
            Ok(tail) if !tail.torn => tail,
            // Another process may be in the middle of a write; under the lock the file is complete.
            Ok(tail) => self.lock(n, warn).map_or_else(
                |problem| {
                    warn(problem.one_line());
                    tail
                },
                |locked| locked.tail,
            ),
            Err(problem) if problem.kind == ProblemKind::Input => match self.lock(n, warn) {
                Ok(locked) => locked.tail,
                Err(problem) => {
                    warn(problem.one_line());
                    Tail::default()
                }
            },
            Err(problem) => {
                warn(problem.one_line());
                Tail::default()
            }
        };
        tail.entries.iter().filter_map(LogEntry::read).collect()
    }

    /// What a session starts with: everything from the `n`th last message on, and a summary shortly before it. Commands and notices in between do not
    /// count. Reads only the end of the file.
    pub fn seed(&self, n: usize, warn: &mut dyn FnMut(String)) -> Vec<LogEntry> {
        let mut wide = n.saturating_mul(2);
        let mut before = usize::MAX;
        loop {
            let mut entries = self.last(wide, warn);
            let spoken = |(index, entry): (usize, &LogEntry)| entry.is_spoken().then_some(index);
            let first = entries
                .iter()
                .enumerate()
                .filter_map(spoken)
                .nth_back(n.saturating_sub(1));
            match first {
                Some(at) => {
                    let spoken = entries.split_off(at);
                    let summary = entries.into_iter().rfind(LogEntry::is_summary);
                    return summary.into_iter().chain(spoken).collect();
                }
                // Reading more did not find more, so this is the whole log.
                None if entries.len() == before => return entries,
                None => {
                    before = entries.len();
                    wide = wide.saturating_mul(8);
                }
            }
        }
    }

    /// Removes the last message of the user and everything after it, and returns it. With `said`, only if that is its text: another Marvin with the
    /// same profile may have written in the meantime.
    ///
    /// # Errors
    /// `Missing` when there is no such entry; the disk or the lock.
    pub fn undo_last_exchange(
        &self,
        said: Option<&str>,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Vec<LogEntry>> {
        let mut locked = self.lock(NEAR, warn)?;
        let mut n = NEAR;
        let at = loop {
            let tail = &locked.tail;
            let whole = tail.entries.len() < n;
            let is_you = |entry: &Map<String, Value>| LogRole::of(entry) == LogRole::You;
            match tail.entries.iter().rposition(is_you) {
                // The entry before is needed too, to know where it ends.
                Some(index) if index > 0 || whole => break index,
                None if whole => {
                    return Err(Problem::missing("There is no exchange to undo."));
                }
                _ => {
                    n = n.saturating_mul(8);
                    locked.tail = self.read_tail(n)?;
                }
            }
        };
        let tail = &locked.tail;
        let removed = tail.entries.get(at..).unwrap_or_default();
        let text = removed.first().and_then(|entry| entry.get("text"));
        if said.is_some_and(|said| text.and_then(Value::as_str) != Some(said)) {
            return Err(Problem::refused(
                "The last exchange in the log is not of this session: another Marvin wrote it.",
            )
            .next("Take it back there."));
        }
        let file = self.open()?;
        match at.checked_sub(1).and_then(|before| tail.spans.get(before)) {
            Some(before) => self.replace_from(&file, before.end, CLOSE)?,
            None => self.replace_from(&file, 0, EMPTY)?,
        }
        Ok(removed.iter().filter_map(LogEntry::read).collect())
    }

    /// All entries with all fields; `None` when there is no log. A torn end is repaired first; a file that is not a log stays as it is.
    ///
    /// # Errors
    /// It cannot be read, or an entry is not an object.
    pub(crate) fn entries(&self, warn: &mut dyn FnMut(String)) -> Outcome<Option<Vec<RawEntry>>> {
        self.read_tail(1).map_err(|problem| {
            problem.next("Nothing was changed. Move the file away to start a new one.")
        })?;
        let _held = self.lock(1, warn)?;
        let before = atomic::read(&self.path, STATE_CAP)?;
        before.map(|before| self.parsed(&before)).transpose()
    }

    /// Copies the log to `chat_log.json.backup.STAMP`, then replaces its entries by what `change`, which gets the path of the copy, makes of them, and returns
    /// that path.
    /// Does nothing without a log, or when `change` returns `None`.
    ///
    /// # Errors
    /// As [`ChatLog::entries`]. Without a backup nothing is replaced.
    pub(crate) fn compact(
        &self,
        change: impl FnOnce(Vec<RawEntry>, &Path) -> Option<Vec<RawEntry>>,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Option<PathBuf>> {
        let _held = self.lock(1, warn)?;
        let Some(before) = atomic::read(&self.path, STATE_CAP)? else {
            return Ok(None);
        };
        let backup = self.unused_backup();
        let Some(entries) = change(self.parsed(&before)?, &backup) else {
            return Ok(None);
        };
        let lines: Vec<String> = entries
            .into_iter()
            .map(|entry| Value::Object(entry).to_string())
            .collect();
        atomic::write(&backup, &before, Access::Private)?;
        let after = format!("[\n{}{CLOSE}", lines.join(",\n"));
        atomic::write(&self.path, after.as_bytes(), Access::Private)?;
        Ok(Some(backup))
    }

    fn parsed(&self, bytes: &[u8]) -> Outcome<Vec<RawEntry>> {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if text.trim_ascii().is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_slice(text).map_err(|error| {
            Problem::input(format!(
                "{} is not a chat log: {error}.",
                self.path.display()
            ))
            .next("Nothing was changed. Move the file away to start a new one.")
        })
    }

    /// Reads the end of the log without taking the lock.
    fn read_tail(&self, n: usize) -> Outcome<Tail> {
        match fs::metadata(&self.path) {
            Ok(about) if !about.is_file() => Err(Problem::config(format!(
                "{} is not a regular file.",
                self.path.display()
            ))
            .next("Move it away; until then the conversation is not saved.")),
            Err(reason) if reason.kind() != ErrorKind::NotFound => Err(self.cannot("read", reason)),
            Ok(_) | Err(_) => tail_array(&self.path, n.max(1)),
        }
    }

    /// Takes the lock, sets aside a file that is not a log, and repairs a torn end.
    fn lock(&self, n: usize, warn: &mut dyn FnMut(String)) -> Outcome<LockedLog> {
        let lock = Lock::take(&self.path, LOCK_TIMEOUT, &Cancel::new())?;
        let tail = match self.read_tail(n) {
            Err(problem) if problem.kind == ProblemKind::Input => {
                // The target of a link is moved, so that the link stays.
                let file = self
                    .path
                    .canonicalize()
                    .map_err(|error| self.cannot("read", error))?;
                warn(atomic::set_aside(&file, &self.clock, &problem.what)?);
                Tail::default()
            }
            looked => looked?,
        };
        let mut locked = LockedLog { tail, _lock: lock };
        if locked.tail.torn {
            let file = self.open()?;
            match locked.tail.spans.last() {
                Some(last) => self.replace_from(&file, last.end, CLOSE)?,
                None => self.replace_from(&file, 0, EMPTY)?,
            }
            locked.tail.torn = false;
            warn(format!(
                "The end of {} was torn, by a crash or a power cut; it was repaired without the unfinished entry.",
                self.path.display()
            ));
        }
        Ok(locked)
    }

    fn open(&self) -> Outcome<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        open::with(options.truncate(false), &self.path)
            .and_then(|file| atomic::make_private(&file).map(|()| file))
            .map_err(|error| self.cannot("write", error))
    }

    /// Replaces everything from `at` on, durably; on failure the old content is restored.
    ///
    /// A full disk or a file size limit is noticed before the log is touched: when the log grows, line breaks are first appended, which JSON permits;
    /// when it shrinks, the same end is written again.
    fn replace_from(&self, file: &File, at: u64, text: impl AsRef<[u8]>) -> Outcome<()> {
        let text = text.as_ref();
        let cannot = |error| self.cannot("write", error);
        let length = file.metadata().map_err(cannot)?.len();
        let rest = usize::try_from(length.saturating_sub(at)).unwrap_or_default();
        let mut old = vec![0; rest];
        file.read_exact_at(&mut old, at).map_err(cannot)?;
        let grown = text.len().saturating_sub(rest);
        let room = if grown > 0 {
            file.write_all_at(&vec![b'\n'; grown], length)
        } else {
            file.write_all_at(&old, at)
        };
        if let Err(error) = room {
            let _ = file.set_len(length);
            return Err(cannot(error));
        }
        let write = || {
            if text.len() < old.len() {
                file.set_len(at)?;
            }
            file.write_all_at(text, at)?;
            file.sync_data()
        };
        write().map_err(|error| {
            let _ = file
                .set_len(at)
                .and_then(|()| file.write_all_at(&old, at))
                .and_then(|()| file.sync_data());
            cannot(error)
        })
    }

    /// The backups made by [`ChatLog::compact`].
    pub(crate) fn backups(&self) -> Vec<PathBuf> {
        let mut prefix = self.path.file_name().unwrap_or_default().to_owned();
        prefix.push(BACKUP);
        let prefix = prefix.into_encoded_bytes();
        let names = self.path.parent().map(fs::read_dir);
        let names = names.into_iter().flatten().flatten().flatten();
        names
            .filter(|name| name.file_name().as_encoded_bytes().starts_with(&prefix))
            .map(|name| name.path())
            .collect()
    }

    fn unused_backup(&self) -> PathBuf {
        let stamp = self.clock.stamp();
        let numbered = |n: u32| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(format!("{BACKUP}{stamp}"));
            if n > 1 {
                name.push(format!("-{n}"));
            }
            PathBuf::from(name)
        };
        (1..)
            .map(numbered)
            .find(|path| fs::symlink_metadata(path).is_err())
            .unwrap_or_else(|| numbered(1))
    }

    fn cannot(&self, act: &str, error: std::io::Error) -> Problem {
        Problem::system(format!("Cannot {act} {}", self.path.display()), error)
    }
}

/// The log under its lock, with a complete end.
struct LockedLog {
    tail: Tail,
    _lock: Lock,
}

#[cfg(test)]
mod tests;
