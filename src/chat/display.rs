//! What a screen may paint of a tool's result, beside the text that the model reads.

use serde::Serialize;

/// A picture of what a call did. It comes from outside like every text of a tool: whoever paints it cleans it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Display {
    /// Lines of a file that took the place of others, with a few unchanged ones around them.
    Diff {
        /// The lines before.
        old: String,
        /// The lines after.
        new: String,
        /// The number of their first line, where it is known.
        first_line: Option<usize>,
    },
    /// A patch as it was written.
    Patch {
        /// The patch.
        text: String,
    },
}
