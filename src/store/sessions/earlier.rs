//! What was said before in the same place: in a project, or outside of all projects. Nothing said in one project is told in another.

use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;

use super::id::SessionId;
use super::on_disk::SessionOnDisk;
use super::record::SessionHeader;
use super::replay::{Replay, TranscriptItem};
use super::store::SessionStore;
use super::summary;
use crate::base::shared_sort::SharedSort as _;
use crate::chat::message::Message;
use crate::disk::atomic::{self, STATE_CAP};
use crate::disk::git_head;
use crate::store::chat_log::{LogEntry, LogRole};

/// How many files are looked at, those that were changed last: a conversation knows of what was said lately.
const FILES: usize = 200;
/// Bytes of the end of a file that are read first.
const TAIL: usize = 256 * 1024;
/// How a record begins that says that a session went on in another project.
const MOVED: &[u8] = b"\n{\"type\":\"workspace\"";

impl SessionStore {
    /// The last `n` messages of the user and of Marvin in sessions that were held in this project and no other, or, with `None`, outside of projects alone;
    /// the oldest first. The session `except` is left out: it is the one that goes on.
    pub(crate) fn said_in(
        &self,
        workspace: Option<&str>,
        except: Option<&SessionId>,
        n: usize,
    ) -> Vec<LogEntry> {
        let mut sessions: Vec<Vec<LogEntry>> = Vec::new();
        let mut missing = n;
        for SessionOnDisk { id, path, .. } in self.latest_files() {
            if missing == 0 {
                break;
            }
            if except != Some(&id)
                && let Some(bytes) = held_in(&path, workspace)
            {
                let said = self.latest_said(&bytes, missing);
                missing -= said.len();
                sessions.push(said);
            }
        }
        sessions.into_iter().rev().flatten().collect()
    }

    /// Whether the latest sessions were all held in this project and no other, or, with `None`, outside of projects alone: then the end of the chat log has
    /// nothing else.
    pub(crate) fn are_latest_in(&self, workspace: Option<&str>) -> bool {
        let mut files = self.latest_files().into_iter();
        files.all(|file| held_in(&file.path, workspace).is_some())
    }

    /// As [`SessionStore::are_latest_in`], for all sessions and so for the whole log.
    pub(crate) fn are_all_in(&self, workspace: Option<&str>) -> bool {
        let mut files = self.files().into_iter();
        files.all(|file| held_in(&file.path, workspace).is_some())
    }

    /// The files that were changed last, the latest first.
    fn latest_files(&self) -> Vec<SessionOnDisk> {
        let mut files = self.files();
        files.shared_sort_by_key(|file| std::cmp::Reverse(file.modified));
        files.truncate(FILES);
        files
    }

    /// The last `n` messages of a file.
    fn latest_said(&self, bytes: &[u8], n: usize) -> Vec<LogEntry> {
        let mut length = TAIL;
        loop {
            let (_, tail) = bytes.split_at(bytes.len().saturating_sub(length));
            let mut said = self.said(&Replay::read(tail));
            if said.len() >= n || tail.len() == bytes.len() {
                return said.split_off(said.len().saturating_sub(n));
            }
            length *= 8;
        }
    }

    fn said(&self, replay: &Replay) -> Vec<LogEntry> {
        let zone = self.clock().now().time_zone().clone();
        let rows = replay.rows().iter();
        let entries = rows.filter_map(|row| {
            let TranscriptItem::Message(n) = row.item else {
                return None;
            };
            let (role, text) = match replay.message(n)? {
                Message::User(user) => (LogRole::You, &user.text),
                Message::Assistant(said) => (LogRole::Assistant, &said.text),
                Message::System { .. } | Message::Tool(_) => return None,
            };
            let at: Option<Timestamp> = row.time.parse().ok();
            let time = at.map(|at| at.to_zoned(zone.clone()).strftime("%H:%M").to_string());
            (!text.trim().is_empty()).then(|| LogEntry {
                role,
                text: text.clone(),
                time: time.unwrap_or_default(),
                at,
            })
        });
        entries.collect()
    }
}

/// The bytes of a session that was held in the project and no other, or outside of projects alone. One whose place is not known belongs nowhere.
fn held_in(path: &Path, workspace: Option<&str>) -> Option<Vec<u8>> {
    let place = place(summary::header(path)?)?;
    (place.as_deref() == workspace).then_some(())?;
    let bytes = atomic::read(path, STATE_CAP).ok()??;
    memmem::find(&bytes, MOVED).is_none().then_some(bytes)
}

/// The project of a session, or that there is none. Files of older versions do not say: then their folder tells, if it is still there.
fn place(header: SessionHeader) -> Option<Option<String>> {
    if header.workspace.is_some() || header.cwd.is_empty() {
        return Some(header.workspace);
    }
    let folder = Path::new(&header.cwd);
    let around = git_head::repository(folder).map(|root| root.display().to_string());
    folder.is_dir().then_some(around)
}
