//! Signals.
use std::io;

use crossbeam_channel::Sender;

use super::Input;

/// The thread that waits for signals.
#[derive(Debug)]
pub struct Signals {}

impl Signals {
    /// Starts it.
    ///
    /// # Errors
    /// No handler or thread.
    pub fn start(_to: Sender<Vec<Input>>) -> io::Result<Self> {
        Ok(Self {})
    }
}
