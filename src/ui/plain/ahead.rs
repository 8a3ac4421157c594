//! Type-ahead, and keeping it from answering questions.
//!
//! Between two prompts the terminal is in its usual mode: the system buffers and echoes input, and the next prompt reads it. A question must not: a "y" and
//! Enter that were meant for a message would approve a command that the user has not read.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr,
};

use crate::ui::editor::paste;

/// Keys that arrive this soon after a question were typed before it was shown.
const TRANSIT_TIME: Duration = Duration::from_millis(500);
/// Longest answer accepted.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The outcome of reading a line.
pub(super) enum ReadLine {
    /// A line, without its line break.
    Text(String),
    End,
    /// Ctrl-C.
    Interrupted,
}

/// Lines, and the beginning of one, that were typed ahead.
#[derive(Debug, Default)]
pub(super) struct TypedAhead {
    lines: VecDeque<String>,
    draft: String,
}

impl TypedAhead {
    /// The next complete line.
    pub(super) fn line(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// Whether something was typed ahead.
    pub(super) fn has_any(&self) -> bool {
        !self.lines.is_empty() || !self.draft.is_empty()
    }

    /// Input typed without Enter.
    pub(super) fn draft(&mut self) -> String {
        std::mem::take(&mut self.draft)
    }

    /// Waits until keys in transit have arrived, and drains them and everything typed before: the next line typed is an answer. False when `woken` became
    /// readable.
    pub(super) fn settle(&mut self, woken: impl AsFd) -> bool {
        let until = Instant::now() + TRANSIT_TIME;
        let quiet = loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break true;
            }
            let mut fds = [PollFd::new(&woken, PollFlags::IN)];
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break false,
                Err(_) => break true,
            }
        };
        self.collect();
        quiet
    }

    /// Drains the terminal. In canonical mode the system returns only complete lines, so that mode is switched off meanwhile.
    fn collect(&mut self) {
        let stdin = stdio::stdin();
        let Ok(before) = tcgetattr(stdin) else { return };
        let mut now = before.clone();
        now.local_modes -= LocalModes::ICANON;
        now.special_codes[SpecialCodeIndex::VMIN] = 0;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(stdin, OptionalActions::Now, &now).is_err() {
            return;
        }
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match rustix::io::read(stdin, &mut buffer) {
                Ok(0) => break,
                Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let _ = tcsetattr(stdin, OptionalActions::Now, &before);
        self.take(&String::from_utf8_lossy(&bytes));
    }

    pub(super) fn add(&mut self, text: &str) {
        self.take(text);
    }

    /// Puts a message that was not sent before what was typed without Enter. The input has one line, so its lines are joined.
    pub(super) fn put_back(&mut self, text: &str) {
        let draft = std::mem::take(&mut self.draft);
        self.draft = joined([text, &draft]);
    }

    /// Takes back the lines that were typed ahead: they become the draft, so that they are not sent before the user has seen them again.
    pub(super) fn hold(&mut self) {
        self.collect();
        self.hold_lines();
    }

    fn hold_lines(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let draft = std::mem::take(&mut self.draft);
        self.draft = joined(lines.iter().map(String::as_str).chain([draft.as_str()]));
    }

    fn take(&mut self, text: &str) {
        // The system marks an end of input with NUL or EOT.
        self.draft.push_str(&text.replace(['\0', '\u{4}'], ""));
        while let Some(pos) = self.draft.find(['\n', '\r']) {
            let line: String = self.draft.drain(..=pos).collect();
            self.lines
                .push_back(paste::clean(line.trim_end()).into_owned());
        }
        self.draft = paste::clean(&self.draft).into_owned();
    }
}

/// The texts on one line.
fn joined<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let lines = texts.into_iter().flat_map(str::lines).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    paste::clean(&lines.join(" ")).into_owned()
}

/// Lets the terminal keep what was typed when Ctrl-C stops an answer, until it is dropped: otherwise the system throws away lines that wait to be read.
pub(super) struct KeptTyping {
    /// The mode was off before.
    changed: bool,
}

impl KeptTyping {
    pub(super) fn start() -> Self {
        let stdin = stdio::stdin();
        let changed = tcgetattr(stdin).is_ok_and(|mut modes| {
            let keeps = modes.local_modes.contains(LocalModes::NOFLSH);
            modes.local_modes |= LocalModes::NOFLSH;
            !keeps && tcsetattr(stdin, OptionalActions::Now, &modes).is_ok()
        });
        Self { changed }
    }
}

impl Drop for KeptTyping {
    fn drop(&mut self) {
        let stdin = stdio::stdin();
        if let (true, Ok(mut modes)) = (self.changed, tcgetattr(stdin)) {
            modes.local_modes -= LocalModes::NOFLSH;
            let _gone = tcsetattr(stdin, OptionalActions::Now, &modes);
        }
    }
}

/// Drops what was typed and not read: the beginning of an answer to a question that Ctrl-C has ended.
pub(super) fn drop_typed() {
    let _gone = tcflush(stdio::stdin(), QueueSelector::IFlush);
}

/// Reads the next line; [`ReadLine::Interrupted`] when `woken` becomes readable first.
pub(super) fn answer(woken: impl AsFd) -> ReadLine {
    let stdin = stdio::stdin();
    let mut bytes = Vec::new();
    loop {
        let mut fds = [
            PollFd::new(&woken, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return ReadLine::End,
        }
        let [told, _] = &fds;
        if !told.revents().is_empty() {
            return ReadLine::Interrupted;
        }
        let mut buffer = [0; 4096];
        match rustix::io::read(stdin, &mut buffer) {
            Ok(0) => return ReadLine::End,
            Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return ReadLine::End,
        }
        if bytes.ends_with(b"\n") || bytes.len() > MAX_ANSWER_BYTES {
            let text = String::from_utf8_lossy(&bytes);
            return ReadLine::Text(text.trim_end_matches(['\n', '\r']).to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_and_partial_lines_are_separated() {
        let mut ahead = TypedAhead::default();
        ahead.take("one\ntw");
        ahead.take("o\n\nthr");
        let lines: Vec<String> = std::iter::from_fn(|| ahead.line()).collect();
        assert_eq!(lines, ["one", "two", ""]);
        ahead.take("ee\u{1b}[31m");
        assert!(ahead.draft().starts_with("three"));
        assert_eq!(ahead.draft(), "");
    }

    #[test]
    fn what_comes_back_is_a_draft_and_no_line() {
        let mut ahead = TypedAhead::default();
        ahead.take("three\nfour\nfi");
        ahead.hold_lines();
        ahead.put_back("one\n\ntwo");
        assert_eq!(ahead.line(), None);
        assert_eq!(ahead.draft(), "one two three four fi");
    }
}
