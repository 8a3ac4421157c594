//! The layout of a log: one entry or one member per line, indented or not.

use std::fs::File;
use std::os::unix::fs::FileExt;

use serde::Serialize;

/// Widest indentation that is recognised.
const INDENT: u64 = 64;

/// The layout of the file, so that additions match it.
#[derive(Default)]
pub(super) struct LogStyle {
    indent: String,
    /// One member per line.
    spread: bool,
}

impl LogStyle {
    /// The layout of the entry that begins at `start`.
    pub(super) fn of(file: &File, start: u64) -> std::io::Result<Self> {
        let from = start.saturating_sub(INDENT);
        let mut around = [0; INDENT as usize + 2];
        let length = usize::try_from(start - from).unwrap_or_default() + 2;
        let around = around.get_mut(..length).unwrap_or_default();
        file.read_exact_at(around, from)?;
        let (before, entry) = around.split_at(length - 2);
        let is_space = |b: &&u8| matches!(b, b' ' | b'\t');
        let indent = before.iter().rev().take_while(is_space).count();
        let (line, indent) = before.split_at(before.len() - indent);
        let own_line = line.last() == Some(&b'\n');
        Ok(Self {
            indent: String::from_utf8_lossy(if own_line { indent } else { b"" }).into_owned(),
            spread: own_line && entry.last().is_some_and(|b| matches!(b, b'\n' | b'\r')),
        })
    }

    /// Appends the entry, indented as in the file.
    pub(super) fn write(&self, entry: &NewEntry<'_>, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.extend_from_slice(self.indent.as_bytes());
        if !self.spread {
            return serde_json::to_writer(out, entry);
        }
        // Line breaks inside strings are escaped, so every one here is layout.
        let lines = serde_json::to_string_pretty(entry)?;
        out.extend_from_slice(
            lines
                .replace('\n', &format!("\n{}", self.indent))
                .as_bytes(),
        );
        Ok(())
    }
}

/// An entry to be written. A reply of several megabytes is copied only once, into the bytes for the file.
#[derive(Serialize)]
pub(super) struct NewEntry<'a> {
    pub(super) role: &'static str,
    pub(super) text: &'a str,
    pub(super) time: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<String>,
}
