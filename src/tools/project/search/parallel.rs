//! Processes a batch of files in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::base::shared_sort::SharedSort as _;

/// Maximum files of a batch. Each may keep a folder open, and on some systems a process may have only 256 open files.
pub(crate) const MAX_BATCH_FILES: usize = 128;
/// Maximum threads; more would only wait for the disk.
const MAX_THREADS: usize = 8;
/// With fewer files a second thread is not worth it.
const MIN_PARALLEL_FILES: usize = 8;

/// Maps every file by `work`, in order. Every thread gets its own state from `worker`.
pub(crate) fn in_parallel<F, T, W>(files: &[F], worker: impl Fn() -> W + Sync) -> Vec<T>
where
    F: Sync,
    T: Send,
    W: FnMut(&F) -> T,
{
    let threads = thread::available_parallelism()
        .map_or(1, |count| count.get().min(MAX_THREADS))
        .min(files.len().div_ceil(MIN_PARALLEL_FILES));
    if threads <= 1 {
        return files.iter().map(worker()).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(files.len()));
    let run = || {
        let mut work = worker();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { break };
            let result = work(file);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If no thread can be started, this one does the work alone.
            let _ = thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.shared_sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
