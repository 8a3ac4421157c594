//! Takes the terminal.
use std::io;
use std::path::PathBuf;

use super::input::Keyboard;

/// The terminal, taken.
#[derive(Debug)]
pub struct Guard {}

impl Guard {
    /// Enters.
    ///
    /// # Errors
    /// No terminal.
    pub fn enter(_crash: Option<PathBuf>) -> io::Result<Self> {
        Ok(Self {})
    }
    /// Gives the terminal back; true if anything was.
    pub fn restore(&self) {}
    /// Takes the terminal again (after SIGCONT).
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn renew(&self) -> io::Result<()> {
        Ok(())
    }
    /// Stops the process group as Ctrl-Z does, returns when it goes on; false when nobody could resume it.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn suspend(&self) -> io::Result<bool> {
        Ok(true)
    }
    /// Runs something that needs the terminal as it was ($EDITOR).
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn run_outside<T>(&self, _keys: &Keyboard, run: impl FnOnce() -> T) -> io::Result<T> {
        Ok(run())
    }
}
