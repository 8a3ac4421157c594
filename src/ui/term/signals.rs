//! Signals that concern the interface, as input: a thread that sleeps until one comes.

use std::io;
use std::thread;

use crossbeam_channel::Sender;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::{Handle, Signals as Caller};

use super::{Caught, Input, tty};

const WATCHED: [i32; 6] = [SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT];
/// The ones that end a program.
const ENDING: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// The thread that waits for signals; dropping this ends it. The signals then do nothing rather than what the system does.
#[derive(Debug)]
pub struct Signals {
    handle: Handle,
}

impl Signals {
    /// Starts the thread. A size that changed comes as [`Input::Resize`].
    ///
    /// # Errors
    /// The system has no handler, pipe or thread left.
    pub fn start(to: Sender<Vec<Input>>) -> io::Result<Self> {
        Self::watch(&WATCHED, to)
    }

    /// Starts the thread for the signals that end a program. Ctrl-Z then stops the process at once, as the system does by itself:
    /// right for an interface that has not taken the terminal.
    ///
    /// # Errors
    /// As [`Signals::start`].
    pub fn start_for_ends(to: Sender<Vec<Input>>) -> io::Result<Self> {
        Self::watch(&ENDING, to)
    }

    fn watch(signals: &[i32], to: Sender<Vec<Input>>) -> io::Result<Self> {
        let mut caller = Caller::new(signals)?;
        let handle = caller.handle();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in caller.forever() {
                    if let Some(input) = input(signal)
                        && to.send(vec![input]).is_err()
                    {
                        return;
                    }
                }
            })?;
        Ok(Self { handle })
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
        SIGINT => Caught::Interrupt,
        SIGTERM => Caught::Terminate,
        SIGHUP => Caught::HangUp,
        SIGTSTP => Caught::Suspend,
        SIGCONT => Caught::Resume,
        _ => return None,
    };
    Some(Input::Signal(caught))
}
