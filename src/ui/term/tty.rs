//! Standard output as a terminal: its size, and bytes written to it whole.

use std::io::{self, Write};

use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio;
use rustix::termios::tcgetwinsize;

/// Assumed size of a terminal that does not report one.
const DEFAULT_SIZE: Size = Size::new(80, 24);
/// The largest screen that is drawn; a pseudo-terminal can claim any.
const MAX_SIZE: Size = Size::new(1000, 500);

/// The size of the terminal on standard output, 80x24 when it has none.
pub(crate) fn size() -> Size {
    let known = tcgetwinsize(stdio::stdout()).ok();
    known.map_or(DEFAULT_SIZE, |found| bounded(found.ws_col, found.ws_row))
}

/// The size of the terminal on standard error, 80x24 when it has none.
pub(crate) fn error_size() -> Size {
    let known = tcgetwinsize(stdio::stderr()).ok();
    known.map_or(DEFAULT_SIZE, |found| bounded(found.ws_col, found.ws_row))
}

fn bounded(columns: u16, rows: u16) -> Size {
    if columns == 0 || rows == 0 {
        return DEFAULT_SIZE;
    }
    Size::new(columns.min(MAX_SIZE.width), rows.min(MAX_SIZE.height))
}

/// Standard output without Rust's buffer and lock, so that a frame is one write and a panic in mid-frame cannot deadlock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tty;

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(stdio::stdout(), bytes) {
                Err(Errno::INTR) => {}
                // Another process made the shared terminal non-blocking.
                Err(Errno::AGAIN) => wait_writable()?,
                other => return other.map_err(io::Error::from),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wait_writable() -> io::Result<()> {
    let out = stdio::stdout();
    match poll(&mut [PollFd::new(&out, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_never_zero_and_never_huge() {
        assert_eq!(bounded(0, 24), DEFAULT_SIZE);
        assert_eq!(bounded(100, 30), Size::new(100, 30));
        assert_eq!(bounded(u16::MAX, u16::MAX), MAX_SIZE);
    }
}
