//! The conversation on disk: `chat_log.json`, one JSON array that grows in place (contract/interfaces.md 10).

use std::path::{Path, PathBuf};

use crate::base::clock::Clock;
use crate::base::error::Outcome;
use crate::chat::message::Message;

/// Who said an entry. The file says `you`, `assistant`, `system`; other words come from other versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    You,
    /// Marvin.
    Assistant,
    /// Notices, command output, summaries.
    System,
    /// A role of another version; shown, never sent to a model.
    Other,
}

/// One entry as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who said it.
    pub role: Role,
    /// The words; never empty.
    pub text: String,
    /// `14:30`, or whatever another version wrote.
    pub time: String,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The copy of the whole log made before.
    pub backup: PathBuf,
    /// Entries that left the log.
    pub dropped: usize,
    /// Entries that stayed, the summary not counted.
    pub kept: usize,
}

/// The chat log of one profile. Holds no file open; several processes may use the same log.
#[derive(Debug, Clone)]
pub struct ChatLog {
    path: PathBuf,
    clock: Clock,
}

impl ChatLog {
    /// The log in this file (`ProfilePaths::chat_log`); nothing is read or made yet.
    pub fn new(path: PathBuf, clock: &Clock) -> Self {
        Self {
            path,
            clock: clock.clone(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds entries at the end, durably, in one write; empty texts are left out. A torn end is mended first; a file that is no
    /// chat log is set aside and `warn` told. The cost does not depend on the log's length.
    ///
    /// # Errors
    /// The file, its folder or the disk cannot be written, or another process holds the lock too long. The log is as before.
    pub fn append(&self, said: &[(Role, &str)], warn: &mut dyn FnMut(String)) -> Outcome<()> {
        let _ = (said, warn, &self.clock);
        Ok(())
    }

    /// The last `n` entries, oldest first, read from the file's end alone. Trouble is told to `warn`; the session goes on.
    pub fn seed(&self, n: usize, warn: &mut dyn FnMut(String)) -> Vec<Entry> {
        let _ = (n, warn);
        Vec::new()
    }

    /// Takes the last `you` entry and all after it out of the log and gives them. With `said`, only when that entry has this
    /// text: another Marvin in the same profile may have written since.
    ///
    /// # Errors
    /// `Missing` when there is no such entry; the disk or the lock.
    pub fn undo_last_exchange(
        &self,
        said: Option<&str>,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Vec<Entry>> {
        let _ = (said, warn);
        Ok(Vec::new())
    }

    /// Copies the log to `chat_log.json.backup.STAMP`, then keeps its last `keep` entries after one `system` entry with the text
    /// that `summary` makes of those dropped. Nothing when there is nothing to drop.
    ///
    /// # Errors
    /// Without a backup nothing is dropped.
    pub fn compact(
        &self,
        keep: usize,
        summary: &dyn Fn(&[Entry]) -> String,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Option<Compacted>> {
        let _ = (keep, summary, warn);
        Ok(None)
    }
}

/// Entries as a model's conversation: `you` and `assistant`, nothing else (contract/interfaces.md 7).
pub fn messages(entries: &[Entry]) -> Vec<Message> {
    let message = |entry: &Entry| match entry.role {
        Role::You => Some(Message::user(entry.text.as_str())),
        Role::Assistant => Some(Message::assistant(entry.text.as_str())),
        Role::System | Role::Other => None,
    };
    entries.iter().filter_map(message).collect()
}
