//! The last entries of a JSON array in a file, reading only its end.
//!
//! Read backwards, valid JSON needs no memory of what came before: outside a string there is no backslash, so a quote with an
//! even number of them in front opens or closes a string. What ends like a whole array but is torn in the middle of a text is
//! the one thing this cannot see; it shows when the file is next read whole.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Map, Value};

use super::atomic::{self, STATE_CAP};
use crate::base::error::{Outcome, Problem};

/// Bytes read first; doubled while they do not hold enough entries.
const WINDOW: u64 = 64 * 1024;

/// The last entries of an array of objects.
#[derive(Debug, Default, PartialEq)]
pub struct Tail {
    /// In the order of the file.
    pub entries: Vec<Map<String, Value>>,
    /// The file ends in the middle of an entry or without its bracket; whole entries before that are given.
    pub torn: bool,
}

/// The last `n` entries of a file that is one JSON array of objects, pretty or compact; a missing or empty file has none.
/// The cost depends on those entries alone, unless the end is torn: then the file is read whole.
///
/// # Errors
/// The file cannot be read, or is not an array of objects (`Input`): set it aside then.
pub fn tail_array(path: &Path, n: usize) -> Outcome<Tail> {
    let fail = |why| Problem::system(format!("Cannot read {}", path.display()), why);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Tail::default()),
        Err(why) => return Err(fail(why)),
    };
    let about = file.metadata().map_err(fail)?;
    if !about.is_file() {
        return Err(Problem::input(format!(
            "{} is no ordinary file.",
            path.display()
        )));
    }
    let len = about.len();
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
            Scan::Found(entries) => {
                return Ok(Tail {
                    entries,
                    torn: false,
                });
            }
            Scan::More if from > 0 && size < STATE_CAP => size = size.saturating_mul(2),
            Scan::More | Scan::Strange => break,
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

enum Scan {
    Found(Vec<Map<String, Value>>),
    /// The window begins too late.
    More,
    /// Not the end of an array of objects.
    Strange,
}

/// Scans the end of an array backwards; `whole` says that the window begins where the file does.
fn backwards(window: &[u8], n: usize, whole: bool) -> Scan {
    let text = window.trim_ascii_end();
    let Some((b']', body)) = text.split_last() else {
        return if text.is_empty() && !whole {
            Scan::More
        } else {
            Scan::Strange
        };
    };
    let mut found: Vec<Map<String, Value>> = Vec::new();
    let mut end = body.len();
    let mut depth = 0usize;
    let mut in_string = false;
    let mut at = body.len();
    while at > 0 {
        if found.len() == n {
            found.reverse();
            return Scan::Found(found);
        }
        at -= 1;
        let before = body.get(..at).unwrap_or_default();
        match body.get(at) {
            Some(b'"') => {
                let slashes = before.iter().rev().take_while(|b| **b == b'\\').count();
                if slashes == before.len() && !whole {
                    return Scan::More;
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
                let first = found.is_empty() && item.trim_ascii().is_empty();
                if !(first || keep(item, &mut found)) || !is_start(before) {
                    return Scan::Strange;
                }
                if !whole {
                    return Scan::Strange;
                }
                found.truncate(n);
                found.reverse();
                return Scan::Found(found);
            }
            Some(b'{') => return Scan::Strange,
            Some(b',') if depth == 0 => {
                if !keep(body.get(at + 1..end).unwrap_or_default(), &mut found) {
                    return Scan::Strange;
                }
                end = at;
            }
            _ => {}
        }
    }
    if whole { Scan::Strange } else { Scan::More }
}

/// Nothing but white space and a byte order mark.
fn is_start(before: &[u8]) -> bool {
    before
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(before)
        .trim_ascii()
        .is_empty()
}

fn keep(item: &[u8], found: &mut Vec<Map<String, Value>>) -> bool {
    match serde_json::from_slice(item) {
        Ok(entry) => {
            found.push(entry);
            true
        }
        Err(_) => false,
    }
}

/// Reads entries from the start until the array or the file ends.
fn forwards(bytes: &[u8], n: usize) -> Result<Tail, String> {
    let text = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii();
    // An interrupted first write, or a file system's zeroes after a power cut.
    if text.iter().all(|b| *b == 0) {
        return Ok(Tail {
            entries: Vec::new(),
            torn: !text.is_empty(),
        });
    }
    let Some((b'[', mut rest)) = text.split_first() else {
        return Err("it does not begin with \"[\"".to_owned());
    };
    let mut entries: Vec<Map<String, Value>> = Vec::new();
    let torn = loop {
        rest = rest.trim_ascii_start();
        match rest.split_first() {
            None => break true,
            Some((b']', after)) if after.trim_ascii().is_empty() => break false,
            Some((b']', _)) => return Err("something follows its \"]\"".to_owned()),
            Some((b',', after)) if !entries.is_empty() => rest = after.trim_ascii_start(),
            _ if entries.is_empty() => {}
            _ => return Err(format!("a comma is missing after entry {}", entries.len())),
        }
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter();
        match stream.next() {
            None => break true,
            Some(Ok(entry)) => {
                entries.push(entry);
                rest = rest.get(stream.byte_offset()..).unwrap_or_default();
            }
            Some(Err(why)) if why.is_eof() => break true,
            Some(Err(why)) => return Err(format!("entry {}: {why}", entries.len() + 1)),
        }
    };
    entries.drain(..entries.len().saturating_sub(n));
    Ok(Tail { entries, torn })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

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
        fn the_tail_is_that_of_a_full_parse(
            texts in proptest::collection::vec("[a\\\\\"\\[\\]{},: \n\u{e9}]{0,8}", 0..12),
            n in 0usize..14, pretty: bool, cut in 0usize..64, small: bool,
        ) {
            let all: Vec<_> = texts.iter().map(|text| object(text)).collect();
            let text = if pretty { serde_json::to_string_pretty(&all) } else { serde_json::to_string(&all) }.unwrap();
            let last = &all[all.len().saturating_sub(n)..];
            // Any window: what begins in the middle is enough or says that it is not.
            let from = if small { text.len().saturating_sub(cut) } else { 0 };
            match backwards(&text.as_bytes()[from..], n, from == 0) {
                Scan::Found(entries) => prop_assert_eq!(&entries[..], last),
                Scan::More => prop_assert!(from > 0),
                Scan::Strange => prop_assert!(from > 0 && all.len() < n.max(1), "strange: {}", &text[from..]),
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
            let whole = tail.entries.len();
            let next = serde_json::to_string(&all[..(whole + 1).min(all.len())]).unwrap();
            prop_assert!(whole == all.len() || cut.len() < next.len(), "an entry was lost");
        }

        #[test]
        fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..60), n in 0usize..3) {
            let (_dir, path) = written(bytes);
            let _ = tail_array(&path, n);
        }
    }

    #[test]
    fn odd_files_are_told_apart() {
        let read = |text: &str| {
            let (_dir, path) = written(text);
            tail_array(&path, 5)
        };
        assert_eq!(read("").unwrap(), Tail::default());
        assert_eq!(read(" [ ] \n").unwrap(), Tail::default());
        assert_eq!(read("\u{feff}[{}]").unwrap().entries.len(), 1);
        assert!(read("\0\0\0").unwrap().torn);
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
        let begun = Instant::now();
        assert_eq!(tail_array(&path, 20).unwrap().entries.len(), 20);
        assert!(begun.elapsed().as_millis() < 100, "{:?}", begun.elapsed());
    }
}
