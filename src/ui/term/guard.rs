//! Takes over the terminal (raw mode, and the modes of [`TerminalModes`]) and restores it on every exit path.
//!
//! No mouse reports: with them the terminal's own selecting would end.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Signal, getpgid, getpgrp, getppid, getsid, kill_current_process_group};
use rustix::stdio;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::SIGCONT;
use signal_hook::low_level::{pipe, unregister};

use super::crash::{self, Crashes, RestoreTerminal};
use super::input::Keyboard;
use super::modes::TerminalModes;
use super::tty::Tty;

/// The terminal in use; restored on drop. Create it on the thread that draws.
pub struct TerminalGuard {
    terminal: Arc<Terminal>,
    crashes: Arc<Crashes>,
}

impl TerminalGuard {
    /// Takes over the terminal on standard input and output. A panic is reported to `crash_file`, or on standard error without one.
    ///
    /// # Errors
    /// Standard input is not a terminal, or the terminal is gone.
    pub fn enter(modes: TerminalModes, crash_file: Option<PathBuf>) -> io::Result<Self> {
        let terminal = Arc::new(Terminal {
            modes,
            found: Mutex::default(),
        });
        let crashes = Arc::new(Crashes::new(crash_file));
        // Before the terminal is changed, so that no panic finds it in use without the hook.
        crash::watch(&terminal, &crashes);
        let guard = Self { terminal, crashes };
        // If this fails half-way, dropping the guard restores it.
        guard.terminal.take()?;
        Ok(guard)
    }

    /// Restores the terminal; does nothing if it is already restored.
    pub fn restore(&self) {
        self.terminal.restore_if_taken();
    }

    /// Takes over the terminal again, whatever its state: after SIGCONT. The screen must be repainted.
    pub fn renew(&self) -> io::Result<()> {
        self.terminal.take()
    }

    /// Restores the terminal and stops the process group, as Ctrl-Z does in a shell; returns after SIGCONT with the terminal in use again. Returns false and
    /// does nothing when no shell could resume it, as in a session of its own under `ssh host marvin`. The screen must be repainted.
    ///
    /// # Errors
    /// The terminal is gone, or the system refuses to stop the group.
    pub fn suspend(&self) -> io::Result<bool> {
        if !can_be_resumed() {
            return Ok(false);
        }
        let (mut woken, wake) = UnixStream::pair()?;
        let handler = pipe::register(SIGCONT, wake)?;
        self.terminal.restore_if_taken();
        let stopped = kill_current_process_group(Signal::STOP);
        // The stop may take effect after the call returns; only SIGCONT says that it is over.
        if stopped.is_ok() {
            while let Err(e) = woken.read(&mut [0]) {
                if e.kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
        }
        unregister(handler);
        self.terminal.take()?;
        stopped?;
        Ok(true)
    }

    /// Runs `run` with the terminal restored and its input untouched, then takes it over again: for `$EDITOR`. The screen must be repainted.
    ///
    /// # Errors
    /// The terminal is gone; `run` has run.
    pub(crate) fn run_outside<T>(
        &self,
        keyboard: &Keyboard,
        run: impl FnOnce() -> T,
    ) -> io::Result<T> {
        let _paused = keyboard.pause();
        self.terminal.restore_if_taken();
        let before = tcgetattr(stdio::stdin())?;
        let result = run();
        // A program that crashed may have left the terminal in raw mode; that must not be what the shell gets at the end.
        let _ = tcsetattr(stdio::stdin(), OptionalActions::Now, &before);
        self.terminal.take()?;
        Ok(result)
    }

    /// Whether another thread than the guard's panicked; the report is named when the guard is dropped.
    pub fn crashed(&self) -> bool {
        self.crashes.any()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.terminal.restore_if_taken();
        if let Some(messages) = self.crashes.take() {
            crash::say(&messages);
        }
    }
}

/// Whether a shell could resume this process group: one in the same session but in another group. A stopped group without one would sleep forever.
pub(super) fn can_be_resumed() -> bool {
    let group = getpgrp();
    let (Ok(session), Some(parent)) = (getsid(None), getppid()) else {
        return false;
    };
    group != session && getsid(Some(parent)) == Ok(session) && getpgid(Some(parent)).is_ok()
}

/// The terminal's state; while in use, also its original settings.
struct Terminal {
    modes: TerminalModes,
    found: Mutex<Option<Termios>>,
}

impl Terminal {
    fn take(&self) -> io::Result<()> {
        let mut found = self.found();
        let now = tcgetattr(stdio::stdin())?;
        let mut raw = now.clone();
        raw.make_raw();
        if found.is_some() {
            // What a terminal keeps on a stack must not be there twice.
            Tty.write_all(self.modes.restore.as_bytes())?;
        }
        // If taken over twice, the first settings are the original ones.
        found.get_or_insert(now);
        // Keys typed so far are kept: they are meant for us.
        tcsetattr(stdio::stdin(), OptionalActions::Now, &raw)?;
        Tty.write_all(self.modes.enter.as_bytes())
    }

    fn found(&self) -> MutexGuard<'_, Option<Termios>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RestoreTerminal for Terminal {
    fn restore_if_taken(&self) -> bool {
        let mut found = self.found();
        let Some(as_found) = found.take() else {
            return false;
        };
        // A terminal that is gone needs no restoring, and the error could not be shown.
        let _ = Tty.write_all(self.modes.restore.as_bytes());
        let _ = tcsetattr(stdio::stdin(), OptionalActions::Now, &as_found);
        true
    }

    fn is_taken(&self) -> bool {
        self.found().is_some()
    }
}
