//! The last lines that a running program has written, for whoever watches it.

use std::collections::VecDeque;

use super::pump::OutputStream;

pub(crate) const LIVE_LINES: usize = 3;
/// Bytes of what a program has written last that are kept for those who show more than a few lines.
const RECENT_BYTES: usize = 4 << 10;
const MAX_LINE_BYTES: usize = 400;
/// Bytes at the end of a chunk that are looked at: a program that floods its pipe is not slowed down.
const MAX_CHUNK_BYTES: usize = 8 << 10;

/// The last lines of both streams, in the order in which they came. Blank lines are left out, and a line that a carriage return overwrites is shown as a
/// terminal would show it.
#[derive(Debug, Default)]
pub(crate) struct LastLines {
    lines: VecDeque<OutputLine>,
    /// The last bytes as they came.
    recent: Vec<u8>,
}

#[derive(Debug)]
struct OutputLine {
    stream: OutputStream,
    bytes: Vec<u8>,
    /// Its line feed has come.
    is_whole: bool,
}

impl LastLines {
    /// Adds what a stream delivered.
    pub(crate) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.keep(bytes);
        let skipped = bytes.len().saturating_sub(MAX_CHUNK_BYTES);
        if skipped > 0 {
            self.end_line(stream);
        }
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return self.extend(stream, bytes);
        };
        let (finished, open) = bytes.split_at(end);
        // From the end: of a long chunk only the last lines are looked at.
        let mut pieces = finished.rsplit(|byte| *byte == b'\n').peekable();
        let mut newest = Vec::new();
        let mut continued = None;
        while newest.len() < LIVE_LINES
            && let Some(piece) = pieces.next()
        {
            if pieces.peek().is_none() {
                continued = Some(piece);
            } else if !is_blank(piece) {
                newest.push(piece);
            }
        }
        if let Some(piece) = continued {
            self.extend(stream, piece);
        }
        self.end_line(stream);
        for piece in newest.into_iter().rev() {
            self.add(stream, piece, true);
        }
        self.extend(stream, open.get(1..).unwrap_or_default());
    }

    /// The lines; invalid UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        let lines = self.lines.iter().filter(|line| !is_blank(&line.bytes));
        let lines: Vec<_> = lines
            .map(|line| String::from_utf8_lossy(&line.bytes).trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    /// The last 4 KiB, as they came.
    pub(crate) fn recent(&self) -> Vec<u8> {
        let skipped = self.recent.len().saturating_sub(RECENT_BYTES);
        self.recent.get(skipped..).unwrap_or_default().to_vec()
    }

    fn keep(&mut self, bytes: &[u8]) {
        let new = bytes.len().saturating_sub(RECENT_BYTES);
        self.recent
            .extend_from_slice(bytes.get(new..).unwrap_or_default());
        // Seldom: what moves costs as much as what comes.
        if self.recent.len() > 4 * RECENT_BYTES {
            self.recent.drain(..self.recent.len() - RECENT_BYTES);
        }
    }

    /// Continues the unfinished line of the stream, or begins one.
    fn extend(&mut self, stream: OutputStream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let open = |line: &&mut OutputLine| line.stream == stream && !line.is_whole;
        match self.lines.iter_mut().rev().find(open) {
            Some(line) => line.write(bytes),
            None => self.add(stream, bytes, false),
        }
    }

    fn end_line(&mut self, stream: OutputStream) {
        for line in &mut self.lines {
            line.is_whole |= line.stream == stream;
        }
        self.lines
            .retain(|line| !line.is_whole || !is_blank(&line.bytes));
    }

    fn add(&mut self, stream: OutputStream, bytes: &[u8], is_whole: bool) {
        let mut line = OutputLine {
            stream,
            bytes: Vec::new(),
            is_whole,
        };
        line.write(bytes);
        if self.lines.len() == LIVE_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

impl OutputLine {
    /// Writes like a terminal: what comes after a carriage return replaces what was before it.
    fn write(&mut self, bytes: &[u8]) {
        let content = bytes.len()
            - bytes
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\r')
                .count();
        let (content, returns) = bytes.split_at(content);
        let from = content.iter().rposition(|byte| *byte == b'\r');
        if from.is_some() || (!content.is_empty() && self.bytes.ends_with(b"\r")) {
            self.bytes.clear();
        }
        let shown = content
            .get(from.map_or(0, |at| at + 1)..)
            .unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(shown.get(..room).unwrap_or(shown));
        if !returns.is_empty() && !self.bytes.ends_with(b"\r") {
            self.bytes.push(b'\r');
        }
    }
}

/// [`LastLines::recent`] as a terminal would show it. It may begin within a character, which is left out.
pub(crate) fn as_shown(recent: &[u8]) -> String {
    let begins = |byte: &u8| byte.is_ascii() || byte.leading_ones() > 1;
    let from = recent.iter().position(begins).unwrap_or_default();
    let text = String::from_utf8_lossy(recent.get(from..).unwrap_or_default());
    let lines = text.trim_end().split('\n').map(|line| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::OutputStream::{Stderr, Stdout};
    use super::*;
    use proptest::prelude::*;

    fn shown(pieces: &[(OutputStream, &str)]) -> String {
        let mut lines = LastLines::default();
        for (stream, text) in pieces {
            lines.push(*stream, text.as_bytes());
        }
        lines.text()
    }

    #[test]
    fn the_last_lines_of_both_streams_stay_in_order() {
        for (pieces, expected) in [
            (vec![(Stdout, "a\nb\nc\nd\n")], "b\nc\nd"),
            (vec![(Stdout, "a\nb\nc\nd\ne")], "c\nd\ne"),
            (vec![(Stdout, "a\n\n \n\nb\n\n")], "a\nb"),
            (
                vec![(Stdout, "ab"), (Stdout, "cd\nef"), (Stdout, "gh")],
                "abcd\nefgh",
            ),
            (
                vec![(Stdout, "ab"), (Stderr, "no\n"), (Stdout, "cd\n")],
                "abcd\nno",
            ),
            (vec![(Stdout, "ab"), (Stdout, "\n"), (Stdout, "c")], "ab\nc"),
            (vec![], ""),
        ] {
            assert_eq!(shown(&pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_progress_bar_is_one_line() {
        let steps: Vec<(OutputStream, String)> = (0..=100)
            .map(|n| (Stderr, format!("\r{n} % of many bytes")))
            .collect();
        let steps: Vec<_> = steps.iter().map(|(s, text)| (*s, text.as_str())).collect();
        assert_eq!(shown(&steps), "100 % of many bytes");
        assert_eq!(shown(&[(Stdout, "10%\r"), (Stdout, "20%\r")]), "20%");
        assert_eq!(shown(&[(Stdout, "one\r\ntwo\r\n")]), "one\ntwo");
    }

    #[test]
    fn the_last_4_kib_are_kept_as_a_terminal_shows_them() {
        let mut lines = LastLines::default();
        lines.push(Stdout, b"1 %\r2 %\r3 %\r\none\n\n");
        lines.push(Stderr, b"two\r\n");
        assert_eq!(as_shown(&lines.recent()), "3 %\none\n\ntwo");
        lines.push(Stdout, "é".repeat(4_000).as_bytes());
        lines.push(Stdout, b"z\n");
        let recent = as_shown(&lines.recent());
        assert!(recent.len() < RECENT_BYTES && recent.ends_with("éz"));
        assert!(recent.starts_with('é'), "{}", &recent[..9]);
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = "x".repeat(100_000);
        assert_eq!(shown(&[(Stdout, &long)]).len(), MAX_LINE_BYTES);
        let flood = format!("{}last\n", "line\n".repeat(100_000));
        assert_eq!(
            shown(&[(Stdout, "first"), (Stdout, &flood)]),
            "line\nline\nlast"
        );
    }

    proptest! {
        #[test]
        fn at_most_three_lines_are_kept_however_the_output_is_cut(
            text in "[a-c\n ]{0,60}",
            cuts in proptest::collection::vec(1usize..8, 1..40),
        ) {
            let mut lines = LastLines::default();
            let (mut rest, mut cuts) = (text.as_bytes(), cuts.into_iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(cuts.next().unwrap().min(rest.len()));
                lines.push(Stdout, piece);
                rest = after;
            }
            let kept = lines.text();
            prop_assert!(kept.lines().count() <= LIVE_LINES);
            let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
            // The unfinished last line may be blank, and takes the room of one.
            let last = all.get(all.len().saturating_sub(LIVE_LINES - 1)..).unwrap();
            prop_assert!(kept.ends_with(&last.join("\n")), "{kept:?} of {text:?}");
        }
    }
}
