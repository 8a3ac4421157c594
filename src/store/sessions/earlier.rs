//! What was said before in the same place: in a project, or outside of all projects. Nothing said in one project is told in another.

use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;

use super::id::SessionId;
use super::record::SessionHeader;
use super::replay::{Replay, TranscriptItem};
use super::store::SessionStore;
use super::summary;
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
        let mut files = self.files();
        files.sort_by_key(|(.., modified)| std::cmp::Reverse(*modified));
        let mut sessions: Vec<Vec<LogEntry>> = Vec::new();
        let mut missing = n;
        for (id, path, _) in files.iter().take(FILES) {
            if missing == 0 {
                break;
            }
            if except == Some(id) || !is_held_in(path, workspace) {
                continue;
            }
            let said = match atomic::read(path, STATE_CAP) {
                Ok(Some(bytes)) if memmem::find(&bytes, MOVED).is_none() => {
                    self.latest_said(&bytes, missing)
                }
                _ => continue,
            };
            missing -= said.len();
            sessions.push(said);
        }
        sessions.into_iter().rev().flatten().collect()
    }

    /// Whether all sessions began in this project, or, with `None`, outside of projects: then the chat log holds nothing else.
    pub(crate) fn are_all_in(&self, workspace: Option<&str>) -> bool {
        let files = self.files();
        files.iter().all(|(_, path, _)| is_held_in(path, workspace))
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

/// Whether the session of this file began in the project, or outside of projects. One whose place is not known belongs nowhere.
fn is_held_in(path: &Path, workspace: Option<&str>) -> bool {
    summary::header(path)
        .and_then(place)
        .is_some_and(|place| place.as_deref() == workspace)
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
