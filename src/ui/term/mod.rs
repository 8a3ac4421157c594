//! The terminal: taking it over and restoring it, drawing a screen, and reading input.
//!
//! [`guard::TerminalGuard`] takes over the terminal and restores it on every exit path; [`screen::Screen`] writes the fewest bytes that turn the last frame
//! into the next; [`input::Keyboard`] and [`signals::Signals`] send batches of [`Input`] over one channel and sleep without polling. Start them in the order
//! signals, guard, keyboard, so that no signal finds the terminal in use without a handler; dropped in reverse order, the terminal is restored before the
//! signals are released. What [`modes`] asks the terminal is answered among the keys, whenever the answer comes: nothing waits for it.

pub(super) mod ansi_writer;
mod colour_reply;
pub(crate) mod crash;
pub(crate) mod guard;
pub(crate) mod inline;
pub(crate) mod input;
mod key_codes;
pub(crate) mod keys;
pub(super) mod link_support;
pub(crate) mod modes;
pub(crate) mod screen;
pub(crate) mod signals;
pub(crate) mod tty;
mod wheel;

use ratatui::crossterm::event::KeyEvent;
use ratatui::layout::Size;

pub use colour_reply::Rgb;

/// An event from the user or the system. Events come in batches: all that are pending form one `Vec`, so that a burst of keys is drawn once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// One key.
    Key(KeyEvent),
    /// Text inserted at once, with `\n` line breaks; other control characters are passed through.
    Paste(String),
    /// The mouse wheel: rows down, or up if negative.
    Wheel(isize),
    /// The window came to the front, or another one did.
    Focus(bool),
    /// The terminal's background colour.
    Background(Rgb),
    /// The new size of the terminal.
    Resize(Size),
    /// A signal.
    Signal(SignalEvent),
    /// The terminal is gone; sent once, after which only signals follow.
    Gone,
}

/// A signal that concerns the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalEvent {
    /// SIGINT, sent from outside: in raw mode Ctrl-C is a key.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    HangUp,
    /// SIGQUIT, sent from outside.
    Quit,
    /// SIGTSTP, sent from outside; answer with [`guard::TerminalGuard::suspend`].
    Suspend,
    /// SIGCONT: the process was stopped and continues; call [`guard::TerminalGuard::renew`] and [`screen::Screen::invalidate`].
    Resume,
}

impl SignalEvent {
    /// The exit status after this signal; `None` for signals that do not end the process.
    pub fn exit_status(self) -> Option<u8> {
        match self {
            Self::Interrupt => Some(130),
            Self::Terminate => Some(143),
            Self::HangUp => Some(129),
            Self::Quit => Some(131),
            Self::Suspend | Self::Resume => None,
        }
    }

    /// [`SignalEvent::exit_status`] of a signal by which somebody else ends the process; Ctrl-C only skips a wait at its end.
    pub fn forced_status(self) -> Option<u8> {
        self.exit_status().filter(|_| self != Self::Interrupt)
    }
}
