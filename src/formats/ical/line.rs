//! Content lines: where they end, how they are unfolded, and what name, parameters and value they have.

use std::borrow::Cow;
use std::ops::Range;

/// One content line with its folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentLine {
    /// Its bytes, folds included, without the last line end.
    pub range: Range<usize>,
    /// Start of the next line.
    pub next: usize,
    /// It is continued on further physical lines.
    pub folded: bool,
}

/// The content lines of `bytes` in `range`. Lines end with CRLF, LF or CR. Empty lines are ignored, also between a line and its continuation: some writers
/// double their line breaks.
#[derive(Debug, Clone)]
pub struct ContentLines<'a> {
    /// The file up to the range's end.
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ContentLines<'a> {
    /// The lines of a part of a file.
    pub fn new(bytes: &'a [u8], range: Range<usize>) -> Self {
        Self {
            bytes: bytes.get(..range.end).unwrap_or(bytes),
            at: range.start,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The end of the physical line that begins at `at`, and the start of the next.
    fn physical(&self, at: usize) -> (usize, usize) {
        let end = self.bytes.len();
        let rest = self.bytes.get(at..).unwrap_or_default();
        let Some(length) = memchr::memchr2(b'\n', b'\r', rest) else {
            return (end, end);
        };
        let stop = at + length;
        let two = self.byte(stop) == Some(b'\r') && self.byte(stop + 1) == Some(b'\n');
        (stop, stop + 1 + usize::from(two))
    }

    /// Start of the continuation of a line, whose next physical line begins at `at`.
    fn continuation(&self, mut at: usize) -> Option<usize> {
        loop {
            match self.byte(at)? {
                b'\n' | b'\r' => at += 1,
                b' ' | b'\t' => return Some(at),
                _ => return None,
            }
        }
    }
}

impl Iterator for ContentLines<'_> {
    type Item = ContentLine;

    fn next(&mut self) -> Option<ContentLine> {
        while matches!(self.byte(self.at)?, b'\n' | b'\r') {
            self.at += 1;
        }
        let start = self.at;
        let (mut end, mut next) = self.physical(start);
        let mut folded = false;
        while let Some(more) = self.continuation(next) {
            folded = true;
            (end, next) = self.physical(more);
        }
        self.at = next;
        Some(ContentLine {
            range: start..end,
            next,
            folded,
        })
    }
}

/// A line without its folds.
pub fn unfold<'a>(bytes: &'a [u8], line: &ContentLine) -> Cow<'a, [u8]> {
    let raw = bytes.get(line.range.clone()).unwrap_or_default();
    if !line.folded {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    for (number, part) in raw.split(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
        // The first byte of a continuation is the space of the fold.
        let cut = usize::from(number > 0).min(part.len());
        out.extend_from_slice(part.get(cut..).unwrap_or_default());
    }
    Cow::Owned(out)
}

/// The name of a line, in its original case.
pub(crate) fn name(line: &[u8]) -> &[u8] {
    let end = line
        .iter()
        .position(|byte| matches!(byte, b':' | b';'))
        .unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// Name in upper case.
    pub name: String,
    /// Parameters: names in upper case, values without quotes.
    pub params: Vec<(String, String)>,
    /// The text after the colon, verbatim.
    pub value: String,
}

impl Property {
    /// Parses an unfolded line; `None` when there is no colon outside quotes.
    pub fn read(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let mut quoted = false;
        let mut cuts = Vec::new();
        let mut colon = None;
        for (at, c) in text.char_indices() {
            match c {
                '"' => quoted = !quoted,
                ';' if !quoted => cuts.push(at),
                ':' if !quoted => {
                    colon = Some(at);
                    break;
                }
                _ => {}
            }
        }
        // An unclosed quotation mark hides no colon.
        let colon = colon.or_else(|| text.find(':'))?;
        cuts.retain(|cut| *cut < colon);
        cuts.push(colon);
        let mut parts = Vec::new();
        let mut from = 0;
        for cut in cuts {
            parts.push(text.get(from..cut).unwrap_or_default());
            from = cut + 1;
        }
        let mut parts = parts.into_iter();
        let name = parts.next()?.trim().to_ascii_uppercase();
        let params = parts
            .map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                (
                    name.trim().to_ascii_uppercase(),
                    value.trim_matches('"').to_owned(),
                )
            })
            .collect();
        Some(Self {
            name,
            params,
            value: text.get(colon + 1..).unwrap_or_default().to_owned(),
        })
    }

    /// The value of a parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        let found = self.params.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<String> {
        ContentLines::new(bytes, 0..bytes.len())
            .map(|line| String::from_utf8_lossy(&unfold(bytes, &line)).into_owned())
            .collect()
    }

    #[test]
    fn every_line_break_and_fold_is_read() {
        let want = ["A:one two", "B:three"];
        for text in [
            "A:one\r\n  two\r\nB:three\r\n",
            "A:one\n  two\nB:three",
            "A:one\r  two\rB:three\r",
            "A:one\r\r\n  two\r\r\nB:three\r\r\n",
            "\n\nA\n\n :one\n\t two\n\n\nB:thr\r\n ee",
        ] {
            assert_eq!(texts(text.as_bytes()), want, "{text:?}");
        }
        // A fold inside a character.
        let mut torn = b"A:caf\xc3\r\n \xa9\r\n".to_vec();
        assert_eq!(texts(&torn), ["A:café"]);
        torn.clear();
        assert!(texts(&torn).is_empty());
    }

    #[test]
    fn a_quoted_colon_does_not_end_the_parameters() {
        let got = Property::read(b"attendee;CN=\"a:b;c\";role=x:mailto:z").unwrap();
        assert_eq!(got.name, "ATTENDEE");
        assert_eq!(
            (got.param("CN"), got.param("ROLE")),
            (Some("a:b;c"), Some("x"))
        );
        assert_eq!(got.value, "mailto:z");
        assert_eq!(Property::read(b"no colon"), None);
        assert!(Property::read(b"A;B=\"open:x").is_some());
    }
}
