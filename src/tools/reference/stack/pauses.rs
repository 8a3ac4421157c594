//! Backoff that Stack Exchange requests (`backoff`, <https://api.stackexchange.com/docs/throttle>): per method, in all threads of this process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum pause that is accepted.
const MAX_PAUSE_SECONDS: u64 = 24 * 3_600;

/// When each paused method may be used again. The key contains the base address, so that another server has its own pauses.
static PAUSES: LazyLock<Mutex<HashMap<String, Instant>>> = LazyLock::new(Mutex::default);

pub(super) fn remaining(method: &str) -> Option<Duration> {
    let until = *lock().get(method)?;
    until
        .checked_duration_since(Instant::now())
        .filter(|remaining| !remaining.is_zero())
}

pub(super) fn pause(method: &str, seconds: u64) {
    let until = Instant::now() + Duration::from_secs(seconds.min(MAX_PAUSE_SECONDS));
    let mut pauses = lock();
    let own = pauses.entry(method.to_owned()).or_insert(until);
    *own = until.max(*own);
}

fn lock() -> MutexGuard<'static, HashMap<String, Instant>> {
    PAUSES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_applies_to_one_method_and_is_never_shortened() {
        assert_eq!(remaining("a/search"), None);
        pause("a/search", 10);
        pause("a/search", 1);
        pause("a/zero", 0);
        pause("a/far", u64::MAX);
        assert!(remaining("a/search").unwrap() > Duration::from_secs(8));
        assert!(remaining("a/far").unwrap() <= Duration::from_secs(MAX_PAUSE_SECONDS));
        assert_eq!((remaining("a/answers"), remaining("a/zero")), (None, None));
    }
}
