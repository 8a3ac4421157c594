//! A gate between a test and the server's answer: closed until the test opens it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Opened once by [`Latch::open`]; clones are the same gate.
#[derive(Clone, Default)]
pub struct Latch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    open: bool,
    reached: usize,
}

impl Latch {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Releases every answer that waits here, now or later.
    pub fn open(&self) {
        self.state().open = true;
        self.0.changed.notify_all();
    }

    /// Waits until an answer has arrived at this gate, so that everything before it has been written.
    pub fn wait_reached(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut state = self.state();
        while state.reached == 0 {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no answer reached the latch in {limit:?}");
            state = wait(&self.0.changed, state, left);
        }
    }

    /// Marks the gate as reached and waits until it opens; looks at `stop` every few milliseconds and gives up when it is true.
    pub(crate) fn pass(&self, stop: impl Fn() -> bool) -> bool {
        let mut state = self.state();
        state.reached += 1;
        self.0.changed.notify_all();
        while !state.open {
            if stop() {
                return false;
            }
            state = wait(&self.0.changed, state, Duration::from_millis(5));
        }
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One wait on `changed`, for any reason.
pub(crate) fn wait<'a, T>(
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    limit: Duration,
) -> MutexGuard<'a, T> {
    changed
        .wait_timeout(guard, limit)
        .unwrap_or_else(PoisonError::into_inner)
        .0
}
