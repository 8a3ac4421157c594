//! All writes of the session, in order, on a thread of their own: the interface never waits for a disk or for another process's lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

type WriteJob = Box<dyn FnOnce() + Send>;

/// The queue of pending writes. The thread starts with the first one.
#[derive(Default)]
pub(super) struct DiskWriter {
    work: Option<Sender<WriteJob>>,
}

/// The end of the queue, for another thread.
#[derive(Clone)]
pub(in crate::app) struct DiskQueue(Sender<WriteJob>);

impl DiskQueue {
    /// Queues `work`; it runs after everything queued before.
    pub(super) fn put(&self, work: impl FnOnce() + Send + 'static) {
        if let Err(unsent) = self.0.send(Box::new(work)) {
            // No thread could be started: write here rather than lose the data.
            unsent.0();
        }
    }
}

impl DiskWriter {
    /// As [`DiskQueue::put`].
    pub(super) fn put(&mut self, work: impl FnOnce() + Send + 'static) {
        self.handle().put(work);
    }

    /// As [`DiskWriter::put`]; the receiver is notified when `work` is done.
    pub(super) fn put_and_tell(&mut self, work: impl FnOnce() + Send + 'static) -> Receiver<()> {
        let (done, told) = bounded(1);
        self.put(move || {
            work();
            let _ = done.try_send(());
        });
        told
    }

    /// Waits up to `limit` until everything is written; false when that was not enough.
    pub(super) fn finish(&mut self, limit: Duration) -> bool {
        if self.work.is_none() {
            return true;
        }
        let until = Instant::now() + limit;
        self.put_and_tell(|| {}).recv_deadline(until).is_ok()
    }

    /// For work that another thread queues.
    pub(super) fn handle(&mut self) -> DiskQueue {
        DiskQueue(self.thread().clone())
    }

    fn thread(&mut self) -> &Sender<WriteJob> {
        self.work.get_or_insert_with(|| {
            let (give, take) = unbounded::<WriteJob>();
            let _ = thread::Builder::new()
                .name("scribe".to_owned())
                .spawn(move || {
                    for work in &take {
                        // What is queued behind it is written all the same.
                        let _ = catch_unwind(AssertUnwindSafe(work));
                    }
                });
            give
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn work_is_done_in_order_and_finish_waits_for_it() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut scribe = DiskWriter::default();
        assert!(scribe.finish(Duration::ZERO), "nothing to wait for");
        for n in 0..100 {
            let seen = Arc::clone(&seen);
            scribe.put(move || seen.lock().unwrap().push(n));
        }
        assert!(scribe.finish(Duration::from_secs(60)));
        assert_eq!(*seen.lock().unwrap(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_queued_behind_a_write_that_panics_is_written() {
        let (written, told) = bounded(1);
        let mut scribe = DiskWriter::default();
        let (go, wait) = bounded::<()>(1);
        scribe.put(move || {
            wait.recv().unwrap();
            panic!("on purpose");
        });
        scribe.put(move || written.send(()).unwrap());
        go.send(()).unwrap();
        assert!(scribe.finish(Duration::from_secs(60)));
        assert!(told.try_recv().is_ok());
    }
}
