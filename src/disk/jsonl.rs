//! Line logs: one JSON value a line, added atomically, also after a line that was cut short.

use std::path::Path;

use serde::Serialize;

pub(crate) use super::tail::{Tail, tail_array};

use super::atomic::{self, Access};
use crate::base::problem::{Outcome, Problem};

/// Appends a value as a line with a single write; creates the file and its parent folders, for the owner alone.
pub(crate) fn append(path: &Path, value: &impl Serialize) -> Outcome<()> {
    let line = serde_json::to_string(value).map_err(|error| {
        Problem::internal(format!(
            "Cannot write a line of {} as JSON.",
            path.display()
        ))
        .because(error)
    })?;
    atomic::append_line(path, &line, Access::Private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_after_a_torn_one_is_separate() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/a.jsonl");
        append(&path, &json!({"a": "line\nbreak"})).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"torn\": \"\xc3"))
            .unwrap();
        append(&path, &json!([1])).unwrap();
        assert_eq!(
            std::fs::read(&path).unwrap(),
            b"{\"a\":\"line\\nbreak\"}\n{\"torn\": \"\xc3\n[1]\n"
        );
    }
}
