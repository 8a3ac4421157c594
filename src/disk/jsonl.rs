//! Line logs: one JSON value a line, added whole, read although the last line may be torn.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

pub(crate) use super::tail::{Tail, tail_array};

use super::atomic::{self, Access};
use crate::base::problem::{Outcome, Problem};

/// The contents of a line log.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lines {
    /// The values in order.
    pub values: Vec<Value>,
    /// Lines that are not JSON: torn by a crash or damaged.
    pub skipped: usize,
}

/// Adds one value as a line with a single write; makes the file and the folders above it, for the owner alone.
///
/// # Errors
/// The disk is full or not writable.
pub(crate) fn append(path: &Path, value: &impl Serialize) -> Outcome<()> {
    let line = serde_json::to_string(value).map_err(|why| {
        Problem::internal(format!(
            "Cannot write a line of {} as JSON.",
            path.display()
        ))
        .because(why)
    })?;
    atomic::append_line(path, &line, Access::Private)
}

/// Reads a log of at most `cap` bytes; a missing one is empty.
///
/// # Errors
/// It cannot be read or is longer.
pub(crate) fn read(path: &Path, cap: u64) -> Outcome<Lines> {
    let bytes = atomic::read(path, cap)?.unwrap_or_default();
    let mut lines = Lines::default();
    for line in bytes.split(|b| *b == b'\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(value) => lines.values.push(value),
            Err(_) => lines.skipped += 1,
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_torn_line_costs_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/a.jsonl");
        assert_eq!(read(&path, 100).unwrap(), Lines::default());
        append(&path, &json!({"a": "line\nbreak"})).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"torn\": \"\xc3"))
            .unwrap();
        append(&path, &json!([1])).unwrap();
        let lines = read(&path, 1_000).unwrap();
        assert_eq!(lines.values, [json!({"a": "line\nbreak"}), json!([1])]);
        assert_eq!(lines.skipped, 1);
    }
}
