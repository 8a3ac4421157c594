//! When an update that failed is tried again: after a pause that grows, because a model that writes no usable summary of something, or is not there, will
//! hardly do so a minute later.

use std::time::{Duration, Instant};

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);

/// The pause between attempts to write the same memory.
#[derive(Debug, Default)]
pub(crate) struct RetryPause {
    /// The latest pause, and when it ends.
    latest: Option<(Duration, Instant)>,
}

impl RetryPause {
    /// The update failed at `now`: the next pause is `first`, or twice the one before.
    pub(crate) fn failed(&mut self, first: Duration, now: Instant) {
        let pause = match self.latest {
            Some((before, _)) => before.saturating_mul(2).min(MAX_PAUSE.max(first)),
            None => first,
        };
        self.latest = Some((pause, now + pause));
    }

    /// How much of the pause is left at `now`.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        self.latest.map_or(Duration::ZERO, |(_, end)| {
            end.saturating_duration_since(now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour() {
        let mut pause = RetryPause::default();
        let now = Instant::now();
        assert_eq!(pause.left(now), Duration::ZERO);
        let mut left = Vec::new();
        for _ in 0..9 {
            pause.failed(Duration::from_secs(60), now);
            left.push(pause.left(now).as_secs());
        }
        assert_eq!(left, [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
        assert_eq!(pause.left(now + Duration::from_secs(3_599)).as_secs(), 1);
        assert_eq!(pause.left(now + Duration::from_secs(4_000)), Duration::ZERO);
    }

    #[test]
    fn a_check_that_is_rarer_than_that_stays_as_it_is() {
        let mut pause = RetryPause::default();
        let (day, now) = (Duration::from_secs(86_400), Instant::now());
        for _ in 0..3 {
            pause.failed(day, now);
            assert_eq!(pause.left(now), day);
        }
    }
}
