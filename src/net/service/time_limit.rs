//! A timeout for a whole request: a body that trickles in never exceeds the timeout of a phase.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};

/// Runs `work` with a token that fires with `stop` or after `time`; also says whether the time was up, and nothing else stopped it.
pub(crate) fn timed<T>(
    stop: &Cancel,
    time: Duration,
    work: impl FnOnce(&Cancel) -> T,
) -> Outcome<(T, bool)> {
    let (inner, _fires_with_outer) = stop.child();
    let deadline = clock()?.set(Instant::now() + time, &inner);
    let result = work(&inner);
    let is_late = deadline.is_over();
    Ok((result, is_late && !stop.is_fired()))
}

/// [`timed`] for work that can fail.
///
/// # Errors
/// `Network` when the time was up; else what `work` says.
pub(crate) fn limited<T>(
    stop: &Cancel,
    time: Duration,
    name: &str,
    work: impl FnOnce(&Cancel) -> Outcome<T>,
) -> Outcome<T> {
    match timed(stop, time, work)? {
        (Err(problem), true) if problem.is_cancelled() => Err(Problem::network(format!(
            "{name} did not answer within {} s.",
            time.as_secs_f64().ceil()
        ))
        .next("Try again later.")),
        (outcome, _) => outcome,
    }
}

/// One thread for all time limits of the process: a reply makes half a dozen calls, and a thread for each takes longer than the rest of the call.
#[derive(Default)]
struct DeadlineClock {
    deadlines: Mutex<Deadlines>,
    changed: Condvar,
}

#[derive(Default)]
struct Deadlines {
    /// What fires when, the earliest first.
    tokens: BTreeMap<DeadlineKey, Cancel>,
    next: u64,
    /// When the thread looks again; `None` while it waits for the first deadline.
    wakes: Option<Instant>,
}

/// The moment, and a number that tells those of one moment apart.
type DeadlineKey = (Instant, u64);

/// The clock of the process, started with the first limit.
fn clock() -> Outcome<&'static DeadlineClock> {
    static CLOCK: OnceLock<DeadlineClock> = OnceLock::new();
    static STARTED: Mutex<bool> = Mutex::new(false);
    let clock = CLOCK.get_or_init(DeadlineClock::default);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*started {
        thread::Builder::new()
            .name("time-limit".into())
            .spawn(|| clock.run())
            .map_err(|error| Problem::system("Cannot start a clock", error))?;
        *started = true;
    }
    Ok(clock)
}

impl DeadlineClock {
    /// Fires `token` at `moment`, unless the guard is dropped before.
    fn set(&'static self, moment: Instant, token: &Cancel) -> Deadline {
        let mut deadlines = self.lock();
        let key = (moment, deadlines.next);
        deadlines.next += 1;
        deadlines.tokens.insert(key, token.clone());
        // A thread that wakes too early looks what comes next; most limits are dropped long before, and cost nothing then.
        if deadlines.wakes.is_none_or(|wakes| moment < wakes) {
            self.changed.notify_one();
        }
        Deadline { clock: self, key }
    }

    fn run(&self) {
        let mut deadlines = self.lock();
        loop {
            let now = Instant::now();
            while let Some(first) = deadlines.tokens.first_entry()
                && first.key().0 <= now
            {
                let token = first.remove();
                drop(deadlines);
                token.fire();
                deadlines = self.lock();
            }
            deadlines.wakes = deadlines.tokens.keys().next().map(|(moment, _)| *moment);
            deadlines = match deadlines.wakes {
                Some(moment) => {
                    let wait = moment.saturating_duration_since(now);
                    let woken = self.changed.wait_timeout(deadlines, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None => (self.changed.wait(deadlines)).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Deadlines> {
        self.deadlines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limit that holds until it is dropped.
struct Deadline {
    clock: &'static DeadlineClock,
    key: DeadlineKey,
}

impl Deadline {
    /// Whether the clock has fired the token.
    fn is_over(&self) -> bool {
        !self.clock.lock().tokens.contains_key(&self.key)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clock.lock().tokens.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(stop: &Cancel) -> Outcome<()> {
        match stop.sleep(Duration::from_secs(60)) {
            true => Ok(()),
            false => Err(Problem::cancelled()),
        }
    }

    #[test]
    fn what_takes_too_long_ends_and_is_told_apart_from_a_cancel() {
        let stop = Cancel::new();
        let slow = limited(&stop, Duration::from_millis(10), "X", wait);
        assert_eq!(slow.unwrap_err().what, "X did not answer within 1 s.");
        assert!(limited(&stop, Duration::from_secs(60), "X", |_| Ok(())).is_ok());
        stop.fire();
        let ended = limited(&stop, Duration::from_secs(60), "X", wait);
        assert!(ended.unwrap_err().is_cancelled());
    }

    #[test]
    fn a_short_limit_ends_while_a_long_one_runs() {
        let stop = Cancel::new();
        let (outer, is_late) = timed(&stop, Duration::from_secs(60), |outer| {
            let short = limited(outer, Duration::from_millis(10), "Y", wait);
            assert_eq!(short.unwrap_err().what, "Y did not answer within 1 s.");
            outer.is_fired()
        })
        .unwrap();
        assert!(!outer && !is_late);
    }

    #[test]
    fn many_limits_of_one_moment_all_end() {
        let stop = Cancel::new();
        thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let ended = limited(&stop, Duration::from_millis(5), "Z", wait);
                    assert!(ended.is_err());
                });
            }
        });
    }

    #[test]
    fn a_limit_that_was_kept_leaves_nothing_behind() {
        let key = {
            let token = Cancel::new();
            let deadline = clock()
                .unwrap()
                .set(Instant::now() + Duration::from_secs(3600), &token);
            assert!(!deadline.is_over());
            deadline.key
        };
        assert!(!clock().unwrap().lock().tokens.contains_key(&key));
    }
}
