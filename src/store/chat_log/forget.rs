//! Taking out of the log, and of its copies, what the user wants to be forgotten.

use std::fs;
use std::path::{Path, PathBuf};

use super::entry::LogEntry;
use super::{CLOSE, ChatLog, EMPTY, RawEntry};
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access, STATE_CAP};

/// More entries than a log has.
const MAX_ENTRIES: usize = 1 << 24;

/// What of a log is to be forgotten.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ForgottenEntries {
    /// Entries, with the file that they are in: the log or one of its backups.
    pub entries: Vec<(PathBuf, LogEntry)>,
    /// Copies that are no log, such as one that was cut off by a crash: they go whole.
    pub files: Vec<PathBuf>,
}

/// What the user wants to be forgotten.
pub(crate) struct ForgetEntries<'a> {
    pub entry: &'a dyn Fn(&LogEntry) -> bool,
    /// Whether a file that is no log says it.
    pub file: &'a dyn Fn(&Path) -> bool,
}

impl ChatLog {
    /// What [`ChatLog::forget`] would take out.
    pub(crate) fn find_forgotten(&self, wanted: &ForgetEntries<'_>) -> ForgottenEntries {
        let mut found = ForgottenEntries::default();
        for path in self.all_files() {
            // A log whose end is torn is one: it is repaired under the lock.
            let is_log = path == self.path;
            let torn = || is_log.then(|| self.read_tail(MAX_ENTRIES).ok())?;
            match entries(&path).or_else(|| torn().map(|tail| tail.entries)) {
                Some(entries) => {
                    let entries = entries.iter().filter_map(LogEntry::read);
                    let gone = entries.filter(|entry| (wanted.entry)(entry));
                    found
                        .entries
                        .extend(gone.map(|entry| (path.clone(), entry)));
                }
                None if (wanted.file)(&path) => found.files.push(path),
                None => {}
            }
        }
        found
    }

    /// Takes entries out of the log and its backups, under the lock; the others stay as they are.
    ///
    /// # Errors
    /// Another process holds the lock too long, or a file cannot be written; what was done before stays done.
    pub(crate) fn forget(
        &self,
        wanted: &ForgetEntries<'_>,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<ForgottenEntries> {
        let found = self.find_forgotten(wanted);
        if found == ForgottenEntries::default() {
            return Ok(found);
        }
        let _held = self.lock(1, warn)?;
        // Another process may have written meanwhile.
        let found = self.find_forgotten(wanted);
        let mut files: Vec<&PathBuf> = found.entries.iter().map(|(path, _)| path).collect();
        files.dedup();
        for path in files {
            let stays = |entry: &RawEntry| {
                !LogEntry::read(entry).is_some_and(|entry| (wanted.entry)(&entry))
            };
            let kept: Vec<String> = entries(path)
                .unwrap_or_default()
                .into_iter()
                .filter(stays)
                .map(|entry| serde_json::Value::Object(entry).to_string())
                .collect();
            let after = match kept.is_empty() {
                true => EMPTY.to_owned(),
                false => format!("[\n{}{CLOSE}", kept.join(",\n")),
            };
            atomic::write(path, after.as_bytes(), Access::Private)?;
        }
        for path in &found.files {
            fs::remove_file(path).map_err(|error| {
                Problem::system(format!("Cannot remove {}", path.display()), error)
            })?;
        }
        Ok(found)
    }

    /// The log, its backups, and what was set aside or left half written of it.
    pub(crate) fn all_files(&self) -> Vec<PathBuf> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let is_of_log = |path: &PathBuf| {
            let other = path.file_name().unwrap_or_default().to_string_lossy();
            let plain = other.trim_start_matches('.');
            plain.starts_with(&*name) && !other.ends_with(".lock") && path.is_file()
        };
        let folder = self.path.parent().map(fs::read_dir);
        let folder = folder.into_iter().flatten().flatten().flatten();
        let mut files: Vec<PathBuf> = folder.map(|entry| entry.path()).filter(is_of_log).collect();
        files.sort();
        files
    }
}

/// The entries of a file; `None` when it is no log.
fn entries(path: &Path) -> Option<Vec<RawEntry>> {
    let bytes = atomic::read(path, STATE_CAP).ok()??;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    match text.trim_ascii() {
        [] => Some(Vec::new()),
        text => serde_json::from_slice(text).ok(),
    }
}
