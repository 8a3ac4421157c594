//! Searches the notes: every file is scanned once, on several threads, and only the first files with hits a second time.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::ControlFlow;

use regex::bytes::{Regex, RegexBuilder};

use crate::base::cancel::Cancel;
use crate::base::patterns::MAX_QUERY_BYTES;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, plural};
use crate::disk::beneath::{RelPath, Root, WalkEntry as Entry, WalkFile, WalkVisitor};
use crate::store::notes::MAX_NOTE_BYTES;
use crate::tools::project::search::parallel::{MAX_BATCH_FILES, in_parallel};

/// How many hits are shown.
const SHOWN: usize = 50;
/// Lines shown before and after a hit.
const CONTEXT: usize = 1;
/// How much of a line is shown, in characters.
const WIDTH: usize = 300;
/// How many similarly named notes are suggested when no note contains the words.
const NAMES: usize = 5;
/// A file with a NUL in its first bytes is not text.
const SNIFF: usize = 8_000;

#[derive(Debug, Default)]
pub(super) struct NoteHits {
    lines: Vec<String>,
    hits: usize,
    notes: usize,
    /// Notes whose names contain the words.
    named: Vec<String>,
}

/// Searches the files below `root`, ignoring case and white space between words; symlinks are not followed.
///
/// # Errors
/// Cancelled, or the words cannot be searched for.
pub(super) fn search(root: &Root, query: &str, stop: &Cancel) -> Outcome<NoteHits> {
    let mut finder = Finder {
        pattern: pattern(query)?,
        stop,
        batch: Vec::with_capacity(MAX_BATCH_FILES),
        left: SHOWN,
        found: NoteHits::default(),
    };
    root.walk(&[], (), &mut finder);
    finder.scan();
    stop.check()?;
    Ok(finder.found)
}

struct Finder<'a> {
    pattern: Regex,
    stop: &'a Cancel,
    batch: Vec<WalkFile>,
    /// How many more hits may be shown.
    left: usize,
    found: NoteHits,
}

impl Finder<'_> {
    /// Scans the files gathered so far, and the first ones with hits a second time.
    fn scan(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let (pattern, stop) = (&self.pattern, self.stop);
        let counts = in_parallel(&batch, || {
            let pattern = pattern.clone();
            let mut bytes = Vec::with_capacity(64 * 1024);
            move |file: &WalkFile| match !stop.is_fired() && read(file, &mut bytes) {
                true => count(&pattern, &bytes),
                false => 0,
            }
        });
        let mut bytes = Vec::new();
        for (file, count) in batch.iter().zip(counts).filter(|(_, count)| *count > 0) {
            self.found.hits += count;
            self.found.notes += 1;
            if self.left > 0 && read(file, &mut bytes) {
                let name = escape_controls(file.rel.as_str());
                let lines = &mut self.found.lines;
                self.left -= show(&name, &bytes, &self.pattern, self.left, lines);
            }
        }
        self.batch = batch;
        self.batch.clear();
    }
}

impl WalkVisitor for Finder<'_> {
    type Mark = ();

    fn enter(&mut self, entry: &Entry<'_>, _: bool, (): ()) -> Option<()> {
        let name = entry.rel.name().unwrap_or_default();
        (!name.starts_with('.')).then_some(())
    }

    fn file(&mut self, file: WalkFile) -> ControlFlow<()> {
        let name = file.rel.name().unwrap_or_default();
        if self.found.named.len() < NAMES && self.pattern.is_match(name.as_bytes()) {
            self.found.named.push(escape_controls(file.rel.as_str()));
        }
        self.batch.push(file);
        if self.batch.len() >= MAX_BATCH_FILES {
            self.scan();
        }
        ControlFlow::Continue(())
    }

    fn unreadable(&mut self, _: &RelPath, _: io::Error) {}

    fn is_over(&mut self) -> bool {
        self.stop.is_fired()
    }
}

fn pattern(query: &str) -> Outcome<Regex> {
    if query.len() > MAX_QUERY_BYTES {
        return Err(
            Problem::limit("The query is too long to look for.").next("Give a few words of it.")
        );
    }
    let words: Vec<String> = query.split_whitespace().map(regex::escape).collect();
    RegexBuilder::new(&words.join(r"\s+"))
        .case_insensitive(true)
        .build()
        .map_err(|error| {
            Problem::limit("The query is too long to look for.")
                .next("Give a few words of it.")
                .because(error)
        })
}

/// Reads a text file into `bytes`; false when it is not text, cannot be read or is too large.
fn read(file: &WalkFile, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let Ok(file) = file.open() else { return false };
    let read = file.take(MAX_NOTE_BYTES + 1).read_to_end(bytes);
    let text = !bytes
        .get(..SNIFF.min(bytes.len()))
        .unwrap_or_default()
        .contains(&0);
    read.is_ok() && text && bytes.len() as u64 <= MAX_NOTE_BYTES
}

/// The number of lines on which a match starts.
fn count(pattern: &Regex, bytes: &[u8]) -> usize {
    let mut from = 0;
    let mut count = 0;
    while let Some(hit) = pattern.find_at(bytes, from) {
        count += 1;
        match next_line(bytes, hit.start()) {
            Some(next) => from = next,
            None => break,
        }
    }
    count
}

/// The start of the line after the one at `at`.
fn next_line(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    rest.iter()
        .position(|byte| *byte == b'\n')
        .map(|length| at + length + 1)
}

/// Adds at most `max` hits of a note with the lines around them; returns their number.
fn show(name: &str, bytes: &[u8], pattern: &Regex, max: usize, out: &mut Vec<String>) -> usize {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let mut hits = Vec::new();
    let (mut from, mut number, mut counted) = (0, 0, 0);
    while let Some(hit) = pattern.find_at(bytes, from).filter(|_| hits.len() < max) {
        let passed = bytes.get(counted..hit.start()).unwrap_or_default();
        number += passed.iter().filter(|byte| **byte == b'\n').count();
        counted = hit.start();
        hits.push(number);
        match next_line(bytes, hit.start()) {
            Some(next) => from = next,
            None => break,
        }
    }
    let last = match lines.last() {
        Some([]) => lines.len().saturating_sub(1),
        _ => lines.len(),
    };
    let mut next = 0;
    for (place, hit) in hits.iter().enumerate() {
        let start = hit.saturating_sub(CONTEXT).max(next);
        let following = hits.get(place + 1).copied().unwrap_or(usize::MAX);
        let end = (hit + CONTEXT + 1).min(last).min(following).max(hit + 1);
        if !out.is_empty() && (start > next || place == 0) {
            out.push("--".to_owned());
        }
        for at in start..end {
            let line = String::from_utf8_lossy(lines.get(at).copied().unwrap_or_default());
            let line = clip(&escape_controls(line.trim_end_matches('\r')), WIDTH);
            let number = at + 1;
            out.push(match at == *hit {
                true => format!("{name}:{number}: {line}"),
                false => format!("{name}-{number}- {line}"),
            });
        }
        next = end;
    }
    hits.len()
}

impl NoteHits {
    /// Whether no note contains the words.
    pub(super) fn is_empty(&self) -> bool {
        self.hits == 0
    }

    /// A sentence about notes whose names contain the words.
    pub(super) fn named(&self) -> String {
        match self.named.as_slice() {
            [] => String::new(),
            names => {
                let first: Vec<&str> = names.iter().take(NAMES).map(String::as_str).collect();
                format!(" Notes of that name: {}.", first.join(", "))
            }
        }
    }

    /// The hits with context, and their number.
    pub(super) fn text(&self) -> String {
        let mut out = self.lines.join("\n");
        let _ = write!(
            out,
            "\n{} in {}",
            plural(self.hits, "hit"),
            plural(self.notes, "note")
        );
        if self.hits > SHOWN {
            let _ = write!(out, "; the first {SHOWN} are shown, more words find fewer");
        }
        out.push('.');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn found(files: &[(&str, &str)], query: &str) -> NoteHits {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        search(&Root::open(dir.path()).unwrap(), query, &Cancel::new()).unwrap()
    }

    #[test]
    fn hits_stand_in_their_surroundings_once() {
        let files = [
            (
                "b.md",
                "one\nMilk and milk\nthree\nmilk\nfive\nsix\nseven\nmilk",
            ),
            ("a/x.md", "no\r\nbuy \r\nmilk (2 l)\r\n"),
        ];
        let found_all = found(&files, "milk");
        assert_eq!(
            found_all.text(),
            "a/x.md-2- buy \na/x.md:3: milk (2 l)\n--\nb.md-1- one\nb.md:2: Milk and milk\nb.md-3- three\nb.md:4: milk\nb.md-5- five\n--\nb.md-7- seven\nb.md:8: milk\n4 hits in 2 notes."
        );
        assert!(found(&files, "BUY milk").text().contains("a/x.md:2: buy"));
        assert!(found(&files, "milk (2").text().contains("a/x.md:3:"));
        assert!(found(&files, "milk .").is_empty());
    }

    #[test]
    fn what_is_no_note_is_not_searched() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("bin"), b"milk\0").unwrap();
        fs::write(dir.path().join(".hidden"), "milk").unwrap();
        fs::create_dir(dir.path().join("build")).unwrap();
        fs::write(dir.path().join("build/in"), "MILK").unwrap();
        fs::write(dir.path().join("milk.md"), "x").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("out")).unwrap();
        let found = search(&Root::open(dir.path()).unwrap(), "milk", &Cancel::new()).unwrap();
        assert!(found.text().starts_with("build/in:1: MILK\n1 hit"));
        assert_eq!(found.named(), " Notes of that name: milk.md.");
    }

    #[test]
    fn many_hits_are_counted_and_the_first_shown() {
        let found = found(&[("a", &"e\n".repeat(200)), ("b", "e")], "e");
        assert_eq!((found.hits, found.notes), (201, 2));
        assert_eq!(
            found.lines.iter().filter(|line| line.contains(":")).count(),
            SHOWN
        );
    }
}
