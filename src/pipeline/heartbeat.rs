//! When a run was last alive: what was changed in the project after that is the user's work, not that of its children.

use std::thread;
use std::time::{Duration, SystemTime};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use super::places::RunPlaces;
use crate::base::problem::{Outcome, Problem};

/// A file whose time of change is the moment.
const FILE: &str = "pipeline-alive";
const BEAT: Duration = Duration::from_secs(1);
/// How long after the last beat a child may still have written: the run lived for less than a beat, and its children end within two seconds after it.
const SLACK: Duration = Duration::from_secs(4);

/// Keeps the moment up to date while a run works; ends when dropped.
#[derive(Debug)]
pub(super) struct Heartbeat(Option<(Sender<()>, thread::JoinHandle<()>)>);

impl Heartbeat {
    /// Starts with this moment.
    ///
    /// # Errors
    /// The folder of logs is not writable; no thread can be started.
    pub(super) fn start(places: &RunPlaces) -> Outcome<Self> {
        let root = &places.root;
        let rel = root.check(&places.log(FILE))?;
        root.put(&rel, format!("{}\n", std::process::id()).as_bytes())?;
        let file = root.open_read(&rel)?;
        let (ends, ended) = bounded::<()>(0);
        let work = move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                // A moment that cannot be kept is a little earlier: no harm.
                let _ = file.set_modified(SystemTime::now());
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

/// When children of the last run can have written at the latest; `None` when that is not known.
pub(super) fn last_write(places: &RunPlaces) -> Option<SystemTime> {
    let root = &places.root;
    let rel = root.check(&places.log(FILE)).ok()?;
    let about = root.open_read(&rel).ok()?.metadata().ok()?;
    about.modified().ok()?.checked_add(SLACK)
}
