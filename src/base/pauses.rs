//! The time of a call, or of a program, that its limit does not count: while it waits for the user or for a service that cannot answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long somebody has waited. Waits that overlap count once.
#[derive(Debug, Default)]
pub struct Pauses(Mutex<Paused>);

#[derive(Debug, Default)]
struct Paused {
    total: Duration,
    since: Option<Instant>,
    /// Waits that are not over.
    open: usize,
}

impl Pauses {
    /// Runs `wait`, not counting its time.
    pub fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        {
            let mut paused = self.lock();
            paused.open += 1;
            paused.since.get_or_insert_with(Instant::now);
        }
        let answer = wait();
        let mut paused = self.lock();
        paused.open -= 1;
        if paused.open == 0
            && let Some(since) = paused.since.take()
        {
            paused.total += since.elapsed();
        }
        answer
    }

    /// Does not count `time` either, which somebody has announced to wait.
    pub(crate) fn add(&self, time: Duration) {
        self.lock().total += time;
    }

    /// Whether somebody waits now.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().open > 0
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
        let pauses = Pauses::default();
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
        let twice = pauses.during(|| pauses.during(|| pauses.total()));
        assert!(pauses.total() >= twice && !pauses.is_open());
        pauses.add(Duration::from_secs(5));
        assert!(
            pauses.total() < Duration::from_secs(9),
            "what overlaps counts once"
        );
    }
}
