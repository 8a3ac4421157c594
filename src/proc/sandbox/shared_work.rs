//! Work that is shared among threads, for many questions to the system: most of their time goes by there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Fewest of which some are done by other threads.
const MIN_SHARED: usize = 48;
/// Threads among which they are shared.
const THREADS: usize = 3;
/// How many a thread takes at once.
const PART: usize = 32;

/// What `read` makes of each of `all`, in their order. Who is done takes the next part: there may be fewer processors than threads.
pub(super) fn map_shared<F: Sync, T: Send>(all: &[F], read: &(impl Fn(&F) -> T + Sync)) -> Vec<T> {
    let own = |part: &[F]| part.iter().map(read).collect::<Vec<T>>();
    if all.len() < MIN_SHARED {
        return own(all);
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut taken = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = all.chunks(PART).nth(number) else {
                return taken;
            };
            taken.push((number, own(part)));
        }
    };
    let mut done = BTreeMap::new();
    thread::scope(|scope| {
        let helper = |_| thread::Builder::new().spawn_scoped(scope, take);
        let helpers: Vec<_> = (1..THREADS).map(helper).collect();
        done.extend(take());
        for helper in helpers.into_iter().flatten() {
            done.extend(helper.join().unwrap_or_default());
        }
    });
    let parts = all.chunks(PART).enumerate();
    // What a thread took and did not finish is done here.
    let parts = parts.map(|(number, part)| done.remove(&number).unwrap_or_else(|| own(part)));
    parts.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn each_is_done_once_and_in_order_though_threads_break_off() {
        let all: Vec<usize> = (0..PART * 20 + 7).collect();
        let expected: Vec<usize> = all.iter().map(|one| one * 2).collect();
        for count in [0, 1, MIN_SHARED - 1, MIN_SHARED, all.len()] {
            let some = &all[..count];
            assert_eq!(map_shared(some, &|one| one * 2), expected[..count]);
        }
        let own = thread::current().id();
        // Every thread has taken a part before one of them breaks off.
        let (met, first) = (Barrier::new(THREADS), AtomicUsize::new(0));
        let read = |one: &usize| {
            if one.is_multiple_of(PART) && first.fetch_add(1, Ordering::SeqCst) < THREADS {
                met.wait();
                assert_eq!(thread::current().id(), own, "a thread that breaks off");
            }
            one * 2
        };
        assert_eq!(map_shared(&all, &read), expected);
    }
}
