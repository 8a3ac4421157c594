//! The time at a prompt before anything is typed: what happens by itself is shown, such as a question of a server, which nobody could see while rustyline waits
//! for a line. Without servers there is no such time.

use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio;

use super::PlainUi;
use super::key_watch::KeyWatch;

/// How often it is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(200);

impl PlainUi {
    /// Shows `prompt`, and what happens until a key is pressed or a signal comes. Without servers nothing is shown: between this and rustyline's reading,
    /// Ctrl-C would find a terminal that nobody reads, and end the process.
    pub(super) fn wait_for_typing(&mut self, prompt: &str) {
        if !self.reader.edits_lines() || self.ahead.has_any() || !self.session.may_be_told() {
            return;
        }
        self.printer.ask(prompt);
        let mut keys = Keys::start();
        while keys.is_some() && self.leave.is_none() && self.session.may_be_told() {
            if typed(&self.watch.woken) {
                break;
            }
            if self.bell.try_recv().is_err() {
                continue;
            }
            self.session.receive();
            let shows = self.session.take_updates();
            if shows.is_empty() {
                continue;
            }
            // What is asked now is answered in a line.
            drop(keys.take());
            shows.into_iter().for_each(|show| self.show(show));
            self.until_idle();
            self.printer.ask(prompt);
            keys = Keys::start();
        }
        drop(keys);
        // rustyline writes the prompt once more, in the same place.
        self.printer.answered();
    }
}

/// The terminal passes keys on, and marks a paste, whose lines must not be taken for several.
struct Keys {
    _watch: KeyWatch,
}

impl Keys {
    fn start() -> Option<Self> {
        let watch = KeyWatch::start()?;
        send("\x1b[?2004h");
        Some(Self { _watch: watch })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        send("\x1b[?2004l");
    }
}

fn send(mode: &str) {
    let mut out = io::stdout();
    let _gone = out.write_all(mode.as_bytes()).and_then(|()| out.flush());
}

/// Whether a key is pressed, or a signal has come; waits for it a little.
fn typed(woken: impl AsFd) -> bool {
    let mut fds = [
        PollFd::new(&woken, PollFlags::IN),
        PollFd::from_borrowed_fd(stdio::stdin(), PollFlags::IN),
    ];
    match poll(&mut fds, Timespec::try_from(LOOK).ok().as_ref()) {
        Ok(0) | Err(Errno::INTR) => false,
        Ok(_) | Err(_) => true,
    }
}
