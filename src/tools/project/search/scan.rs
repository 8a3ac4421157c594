//! Searches one file, line by line: a pattern never sees more than a line.
//!
//! Ordinary files are read whole, and a second form of the pattern, in multi-line mode, runs over all of it to find candidate lines; going through millions of
//! lines one by one takes ten times as long. Candidates are then matched alone.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::time::Instant;

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};

use super::HitLine;
use super::ripgrep_pattern::means_another_on_a_text;
use crate::base::cancel::Cancel;
use crate::base::patterns::{MAX_REGEX_DEPTH, regex_excess};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// Bytes examined to detect a binary file.
const SNIFF_BYTES: usize = 64 * 1024;
/// Maximum size of a file that is read whole.
const WHOLE_BYTES: usize = 4 << 20;
/// Bytes of a line that are searched in a larger file.
const LINE_BYTES: usize = 4 << 20;
/// Maximum bytes of a line that are kept for display.
const SHOWN_BYTES: usize = 4_096;
/// Lines between two checks of the time limit.
const TIME_CHECK_LINES: u64 = 1_024;
/// Bytes between two checks of the limits: of some patterns a processor searches 300 KB a second.
const SLICE_BYTES: usize = if cfg!(test) { 64 } else { 16 << 10 };
/// Number of false candidates after which a file is searched line by line: the pattern then matches across lines.
const MAX_FALSE_CANDIDATES: usize = 32;

pub(super) struct SearchLimits<'a> {
    pub(super) stop: &'a Cancel,
    pub(super) until: Instant,
}

impl SearchLimits<'_> {
    pub(super) fn are_reached(&self) -> bool {
        self.stop.is_fired() || Instant::now() >= self.until
    }
}

/// The lines of a file that are shown.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) lines: Vec<HitLine>,
    /// Why it was not searched completely.
    pub(super) problem: Option<String>,
}

/// The regular expression of a search.
#[derive(Clone)]
pub(super) struct SearchPattern {
    line: Regex,
    /// Finds candidate lines in a whole text; `None` when it might miss one.
    whole: Option<Regex>,
}

impl SearchPattern {
    /// # Errors
    /// The text is not a regular expression, or one too large to be tried.
    pub(super) fn new(text: &str) -> Outcome<Self> {
        if let Some(reason) = regex_excess(text) {
            return Err(invalid_pattern(text, &reason));
        }
        let build = |lines| {
            RegexBuilder::new(text)
                .nest_limit(MAX_REGEX_DEPTH)
                .multi_line(lines)
                .build()
        };
        let line = build(false).map_err(|error| invalid_pattern(text, &error.to_string()))?;
        let whole = match means_another_on_a_text(text) {
            true => None,
            false => build(true).ok(),
        };
        Ok(Self { line, whole })
    }
}

/// How much to collect from each file.
pub(super) struct ScanOptions {
    /// Lines around a hit.
    pub(super) context: usize,
    /// Maximum hits; one more is collected to detect that there are more.
    pub(super) max: usize,
}

/// The first hits of a file with their context. `buffer` is reused between files.
pub(super) fn file(
    file: File,
    path: &str,
    pattern: &SearchPattern,
    options: &ScanOptions,
    limits: &SearchLimits<'_>,
    buffer: &mut Vec<u8>,
) -> io::Result<Hits> {
    buffer.clear();
    let mut file = file.take(WHOLE_BYTES as u64);
    file.read_to_end(buffer)?;
    let is_whole = buffer.len() < WHOLE_BYTES;
    let mut taker = HitCollector::new(path, options);
    let is_wide = decode(buffer);
    let start = buffer.get(..SNIFF_BYTES).unwrap_or(buffer);
    if memchr(0, if is_whole { buffer } else { start }).is_some() {
        return Ok(Hits::default());
    }
    let has_returns = memchr(b'\r', buffer).is_some();
    match &pattern.whole {
        Some(whole) if is_whole && !has_returns => {
            let done = taker.search(buffer, whole, &pattern.line, limits);
            if done {
                return Ok(taker.hits);
            }
            taker = HitCollector::new(path, options);
        }
        _ => {}
    }
    if is_wide && !is_whole {
        let mib = WHOLE_BYTES >> 20;
        let path = escape_controls(path);
        taker.hits.problem = Some(format!("{path}: what follows its first {mib} MiB"));
    }
    let rest = file.into_inner().take(if is_wide { 0 } else { u64::MAX });
    let read = Cursor::new(std::mem::take(buffer)).chain(rest);
    taker.search_by_line(read, &pattern.line, limits)?;
    Ok(taker.hits)
}

/// Collects hits and the lines around them.
struct HitCollector<'a> {
    path: &'a str,
    options: &'a ScanOptions,
    hits: Hits,
    count: usize,
    before: VecDeque<HitLine>,
    /// Lines after the last hit that are still shown.
    after: usize,
}

impl<'a> HitCollector<'a> {
    fn new(path: &'a str, options: &'a ScanOptions) -> Self {
        Self {
            path,
            options,
            hits: Hits::default(),
            count: 0,
            before: VecDeque::new(),
            after: 0,
        }
    }

    /// Adds a line if it is to be shown; true when there are enough.
    fn take(&mut self, number: u64, text: &[u8], hit: bool) -> bool {
        if !hit && self.after == 0 && self.options.context == 0 {
            return false;
        }
        let shown = text.get(..SHOWN_BYTES).unwrap_or(text);
        let line = HitLine {
            path: self.path.to_owned(),
            number,
            text: String::from_utf8_lossy(shown)
                .trim_end_matches('\r')
                .to_owned(),
            hit,
        };
        if hit {
            self.hits.lines.extend(self.before.drain(..));
            self.hits.lines.push(line);
            self.after = self.options.context;
            self.count += 1;
        } else if self.after > 0 {
            self.hits.lines.push(line);
            self.after -= 1;
        } else {
            if self.before.len() == self.options.context {
                self.before.pop_front();
            }
            self.before.push_back(line);
        }
        self.count > self.options.max
    }

    /// Searches a whole text. False when it must be searched line by line.
    fn search(
        &mut self,
        text: &[u8],
        whole: &Regex,
        line: &Regex,
        limits: &SearchLimits<'_>,
    ) -> bool {
        // Start and number of the first unprocessed line, and where to search from.
        let (mut open, mut number, mut from) = (0, 1, 0);
        let (mut vain, mut to) = (0, 0);
        while from < text.len() && !limits.are_reached() {
            if from >= to {
                // Whole lines, so that nothing is found or missed because of it.
                let full = text.len().min(from + SLICE_BYTES);
                to = line_around(text, full, full).1;
            }
            let within = slice(text, 0, to);
            let Some(at) = whole.find_at(within, from).map(|found| found.start()) else {
                from = to + 1;
                continue;
            };
            let (start, end) = line_around(text, from, at);
            if start >= text.len() {
                break;
            }
            from = end + 1;
            if !line.is_match(slice(text, start, end)) {
                vain += 1;
                if vain > MAX_FALSE_CANDIDATES {
                    return false;
                }
                continue;
            }
            number = self.pass(text, open, start, number);
            if self.take(number, slice(text, start, end), true) {
                return true;
            }
            (open, number) = (from, number + 1);
        }
        if self.after > 0 {
            self.pass(text, open, text.len(), number);
        }
        true
    }

    /// Advances from the line at `from` to the one at `to` and returns its number; adds context lines near both.
    fn pass(&mut self, text: &[u8], from: usize, to: usize, number: u64) -> u64 {
        let context = self.options.context;
        let lines = memchr_iter(b'\n', slice(text, from, to)).count();
        // The last line of a text may have no line break.
        let lines =
            lines + usize::from(to == text.len() && to > from && text.last() != Some(&b'\n'));
        let (mut at, mut passed) = (from, 0);
        while passed < lines && context > 0 {
            if passed == context && lines - passed > context {
                // No line in between is near a hit.
                at = (0..context).fold(to.saturating_sub(1), |end, _| {
                    memrchr(b'\n', slice(text, 0, end)).unwrap_or(0)
                }) + 1;
                passed = lines - context;
            }
            let (_, end) = line_around(text, at, at);
            self.take(number + passed as u64, slice(text, at, end), false);
            (at, passed) = (end + 1, passed + 1);
        }
        number + lines as u64
    }

    /// Searches line by line; only the beginning of a very long line.
    fn search_by_line(
        &mut self,
        read: impl Read,
        pattern: &Regex,
        limits: &SearchLimits<'_>,
    ) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(SNIFF_BYTES, read);
        let mut bytes = Vec::new();
        for number in 1.. {
            let Some(is_whole) = next_line(&mut reader, &mut bytes)? else {
                break;
            };
            if (number % TIME_CHECK_LINES == 0 || !is_whole) && limits.are_reached() {
                break;
            }
            if memchr(0, &bytes).is_some() {
                // It turned out to be a binary file: text found in it is meaningless.
                self.hits = Hits::default();
                break;
            }
            if !is_whole && self.hits.problem.is_none() {
                self.hits.problem = Some(format!(
                    "{}: what follows the first {} MiB of line {number}",
                    escape_controls(self.path),
                    LINE_BYTES >> 20
                ));
            }
            let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if self.take(number, text, pattern.is_match(text)) {
                break;
            }
        }
        Ok(())
    }
}

fn slice(text: &[u8], from: usize, to: usize) -> &[u8] {
    text.get(from..to).unwrap_or_default()
}

/// The line that contains `at`, without its break; `from` is the start of that line or of an earlier one.
fn line_around(text: &[u8], from: usize, at: usize) -> (usize, usize) {
    let start = memrchr(b'\n', slice(text, from, at)).map_or(from, |found| from + found + 1);
    let end = memchr(b'\n', slice(text, at, text.len())).map_or(text.len(), |found| at + found);
    (start, end)
}

/// Reads a line into `bytes`; of a longer one only its first [`LINE_BYTES`], the rest is skipped. Returns whether it is complete, `None` at the end
/// of the file.
fn next_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Option<bool>> {
    bytes.clear();
    let read = reader
        .by_ref()
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

/// Removes the byte-order mark, and decodes UTF-16 to UTF-8; true if it was UTF-16.
fn decode(text: &mut Vec<u8>) -> bool {
    let unit: fn([u8; 2]) -> u16 = match text.as_slice() {
        [0xEF, 0xBB, 0xBF, ..] => {
            text.drain(..3);
            return false;
        }
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return false,
    };
    let (pairs, _) = text.get(2..).unwrap_or_default().as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    *text = String::from_utf16_lossy(&units).into_bytes();
    true
}

/// The problem with a pattern that the engine rejects, with its message.
fn invalid_pattern(pattern: &str, message: &str) -> Problem {
    Problem::input(format!(
        "\"{}\" is not a valid regular expression: {}",
        clip(&escape_controls(pattern), 200),
        clip(message.trim(), 600)
    ))
    .next("Escape characters that are meant as themselves, such as ( [ { . * + ? with a backslash. There is no look-around.")
}
