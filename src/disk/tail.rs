//! Reads the last entries of a JSON array from the end of a file.
//!
//! Read backwards, valid JSON needs no context: outside a string there is no backslash, so a quote preceded by an even number of them opens or closes a string.
//! A file cut off in the middle of a string can end like a complete array, but its apparent last entry contains no quotes: such an entry is rejected, and the
//! whole file is read.

use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};

use super::atomic::{self, STATE_CAP};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};

/// Bytes read first; doubled while they do not hold enough entries.
const WINDOW: u64 = 64 * 1024;

/// The last entries of an array of objects.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tail {
    /// In the order of the file.
    pub entries: Vec<Map<String, Value>>,
    /// Byte range of each in the file.
    pub spans: Vec<Range<u64>>,
    /// The file ends in the middle of an entry, without its bracket, or in zeroes that a power cut left; the complete entries before that are returned.
    pub torn: bool,
}

/// The last `n` entries of a file that is one JSON array of objects, pretty or compact; a missing or empty file has none. The cost depends on those entries
/// alone, unless the end is cut off: then the whole file is read.
///
/// # Errors
/// The file cannot be read, or is not an array of objects (`Input`): set it aside then.
pub(crate) fn tail_array(path: &Path, n: usize) -> Outcome<Tail> {
    let fail = |error| Problem::system(format!("Cannot read {}", path.display()), error);
    let mut file = match open::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Tail::default()),
        Err(error) => return Err(fail(error)),
    };
    let len = file.metadata().map_err(fail)?.len();
    let mut size = WINDOW;
    let mut window = Vec::new();
    loop {
        let from = len.saturating_sub(size);
        window.clear();
        file.seek(SeekFrom::Start(from)).map_err(fail)?;
        (&mut file)
            .take(len - from)
            .read_to_end(&mut window)
            .map_err(fail)?;
        match backwards(&window, n, from == 0) {
            TailScan::Found(found) => return Ok(found.tail(from)),
            TailScan::More if from > 0 && size < STATE_CAP => size = size.saturating_mul(2),
            TailScan::More | TailScan::Strange => break,
        }
    }
    let bytes = atomic::read(path, STATE_CAP)?.unwrap_or_default();
    forwards(&bytes, n).map_err(|what| {
        Problem::input(format!(
            "{} is not a list of entries: {what}.",
            path.display()
        ))
    })
}

/// Entries found backwards, last first, with their ranges in the window.
#[derive(Default)]
struct TailEntries(Vec<(Map<String, Value>, Range<usize>)>);

impl TailEntries {
    /// Keeps the text between two separators if it is an entry.
    fn keep(&mut self, window: &[u8], place: Range<usize>) -> bool {
        let item = window.get(place.clone()).unwrap_or_default();
        match serde_json::from_slice::<Map<String, Value>>(item) {
            Ok(entry) if !entry.is_empty() => {
                let start = place.end - item.trim_ascii_start().len();
                self.0.push((entry, start..start + item.trim_ascii().len()));
                true
            }
            _ => false,
        }
    }

    /// The entries in file order, for a window that begins at `from`.
    fn tail(self, from: u64) -> Tail {
        let (entries, places): (Vec<_>, Vec<_>) = self.0.into_iter().rev().unzip();
        let spans = places
            .into_iter()
            .map(|place| from + place.start as u64..from + place.end as u64)
            .collect();
        Tail {
            entries,
            spans,
            torn: false,
        }
    }
}

enum TailScan {
    Found(TailEntries),
    /// The window begins too late.
    More,
    /// Not the end of an array of objects.
    Strange,
}

/// Scans the end of an array backwards; `whole` when the window is the whole file.
fn backwards(window: &[u8], n: usize, whole: bool) -> TailScan {
    let text = window.trim_ascii_end();
    let Some((b']', body)) = text.split_last() else {
        return if text.is_empty() && !whole {
            TailScan::More
        } else {
            TailScan::Strange
        };
    };
    let mut found = TailEntries::default();
    let mut end = body.len();
    let mut depth = 0usize;
    let mut in_string = false;
    let mut at = body.len();
    while at > 0 {
        if found.0.len() == n {
            return TailScan::Found(found);
        }
        at -= 1;
        let before = body.get(..at).unwrap_or_default();
        match body.get(at) {
            Some(b'"') => {
                let slashes = before.iter().rev().take_while(|b| **b == b'\\').count();
                if slashes == before.len() && !whole {
                    return TailScan::More;
                }
                if slashes % 2 == 0 {
                    in_string = !in_string;
                }
            }
            _ if in_string => {}
            Some(b'}' | b']') => depth += 1,
            Some(b'{') if depth > 0 => depth -= 1,
            Some(b'[') if depth > 0 => depth -= 1,
            Some(b'[') => {
                let item = body.get(at + 1..end).unwrap_or_default();
                let none = found.0.is_empty() && item.trim_ascii().is_empty();
                if !(none || found.keep(window, at + 1..end)) || !is_start(before) {
                    return TailScan::Strange;
                }
                if !whole {
                    return TailScan::Strange;
                }
                found.0.truncate(n);
                return TailScan::Found(found);
            }
            Some(b'{') => return TailScan::Strange,
            Some(b',') if depth == 0 => {
                if !found.keep(window, at + 1..end) {
                    return TailScan::Strange;
                }
                end = at;
            }
            _ => {}
        }
    }
    if whole {
        TailScan::Strange
    } else {
        TailScan::More
    }
}

/// Nothing but white space and a byte order mark.
fn is_start(before: &[u8]) -> bool {
    before
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(before)
        .trim_ascii()
        .is_empty()
}

/// Reads entries from the start until the array or the file ends.
fn forwards(bytes: &[u8], n: usize) -> Result<Tail, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // An interrupted first write, or a file system's zeroes after a power cut.
    let blank = |b: &u8| *b == 0 || b.is_ascii_whitespace();
    let rest_blank = text.iter().rev().take_while(|b| blank(b)).count();
    let (text, after) = text.split_at(text.len() - rest_blank);
    let zeroes = after.contains(&0);
    let end = bytes.len() - rest_blank;
    let mut tail = Tail {
        torn: zeroes,
        ..Tail::default()
    };
    if text.is_empty() {
        return Ok(tail);
    }
    let Some((b'[', mut rest)) = text.trim_ascii_start().split_first() else {
        return Err("it does not begin with \"[\"".to_owned());
    };
    let torn = loop {
        rest = rest.trim_ascii_start();
        match rest.split_first() {
            None => break true,
            Some((b']', after)) if after.trim_ascii().is_empty() => break false,
            Some((b']', _)) => return Err("something follows its \"]\"".to_owned()),
            Some((b',', after)) if !tail.entries.is_empty() => rest = after.trim_ascii_start(),
            _ if tail.entries.is_empty() => {}
            _ => {
                return Err(format!(
                    "a comma is missing after entry {}",
                    tail.entries.len()
                ));
            }
        }
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter();
        match stream.next() {
            None => break true,
            Some(Ok(entry)) => {
                let start = (end - rest.len()) as u64;
                let length = stream.byte_offset();
                tail.entries.push(entry);
                tail.spans.push(start..start + length as u64);
                rest = rest.get(length..).unwrap_or_default();
            }
            Some(Err(reason)) if reason.is_eof() => break true,
            Some(Err(reason)) => return Err(format!("entry {}: {reason}", tail.entries.len() + 1)),
        }
    };
    tail.torn |= torn;
    let surplus = tail.entries.len().saturating_sub(n);
    tail.entries.drain(..surplus);
    tail.spans.drain(..surplus);
    Ok(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(text: &str) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("role".into(), "you".into());
        map.insert(text.into(), text.into());
        map.insert(
            "deep".into(),
            serde_json::json!([{"a": [text, 1, null]}, "]},{[\\\""]),
        );
        map
    }

    fn written(text: impl AsRef<[u8]>) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("chat_log.json");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn the_tail_equals_a_full_parse(
            texts in proptest::collection::vec("[a\\\\\"\\[\\]{},: \n\u{e9}]{0,8}", 0..12),
            n in 0usize..14, pretty: bool, cut in 0usize..64, small: bool,
        ) {
            let all: Vec<_> = texts.iter().map(|text| object(text)).collect();
            let text = if pretty { serde_json::to_string_pretty(&all) } else { serde_json::to_string(&all) }.unwrap();
            let last = &all[all.len().saturating_sub(n)..];
            // Any window: either it suffices or it is reported as too short.
            let from = if small { text.len().saturating_sub(cut) } else { 0 };
            match backwards(&text.as_bytes()[from..], n, from == 0) {
                TailScan::Found(found) => {
                    let tail = found.tail(from as u64);
                    prop_assert_eq!(&tail.entries[..], last);
                    for (entry, span) in tail.entries.iter().zip(&tail.spans) {
                        let there = &text.as_bytes()[span.start as usize..span.end as usize];
                        prop_assert_eq!((there[0], there[there.len() - 1]), (b'{', b'}'));
                        prop_assert_eq!(&serde_json::from_slice::<Map<String, Value>>(there).unwrap(), entry);
                    }
                }
                TailScan::More => prop_assert!(from > 0),
                TailScan::Strange => prop_assert!(from > 0 && all.len() < n.max(1), "strange: {}", &text[from..]),
            }
            let (_dir, path) = written(&text);
            let tail = tail_array(&path, n).unwrap();
            prop_assert_eq!(&tail.entries[..], last);
            prop_assert!(!tail.torn);
        }

        #[test]
        fn a_torn_end_costs_only_the_torn_entry(
            texts in proptest::collection::vec("[a\\\\\"{},: \n\u{e9}]{0,8}", 0..6), at: prop::sample::Index,
        ) {
            let all: Vec<_> = texts.iter().map(|text| object(text)).collect();
            let text = serde_json::to_string(&all).unwrap();
            let cut = &text.as_bytes()[..at.index(text.len())];
            prop_assume!(!cut.ends_with(b"]"));
            let (_dir, path) = written(cut);
            let tail = tail_array(&path, 100).unwrap();
            prop_assert_eq!(tail.torn, !cut.is_empty());
            prop_assert!(all.starts_with(&tail.entries));
            for (entry, span) in tail.entries.iter().zip(&tail.spans) {
                let there = &cut[span.start as usize..span.end as usize];
                prop_assert_eq!(&serde_json::from_slice::<Map<String, Value>>(there).unwrap(), entry);
            }
            let whole = tail.entries.len();
            let next = serde_json::to_string(&all[..(whole + 1).min(all.len())]).unwrap();
            prop_assert!(whole == all.len() || cut.len() < next.len(), "an entry was lost");
        }

        #[test]
        fn any_bytes_give_a_result(bytes in proptest::collection::vec(any::<u8>(), 0..60), n in 0usize..3) {
            let (_dir, path) = written(bytes);
            let _ = tail_array(&path, n);
        }
    }

    #[test]
    fn unusual_files_are_classified() {
        let read = |text: &str| {
            let (_dir, path) = written(text);
            tail_array(&path, 5)
        };
        assert_eq!(read("").unwrap(), Tail::default());
        assert_eq!(read(" [ ] \n").unwrap(), Tail::default());
        assert_eq!(read("\u{feff}[{}]").unwrap().entries.len(), 1);
        assert!(read("\0\0\0").unwrap().torn);
        let zeroes = read("\u{feff}[{\"a\": 1},\n{\"b\": 2}]\n\0\0\0").unwrap();
        assert_eq!((zeroes.entries.len(), zeroes.torn), (2, true));
        assert_eq!(zeroes.spans[1], 14..22);
        // Cut off inside a text that looks like the end of an array.
        let tail = read(r#"[{"role":"you","text":"a"},{"role":"you","text":"b},{}]"#).unwrap();
        assert_eq!((tail.entries.len(), tail.torn), (1, true));
        for text in ["{}", "[1, 2]", "[{}] x", "[{} {}]", "[{},{\"a\":}]", "null"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(
            tail_array(Path::new("/nonexistent/x"), 3).unwrap(),
            Tail::default()
        );
    }

    #[test]
    fn the_cost_does_not_grow_with_the_file() {
        let entry = serde_json::to_string(&object(&"x".repeat(500))).unwrap();
        let (_dir, path) = written(format!("[{}]", vec![entry; 60_000].join(",\n")));
        let begun = crate::base::cpu_time::CpuTime::now();
        assert_eq!(tail_array(&path, 20).unwrap().entries.len(), 20);
        assert!(begun.elapsed().as_millis() < 100, "{:?}", begun.elapsed());
    }
}
