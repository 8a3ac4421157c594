//! The last of what a server wrote for people: its standard error, its log, and lines that were no messages.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::text::clipped;

/// Bytes that are kept.
const MAX_BYTES: usize = 64 << 10;
/// Characters of a line that is shown.
const MAX_LINE: usize = 400;

#[derive(Default)]
pub(super) struct Ring(Mutex<VecDeque<u8>>);

impl Ring {
    /// Adds what was written.
    pub(super) fn push(&self, bytes: &[u8]) {
        let skipped = bytes.len().saturating_sub(MAX_BYTES);
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let over = (kept.len() + bytes.len()).saturating_sub(MAX_BYTES);
        let over = over.min(kept.len());
        kept.drain(..over);
        kept.extend(bytes);
    }

    /// Adds a line of its own.
    pub(super) fn line(&self, text: &str) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = match kept.back() {
            None | Some(b'\n') => "",
            Some(_) => "\n",
        };
        drop(kept);
        self.push(format!("{start}{text}\n").as_bytes());
    }

    /// The last lines that are not blank, cleaned.
    pub(super) fn lines(&self, most: usize) -> Vec<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        drop(kept);
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().rev().map(|line| clipped(line, MAX_LINE));
        let mut lines: Vec<String> = (lines.filter(|line| !line.is_empty())).take(most).collect();
        lines.reverse();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_cleaned() {
        let ring = Ring::default();
        ring.push(b"one\n\x1b[31mtwo\n \nthr");
        ring.line("noted");
        assert_eq!(ring.lines(3), ["two", "thr", "noted"]);
        ring.push(&b"x".repeat(MAX_BYTES + 10));
        ring.line("last");
        let lines = ring.lines(10);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], "last");
    }
}
