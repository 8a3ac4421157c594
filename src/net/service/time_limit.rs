//! A timeout for a whole request: a body that trickles in never exceeds the timeout of a phase.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};

/// Runs `work` with a token that fires with `stop` or after `time`; also says whether the time was up, and nothing else stopped it.
///
/// # Errors
/// No clock can be started.
pub(crate) fn timed<T>(
    stop: &Cancel,
    time: Duration,
    work: impl FnOnce(&Cancel) -> T,
) -> Outcome<(T, bool)> {
    let (inner, _fires_with_outer) = stop.child();
    let over = Cancel::new();
    let late = Arc::new(AtomicBool::new(false));
    let (fire, done, mark) = (inner.clone(), over.clone(), Arc::clone(&late));
    thread::Builder::new()
        .name("time-limit".into())
        .spawn(move || {
            if done.sleep(time) {
                mark.store(true, Ordering::SeqCst);
                fire.fire();
            }
        })
        .map_err(|error| Problem::system("Cannot start a clock", error))?;
    let result = work(&inner);
    over.fire();
    Ok((result, late.load(Ordering::SeqCst) && !stop.is_fired()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_ends_and_is_told_apart_from_a_cancel() {
        let stop = Cancel::new();
        let wait = |stop: &Cancel| match stop.sleep(Duration::from_secs(60)) {
            true => Ok(()),
            false => Err(Problem::cancelled()),
        };
        let slow = limited(&stop, Duration::from_millis(10), "X", wait);
        assert_eq!(slow.unwrap_err().what, "X did not answer within 1 s.");
        assert!(limited(&stop, Duration::from_secs(60), "X", |_| Ok(())).is_ok());
        stop.fire();
        let ended = limited(&stop, Duration::from_secs(60), "X", wait);
        assert!(ended.unwrap_err().is_cancelled());
    }
}
