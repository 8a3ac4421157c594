//! Signals in the plain interface: told to the conversation while it waits for an answer; while a line is being read, which
//! nothing else can end, they end the process and leave the terminal as it was.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, unbounded};
use rustix::stdio;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::base::cancel::Cancel;
use crate::base::error::{Outcome, Problem};
use crate::ui::term::signals::Signals;
use crate::ui::term::{Caught, Input};

/// The watch.
pub(super) struct Watch {
    /// Signals that came while nothing was read.
    pub(super) signals: Receiver<Caught>,
    reading: Arc<AtomicBool>,
    _source: Signals,
}

/// Lasts as long as a line is being read.
pub(super) struct Reading(Arc<AtomicBool>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Watch {
    /// Starts it; `stopper` fires before a signal ends the process.
    pub(super) fn start(stopper: Cancel) -> Outcome<Self> {
        let cannot = |why: io::Error| Problem::system("Cannot watch for signals", why);
        let before = tcgetattr(stdio::stdin()).ok();
        let (give, take) = unbounded();
        let source = Signals::start(give).map_err(cannot)?;
        let (tell, signals) = unbounded();
        let reading = Arc::new(AtomicBool::new(false));
        let read = Arc::clone(&reading);
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                for input in take.iter().flatten() {
                    let Input::Signal(signal) = input else {
                        continue;
                    };
                    let Some(status) = signal.exit_status() else {
                        continue;
                    };
                    if read.load(Ordering::SeqCst) {
                        stopper.fire();
                        restore(before.as_ref());
                        std::process::exit(status.into());
                    }
                    let _ = tell.send(signal);
                }
            })
            .map_err(cannot)?;
        Ok(Self {
            signals,
            reading,
            _source: source,
        })
    }

    /// Says that a line is being read until the value is dropped.
    pub(super) fn reading(&self) -> Reading {
        self.reading.store(true, Ordering::SeqCst);
        Reading(Arc::clone(&self.reading))
    }
}

fn restore(before: Option<&Termios>) {
    if let Some(before) = before {
        let _ = tcsetattr(stdio::stdin(), OptionalActions::Now, before);
    }
}
