//! Single keys between two prompts: the terminal passes them on at once and does not echo them, until the watch is dropped.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

const ESCAPE: &str = "\x1b";
/// Ctrl-D, which would end the input.
const END: &str = "\u{4}";

/// Reads single keys while it lives.
pub(super) struct KeyWatch {
    before: Termios,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    Nothing,
    /// Enter or space alone.
    Enter,
    /// Esc alone, or Ctrl-D; Ctrl-C comes as a signal.
    Cancel,
    Typed(String),
}

impl KeyWatch {
    /// `None` when standard input is no terminal.
    pub(super) fn start() -> Option<Self> {
        let before = tcgetattr(stdio::stdin()).ok()?;
        let mut now = before.clone();
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(stdio::stdin(), OptionalActions::Now, &now).ok()?;
        Some(Self { before })
    }

    /// What was pressed since the last call. Does not wait.
    pub(super) fn pressed(&self) -> KeyPress {
        let stdin = stdio::stdin();
        let mut fds = [PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if !matches!(poll(&mut fds, Some(&now)), Ok(1..)) {
            return KeyPress::Nothing;
        }
        let mut buffer = [0; 4096];
        let count = rustix::io::read(stdin, &mut buffer).unwrap_or(0);
        let text = String::from_utf8_lossy(buffer.get(..count).unwrap_or_default());
        meaning(&text)
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        let _gone = tcsetattr(stdio::stdin(), OptionalActions::Now, &self.before);
    }
}

fn meaning(text: &str) -> KeyPress {
    match text {
        "" => KeyPress::Nothing,
        "\n" | "\r" | " " => KeyPress::Enter,
        ESCAPE | END => KeyPress::Cancel,
        // A key that sends a sequence, such as an arrow.
        text if text.starts_with(ESCAPE) => KeyPress::Typed(String::new()),
        text => KeyPress::Typed(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_meaning() {
        for (text, want) in [
            ("", KeyPress::Nothing),
            ("\n", KeyPress::Enter),
            (" ", KeyPress::Enter),
            ("\x1b", KeyPress::Cancel),
            ("\x1b[A", KeyPress::Typed(String::new())),
            ("a", KeyPress::Typed("a".to_owned())),
            ("ab\n", KeyPress::Typed("ab\n".to_owned())),
        ] {
            assert_eq!(meaning(text), want, "{text:?}");
        }
    }
}
