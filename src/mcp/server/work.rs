//! Requests that are worked on beside each other: so many at once, and so many waiting that a client's flood cannot fill the memory.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Requests that run at once.
const AT_ONCE: usize = 64;
/// Bytes of requests that wait; beyond them nothing more is read.
const WAITING_BYTES: usize = 16 << 20;
/// Each waiting request counts at least so much.
const LEAST_BYTES: usize = 1 << 10;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<(usize, Job)>,
    bytes: usize,
    threads: usize,
    idle: usize,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// Threads for requests, started as they are needed.
#[derive(Clone, Default)]
pub(super) struct Workers(Arc<Shared>);

impl Workers {
    /// Has `job` run, which came as so many bytes. Waits while too much is waiting.
    pub(super) fn run(&self, bytes: usize, job: Job) {
        let bytes = bytes.max(LEAST_BYTES);
        let mut waiting = self.0.lock();
        while waiting.bytes > 0 && waiting.bytes + bytes > WAITING_BYTES {
            waiting = self.0.wait(waiting);
        }
        waiting.bytes += bytes;
        waiting.jobs.push_back((bytes, job));
        let is_short = waiting.idle < waiting.jobs.len() && waiting.threads < AT_ONCE;
        let shared = Arc::clone(&self.0);
        if is_short && thread::Builder::new().spawn(move || shared.work()).is_ok() {
            waiting.threads += 1;
        }
        drop(waiting);
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, waiting: MutexGuard<'a, Waiting>) -> MutexGuard<'a, Waiting> {
        self.changed
            .wait(waiting)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one job after another, as long as the process lives.
    fn work(&self) {
        loop {
            let mut waiting = self.lock();
            waiting.idle += 1;
            let (bytes, job) = loop {
                match waiting.jobs.pop_front() {
                    Some(job) => break job,
                    None => waiting = self.wait(waiting),
                }
            };
            waiting.idle -= 1;
            waiting.bytes -= bytes;
            drop(waiting);
            self.changed.notify_all();
            job();
        }
    }
}
