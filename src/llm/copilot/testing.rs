//! The reading side alone, for fuzzing.

use std::io::{self, Read};

use super::framing::{Frame, FrameReader};
use super::messages;

/// Reads all messages of a stream that comes in pieces of `piece` bytes; how many there were, how many of them are needed, and whether it ended well.
pub fn read_all(bytes: &[u8], piece: usize) -> (usize, usize, bool) {
    let mut reader = FrameReader::new(Pieces { bytes, piece });
    let (mut all, mut needed) = (0, 0);
    loop {
        match reader.next(messages::is_wanted) {
            Ok(Frame::Message(body)) => {
                all += 1;
                needed += usize::from(messages::read(body).is_some());
            }
            Ok(Frame::Skipped { .. }) => all += 1,
            Ok(Frame::End) => return (all, needed, true),
            Err(_) => return (all, needed, false),
        }
    }
}

/// Gives its bytes in pieces of at most `piece`.
pub(super) struct Pieces<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.min(to.len()).min(self.bytes.len());
        let (now, later) = self
            .bytes
            .split_at_checked(count)
            .unwrap_or((self.bytes, &[]));
        if let Some(to) = to.get_mut(..count) {
            to.copy_from_slice(now);
        }
        self.bytes = later;
        Ok(count)
    }
}
