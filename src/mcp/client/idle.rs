//! Ends a process of which nothing is asked for long: the next operation starts it again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::opening::Live;
use crate::base::cancel::{Cancel, OnFire};

/// How many operations a connection carries out now, and since when none.
#[derive(Default)]
pub(super) struct Usage(Mutex<UsageState>);

#[derive(Default)]
struct UsageState {
    busy: usize,
    since: Option<Instant>,
    /// It was ended because nobody used it.
    is_over: bool,
}

impl Usage {
    fn lock(&self) -> MutexGuard<'_, UsageState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An operation, until the guard is dropped.
    pub(super) fn begin(&self) -> InUse<'_> {
        self.lock().busy += 1;
        InUse(self)
    }

    /// Whether the connection was ended here; whoever opens another one says so.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// It is ended here for another reason, and is none that failed.
    pub(super) fn end(&self) {
        self.lock().is_over = true;
    }

    pub(super) fn opened(&self) {
        let mut state = self.lock();
        state.is_over = false;
        state.since = Some(Instant::now());
    }

    /// How long until it was unused for `limit`; nothing when it is over now.
    fn left(&self, limit: Duration) -> Option<Duration> {
        let mut state = self.lock();
        if state.busy > 0 {
            return Some(limit);
        }
        let unused = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        let left = limit.saturating_sub(unused);
        state.is_over = left.is_zero();
        (!left.is_zero()).then_some(left)
    }
}

/// An operation is carried out.
pub(super) struct InUse<'a>(&'a Usage);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        state.since = Some(Instant::now());
    }
}

/// Watches a connection until it is dropped.
pub(super) struct IdleWatch {
    stop: Cancel,
    _with_all: OnFire,
}

impl Drop for IdleWatch {
    fn drop(&mut self) {
        self.stop.fire();
    }
}

impl IdleWatch {
    /// `None` without a thread: the process then lives as long as its session.
    pub(super) fn start(
        live: &Arc<Live>,
        usage: &Arc<Usage>,
        limit: Duration,
        all: &Cancel,
    ) -> Option<Self> {
        let (stop, with_all) = all.child();
        let (live, usage, own) = (Arc::clone(live), Arc::clone(usage), stop.clone());
        let watch = move || {
            loop {
                match usage.left(limit) {
                    Some(left) if own.sleep(left) => {}
                    Some(_) => return,
                    None => return live.transport.close(),
                }
            }
        };
        let name = thread::Builder::new().name("mcp-idle".to_owned());
        name.spawn(watch).ok()?;
        Some(Self {
            stop,
            _with_all: with_all,
        })
    }
}
