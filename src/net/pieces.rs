//! A body in several pieces of memory, read as one.

use std::io::{self, Read};

/// The remaining pieces.
pub(super) struct Pieces<'a> {
    left: Vec<&'a [u8]>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(pieces: &[&'a [u8]]) -> Self {
        Self {
            left: pieces.iter().rev().copied().collect(),
        }
    }

    /// Bytes in all that is left.
    pub(super) fn len(&self) -> usize {
        self.left.iter().map(|piece| piece.len()).sum()
    }
}

impl Read for Pieces<'_> {
    /// Fills the buffer across the borders of pieces: every call is a write to the network.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = 0;
        while let Some(piece) = self.left.last_mut() {
            let room = buffer.get_mut(count..).unwrap_or_default();
            if room.is_empty() {
                break;
            }
            count += piece.read(room)?;
            if piece.is_empty() {
                self.left.pop();
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_across_borders_whatever_the_buffer() {
        let pieces: [&[u8]; 5] = [b"", b"ab", b"", b"cdefg", b"h"];
        for size in 1..10 {
            let mut body = Pieces::new(&pieces);
            assert_eq!(body.len(), 8);
            let mut got = Vec::new();
            let mut buffer = vec![0; size];
            loop {
                let count = body.read(&mut buffer).unwrap();
                if count == 0 {
                    break;
                }
                assert!(
                    count == size || body.len() == 0,
                    "filled while there is more"
                );
                got.extend_from_slice(&buffer[..count]);
            }
            assert_eq!(got, b"abcdefgh");
        }
    }
}
