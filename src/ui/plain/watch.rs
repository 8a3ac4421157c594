//! Signals in the plain interface. While the conversation waits for an answer they are handled; while a line is being read, which nothing else can interrupt,
//! they end the process with the terminal restored.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use rustix::stdio;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::llm::copilot;
use crate::mcp::session as session_servers;
use crate::ui::term::signals::Signals;
use crate::ui::term::tty::Tty;
use crate::ui::term::{Input, SignalEvent};

/// A second Ctrl-C within this time ends the process, where Ctrl-C can only arrive as a signal.
const DOUBLE_PRESS: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEditing {
    /// rustyline: the terminal is in raw mode, where Ctrl-C is a key, and marks pastes.
    Rustyline,
    /// The terminal alone: Ctrl-C is a signal, and must come twice to leave.
    Terminal,
    /// Nobody: the lines come from a pipe or a file.
    Nobody,
}

pub(super) struct LineWatch {
    /// Signals that came while no line was being read.
    pub(super) signals: Receiver<SignalEvent>,
    /// Gets a byte for each of them, for `poll` together with the terminal.
    pub(super) woken: UnixStream,
    reading: IsReading,
    _source: Signals,
}

/// Whether a line is being read; locked while a signal is sorted by it.
#[derive(Clone, Default)]
struct IsReading(Arc<Mutex<bool>>);

impl IsReading {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks that a line is being read, until it is dropped.
pub(super) struct ReadGuard(IsReading);

impl Drop for ReadGuard {
    fn drop(&mut self) {
        *self.0.lock() = false;
    }
}

impl LineWatch {
    /// Starts the watch; `stopper` fires before a signal ends the process. `lines` says who edits the lines that are read.
    pub(super) fn start(stopper: Cancel, lines: LineEditing) -> Outcome<Self> {
        let cannot = |reason: io::Error| Problem::system("Cannot watch for signals", reason);
        let modes = tcgetattr(stdio::stdin()).ok();
        let (give, take) = unbounded();
        let source = Signals::start_for_ends(give).map_err(cannot)?;
        let (woken, mut wake) = UnixStream::pair().map_err(cannot)?;
        let nonblocking = woken.set_nonblocking(true);
        nonblocking
            .and_then(|()| wake.set_nonblocking(true))
            .map_err(cannot)?;
        let (sender, signals) = unbounded();
        let reading = IsReading::default();
        let is_reading = reading.clone();
        thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || {
                let mut interrupted: Option<Instant> = None;
                for input in take.iter().flatten() {
                    let Input::Signal(signal) = input else {
                        continue;
                    };
                    let Some(status) = signal.exit_status() else {
                        continue;
                    };
                    let line = is_reading.lock();
                    if *line {
                        drop(line);
                        let before = interrupted.replace(Instant::now());
                        let again = before.is_some_and(|at| at.elapsed() < DOUBLE_PRESS);
                        if lines == LineEditing::Terminal
                            && signal == SignalEvent::Interrupt
                            && !again
                        {
                            say("[System] Press Ctrl-C again to quit.");
                            continue;
                        }
                        stopper.fire();
                        if lines == LineEditing::Rustyline {
                            // The line editor cannot end the line and give back the mode of pastes any more.
                            let _ = Tty.write_all(b"\x1b[?2004l\r\n");
                        }
                        restore(modes.as_ref());
                        copilot::close_all(copilot::HURRIED_CLOSE_TIMEOUT);
                        session_servers::end_all();
                        crate::proc::descendants::end_all(Duration::ZERO);
                        crate::proc::sandbox::private_dir::remove();
                        std::process::exit(status.into());
                    }
                    let _ = sender.send(signal);
                    // A full pipe wakes as well.
                    let _ = wake.write(&[0]);
                }
            })
            .map_err(cannot)?;
        Ok(Self {
            signals,
            woken,
            reading,
            _source: source,
        })
    }

    /// Drains [`LineWatch::woken`] and returns the signals.
    pub(super) fn take_signals(&self) -> Vec<SignalEvent> {
        while matches!(rustix::io::read(&self.woken, &mut [0; 16]), Ok(1..)) {}
        self.signals.try_iter().collect()
    }

    /// Marks that a line is being read, until the returned guard is dropped.
    pub(super) fn reading(&self) -> ReadGuard {
        *self.reading.lock() = true;
        ReadGuard(self.reading.clone())
    }
}

fn restore(before: Option<&Termios>) {
    if let Some(before) = before {
        let _ = tcsetattr(stdio::stdin(), OptionalActions::Now, before);
    }
}
