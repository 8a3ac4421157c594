//! JSON (RFC 8259) as lines of a stream, none of them longer than it may be: the calling program's, an editor's, a server's.

use std::io::{self, BufRead};

use serde_json::{Map, Value};

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE_IN: usize = 64 << 20;

/// What a stream has next.
#[derive(Debug, PartialEq, Eq)]
pub enum NextLine {
    /// A line without its end; the last one may have none.
    Line(Vec<u8>),
    /// One that is longer than [`MAX_LINE_IN`]: it was skipped.
    TooLong,
    /// There are no further lines.
    End,
}

/// Reads the next line, at most `most` bytes of it.
///
/// # Errors
/// The stream cannot be read.
pub fn next_line(input: &mut impl BufRead, most: usize) -> io::Result<NextLine> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if buffer.is_empty() {
            return Ok(match (is_too_long, line.is_empty()) {
                (true, _) => NextLine::TooLong,
                (false, true) => NextLine::End,
                (false, false) => NextLine::Line(line),
            });
        }
        let end = memchr::memchr(b'\n', buffer);
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or(buffer);
        is_too_long |= line.len() + piece.len() > most;
        match is_too_long {
            true => line = Vec::new(),
            false => line.extend_from_slice(piece),
        }
        let read = piece.len() + usize::from(end.is_some());
        input.consume(read);
        if end.is_some() {
            return Ok(match is_too_long {
                true => NextLine::TooLong,
                false => NextLine::Line(line),
            });
        }
    }
}

/// The value on a line; `Err` says what it is instead. Halves of surrogate pairs become U+FFFD: JavaScript writes them.
pub(crate) fn value(line: &[u8]) -> Result<Value, &'static str> {
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let value = read(line).or_else(|| read(&without_lone_surrogates(line)?));
    value.ok_or_else(|| match std::str::from_utf8(line) {
        Err(_) => "it is not UTF-8",
        Ok(_) => "it is no JSON",
    })
}

/// The object on a line, as [`value`] reads it.
///
/// # Errors
/// It is none.
pub fn object(line: &[u8]) -> Result<Map<String, Value>, &'static str> {
    match value(line)? {
        Value::Object(object) => Ok(object),
        _ => Err("it is JSON, but no object"),
    }
}

/// The same line with `\ufffd` for each escaped half of a surrogate pair without its other half; `None` when it has none.
fn without_lone_surrogates(line: &[u8]) -> Option<Vec<u8>> {
    let escape = |at: usize| -> Option<u16> {
        let digits = line.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended = Vec::with_capacity(line.len());
    let (mut at, mut found) = (0, false);
    while let Some(byte) = line.get(at) {
        let here = escape(at);
        let (taken, is_lone) = match (here, byte) {
            (Some(0xd800..=0xdbff), _) => {
                let has_other = matches!(escape(at + 6), Some(0xdc00..=0xdfff));
                (if has_other { 12 } else { 6 }, !has_other)
            }
            (Some(0xdc00..=0xdfff), _) => (6, true),
            (None, b'\\') => (2, false),
            _ => (1, false),
        };
        match is_lone {
            true => mended.extend_from_slice(b"\\ufffd"),
            false => mended.extend_from_slice(line.get(at..at + taken).unwrap_or(&[])),
        }
        found |= is_lone;
        at += taken;
    }
    found.then_some(mended)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    fn lines(bytes: &[u8], buffer: usize, most: usize) -> Vec<NextLine> {
        let mut input = BufReader::with_capacity(buffer, Cursor::new(bytes));
        let mut lines = Vec::new();
        loop {
            match next_line(&mut input, most).unwrap() {
                NextLine::End => return lines,
                line => lines.push(line),
            }
        }
    }

    #[test]
    fn lines_end_with_a_newline_or_the_input_and_long_ones_are_skipped() {
        let line = |text: &str| NextLine::Line(text.as_bytes().to_vec());
        for buffer in 1..12 {
            let read = lines(b"one\n\ntoolong\r\nlast", buffer, 6);
            assert_eq!(
                read,
                [line("one"), line(""), NextLine::TooLong, line("last")]
            );
            assert_eq!(lines(b"muchtoolong", buffer, 6), [NextLine::TooLong]);
        }
    }

    #[test]
    fn what_is_no_object_is_said() {
        for (line, words) in [
            (&b"{\"a\":"[..], "no JSON"),
            (b"[1]", "no object"),
            (b"\"x\"", "no object"),
            (b"{\"a\":\"\xff\"}", "not UTF-8"),
            (b"{\"a\":\0}", "no JSON"),
        ] {
            assert!(object(line).unwrap_err().contains(words), "{line:?}");
        }
        let deep = [
            b"{\"a\":".repeat(100_000),
            b"1".to_vec(),
            b"}".repeat(100_000),
        ]
        .concat();
        assert!(object(&deep).is_err());
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced_and_pairs_stay() {
        for (line, text) in [
            (r#"{"a":"x\ud83dy"}"#, "x\u{fffd}y"),
            (r#"{"a":"\udc00\ud83d"}"#, "\u{fffd}\u{fffd}"),
            (r#"{"a":"\ud83d\ude00\ud83d"}"#, "\u{1f600}\u{fffd}"),
            (r#"{"a":"\\ud83d"}"#, "\\ud83d"),
        ] {
            assert_eq!(object(line.as_bytes()).unwrap()["a"], text, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in proptest::collection::vec(any::<u8>(), 0..300), buffer in 1_usize..40, most in 0_usize..60) {
            for line in lines(&bytes, buffer, most) {
                if let NextLine::Line(line) = line {
                    prop_assert!(line.len() <= most && !line.contains(&b'\n'));
                    let _ = object(&line);
                }
            }
        }
    }
}
