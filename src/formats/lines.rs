//! Splits bytes into lines: they end in LF, CRLF or CR, reads may cut them anywhere, and never more than a cap is held in memory.

use memchr::memchr2;

/// Maximum length of a line or event in bytes; a server that sends more is broken.
pub(crate) const MAX_LINE_BYTES: usize = 32 << 20;

/// A line or an event grew past the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    pub cap: usize,
}

/// A line without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'b> {
    /// It lies within one read.
    Whole(&'b [u8]),
    /// It was assembled from several reads.
    Joined(Vec<u8>),
}

impl Line<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Joined(bytes) => bytes,
        }
    }
}

/// Splits reads into lines; holds the state between two reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineSplitter {
    partial: Vec<u8>,
    /// The last read ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    cap: usize,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::with_cap(MAX_LINE_BYTES)
    }
}

impl LineSplitter {
    /// A splitter for lines of at most `cap` bytes.
    pub(crate) fn with_cap(cap: usize) -> Self {
        Self {
            partial: Vec::new(),
            after_cr: false,
            cap,
        }
    }

    /// Splits the next line off `rest`; `None` when the read is used up.
    pub(crate) fn next<'b>(&mut self, rest: &mut &'b [u8]) -> Result<Option<Line<'b>>, TooLong> {
        let Some((first, tail)) = rest.split_first() else {
            return Ok(None);
        };
        if std::mem::take(&mut self.after_cr) && *first == b'\n' {
            *rest = tail;
        }
        let found = memchr2(b'\n', b'\r', rest).and_then(|at| rest.split_at_checked(at));
        let (head, tail) = found.unwrap_or((*rest, &[]));
        if self.partial.len() + head.len() > self.cap {
            return Err(TooLong { cap: self.cap });
        }
        let Some((end, tail)) = tail.split_first() else {
            self.partial.extend_from_slice(head);
            *rest = &[];
            return Ok(None);
        };
        *rest = tail;
        if *end == b'\r' {
            match tail.split_first() {
                Some((b'\n', tail)) => *rest = tail,
                Some(_) => {}
                None => self.after_cr = true,
            }
        }
        if self.partial.is_empty() {
            return Ok(Some(Line::Whole(head)));
        }
        let mut line = std::mem::take(&mut self.partial);
        line.extend_from_slice(head);
        Ok(Some(Line::Joined(line)))
    }

    /// The last line of a body that does not end in a line break.
    pub(crate) fn finish(&mut self) -> Option<Vec<u8>> {
        (!self.partial.is_empty()).then(|| std::mem::take(&mut self.partial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(reads: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = LineSplitter::default();
        let mut out = Vec::new();
        for read in reads {
            let mut rest = *read;
            while let Some(line) = lines.next(&mut rest).unwrap() {
                out.push(line.bytes().to_vec());
            }
        }
        out.extend(lines.finish());
        out
    }

    #[test]
    fn every_line_break_counts_once_wherever_reads_are_cut() {
        let text = b"a\r\nb\rc\n\r\n\nlast";
        let want: Vec<Vec<u8>> = ["a", "b", "c", "", "", "last"]
            .map(|line| line.as_bytes().to_vec())
            .into();
        for at in 0..=text.len() {
            let (one, two) = text.split_at(at);
            assert_eq!(split(&[one, two]), want, "cut at {at}");
        }
    }

    #[test]
    fn an_endless_line_is_refused_at_the_cap() {
        let mut lines = LineSplitter::with_cap(100);
        let read = [b'x'; 64];
        assert_eq!(lines.next(&mut &read[..]), Ok(None));
        assert_eq!(lines.next(&mut &read[..]), Err(TooLong { cap: 100 }));
    }
}
