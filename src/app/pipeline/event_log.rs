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
    /// The system's steady clock in milliseconds: how long something took is known from it, however often the other one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steady_ms: Option<u64>,
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
            steady_ms: self
                .clock
                .steady()
                .and_then(|at| at.as_millis().try_into().ok()),
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

/// What is recorded.
#[derive(Debug, Default)]
pub(crate) struct RecordedEvents {
    /// With their times since 1970, oldest first: when their run started, and how long after it they came.
    pub events: Vec<(Duration, PipelineEvent)>,
    /// The system's steady clock when the last one came.
    pub steady: Option<Duration>,
    /// Both clocks when the last run started.
    start: Option<(Duration, Duration)>,
}

impl RecordedEvents {
    fn add(&mut self, wall: Duration, steady: Option<Duration>, event: PipelineEvent) {
        if matches!(event, PipelineEvent::RunStarted { .. }) {
            self.start = steady.map(|steady| (wall, steady));
        }
        let measured = self.start.and_then(|(start, began)| {
            let since = steady?.checked_sub(began)?;
            Some(start.saturating_add(since))
        });
        self.events.push((measured.unwrap_or(wall), event));
        self.steady = measured.and(steady);
    }
}

/// The recorded events with their times. Lines that are cut short, damaged, or of a kind that this version does not know are passed over.
///
/// # Errors
/// The file cannot be read, or leads out of the project.
pub(crate) fn read(places: &RunPlaces) -> Outcome<RecordedEvents> {
    let (root, path) = (&places.root, places.log(FILE));
    let rel = root.check(&path)?;
    let mut found = RecordedEvents::default();
    if !root.exists(&rel)? {
        return Ok(found);
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
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some((wall, line)) = event(line) {
            let steady = line.steady_ms.map(Duration::from_millis);
            found.add(wall, steady, line.event);
        }
    }
    Ok(found)
}

/// Whether something is recorded.
pub(super) fn is_there(places: &RunPlaces) -> bool {
    let about = |path: &str| places.root.metadata(&places.root.check(path)?);
    about(&places.log(FILE)).is_ok_and(|about| about.len > 0)
}

fn event(line: &[u8]) -> Option<(Duration, EventLine<PipelineEvent>)> {
    let line: EventLine<PipelineEvent> = serde_json::from_slice(line).ok()?;
    let ts: Timestamp = line.ts.parse().ok()?;
    let at = u64::try_from(ts.as_millisecond()).unwrap_or_default();
    Some((Duration::from_millis(at), line))
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
        assert_eq!(read(&places).unwrap().events, []);
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
            read(&places).unwrap().events,
            [
                (at, warning("line\nbreak")),
                (at, warning("two")),
                (at, usage)
            ]
        );
    }

    #[test]
    fn how_long_a_run_took_is_measured_and_not_the_difference_of_clocks_that_were_set() {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        let line = |ts: &str, steady: &str, kind: &str| {
            format!("{{\"ts\":\"2026-11-22T{ts}Z\"{steady},{kind}}}\n")
        };
        let started = r#""kind":"run_started","task":"x","ticket":"t","tiers":[],"phases":[],"resumed":false"#;
        let told = r#""kind":"warning","words":"x""#;
        let at = |seconds: u64| format!(",\"steady_ms\":{}", (5_000 + seconds) * 1_000);
        let log = [
            // An hour forward and back, and a day back.
            line("12:00:00", &at(0), started),
            line("13:00:10", &at(10), told),
            line("12:00:20", &at(20), told),
            line("00:00:00", &at(30), told),
            // The system was started again.
            line("12:00:40", ",\"steady_ms\":7", told),
            line("14:00:00", ",\"steady_ms\":9000", started),
            line("14:00:09", ",\"steady_ms\":10000", told),
            line("14:00:09", &format!(",\"steady_ms\":{}", u64::MAX), told),
            // A version that measured nothing.
            line("15:00:00", "", started),
            line("15:00:02", &at(1), told),
        ];
        let file = dir.path().join(places.log(FILE));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let since = |count: usize| -> (Vec<u64>, Option<Duration>) {
            std::fs::write(&file, log[..count].concat()).unwrap();
            let found = read(&places).unwrap();
            let noon = 1_795_348_800;
            let times = found.events.iter().map(|(at, _)| at.as_secs() - noon);
            (times.collect(), found.steady)
        };
        let (times, steady) = since(4);
        assert_eq!(times, [0, 10, 20, 30]);
        assert_eq!(steady, Some(Duration::from_secs(5_030)));
        let (times, steady) = since(log.len());
        assert_eq!(times[4..8], [40, 7_200, 7_201, u64::MAX / 1_000 + 7_191]);
        assert_eq!((&times[8..], steady), (&[10_800, 10_802][..], None));
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
