//! The time of a call that its timeout does not count: while it waits for the user.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a call has waited for the user.
#[derive(Debug, Default)]
pub struct CallPauses(Mutex<Paused>);

#[derive(Debug, Default)]
struct Paused {
    total: Duration,
    since: Option<Instant>,
}

impl CallPauses {
    /// Runs `wait`, not counting its time.
    pub fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.lock().since = Some(Instant::now());
        let answer = wait();
        let mut paused = self.lock();
        if let Some(since) = paused.since.take() {
            paused.total += since.elapsed();
        }
        answer
    }

    /// The total so far.
    pub fn total(&self) -> Duration {
        let paused = self.lock();
        paused.total + paused.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Paused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_count_and_the_running_one_too() {
        let pauses = CallPauses::default();
        assert_eq!(pauses.total(), Duration::ZERO);
        let inside = pauses.during(|| {
            let since = Instant::now();
            while since.elapsed() < Duration::from_millis(2) {}
            pauses.total()
        });
        assert!(inside >= Duration::from_millis(2));
        let total = pauses.total();
        assert!(total >= inside);
        assert_eq!(pauses.total(), total);
    }
}
