//! A countdown or a stopwatch.

use std::time::{Duration, Instant};

use crate::formats::duration::words;

/// A running timer.
#[derive(Debug, Clone)]
pub struct Timer {
    /// When it was started.
    pub started: Instant,
    /// Duration of the countdown; a stopwatch has none.
    pub lasts: Option<Duration>,
    /// Whether its end was announced.
    pub rung: bool,
}

impl Timer {
    /// When a countdown ends; `None` for a stopwatch, and for an end that overflows the clock.
    pub fn ends(&self) -> Option<Instant> {
        self.started.checked_add(self.lasts?)
    }

    /// A stopwatch, or a countdown that has not ended.
    pub fn is_running(&self, now: Instant) -> bool {
        self.ends().is_none_or(|end| end > now)
    }

    /// Its current state, as text.
    pub fn state(&self, now: Instant) -> String {
        let passed = now.saturating_duration_since(self.started);
        match self.lasts {
            None => format!("stopwatch, {} elapsed", words(passed)),
            Some(lasts) if lasts > passed => {
                let left = (lasts - passed).as_secs_f64().ceil();
                let left = Duration::try_from_secs_f64(left).unwrap_or(lasts);
                format!("{} left of {}", words(left), words(lasts))
            }
            Some(lasts) => format!(
                "finished: {} are over since {}",
                words(lasts),
                words(passed - lasts)
            ),
        }
    }

    /// Its result when it is stopped, as text.
    pub fn result(&self, now: Instant) -> String {
        let passed = now.saturating_duration_since(self.started);
        match self.lasts {
            None => format!("{} elapsed", words(passed)),
            Some(lasts) if lasts > passed => {
                format!("{} of {} elapsed", words(passed), words(lasts))
            }
            Some(lasts) => format!(
                "{} elapsed, {} over the {}",
                words(passed),
                words(passed - lasts),
                words(lasts)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_and_a_stopwatch_show_their_state() {
        let started = Instant::now();
        let at = |seconds| started + Duration::from_secs(seconds);
        let timer = |lasts: Option<u64>| Timer {
            started,
            lasts: lasts.map(Duration::from_secs),
            rung: false,
        };
        assert_eq!(timer(Some(90)).state(at(30)), "1 min left of 1 min 30 s");
        assert_eq!(
            timer(Some(90)).state(at(100)),
            "finished: 1 min 30 s are over since 10 s"
        );
        assert_eq!(
            timer(Some(90)).result(at(100)),
            "1 min 40 s elapsed, 10 s over the 1 min 30 s"
        );
        assert_eq!(
            timer(None).state(at(3_700)),
            "stopwatch, 1 h 1 min 40 s elapsed"
        );
        assert!(timer(Some(90)).is_running(at(89)) && !timer(Some(90)).is_running(at(90)));
        let century = timer(Some(u64::MAX));
        assert!(century.ends().is_none() && century.is_running(at(1)));
    }
}
