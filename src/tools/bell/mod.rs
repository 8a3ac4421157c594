//! What rings: timers of this process, alarms and reminders on disk. One thread waits for all of them and sleeps while none is due.
//!
//! An alarm's record on disk is its existence. Whoever rings it (an open session, the scheduler through `marvin --fire-alarm`) takes
//! one lock, sees the record, rings, and removes it; killed in between, it rings once more rather than never.

pub mod record;
pub mod ring;
pub mod schedule;
pub mod span;
pub mod timer;
mod watch;

use std::collections::HashMap;
use std::io::{PipeWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::context::World;
use timer::Timer;

pub use watch::watch;

/// The timers of this process, and the way to wake the thread that waits for them. Lives in the `World`.
#[derive(Debug, Default)]
pub struct Bells {
    timers: Mutex<HashMap<String, Timer>>,
    waker: Mutex<Option<PipeWriter>>,
}

impl Bells {
    /// The timers, by name.
    pub fn timers(&self) -> MutexGuard<'_, HashMap<String, Timer>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread look again, after something that rings was added; starts it where there is none.
    pub fn look_again(world: &Arc<World>) {
        let waker = world.bells.waker();
        match waker.as_ref() {
            Some(mut pipe) => drop(pipe.write_all(b"!")),
            None => {
                drop(waker);
                watch(world);
            }
        }
    }

    fn waker(&self) -> MutexGuard<'_, Option<PipeWriter>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names of the countdowns that ended, each once, and when the next one ends.
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
