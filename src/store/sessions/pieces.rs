//! The answer that arrives, between the moments at which it is written.

use std::time::{Duration, Instant};

/// How long what was shown may be without a record.
const INTERVAL: Duration = Duration::from_millis(250);

/// Bytes that wait no longer, however fast they come.
const MAX_WAITING: usize = 64 << 10;

/// What came of an answer and is not on disk.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    text: String,
    written: Option<Instant>,
}

impl Pieces {
    /// Adds what came `now`, and returns what is to be written: the first piece at once, the others together.
    pub(super) fn add(&mut self, piece: &str, now: Instant) -> Option<String> {
        self.text.push_str(piece);
        let is_late = self.written.is_none_or(|then| now >= then + INTERVAL);
        let is_due = is_late || self.text.len() >= MAX_WAITING;
        if !is_due || self.text.is_empty() {
            return None;
        }
        self.written = Some(now);
        Some(std::mem::take(&mut self.text))
    }

    /// There is a message of it all.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_piece_is_written_at_once_and_the_others_together() {
        let (mut pieces, start) = (Pieces::default(), Instant::now());
        assert_eq!(pieces.add("one ", start), Some("one ".to_owned()));
        assert_eq!(pieces.add("two ", start), None);
        let later = start + INTERVAL;
        assert_eq!(pieces.add("three", later), Some("two three".to_owned()));
        let much = "x".repeat(MAX_WAITING);
        assert_eq!(pieces.add(&much, later), Some(much));
        assert_eq!(pieces.add("of the old", later), None);
        pieces.clear();
        assert_eq!(pieces.add("four", later), Some("four".to_owned()));
    }
}
