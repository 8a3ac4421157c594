//! When a run was alive: what was changed in the project at another time is the user's work, not that of its children.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::places::RunPlaces;
use crate::base::problem::{Outcome, Problem};

/// A file whose time of change is the last moment. A line of it for each time that the clock was put back: since when it had shown that time, and until when,
/// in seconds since 1970.
const FILE: &str = "pipeline-alive";
const MAX_FILE_BYTES: u64 = 1 << 20;
const BEAT: Duration = Duration::from_secs(1);
/// How long after the last beat a child may still have written: the run lived for less than a beat, and its children end within two seconds after it.
const SLACK: Duration = Duration::from_secs(4);
/// By so much more than a beat the clock is ahead, or behind, when somebody has set it.
const JUMP: Duration = Duration::from_secs(2);

/// Keeps the moment up to date while a run works; ends when dropped.
#[derive(Debug)]
pub(super) struct Heartbeat(Option<(Sender<()>, thread::JoinHandle<()>)>);

impl Heartbeat {
    /// Starts with this moment.
    ///
    /// # Errors
    /// The folder of logs is not writable; no thread can be started.
    pub(super) fn start(places: &RunPlaces) -> Outcome<Self> {
        let root = places.root.clone();
        let rel = root.check(&places.log(FILE))?;
        root.put(&rel, b"")?;
        let file = root.open_read(&rel)?;
        let (ends, ended) = bounded::<()>(0);
        let mut span = AliveSpan::new(SystemTime::now());
        let work = move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                let now = SystemTime::now();
                if let Some(before) = span.beat(now) {
                    let _ = root.append(&rel, before.line().as_bytes());
                }
                // A moment that cannot be kept is a little earlier: no harm.
                let _ = file.set_modified(now);
            }
        };
        let thread = thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(work)
            .map_err(|error| Problem::system("Cannot start a thread", error))?;
        Ok(Self(Some((ends, thread))))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        if let Some((ends, thread)) = self.0.take() {
            drop(ends);
            let _ = thread.join();
        }
    }
}

/// What the clock has shown since it was set last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AliveSpan {
    since: SystemTime,
    until: SystemTime,
}

impl AliveSpan {
    fn new(now: SystemTime) -> Self {
        Self {
            since: now,
            until: now,
        }
    }

    /// Goes on until `now`. Returns what came before, if the clock was put back since the last beat.
    fn beat(&mut self, now: SystemTime) -> Option<Self> {
        let went_back = now + JUMP < self.until;
        let before = went_back.then(|| self.clone());
        if went_back || now > self.until + BEAT + JUMP {
            // What was written since the last beat may have either time.
            self.since = now.checked_sub(BEAT).unwrap_or(now);
        }
        self.until = now;
        before
    }

    fn contains(&self, time: SystemTime) -> bool {
        (self.since..=self.until + SLACK).contains(&time)
    }

    fn line(&self) -> String {
        let seconds = |time: SystemTime| {
            time.duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs()
        };
        format!("{} {}\n", seconds(self.since), seconds(self.until) + 1)
    }

    fn parse(line: &str) -> Option<Self> {
        let (since, until) = line.split_once(' ')?;
        let time = |text: &str| UNIX_EPOCH.checked_add(Duration::from_secs(text.parse().ok()?));
        Some(Self {
            since: time(since)?,
            until: time(until)?,
        })
    }
}

/// When children of the last run can have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AliveTimes {
    /// Until this moment, since whenever.
    last: SystemTime,
    /// Before the clock was put back.
    earlier: Vec<AliveSpan>,
}

impl AliveTimes {
    /// Of the last run in the project; `None` when that is not known.
    pub(super) fn read(places: &RunPlaces) -> Option<Self> {
        let root = &places.root;
        let rel = root.check(&places.log(FILE)).ok()?;
        let about = root.open_read(&rel).ok()?.metadata().ok()?;
        let last = about.modified().ok()?;
        let text = root.read(&rel, MAX_FILE_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        Some(Self {
            last: match last > SystemTime::now() + JUMP {
                // The clock was put back after the end: what the user has done since then looks older than that.
                true => UNIX_EPOCH,
                false => last + SLACK,
            },
            earlier: text.lines().filter_map(AliveSpan::parse).collect(),
        })
    }

    /// Whether a child may have written what was changed then.
    pub(super) fn contains(&self, changed: SystemTime) -> bool {
        changed <= self.last || self.earlier.iter().any(|span| span.contains(changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn what_was_written_while_the_clock_was_an_hour_ahead_is_the_runs() {
        let mut span = AliveSpan::new(at(10_000));
        let beats = [10_001, 10_002, 13_602, 13_603, 13_604, 10_006, 10_007];
        let before: Vec<AliveSpan> = beats
            .into_iter()
            .filter_map(|seconds| span.beat(at(seconds)))
            .collect();
        assert_eq!(before.len(), 1);
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        let path = dir.path().join(places.log(FILE));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{}torn", before[0].line())).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(at(10_007)).unwrap();
        let alive = AliveTimes::read(&places).unwrap();
        for (seconds, is_the_runs) in [
            (9_000, true),
            (10_011, true),
            // The user's, after the end and before the hour is over.
            (10_012, false),
            (13_000, false),
            (13_602, true),
            (13_606, true),
            (14_000, false),
        ] {
            assert_eq!(alive.contains(at(seconds)), is_the_runs, "{seconds}");
        }
    }

    #[test]
    fn after_a_clock_that_was_put_back_later_everything_may_be_the_users() {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        assert_eq!(AliveTimes::read(&places), None);
        drop(Heartbeat::start(&places).unwrap());
        let now = SystemTime::now();
        let path = dir.path().join(places.log(FILE));
        assert!(AliveTimes::read(&places).unwrap().contains(now));
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(now + Duration::from_secs(3_600)).unwrap();
        assert!(!AliveTimes::read(&places).unwrap().contains(now));
    }
}
