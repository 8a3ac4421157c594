//! `Cancel`: one token per turn or call that wakes sleepers, closes sockets and kills children when it fires.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::problem::Problem;

type Closer = Box<dyn FnOnce() + Send>;

/// A shared cancellation token. Clones share one state; [`Cancel::child`] makes one that fires with its parent but not the other way round.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    fired: AtomicBool,
    next: AtomicU64,
    closers: Mutex<Vec<(u64, Closer)>>,
    woken: Condvar,
}

impl Cancel {
    /// A token that has not fired.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fires the token: every closer runs once, every sleeper wakes. Later calls do nothing.
    pub fn fire(&self) {
        let closers = {
            let mut closers = self.closers();
            if self.0.fired.swap(true, Ordering::SeqCst) {
                return;
            }
            self.0.woken.notify_all();
            std::mem::take(&mut *closers)
        };
        for (_, close) in closers {
            close();
        }
    }

    /// True once fired.
    pub fn is_fired(&self) -> bool {
        self.0.fired.load(Ordering::SeqCst)
    }

    /// `Err(cancelled)` once fired; for use with `?` between steps.
    pub fn check(&self) -> Result<(), Problem> {
        if self.is_fired() {
            Err(Problem::cancelled())
        } else {
            Ok(())
        }
    }

    /// Runs `close` when the token fires, immediately if it already has. Dropping the guard unregisters it, so that a recycled process id or a reused socket is
    /// never touched.
    #[must_use = "the closer is taken back when the guard is dropped"]
    pub fn on_fire(&self, close: impl FnOnce() + Send + 'static) -> OnFire {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut closers = self.closers();
        if self.is_fired() {
            drop(closers);
            close();
        } else {
            closers.push((id, Box::new(close)));
        }
        OnFire {
            token: self.clone(),
            id,
        }
    }

    /// A token that fires when this one does, and can also be fired alone.
    pub fn child(&self) -> (Self, OnFire) {
        let child = Self::new();
        let fire = child.clone();
        let guard = self.on_fire(move || fire.fire());
        (child, guard)
    }

    /// Sleeps for `time`; false when the token fired first.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut closers = self.closers();
        loop {
            if self.is_fired() {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            closers = self
                .0
                .woken
                .wait_timeout(closers, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn closers(&self) -> MutexGuard<'_, Vec<(u64, Closer)>> {
        self.0
            .closers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cancel")
            .field("fired", &self.is_fired())
            .finish_non_exhaustive()
    }
}

/// Keeps a callback registered; see [`Cancel::on_fire`].
pub struct OnFire {
    token: Cancel,
    id: u64,
}

impl Drop for OnFire {
    fn drop(&mut self) {
        self.token.closers().retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn closers_run_once_and_only_while_their_guard_lives() {
        let runs = Arc::new(AtomicUsize::new(0));
        let token = Cancel::new();
        let count = |runs: &Arc<AtomicUsize>| {
            let runs = runs.clone();
            move || {
                runs.fetch_add(1, Ordering::SeqCst);
            }
        };
        let _kept = token.on_fire(count(&runs));
        drop(token.on_fire(count(&runs)));
        token.fire();
        token.fire();
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        let _late = token.on_fire(count(&runs));
        assert_eq!(runs.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_child_fires_with_its_parent_but_not_the_reverse() {
        let parent = Cancel::new();
        let (child, _guard) = parent.child();
        let (other, _other) = parent.child();
        other.fire();
        assert!(!parent.is_fired() && !child.is_fired());
        parent.fire();
        assert!(child.is_fired());
    }

    #[test]
    fn a_sleeper_wakes_when_the_token_fires() {
        let token = Cancel::new();
        let sleeper = {
            let token = token.clone();
            std::thread::spawn(move || token.sleep(Duration::from_secs(60)))
        };
        token.fire();
        assert!(!sleeper.join().unwrap());
        assert!(Cancel::new().sleep(Duration::from_millis(1)));
    }
}
