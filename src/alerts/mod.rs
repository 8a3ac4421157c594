//! Floor 5: timers of this process, and alarms and reminders on disk. One thread waits for all of them and sleeps while none is due.
//!
//! An alarm exists as long as its record on disk. Whoever fires it (an open session, or the scheduler through `marvin --fire-alarm`) takes one lock, reads the
//! record, alerts the user, and removes it; if killed in between, it fires once more rather than never.

pub(crate) mod ntfy;
pub(crate) mod ntfy_inbox;
pub(crate) mod record;
pub(crate) mod ring;
pub(crate) mod schedule;
pub(crate) mod timer;
mod watch;

use std::collections::HashMap;
use std::io::{PipeWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::disk::paths::Paths;
use crate::store::profiles::ActiveProfile;
use timer::Timer;

pub use watch::watch;

/// Shows a message to the user; callable from any thread.
pub(crate) type Announce = Box<dyn Fn(String) + Send + Sync>;

/// The context of alerts: Marvin's files, the profile, the session's timers, and the handle that wakes the waiting thread.
pub struct Alerts {
    /// The environment.
    pub env: Env,
    /// Paths of Marvin's files.
    pub paths: Paths,
    /// The clock.
    pub clock: Clock,
    profile: Arc<ActiveProfile>,
    announce: OnceLock<Announce>,
    timers: Mutex<HashMap<String, Timer>>,
    waker: Mutex<Option<PipeWriter>>,
}

impl Alerts {
    /// Alerts for the files of `paths`, whichever profile is active when one fires.
    pub fn new(env: Env, paths: Paths, clock: Clock, profile: Arc<ActiveProfile>) -> Self {
        Self {
            env,
            paths,
            clock,
            profile,
            announce: OnceLock::new(),
            timers: Mutex::default(),
            waker: Mutex::default(),
        }
    }

    /// Sets where alerts are announced; the session does so once, when it opens.
    pub fn set_announce(&self, announce: Announce) {
        let _ = self.announce.set(announce);
    }

    /// True when an open session shows alerts.
    pub fn has_session(&self) -> bool {
        self.announce.get().is_some()
    }

    /// Name of the active profile.
    pub fn profile(&self) -> String {
        self.profile.get()
    }

    fn announce(&self, words: &str) {
        if let Some(announce) = self.announce.get() {
            announce(words.to_owned());
        }
    }

    /// The timers, by name.
    pub fn timers(&self) -> MutexGuard<'_, HashMap<String, Timer>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread after an alert was added; starts it if there is none.
    pub fn wake(this: &Arc<Self>) {
        let waker = this.waker();
        match waker.as_ref() {
            Some(mut pipe) => drop(pipe.write_all(b"!")),
            None => {
                drop(waker);
                watch(this);
            }
        }
    }

    fn waker(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of the countdowns that have ended, each once, and when the next one ends.
    fn ended(&self, now: Instant) -> (Vec<String>, Option<Instant>) {
        let mut timers = self.timers();
        let mut names = Vec::new();
        let mut next = None;
        for (name, timer) in timers.iter_mut().filter(|(_, timer)| !timer.rung) {
            match timer.ends() {
                Some(end) if end <= now => {
                    timer.rung = true;
                    names.push(name.clone());
                }
                Some(end) => next = Some(next.map_or(end, |next: Instant| next.min(end))),
                None => {}
            }
        }
        names.sort();
        (names, next)
    }
}
