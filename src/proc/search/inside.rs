//! The engine for machines without ripgrep: the `ignore` and `regex` crates, with the same rules and the same result.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::time::Instant;

use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use regex::bytes::{Regex, RegexBuilder};

use super::names::{Names, not_a_glob};
use super::rg::{not_a_pattern, trouble};
use super::{Found, LIMIT, Line, Search, VENDOR};
use crate::base::cancel::Cancel;
use crate::base::error::Outcome;
use crate::base::text::visible;

/// Bytes looked at to tell a binary file.
const SNIFF: usize = 64 * 1024;
/// Longest line that is searched; longer ones end the file's search.
const LONGEST: u64 = 16 << 20;

pub(super) fn search(
    dir: &Path,
    what: &Search<'_>,
    names: &Names,
    stop: &Cancel,
) -> Outcome<Found> {
    let pattern = RegexBuilder::new(what.pattern)
        .build()
        .map_err(|error| not_a_pattern(what.pattern, &error.to_string()))?;
    let mut globs = OverrideBuilder::new(dir);
    for name in VENDOR {
        globs
            .add(&format!("!{name}/"))
            .map_err(|error| not_a_glob(name, &error))?;
    }
    let mut walk = WalkBuilder::new(dir);
    walk.overrides(
        globs
            .build()
            .map_err(|error| not_a_glob("the list", &error))?,
    )
    .follow_links(false)
    .sort_by_file_path(Path::cmp);
    let mut found = Found::default();
    let until = Instant::now() + LIMIT;
    for entry in walk.build() {
        stop.check()?;
        if Instant::now() > until {
            found.troubles.push(format!(
                "the rest; the search took longer than {} s",
                LIMIT.as_secs()
            ));
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(why) => {
                let text = why.to_string().replace(&format!("{}/", dir.display()), "");
                found.troubles.extend(trouble(&text));
                continue;
            }
        };
        // Only ordinary files: opening a FIFO would wait for ever.
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry
            .path()
            .strip_prefix(dir)
            .unwrap_or(entry.path())
            .to_string_lossy()
            .into_owned();
        if !names.take(&path) {
            continue;
        }
        let file = match File::open(entry.path()) {
            Ok(file) => file,
            Err(why) => {
                found.troubles.push(format!("{}: {why}", visible(&path)));
                continue;
            }
        };
        if file_hits(file, &path, &pattern, what, stop, &mut found).is_err() {
            continue;
        }
        if found.more {
            break;
        }
    }
    found.trim(what.context);
    Ok(found)
}

/// Adds the file's hits with their context.
fn file_hits(
    file: File,
    path: &str,
    pattern: &Regex,
    what: &Search<'_>,
    stop: &Cancel,
    found: &mut Found,
) -> std::io::Result<()> {
    let mut reader = decoded(file)?;
    if reader.fill_buf()?.contains(&0) {
        return Ok(());
    }
    let start = found.lines.len();
    let mut before: VecDeque<Line> = VecDeque::new();
    let mut after = 0;
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if (&mut reader).take(LONGEST).read_until(b'\n', &mut bytes)? == 0 || stop.is_fired() {
            break;
        }
        if bytes.contains(&0) {
            // A binary file after all: what was found in it is text that means nothing.
            found.lines.truncate(start);
            break;
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let hit = pattern.is_match(text);
        let line = || Line {
            path: path.to_owned(),
            number,
            text: String::from_utf8_lossy(text)
                .trim_end_matches('\r')
                .to_owned(),
            hit,
        };
        if hit {
            if found.hits() == what.most {
                found.more = true;
                break;
            }
            found.lines.extend(before.drain(..));
            found.lines.push(line());
            after = what.context;
        } else if after > 0 {
            found.lines.push(line());
            after -= 1;
        } else if what.context > 0 {
            if before.len() == what.context {
                before.pop_front();
            }
            before.push_back(line());
        }
    }
    Ok(())
}

/// The file's text without the mark of its encoding, UTF-16 as UTF-8.
fn decoded(file: File) -> std::io::Result<Box<dyn BufRead>> {
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
    reader.take(LONGEST).read_to_end(&mut bytes)?;
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    let text = String::from_utf16_lossy(&units);
    Ok(Box::new(Cursor::new(text.into_bytes())))
}
