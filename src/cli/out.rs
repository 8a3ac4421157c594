//! Writing what a command has to say.

use std::io::{self, IsTerminal, Write};

use rustix::stdio;
use rustix::termios::tcgetwinsize;

use crate::base::error::{Outcome, Problem};

/// Writes to standard output; a reader that has seen enough is no failure.
pub(super) fn print(text: &str) -> Outcome<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::system("Cannot write to standard output", why))
        }
        _ => Ok(()),
    }
}

/// The columns of the terminal on standard output; none when it is no terminal, or does not know.
pub(super) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(stdio::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
