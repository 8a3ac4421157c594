//! `pipeline-events.jsonl` in the logs of a run: every event of its starts with its time (UTC), one JSON object a line; appended only.

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::RelPath;
use crate::pipeline::places::RunPlaces;

const FILE: &str = "pipeline-events.jsonl";
/// Only so many bytes from the end are read.
const MAX_READ_BYTES: u64 = 32 << 20;
/// A larger file is begun anew with the next run.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct EventLine<E> {
    /// RFC 3339, UTC.
    ts: String,
    #[serde(flatten)]
    event: E,
}

/// Appends events to the file of a project.
pub(super) struct EventLog {
    places: RunPlaces,
    clock: Clock,
    /// The file exists and ends with a whole line.
    is_open: Mutex<bool>,
}

impl EventLog {
    /// Touches nothing before the first event.
    pub(super) fn new(places: RunPlaces, clock: Clock) -> Self {
        Self {
            places,
            clock,
            is_open: Mutex::new(false),
        }
    }

    /// Appends an event.
    ///
    /// # Errors
    /// The disk is full or not writable, or the path leads out of the project.
    pub(super) fn append(&self, event: &PipelineEvent) -> Outcome<()> {
        let line = EventLine {
            ts: self.clock.utc(),
            event,
        };
        let mut line = serde_json::to_string(&line)
            .map_err(|error| Problem::internal(format!("An event cannot be written: {error}.")))?;
        line.push('\n');
        let root = &self.places.root;
        let rel = root.check_write(&self.places.log(FILE))?;
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_open {
            self.open(&rel)?;
            *is_open = true;
        }
        root.append(&rel, line.as_bytes()).map(drop)
    }

    /// Creates the file, or ends the line that a killed process left unfinished.
    fn open(&self, rel: &RelPath) -> Outcome<()> {
        let root = &self.places.root;
        if !root.exists(rel)? {
            return root.create_new(rel, b"");
        }
        if root.metadata(rel)?.len > MAX_FILE_BYTES {
            return root.put(rel, b"");
        }
        let mut file = root.open_read(rel)?;
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            let _ = file.read_exact(&mut last);
        }
        match last {
            [b'\n'] => Ok(()),
            _ => root.append(rel, b"\n").map(drop),
        }
    }
}

/// The recorded events with their times since 1970, oldest first. Lines that are cut short, damaged, or of a kind that this version does not know are passed
/// over.
///
/// # Errors
/// The file cannot be read, or leads out of the project.
pub(crate) fn read(places: &RunPlaces) -> Outcome<Vec<(Duration, PipelineEvent)>> {
    let (root, path) = (&places.root, places.log(FILE));
    let rel = root.check(&path)?;
    if !root.exists(&rel)? {
        return Ok(Vec::new());
    }
    let mut file = root.open_read(&rel)?;
    let fail = |error| Problem::system(format!("Cannot read {path}"), error);
    let len = file.metadata().map_err(fail)?.len();
    let from = len.saturating_sub(MAX_READ_BYTES);
    file.seek(SeekFrom::Start(from)).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    Ok(bytes
        .split(|byte| *byte == b'\n')
        .filter_map(event)
        .collect())
}

/// Whether something is recorded.
pub(super) fn is_there(places: &RunPlaces) -> bool {
    let about = |path: &str| places.root.metadata(&places.root.check(path)?);
    about(&places.log(FILE)).is_ok_and(|about| about.len > 0)
}

fn event(line: &[u8]) -> Option<(Duration, PipelineEvent)> {
    let line: EventLine<PipelineEvent> = serde_json::from_slice(line).ok()?;
    let ts: Timestamp = line.ts.parse().ok()?;
    let at = u64::try_from(ts.as_millisecond()).unwrap_or_default();
    Some((Duration::from_millis(at), line.event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use std::os::unix::fs::PermissionsExt;

    fn clock() -> Clock {
        Clock::new(&Env::from([(
            "MARVIN_NOW",
            "2026-11-22T12:00:00+00:00[UTC]",
        )]))
    }

    fn warning(words: &str) -> PipelineEvent {
        let words = words.to_owned();
        PipelineEvent::Warning { words }
    }

    #[test]
    fn events_are_read_as_they_were_written_and_torn_lines_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        assert_eq!(read(&places).unwrap(), []);
        let first = EventLog::new(places.clone(), clock());
        first.append(&warning("line\nbreak")).unwrap();
        let file = dir.path().join(places.log(FILE));
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "{\"ts\":\"2026-11-22T12:00:00.000Z\",\"kind\":\"warning\",\"words\":\"line\\nbreak\"}\n"
        );
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"ts\":\"2026\xc3"))
            .unwrap();
        let second = EventLog::new(places.clone(), clock());
        let usage = PipelineEvent::ChildUsage {
            id: "a".to_owned(),
            tokens: u64::MAX,
            cost: 0.25,
            estimated: true,
        };
        for event in [&warning("two"), &usage] {
            second.append(event).unwrap();
        }
        std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .and_then(|mut file| {
                std::io::Write::write_all(
                    &mut file,
                    b"{\"ts\":\"2027-01-01T00:00:00Z\",\"kind\":\"of_the_future\"}\n\0\0",
                )
            })
            .unwrap();
        let at = Duration::from_secs(1_795_348_800);
        assert_eq!(
            read(&places).unwrap(),
            [
                (at, warning("line\nbreak")),
                (at, warning("two")),
                (at, usage)
            ]
        );
    }

    #[test]
    fn a_file_that_leads_out_of_the_project_is_neither_written_nor_read() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let places = RunPlaces::at(dir.path());
        std::fs::create_dir_all(dir.path().join(places.logs())).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join(places.log(FILE))).unwrap();
        let log = EventLog::new(places.clone(), clock());
        assert!(log.append(&warning("secret")).is_err());
        assert!(read(&places).is_err());
        assert_eq!(std::fs::read(outside.path()).unwrap(), b"");
    }
}
