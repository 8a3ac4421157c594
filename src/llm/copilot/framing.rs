//! Messages on a pipe: a header `Content-Length: N`, an empty line, N bytes of JSON. The base protocol of the Language Server Protocol
//! (<https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol>) is the same.

use std::io::{self, BufRead, BufReader, Read};

/// Most bytes of a message that is read; nothing that a turn needs is as long.
pub(crate) const MAX_MESSAGE_BYTES: u64 = 16 << 20;
/// A header that announces more than this is not the CLI's: reading past such a message would take for ever.
const MAX_SKIPPED_BYTES: u64 = 1 << 30;
/// A longer message is read only if its beginning says that it is needed: every turn sends the whole conversation as a record that nobody here reads.
const PEEKED_FROM_BYTES: u64 = 32 << 10;
/// How much of a message decides about that.
const HEAD_BYTES: u64 = 512;
/// Most bytes of a header.
const MAX_HEADER_BYTES: u64 = 8 << 10;
/// A buffer that grew larger than this is given back after its message.
const KEPT_BYTES: usize = 64 << 10;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Message(&'a [u8]),
    /// A message that was not kept, because it is too long or not needed; its beginning.
    Skipped {
        /// Bytes of the whole.
        length: u64,
        head: &'a [u8],
    },
    /// The stream ended between two messages.
    End,
}

/// Why a stream cannot be read on.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// It ended inside a message, or the pipe failed.
    Cut,
    /// What came is no header.
    NoHeader,
}

impl From<io::Error> for FrameError {
    fn from(_: io::Error) -> Self {
        Self::Cut
    }
}

/// Reads messages one after the other, whatever pieces the stream comes in.
pub(crate) struct FrameReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    body: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            body: Vec::new(),
        }
    }

    /// The next message; of a long one only the beginning, unless `is_wanted` says of that beginning that it is.
    ///
    /// # Errors
    /// The stream cannot be read on; every later call would fail as well.
    pub(crate) fn next(
        &mut self,
        is_wanted: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Frame<'_>, FrameError> {
        let Some(length) = self.header()? else {
            return Ok(Frame::End);
        };
        self.body.clear();
        self.body.shrink_to(KEPT_BYTES);
        if length > PEEKED_FROM_BYTES {
            self.fill(HEAD_BYTES)?;
            if length > MAX_MESSAGE_BYTES || !is_wanted(&self.body) {
                self.skip(length - HEAD_BYTES)?;
                let head = &self.body;
                return Ok(Frame::Skipped { length, head });
            }
        }
        let read = u64::try_from(self.body.len()).unwrap_or(length);
        self.fill(length - read)?;
        Ok(Frame::Message(&self.body))
    }

    /// The length that the next header says; `None` at the end of the stream.
    fn header(&mut self) -> Result<Option<u64>, FrameError> {
        let mut length = None;
        let mut room = MAX_HEADER_BYTES;
        loop {
            self.line.clear();
            let read = (&mut self.input)
                .take(room)
                .read_until(b'\n', &mut self.line)?;
            if !self.line.ends_with(b"\n") {
                let at_start = room == MAX_HEADER_BYTES;
                return match self.line.is_empty() && at_start {
                    true => Ok(None),
                    false if u64::try_from(read).is_ok_and(|read| read == room) => {
                        Err(FrameError::NoHeader)
                    }
                    false => Err(FrameError::Cut),
                };
            }
            room = room.saturating_sub(u64::try_from(read).unwrap_or(room));
            let line = self.line.trim_ascii();
            if line.is_empty() {
                return length.map(Some).ok_or(FrameError::NoHeader);
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let (name, value) = colon
                .and_then(|at| line.split_at_checked(at))
                .ok_or(FrameError::NoHeader)?;
            if name.trim_ascii().eq_ignore_ascii_case(b"content-length") {
                length = Some(number(value.get(1..).unwrap_or_default())?);
            }
        }
    }

    /// Reads `count` more bytes of the message.
    fn fill(&mut self, count: u64) -> Result<(), FrameError> {
        let read = (&mut self.input).take(count).read_to_end(&mut self.body)?;
        match u64::try_from(read) {
            Ok(read) if read == count => Ok(()),
            _ => Err(FrameError::Cut),
        }
    }

    fn skip(&mut self, count: u64) -> Result<(), FrameError> {
        let skipped = io::copy(&mut (&mut self.input).take(count), &mut io::sink())?;
        match skipped == count {
            true => Ok(()),
            false => Err(FrameError::Cut),
        }
    }
}

/// Digits and nothing else: a sign or a fraction is no length, and neither is one that no message has.
fn number(digits: &[u8]) -> Result<u64, FrameError> {
    let digits = str::from_utf8(digits.trim_ascii()).map_err(|_| FrameError::NoHeader)?;
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = are_digits.then(|| digits.parse().ok()).flatten();
    number
        .filter(|number| *number <= MAX_SKIPPED_BYTES)
        .ok_or(FrameError::NoHeader)
}

pub(crate) fn header(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n", body.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::Pieces;
    use super::*;

    fn framed(body: &str) -> Vec<u8> {
        (header(body) + body).into_bytes()
    }

    /// All messages, and whether the stream ended well.
    fn read(bytes: &[u8], piece: usize) -> (Vec<Vec<u8>>, Result<(), String>) {
        let mut reader = FrameReader::new(Pieces { bytes, piece });
        let mut messages = Vec::new();
        loop {
            match reader.next(|_| true) {
                Ok(Frame::Message(body)) => messages.push(body.to_vec()),
                Ok(Frame::Skipped { length, .. }) => {
                    messages.push(format!("skipped {length}").into_bytes());
                }
                Ok(Frame::End) => return (messages, Ok(())),
                Err(error) => return (messages, Err(format!("{error:?}"))),
            }
        }
    }

    #[test]
    fn headers_are_read_as_the_protocol_says() {
        let good = b"Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:3\r\n\r\n[1]";
        for piece in 1..good.len() {
            let (messages, end) = read(good, piece);
            assert_eq!(messages, [&b"{}"[..], b"[1]"]);
            assert_eq!(end, Ok(()));
        }
        for (bad, why) in [
            (&b"Content-Length: 2\r\n\r\n{"[..], "Cut"),
            (b"Content-Length: 2\r\n", "Cut"),
            (b"Content-Len", "Cut"),
            (b"\r\n{}", "NoHeader"),
            (b"Content-Length: -1\r\n\r\n", "NoHeader"),
            (b"Content-Length: +1\r\n\r\n1", "NoHeader"),
            (b"Content-Length: \r\n\r\n", "NoHeader"),
            (b"Content-Length: 99999999999999999999\r\n\r\n", "NoHeader"),
            (b"Content-Length: 99999999999\r\n\r\n", "NoHeader"),
            (b"Welcome to the shell\r\n\r\n", "NoHeader"),
        ] {
            assert_eq!(read(bad, 5), (Vec::new(), Err(why.to_owned())), "{bad:?}");
        }
        let endless = vec![b'x'; 20_000];
        assert_eq!(read(&endless, 999).1, Err("NoHeader".to_owned()));
    }

    #[test]
    fn a_message_beyond_the_limit_is_skipped_and_the_next_is_read() {
        let length = usize::try_from(MAX_MESSAGE_BYTES).unwrap() + 1;
        let mut bytes = framed(&" ".repeat(length));
        bytes.extend(framed("{}"));
        let (messages, end) = read(&bytes, 1 << 20);
        assert_eq!(messages[0], format!("skipped {length}").into_bytes());
        assert_eq!((&messages[1][..], end), (&b"{}"[..], Ok(())));
    }

    #[test]
    fn a_long_message_that_nobody_wants_is_not_kept() {
        let mut bytes = framed(&format!("no{}", " ".repeat(100_000)));
        bytes.extend(framed(&format!("yes{}", " ".repeat(100_000))));
        bytes.extend(framed("no"));
        let mut reader = FrameReader::new(&bytes[..]);
        let mut lengths = Vec::new();
        loop {
            match reader.next(|head| head.starts_with(b"yes")).unwrap() {
                Frame::Message(body) => lengths.push(body.len()),
                Frame::Skipped { head, .. } => lengths.push(head.len()),
                Frame::End => break,
            }
        }
        assert_eq!(lengths, [512, 100_003, 2]);
    }

    proptest! {
        #[test]
        fn what_is_framed_is_read_back_at_every_cut(
            bodies in prop::collection::vec(".{0,80}", 0..6), piece in 1usize..64, cut in 0usize..400,
        ) {
            let bytes: Vec<u8> = bodies.iter().flat_map(|body| framed(body)).collect();
            let (messages, end) = read(&bytes, piece);
            let expected: Vec<&[u8]> = bodies.iter().map(String::as_bytes).collect();
            prop_assert_eq!(&messages, &expected);
            prop_assert_eq!(end, Ok(()));
            // A stream that is cut has the messages before the cut.
            let (some, _) = read(&bytes[..cut.min(bytes.len())], piece);
            prop_assert!(some.len() <= messages.len() && messages.starts_with(&some));
        }

        #[test]
        fn no_bytes_make_the_reader_panic_or_loop(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..64) {
            let (messages, _) = read(&bytes, piece);
            prop_assert!(messages.len() <= bytes.len());
        }
    }
}
