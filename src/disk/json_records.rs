//! State files that are a JSON array of objects, one record a line: what is not changed keeps its bytes, unknown keys too.

use std::path::Path;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::atomic::{self, Access};
use super::lock;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};

/// How long to wait for another process's write; less than a call may take.
const WAIT: Duration = Duration::from_secs(4);

/// The bytes of the file; `None` when it does not exist.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(path: &Path) -> Outcome<Option<Vec<u8>>> {
    atomic::read(path, atomic::STATE_CAP)
}

/// The records in a file's bytes, unread.
///
/// # Errors
/// The bytes are not a JSON array, with the place.
pub(crate) fn raw<'a>(path: &Path, bytes: &'a [u8]) -> Outcome<Vec<&'a str>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Validated once for the whole file: per record it would be repeated work.
    let records: Result<Vec<&RawValue>, _> = match std::str::from_utf8(bytes) {
        Ok(text) if text.trim_ascii().is_empty() => return Ok(Vec::new()),
        Ok(text) => match by_lines(text).or_else(|| by_indent(text)) {
            Some(records) => return Ok(records),
            None => serde_json::from_str(text),
        },
        Err(_) => serde_json::from_slice(bytes),
    };
    match records {
        Ok(records) => Ok(records.into_iter().map(RawValue::get).collect()),
        Err(why) => Err(ununderstood(path, why)),
    }
}

/// The part of `bytes` from the first to the last of `records`.
pub(crate) fn stretch<'a>(bytes: &'a [u8], records: &[&str]) -> &'a [u8] {
    let place = |text: &str| (text.as_ptr().addr()).saturating_sub(bytes.as_ptr().addr());
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return &[];
    };
    bytes
        .get(place(first)..place(last) + last.len())
        .unwrap_or(bytes)
}

fn ununderstood(path: &Path, why: serde_json::Error) -> Problem {
    Problem::config(format!("{} cannot be understood: {why}.", path.display()))
        .next("Fix the file; otherwise the next change moves it aside and starts a new one.")
        .because(why)
}

/// The records of a file in the form of [`text`], found by their lines alone: ten times as fast as reading them all. `None` for a file
/// in another form.
fn by_lines(text: &str) -> Option<Vec<&str>> {
    let body = text.strip_prefix("[\n")?.strip_suffix("\n]\n")?;
    let mut records = Vec::new();
    let mut lines = body.split('\n').peekable();
    while let Some(line) = lines.next() {
        let line = line.strip_prefix("  ")?;
        let record = match lines.peek() {
            Some(_) => line.strip_suffix(',')?,
            None => line,
        };
        if !record.starts_with('{') || !record.ends_with('}') {
            return None;
        }
        records.push(record);
    }
    Some(records)
}

/// The records of a file that another program indented by two spaces, found in the same way: strings in JSON have no line breaks, so a brace that
/// ends a record is the only one indented by two spaces. `None` for a file in another form.
fn by_indent(text: &str) -> Option<Vec<&str>> {
    const END: &str = "\n  }";
    let body = text.strip_prefix("[\n")?.trim_end().strip_suffix("\n]")?;
    let mut records = Vec::new();
    let mut start = 0;
    for end in memchr::memmem::find_iter(body.as_bytes(), END) {
        let record = body.get(start..end + END.len())?.strip_prefix("  ")?;
        if !record.starts_with("{\n") {
            return None;
        }
        records.push(record);
        start = end + END.len();
        if body.get(start..)?.starts_with(",\n") {
            start += 2;
        }
    }
    (start == body.len()).then_some(records)
}

/// A record as an object; anything else becomes an empty one.
pub(crate) fn object(raw: &str) -> Map<String, Value> {
    serde_json::from_str(raw).unwrap_or_default()
}

/// An object as a record.
///
/// # Errors
/// Never for valid JSON.
pub(crate) fn record(object: &Map<String, Value>) -> Outcome<Box<RawValue>> {
    serde_json::value::to_raw_value(object)
        .map_err(|why| Problem::internal("A record is not JSON.").because(why))
}

/// Changes the records under the file's lock. A missing file starts with the records of `beginning`, if that exists. An unreadable file is moved
/// aside, never silently replaced; the returned text says so.
///
/// # Errors
/// The lock, the disk or `change` failed; the file is then unchanged.
pub(crate) fn update(
    path: &Path,
    beginning: Option<&Path>,
    clock: &Clock,
    change: impl FnOnce(&mut Vec<Box<RawValue>>) -> Outcome<()>,
) -> Outcome<Option<String>> {
    let mut notice = None;
    lock::update_as(path, Access::Private, WAIT, |old| {
        let (from, bytes) = match (old, beginning) {
            (None, Some(other)) => (other, read(other)?),
            (old, _) => (path, old),
        };
        let bytes = bytes.unwrap_or_default();
        let mut records: Vec<Box<RawValue>> = match parsed(from, &bytes) {
            Ok(records) => records,
            Err(problem) if from == path => {
                let aside = atomic::set_aside(path, clock)?;
                notice = Some(format!(
                    "{} It was moved to {}.",
                    problem.what,
                    aside.display()
                ));
                Vec::new()
            }
            // A file that is only imported is left for its owner to repair.
            Err(problem) => {
                notice = Some(format!("{} It was not taken over.", problem.what));
                Vec::new()
            }
        };
        change(&mut records)?;
        Ok(Some(text(&records)))
    })?;
    Ok(notice)
}

/// The records, each of them understood.
fn parsed(path: &Path, bytes: &[u8]) -> Outcome<Vec<Box<RawValue>>> {
    let record = |raw: &str| RawValue::from_string(on_one_line(raw));
    raw(path, bytes)?
        .into_iter()
        .map(record)
        .collect::<Result<_, _>>()
        .map_err(|why| ununderstood(path, why))
}

/// The record without the line breaks between its parts; text has none in JSON.
fn on_one_line(raw: &str) -> String {
    raw.split('\n').map(str::trim).collect::<Vec<_>>().join(" ")
}

fn text(records: &[Box<RawValue>]) -> Vec<u8> {
    let size: usize = records.iter().map(|record| record.get().len() + 4).sum();
    let mut out = Vec::with_capacity(size + 8);
    out.push(b'[');
    for (place, record) in records.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"\n  " } else { b",\n  " });
        out.extend_from_slice(record.get().as_bytes());
    }
    out.extend_from_slice(b"\n]\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use std::fs;

    fn clock() -> Clock {
        Clock::new(&Env::from([("TZ", "UTC")]))
    }

    fn add(path: &Path, beginning: Option<&Path>, text: &str) -> Option<String> {
        let record = RawValue::from_string(text.to_owned()).unwrap();
        update(path, beginning, &clock(), |records| {
            records.push(record);
            Ok(())
        })
        .unwrap()
    }

    #[test]
    fn records_that_stay_keep_their_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/a.json");
        assert_eq!(add(&path, None, "{\"a\": 1}"), None);
        let odd = "[{\"big\": 123456789012345678901234567890, \"f\":1.50}, 7]";
        fs::write(&path, odd).unwrap();
        add(&path, None, "{}");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "[\n  {\"big\": 123456789012345678901234567890, \"f\":1.50},\n  7,\n  {}\n]\n"
        );
        let bytes = read(&path).unwrap().unwrap();
        assert_eq!(raw(&path, &bytes).unwrap().len(), 3);
        assert!(raw(&path, b"\xef\xbb\xbf []").unwrap().is_empty());
        assert!(raw(&path, b" \n").unwrap().is_empty());
    }

    #[test]
    fn a_file_of_one_record_a_line_is_split_as_it_is_read() {
        let path = Path::new("a.json");
        let own = "[\n  {\"a\": \"},\"},\n  {}\n]\n";
        assert_eq!(by_lines(own).unwrap(), raw(path, own.as_bytes()).unwrap());
        assert_eq!(by_lines(own).unwrap(), ["{\"a\": \"},\"}", "{}"]);
        for other in [
            "[{}]",
            "[\n  {}\n  {}\n]\n",
            "[\n  {\n    \"a\": 1\n  }\n]\n",
            "[\n  7\n]\n",
            "[\n]\n",
        ] {
            assert_eq!(by_lines(other), None, "{other}");
        }
        let pretty = b"[\n  {\n    \"a\": [\n      1\n    ]\n  }\n]\n";
        let records = parsed(path, pretty).unwrap();
        assert_eq!(records[0].get(), "{ \"a\": [ 1 ] }");
        assert!(by_lines(std::str::from_utf8(&text(&records)).unwrap()).is_some());
        assert!(parsed(path, b"[\n  {\"a\"}\n]\n").is_err());
    }

    #[test]
    fn a_file_of_indented_records_is_split_as_it_is_read() {
        let path = Path::new("a.json");
        let pretty = "[\n  {\n    \"a\": \"},\",\n    \"b\": [\n      {\n        \"c\": 1\n      }\n    ]\n  },\n  {\n    \"a\": {}\n  }\n]\n";
        let found = by_indent(pretty).unwrap();
        assert_eq!(found.len(), 2);
        let read: Vec<&RawValue> = serde_json::from_str(pretty).unwrap();
        let read: Vec<&str> = read.into_iter().map(RawValue::get).collect();
        assert_eq!(
            (&found, raw(path, pretty.as_bytes()).unwrap()),
            (&read, read.clone())
        );
        for other in [
            "[{}]",
            "[\n  {},\n  {\n    \"a\": 1\n  }\n]",
            "[\n  {\n    \"a\": 1\n  },\n  7\n]",
            "[\n  {\n    \"a\": 1\n  }\n  {\n    \"a\": 1\n  }\n",
            "[\n  [\n  {\n  }\n  ]\n]",
            "[\n  {\n  }",
        ] {
            assert_eq!(by_indent(other), None, "{other}");
        }
    }

    #[test]
    fn a_stretch_holds_its_records_and_no_other() {
        let bytes = b"\xef\xbb\xbf[ {\"a\":1} , 2,[3] ]";
        let records = raw(Path::new("a.json"), bytes).unwrap();
        assert_eq!(stretch(bytes, &records), b"{\"a\":1} , 2,[3]");
        assert_eq!(stretch(bytes, &records[1..2]), b"2");
        assert_eq!(stretch(bytes, &[]), b"");
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_kept_aside_and_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        fs::write(&path, "[{\"a\": 1},").unwrap();
        let notice = add(&path, None, "{}").unwrap();
        assert!(
            notice.contains("line 1") && notice.contains(".corrupt-"),
            "{notice}"
        );
        let aside = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let aside: Vec<_> = aside
            .filter(|path| path.to_string_lossy().contains("corrupt"))
            .collect();
        assert_eq!(fs::read_to_string(&aside[0]).unwrap(), "[{\"a\": 1},");
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  {}\n]\n");
    }

    #[test]
    fn a_new_file_begins_with_another_once() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.json"), dir.path().join("b.json"));
        fs::write(&other, "[1]").unwrap();
        add(&path, Some(&other), "2");
        fs::write(&other, "[1, 9]").unwrap();
        add(&path, Some(&other), "3");
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "[\n  1,\n  2,\n  3\n]\n"
        );
        assert_eq!(fs::read_to_string(&other).unwrap(), "[1, 9]");
    }
}
