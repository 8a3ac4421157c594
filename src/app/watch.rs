//! Watches for signals, for a closed standard output and, in a child, for the end of its parent, on a thread of its own, so that the turn can run on the main
//! thread (one heap, the answer is never handed over) and nothing it waits for delays the exit.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::stdio::stdin;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::base::cancel::Cancel;

/// SIGQUIT too: its core dump is of no use here, and a run should say what it cost.
const WATCHED: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// How long a turn has after a signal to stop its children and requests.
pub(crate) const TURN_GRACE: Duration = Duration::from_millis(150);
/// The same for what ends its children, writes its record and tells its end: a run of the pipeline, a review, a merge. It seldom takes as long as a turn's.
pub(crate) const RECORD_GRACE: Duration = Duration::from_secs(3);

/// The exit status when the parent is gone.
const ORPHANED: u8 = 1;

/// A running watch; it lasts as long as the process.
pub(crate) struct RunWatch {
    seen: Arc<Seen>,
}

/// What ends the run.
#[derive(Default)]
struct Seen {
    /// Number of the signal that was received; 0 for none.
    signal: Arc<AtomicUsize>,
    /// Standard input, which the parent holds open, was closed.
    orphaned: AtomicBool,
}

impl Seen {
    /// The exit status that it makes.
    fn status(&self) -> Option<u8> {
        let signal = self.signal.load(Ordering::SeqCst);
        match signal {
            0 => self.orphaned.load(Ordering::SeqCst).then_some(ORPHANED),
            // 128 plus the number, as shells report it.
            signal => Some(u8::try_from(128 + signal).unwrap_or(1)),
        }
    }
}

impl RunWatch {
    /// Fires `stop` on a signal, when the reader is gone and, if `is_leashed`, when the writer of standard input is. If the process is still running `grace`
    /// after a signal or the end of its parent, calls `late` with the exit status, on the watcher's thread.
    ///
    /// # Errors
    /// The system has no handler, pipe or thread left.
    pub(crate) fn start(
        stop: Cancel,
        is_leashed: bool,
        grace: Duration,
        late: impl FnOnce(u8) + Send + 'static,
    ) -> io::Result<Self> {
        let seen = Arc::new(Seen::default());
        let (woken, wake) = UnixStream::pair()?;
        for signal in WATCHED {
            // In this order: the number must be set before the pipe wakes the watcher.
            let number = usize::try_from(signal).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&seen.signal), number)?;
            pipe::register(signal, wake.try_clone()?)?;
        }
        let watch = Self {
            seen: Arc::clone(&seen),
        };
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                sleep(&woken, &stop, is_leashed.then_some(&seen.orphaned));
                thread::sleep(grace);
                late(seen.status().unwrap_or(ORPHANED));
            })?;
        Ok(watch)
    }

    /// The exit status that a signal, or the end of the parent, makes; `None` when neither happened.
    pub(crate) fn status(&self) -> Option<u8> {
        self.seen.status()
    }
}

/// Fires `stop` and returns on a signal or when the parent is gone, which `orphaned` is set for. Does not allocate: the first allocation of a thread costs a
/// heap of its own.
fn sleep(woken: &UnixStream, stop: &Cancel, orphaned: Option<&AtomicBool>) {
    let stdout = io::stdout();
    let mut is_reader_gone = false;
    loop {
        // With no events requested only an error or hang-up wakes, which is what a closed pipe causes.
        let leash = match orphaned {
            Some(_) => PollFd::from_borrowed_fd(stdin(), PollFlags::IN),
            None => PollFd::new(woken, PollFlags::IN),
        };
        let reader = match is_reader_gone {
            false => PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty()),
            true => PollFd::new(woken, PollFlags::IN),
        };
        let mut fds = [PollFd::new(woken, PollFlags::IN), leash, reader];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let [signal, leash, reader] = fds.map(|fd| !fd.revents().is_empty());
        if signal {
            break;
        }
        if let Some(orphaned) = orphaned.filter(|_| leash) {
            // Nobody writes into a leash; what is there anyway is not read as anything.
            let mut ignored = [0; 64];
            let gone = matches!(rustix::io::read(stdin(), &mut ignored), Ok(0) | Err(_));
            if gone {
                orphaned.store(true, Ordering::SeqCst);
                break;
            }
        }
        if reader && !is_reader_gone {
            is_reader_gone = true;
            stop.fire();
        }
    }
    stop.fire();
}
