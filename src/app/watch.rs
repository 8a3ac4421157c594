//! Watches for signals and for a closed standard output on a thread of its own, so that the turn can run on the main thread (one heap, the answer is
//! never handed over) and nothing it waits for delays the exit.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::base::cancel::Cancel;

const WATCHED: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// How long the turn has after a signal to stop its children and requests.
const GRACE: Duration = Duration::from_millis(150);

/// A running watch; it lasts as long as the process.
pub(crate) struct RunWatch {
    came: Arc<AtomicUsize>,
}

impl RunWatch {
    /// Fires `stop` on a signal or when the reader is gone. If the process is still running a moment after a signal, calls `late` with the signal's
    /// number, on the watcher's thread.
    ///
    /// # Errors
    /// The system has no handler, pipe or thread left.
    pub(crate) fn start(stop: Cancel, late: impl FnOnce(i32) + Send + 'static) -> io::Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        let (woken, wake) = UnixStream::pair()?;
        for signal in WATCHED {
            // In this order: the number must be set before the pipe wakes the watcher.
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&came), number)?;
            pipe::register(signal, wake.try_clone()?)?;
        }
        let watch = Self {
            came: Arc::clone(&came),
        };
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                sleep(&woken, &stop);
                thread::sleep(GRACE);
                late(number(&came).unwrap_or(SIGTERM));
            })?;
        Ok(watch)
    }

    /// The signal that was received, if any.
    pub(crate) fn signal(&self) -> Option<i32> {
        number(&self.came)
    }
}

fn number(came: &AtomicUsize) -> Option<i32> {
    i32::try_from(came.load(Ordering::SeqCst))
        .ok()
        .filter(|signal| *signal > 0)
}

/// Fires `stop` and returns on a signal. Does not allocate: the first allocation of a thread costs a heap of its own.
fn sleep(woken: &UnixStream, stop: &Cancel) {
    let stdout = io::stdout();
    let signal = || PollFd::new(woken, PollFlags::IN);
    // With no events requested only an error or hang-up wakes, which is what a closed pipe causes.
    let reader = PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty());
    let mut fds = [signal(), reader];
    loop {
        let polled = poll(&mut fds, None);
        let [signal, reader] = &fds;
        let (came, gone) = (!signal.revents().is_empty(), !reader.revents().is_empty());
        if polled.is_ok() && (came || gone) {
            stop.fire();
        }
        if polled.is_ok() && came {
            return;
        }
        if polled.is_ok() && gone {
            break;
        }
    }
    while poll(&mut [signal()], None).is_err() {}
}
