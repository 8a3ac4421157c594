//! Pauses that Stack Exchange asks for (`backoff`, <https://api.stackexchange.com/docs/throttle>): each applies to one method, in all threads of
//! this process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest pause that is believed.
const MAX_PAUSE_SECONDS: u64 = 24 * 3_600;

/// Until when each method is left alone. A method is known by its whole base, so that a server of one's own is another one.
static PAUSES: LazyLock<Mutex<HashMap<String, Instant>>> = LazyLock::new(Mutex::default);

/// Remaining pause of `method`.
pub(super) fn left(method: &str) -> Option<Duration> {
    let until = *lock().get(method)?;
    until
        .checked_duration_since(Instant::now())
        .filter(|left| !left.is_zero())
}

/// Leaves `method` alone for `seconds` from now.
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
    fn a_pause_holds_for_its_method_alone_and_is_never_shortened() {
        assert_eq!(left("a/search"), None);
        pause("a/search", 10);
        pause("a/search", 1);
        pause("a/zero", 0);
        pause("a/far", u64::MAX);
        assert!(left("a/search").unwrap() > Duration::from_secs(8));
        assert!(left("a/far").unwrap() <= Duration::from_secs(MAX_PAUSE_SECONDS));
        assert_eq!((left("a/answers"), left("a/zero")), (None, None));
    }
}
