//! Reads.
use std::io;

use crossbeam_channel::Sender;

use super::Input;

/// The thread that reads the terminal.
#[derive(Debug)]
pub struct Keyboard {}

impl Keyboard {
    /// Starts it.
    ///
    /// # Errors
    /// No pipe or thread.
    pub fn start(_to: Sender<Vec<Input>>) -> io::Result<Self> {
        Ok(Self {})
    }
    /// Leaves the terminal's input alone from now on.
    pub fn pause(&self) {}
    /// Reads again.
    pub fn resume(&self) {}
}
