//! Going on with a session, or with a copy of it.

use super::file::SessionFile;
use super::id::SessionId;
use super::log::SessionLog;
use super::record::{Line, Record, SessionHeader, SessionPlace, VERSION};
use super::replay::Replay;
use super::store::SessionStore;
use crate::base::problem::{Outcome, Problem};

pub(crate) struct OpenedSession {
    pub log: SessionLog,
    pub replay: Replay,
}

impl OpenedSession {
    /// Opens a session.
    ///
    /// # Errors
    /// There is none, another process has it, it is of a newer version, or it cannot be read or written.
    pub(crate) fn open(store: &SessionStore, id: &SessionId) -> Outcome<Self> {
        if !store.has(id) {
            // Without this the lock would leave a file for a session that never was.
            store.bytes(id)?;
        }
        let lock = store.lock(id)?;
        let replay = store.read(id)?;
        check_version(&replay.header)?;
        let file = SessionFile::open(
            &store.path(id),
            replay.whole_bytes,
            replay.needs_line_end,
            lock,
        )?;
        let log = SessionLog::resumed(store, id.clone(), file, &replay);
        Ok(Self { log, replay })
    }

    /// A copy under a new id, held in `place`, of which nothing is on disk before the next message. The session that is copied stays as it is, and may be
    /// in use.
    ///
    /// # Errors
    /// There is none, it is of a newer version, or it cannot be read.
    pub(crate) fn fork(
        store: &SessionStore,
        id: &SessionId,
        new: SessionId,
        place: SessionPlace,
    ) -> Outcome<Self> {
        let bytes = store.bytes(id)?;
        let replay = store.replay(id, &bytes);
        check_version(&replay.header)?;
        let mut records = Vec::with_capacity(bytes.len());
        for line in bytes.split(|byte| *byte == b'\n') {
            let is_kept = match Line::read(line) {
                Line::Record(Record::Session(_)) | Line::Corrupt => false,
                Line::Record(_) => true,
                Line::Passed => !line.trim_ascii().is_empty(),
            };
            if is_kept {
                records.extend_from_slice(line);
                records.push(b'\n');
            }
        }
        let log = SessionLog::forked(store, new, records, place, &replay);
        Ok(Self { log, replay })
    }
}

fn check_version(header: &SessionHeader) -> Outcome<()> {
    if header.version <= VERSION {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "This session was written by a newer Marvin (format {}).",
        header.version
    ))
    .next("Update Marvin."))
}
