//! A block of Markdown: a paragraph, a part of a list, of a table or of code, with what its layout needs from the blocks before it.

use super::highlight::HighlightState;
use std::sync::Arc;

/// A part of a reply that is laid out independently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The source, including the blank lines before it: the texts of all blocks in order are the reply.
    pub text: String,
    pub kind: BlockKind,
    /// Whether an empty row precedes it.
    pub gap: bool,
    /// Columns of indentation that its lines share, inside a list.
    pub indent: usize,
}

/// The kind of a block, with the state that its layout needs from the blocks before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Only blank lines.
    Blank,
    /// Running text, HTML, indented code.
    Paragraph,
    /// A heading that begins with `#`; an underlined one is a paragraph.
    Heading,
    List {
        /// The source number of the previous item and its displayed number, when an ordered list continues.
        after: Option<(u64, u64)>,
    },
    Quote,
    Table {
        /// The two lines of the head, when this is a later part of the table.
        head: Option<Arc<str>>,
    },
    /// Part of a fenced code block.
    Code {
        /// The info string after the opening fence, usually the language.
        info: Arc<str>,
        /// The opening fence is in the text.
        opens: bool,
        /// The closing fence is in the text.
        closes: bool,
        /// State of the highlighter where the part begins.
        state: HighlightState,
    },
    Rule,
}

impl BlockKind {
    /// Whether an empty row surrounds it even if none was written.
    pub(super) fn needs_empty_row(&self) -> bool {
        match self {
            Self::Code { .. } | Self::Table { .. } | Self::Rule => true,
            Self::Blank | Self::Paragraph | Self::Heading | Self::List { .. } | Self::Quote => {
                false
            }
        }
    }

    pub(super) fn continues_previous(&self) -> bool {
        matches!(
            self,
            Self::Code { opens: false, .. } | Self::Table { head: Some(_) }
        )
    }
}

/// The displayed number of an item: incremented when the source repeats a number, otherwise as written.
pub(super) fn displayed_number(before: Option<(u64, u64)>, written: u64) -> u64 {
    match before {
        Some((last, displayed_number)) if last == written => displayed_number + 1,
        _ => written,
    }
}
