//! Waiting for what another process or thread does: a look every few milliseconds, and a limit.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what a loaded machine may delay.
pub const LIMIT: Duration = Duration::from_secs(60);

const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// What `look` finds; fails the test when it finds nothing within `limit`.
#[track_caller]
pub fn found_within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: not in {limit:?}");
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// The same within the usual limit.
#[track_caller]
pub fn found<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    found_within(LIMIT, what, look)
}

/// Waits until `is_so`; fails the test when it is not within `limit`.
#[track_caller]
pub fn until_within(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    found_within(limit, what, || is_so().then_some(()));
}

/// The same within the usual limit.
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_within(LIMIT, what, is_so);
}

/// Does `work` for each of `items` on a thread of its own: what waits, waits at the same time.
pub fn side_by_side<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for item in items {
            scope.spawn(move || work(item));
        }
    });
}
