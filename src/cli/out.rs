//! Output of the commands.

use std::io::{self, IsTerminal, Write};

use rustix::stdio;
use rustix::termios::tcgetwinsize;

use crate::app::stream::for_reader;
use crate::base::problem::{Outcome, Problem};

/// Writes to standard output. A reader that closes the pipe is not an error.
pub(super) fn print(text: &str) -> Outcome<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(reason) if reason.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::system("Cannot write to standard output", reason))
        }
        _ => Ok(()),
    }
}

/// Prints text from outside, such as a page or a ticket of a cloned repository. On a terminal control characters are made visible; files and pipes
/// get every byte unchanged.
pub(super) fn print_words(text: &str) -> Outcome<()> {
    print(&for_reader(text, io::stdout().is_terminal()))
}

/// The same on standard error. Failures to write are ignored: the exit status tells.
pub(super) fn say_words(text: &str) {
    let text = for_reader(text, io::stderr().is_terminal());
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Columns of the terminal on standard output; `None` when it is not a terminal or its size is unknown.
pub(super) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(stdio::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
