//! State files that are a JSON array of objects, one record a line: unchanged records keep their bytes, unknown keys included.

use std::path::Path;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::atomic::{self, Access};
use super::lock;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};

/// How long to wait for another process that is writing; less than a call may take.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

/// The bytes of the file; `None` when there is none.
pub(crate) fn read(path: &Path) -> Outcome<Option<Vec<u8>>> {
    atomic::read(path, atomic::STATE_CAP)
}

/// The records in a file's bytes, each verbatim.
///
/// # Errors
/// The bytes are not a JSON array; the message has the position.
pub(crate) fn raw<'a>(path: &Path, bytes: &'a [u8]) -> Outcome<Vec<&'a str>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    let records: Result<Vec<&RawValue>, _> = match std::str::from_utf8(bytes) {
        // Text is checked for UTF-8 only once; bytes would be checked again for each record.
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(bytes),
    };
    match records {
        Ok(records) => Ok(records.into_iter().map(RawValue::get).collect()),
        Err(error) => Err(corrupt(path, error)),
    }
}

fn corrupt(path: &Path, reason: serde_json::Error) -> Problem {
    Problem::config(format!(
        "{} cannot be understood: {reason}.",
        path.display()
    ))
    .next("Fix the file; otherwise the next change moves it aside and starts a new one.")
    .because(reason)
}

/// A record as an object; anything else becomes an empty one.
pub(crate) fn object(raw: &str) -> Map<String, Value> {
    serde_json::from_str(raw).unwrap_or_default()
}

pub(crate) fn record(object: &Map<String, Value>) -> Outcome<Box<RawValue>> {
    serde_json::value::to_raw_value(object)
        .map_err(|error| Problem::internal("A record is not JSON.").because(error))
}

/// Changes the records under the file's lock. A missing file starts with the records of `beginning`, if that exists. A corrupt file is moved aside, never
/// silently replaced; the returned notice says so.
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
    lock::update_as(path, Access::Private, LOCK_TIMEOUT, |old| {
        let (from, bytes) = match (old, beginning) {
            (None, Some(other)) => (other, read(other)?),
            (old, _) => (path, old),
        };
        let bytes = bytes.unwrap_or_default();
        let mut records: Vec<Box<RawValue>> = match parsed(from, &bytes) {
            Ok(records) => records,
            Err(problem) if from == path => {
                notice = Some(atomic::set_aside(path, clock, &problem.what)?);
                Vec::new()
            }
            // A corrupt file that is only imported is left for the user to fix.
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

/// The records, each of them checked.
fn parsed(path: &Path, bytes: &[u8]) -> Outcome<Vec<Box<RawValue>>> {
    let record = |raw: &str| RawValue::from_string(on_one_line(raw));
    raw(path, bytes)?
        .into_iter()
        .map(record)
        .collect::<Result<_, _>>()
        .map_err(|error| corrupt(path, error))
}

/// The record without the line breaks between its parts; JSON strings contain none.
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
    fn unchanged_records_keep_their_bytes() {
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
    fn multiline_records_become_one_line_each() {
        let path = Path::new("a.json");
        let pretty = b"[\n  {\n    \"a\": [\n      1\n    ]\n  },\n  {}\n]\n";
        let records = parsed(path, pretty).unwrap();
        assert_eq!(
            text(&records),
            b"[\n  { \"a\": [ 1 ] },\n  {}\n]\n".as_slice()
        );
        assert!(parsed(path, b"[\n  {\"a\"}\n]\n").is_err());
        assert!(raw(path, b"[\n  {\"a\"}\n]\n").is_err());
        assert!(raw(path, b"[\n  {\n    \"a\"\n  }\n]\n").is_err());
        assert!(raw(path, b"[\"\xff\"]").is_err());
    }

    #[test]
    fn a_new_file_imports_another_once() {
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
