//! What a list shows of a session, from the beginning and the end of its file.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use super::id::SessionId;
use super::on_disk::SessionOnDisk;
use super::record::{Line, Record, SessionHeader, Spent};
use super::replay::Replay;
use crate::base::open;
use crate::disk::atomic::{self, STATE_CAP};

/// Bytes of the beginning that are read: the first line.
const HEAD: usize = 2_048;
/// Bytes of the end that are read: the last records.
const TAIL: usize = 4_096;

/// One session of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionSummary {
    /// Its UUID.
    #[serde(serialize_with = "as_text")]
    pub id: SessionId,
    /// When it was used last, in UTC.
    pub time: String,
    /// When it began, in UTC.
    pub created: String,
    /// The folder that it began in.
    pub cwd: String,
    /// Who answered first.
    pub provider: String,
    /// With this model.
    pub model: String,
    /// What the user called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The beginning of the user's first message.
    pub first: String,
    /// Messages of the user and of Marvin.
    pub messages: usize,
    /// What it cost.
    #[serde(flatten)]
    pub(crate) spent: Spent,
    /// The session that it is a copy of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When the file was changed last.
    #[serde(skip)]
    pub(super) modified: SystemTime,
    /// Bytes that it had then.
    #[serde(skip)]
    length: u64,
}

/// Where a session stands among all: by when it was used last, then by its file, then by its id.
type Order<'a> = (&'a str, u128, &'a str);

/// The place of a session in a list, which holds when that session is used again or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListCursor {
    time: String,
    modified: u128,
    id: String,
}

impl ListCursor {
    /// The place of this session.
    pub(crate) fn at(session: &SessionSummary) -> Self {
        let (time, modified, id) = session.order();
        Self {
            time: time.to_owned(),
            modified,
            id: id.to_owned(),
        }
    }

    /// Whether the session was used before the one whose place this is.
    pub(crate) fn is_above(&self, session: &SessionSummary) -> bool {
        session.order() < (self.time.as_str(), self.modified, self.id.as_str())
    }

    /// Reads what its `Display` has written.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (time, modified, id) = (parts.next()?, parts.next()?, parts.next()?);
        let id = SessionId::parse(id).filter(|_| parts.next().is_none())?;
        Some(Self {
            time: time.to_owned(),
            modified: modified.parse().ok()?,
            id: id.as_str().to_owned(),
        })
    }
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.time, self.modified, self.id)
    }
}

fn as_text<S: serde::Serializer>(id: &SessionId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(id.as_str())
}

impl SessionSummary {
    pub(super) fn order(&self) -> Order<'_> {
        let since = self.modified.duration_since(SystemTime::UNIX_EPOCH);
        let modified = since.unwrap_or_default().as_nanos();
        (&self.time, modified, self.id.as_str())
    }

    /// Reads the file; `None` when it cannot be read.
    pub(super) fn read(on_disk: &SessionOnDisk) -> Option<Self> {
        let path = &on_disk.path;
        let file = open::read(path).ok()?;
        Self::from_ends(on_disk, &file).or_else(|| {
            // The process was killed before the end of a turn, or the last record is very long.
            let bytes = atomic::read(path, STATE_CAP).ok()??;
            let replay = Replay::read(&bytes);
            let mut summary = Self::of(on_disk, replay.header.clone());
            summary.time.clone_from(&replay.time);
            summary.name.clone_from(&replay.name);
            summary.first = replay.first();
            summary.messages = replay.spoken().count();
            summary.spent = replay.spent;
            Some(summary)
        })
    }

    /// Whether the file is as it was when this was read.
    pub(super) fn is_of(&self, file: &SessionOnDisk) -> bool {
        (self.modified, self.length) == (file.modified, file.length)
    }

    fn of(file: &SessionOnDisk, header: SessionHeader) -> Self {
        Self {
            id: file.id.clone(),
            time: header.time.clone(),
            created: header.time,
            cwd: header.cwd,
            provider: header.provider,
            model: header.model,
            name: None,
            first: String::new(),
            messages: 0,
            spent: Spent::default(),
            parent: header.parent,
            modified: file.modified,
            length: file.length,
        }
    }

    /// From the first line and the last turn, when both are near the ends and nothing was said after that turn.
    fn from_ends(on_disk: &SessionOnDisk, file: &File) -> Option<Self> {
        let header = first_line(file)?;
        let length = file.metadata().ok()?.len();
        let mut tail = vec![0; TAIL.min(usize::try_from(length).ok()?)];
        let from = length - tail.len() as u64;
        file.read_exact_at(&mut tail, from).ok()?;
        let mut name = None;
        // The first piece may be the end of a line.
        for line in tail.split(|byte| *byte == b'\n').rev() {
            match Line::read(line) {
                Line::Record(Record::Turn(turn)) => {
                    let mut summary = Self::of(on_disk, header);
                    summary.time = turn.time;
                    summary.name = name.unwrap_or(turn.name);
                    summary.first = turn.first;
                    summary.messages = turn.messages;
                    summary.spent = turn.spent;
                    return Some(summary);
                }
                Line::Record(Record::Name { name: new, .. }) => {
                    name.get_or_insert(Some(new));
                }
                Line::Record(Record::Model { .. }) | Line::Passed => {}
                Line::Record(_) | Line::Corrupt => return None,
            }
        }
        None
    }
}

/// What the first line of a session's file says.
pub(super) fn header(path: &Path) -> Option<SessionHeader> {
    first_line(&open::read(path).ok()?)
}

fn first_line(file: &File) -> Option<SessionHeader> {
    let mut head = vec![0; HEAD];
    let length = file.read_at(&mut head, 0).ok()?;
    let head = head.get(..length)?;
    let end = head.iter().position(|byte| *byte == b'\n')?;
    match Line::read(head.get(..end)?) {
        Line::Record(Record::Session(header)) => Some(header),
        _ => None,
    }
}
