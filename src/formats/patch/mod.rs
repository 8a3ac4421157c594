//! Edits of files: the Codex patch format, unified diffs, line commands, and the replacement of one passage.
//!
//! Each form is a file, `seek` finds the place of a chunk, `wrap` undoes what models put around a patch. Called by the tools that edit files; it gets texts
//! and returns texts, so what may be written is for its callers to decide.

pub(crate) mod commands;
pub(crate) mod edit;
pub(crate) mod hunks;
pub mod parse;
pub(crate) mod replace;
pub(crate) mod seek;
pub(crate) mod unified;
pub(crate) mod wrap;

pub use commands::{apply_commands, is_commands};
pub use edit::new_text;
pub use hunks::{apply_hunks, is_hunks};
pub use parse::{Section, parse};
pub use replace::replace_once;
pub use unified::explain_unified_diff;
pub(crate) use wrap::fence;
pub use wrap::unwrap_patch_text;

/// A text after an edit, and what was done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    pub text: String,
    /// One line for each hunk or command.
    pub report: Vec<String>,
}

/// Removes the last line break of a text that must not end in one.
fn without_last_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    if text.ends_with('\r') {
        text.pop();
    }
    text
}

/// The byte-order mark, and the text after it.
fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    }
}
