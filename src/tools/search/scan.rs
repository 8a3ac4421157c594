//! One file searched line by line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::time::Instant;

use regex::bytes::{Regex, RegexBuilder};

use super::Line;
use crate::base::cancel::Cancel;
use crate::base::error::{Outcome, Problem};
use crate::base::patterns::{MAX_REGEX_DEPTH, regex_excess};
use crate::base::text::{clip, visible};

/// Bytes looked at to tell a binary file.
const SNIFF: usize = 64 * 1024;
/// Bytes of a line that are searched.
const LINE_BYTES: usize = 4 << 20;
/// Bytes of a line that are kept for showing.
const SHOWN_BYTES: usize = 4_096;
/// Bytes of a UTF-16 file that are searched.
const WIDE_BYTES: u64 = 16 << 20;
/// Lines between two looks at the clock.
const PAUSE: u64 = 1_024;

/// When a search ends whatever is left.
pub(super) struct Limits<'a> {
    pub(super) stop: &'a Cancel,
    pub(super) until: Instant,
}

impl Limits<'_> {
    pub(super) fn are_reached(&self) -> bool {
        self.stop.is_fired() || Instant::now() >= self.until
    }
}

/// The lines of a file that are shown.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) lines: Vec<Line>,
    /// What was not searched of it.
    pub(super) trouble: Option<String>,
}

/// The regular expression of a search.
///
/// # Errors
/// The text is none, or one too large to be tried.
pub(super) fn pattern(text: &str) -> Outcome<Regex> {
    if let Some(why) = regex_excess(text) {
        return Err(not_a_pattern(text, &why));
    }
    RegexBuilder::new(text)
        .nest_limit(MAX_REGEX_DEPTH)
        .build()
        .map_err(|error| not_a_pattern(text, &error.to_string()))
}

/// The first hits of a file with their context, one more than `most` when there are as many.
///
/// # Errors
/// It cannot be read.
pub(super) fn file(
    file: File,
    path: &str,
    pattern: &Regex,
    context: usize,
    most: usize,
    limits: &Limits<'_>,
) -> io::Result<Hits> {
    let mut reader = decoded(file)?;
    let mut hits = Hits::default();
    if reader.fill_buf()?.contains(&0) {
        return Ok(hits);
    }
    let mut before: VecDeque<Line> = VecDeque::new();
    let (mut after, mut count) = (0, 0);
    let mut bytes = Vec::new();
    for number in 1.. {
        let Some(is_whole) = next_line(&mut *reader, &mut bytes)? else {
            break;
        };
        if (number % PAUSE == 0 || !is_whole) && limits.are_reached() {
            break;
        }
        if bytes.contains(&0) {
            // A binary file after all: what was found in it is text that means nothing.
            return Ok(Hits::default());
        }
        if !is_whole && hits.trouble.is_none() {
            hits.trouble = Some(format!(
                "{}: what follows the first {} MiB of line {number}",
                visible(path),
                LINE_BYTES >> 20
            ));
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let hit = pattern.is_match(text);
        let line = || {
            let text = text.get(..SHOWN_BYTES).unwrap_or(text);
            Line {
                path: path.to_owned(),
                number,
                text: String::from_utf8_lossy(text)
                    .trim_end_matches('\r')
                    .to_owned(),
                hit,
            }
        };
        if hit {
            hits.lines.extend(before.drain(..));
            hits.lines.push(line());
            after = context;
            count += 1;
            if count > most {
                break;
            }
        } else if after > 0 {
            hits.lines.push(line());
            after -= 1;
        } else if context > 0 {
            if before.len() == context {
                before.pop_front();
            }
            before.push_back(line());
        }
    }
    Ok(hits)
}

/// Reads a line into `bytes`; of a longer one only its first [`LINE_BYTES`], and the rest is passed over. Gives whether it is
/// whole, nothing at the end of the file.
fn next_line(reader: &mut dyn BufRead, bytes: &mut Vec<u8>) -> io::Result<Option<bool>> {
    bytes.clear();
    let read = (&mut *reader)
        .take(LINE_BYTES as u64)
        .read_until(b'\n', bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if read < LINE_BYTES || bytes.ends_with(b"\n") {
        return Ok(Some(true));
    }
    reader.skip_until(b'\n').map(|_| Some(false))
}

/// The file's text without the mark of its encoding, UTF-16 as UTF-8.
fn decoded(file: File) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::with_capacity(SNIFF, file);
    let start = reader.fill_buf()?;
    if start.starts_with(b"\xEF\xBB\xBF") {
        reader.consume(3);
        return Ok(Box::new(reader));
    }
    let unit: fn([u8; 2]) -> u16 = match start {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return Ok(Box::new(reader)),
    };
    reader.consume(2);
    let mut bytes = Vec::new();
    reader.take(WIDE_BYTES).read_to_end(&mut bytes)?;
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    let text = String::from_utf16_lossy(&units);
    Ok(Box::new(Cursor::new(text.into_bytes())))
}

/// A pattern that the engine does not take, with its words.
fn not_a_pattern(pattern: &str, said: &str) -> Problem {
    Problem::input(format!(
        "\"{}\" is no regular expression: {}",
        clip(&visible(pattern), 200),
        clip(said.trim(), 600)
    ))
    .next("Escape characters that are meant as themselves, such as ( [ { . * + ? with a backslash. There is no look-around.")
}
