//! Writing what a command has to say.

use std::io::{self, Write};

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
