//! The layout of a log: one entry a line or one member a line, indented or not.

use std::fs::File;
use std::os::unix::fs::FileExt;

use serde_json::Value;

/// Widest indentation that is recognised.
const INDENT: u64 = 64;

/// How the file is laid out, so that what is added looks like what is there.
#[derive(Default)]
pub(super) struct Style {
    indent: String,
    /// Each member on a line of its own.
    spread: bool,
}

impl Style {
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

    /// The entry as it goes into the file, indented.
    pub(super) fn write(&self, entry: &Value) -> String {
        if !self.spread {
            return format!("{}{entry}", self.indent);
        }
        // Line breaks inside texts are escaped, so every one here is layout.
        let lines = format!("{entry:#}").replace('\n', &format!("\n{}", self.indent));
        format!("{}{lines}", self.indent)
    }
}
