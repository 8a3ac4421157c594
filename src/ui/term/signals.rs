//! Signals that concern the interface, as input: a thread that sleeps until one arrives.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::{Handle, Signals as Caller};
use signal_hook::low_level::emulate_default_handler;

use super::guard::can_be_resumed;
use super::{Input, SignalEvent, tty};

const WATCHED: [i32; 7] = [SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT];
/// How long a signal that ended another program may take to arrive here.
const SIGNAL_DELAY: Duration = Duration::from_millis(100);
/// Effectively forever.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// The signals that end a program.
const END_SIGNALS: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// The thread that handles signals; dropping this ends it. The signals are then ignored instead of handled by default.
pub(crate) struct Signals {
    handle: Handle,
    lent: Arc<LentUntil>,
}

/// Until when Ctrl-C and Ctrl-Z belong to another program.
#[derive(Debug, Default)]
struct LentUntil(Mutex<Option<Instant>>);

impl LentUntil {
    fn set(&self, until: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn is_over(&self) -> bool {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_none_or(|until| Instant::now() >= until)
    }
}

/// Ctrl-C and Ctrl-Z belong to another program while this lives.
pub(crate) struct LentSignals(Arc<LentUntil>);

impl Drop for LentSignals {
    fn drop(&mut self) {
        self.0.set(Instant::now() + SIGNAL_DELAY);
    }
}

impl Signals {
    /// Starts the thread. A new terminal size arrives as [`Input::Resize`].
    pub(crate) fn start(to: Sender<Vec<Input>>) -> io::Result<Self> {
        Self::watch(&WATCHED, to)
    }

    /// Starts the thread for the signals that end a program. Ctrl-Z then stops the process at once, as by default: right for an interface that has not taken
    /// over the terminal.
    pub(crate) fn start_for_ends(to: Sender<Vec<Input>>) -> io::Result<Self> {
        Self::watch(&END_SIGNALS, to)
    }

    fn watch(signals: &[i32], to: Sender<Vec<Input>>) -> io::Result<Self> {
        let mut caller = Caller::new(signals)?;
        let handle = caller.handle();
        let lent = Arc::new(LentUntil::default());
        let is_lent = Arc::clone(&lent);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in caller.forever() {
                    if matches!(signal, SIGINT | SIGQUIT | SIGTSTP | SIGCONT) && !is_lent.is_over()
                    {
                        if signal == SIGTSTP && can_be_resumed() {
                            // The other program has stopped. The shell takes over once the whole group has; without a shell that could resume it, the system
                            // lets the other program continue as well.
                            let _ = emulate_default_handler(SIGTSTP);
                        }
                        continue;
                    }
                    if let Some(input) = input(signal)
                        && to.send(vec![input]).is_err()
                    {
                        return;
                    }
                }
            })?;
        Ok(Self { handle, lent })
    }

    /// Lends the terminal to another program: Ctrl-C goes to it, and Ctrl-Z stops this process with it.
    pub(crate) fn lend(&self) -> LentSignals {
        self.lent.set(Instant::now() + FOREVER);
        LentSignals(Arc::clone(&self.lent))
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn input(signal: i32) -> Option<Input> {
    let caught = match signal {
        SIGWINCH => return Some(Input::Resize(tty::size())),
        SIGINT => SignalEvent::Interrupt,
        SIGTERM => SignalEvent::Terminate,
        SIGHUP => SignalEvent::HangUp,
        SIGQUIT => SignalEvent::Quit,
        SIGTSTP => SignalEvent::Suspend,
        SIGCONT => SignalEvent::Resume,
        _ => return None,
    };
    Some(Input::Signal(caught))
}
