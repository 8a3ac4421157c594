//! A reply cut into bounded blocks while it streams.
use super::highlight::State;
use std::sync::Arc;

/// A part of a reply that is laid out by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The source, blank lines before it included: the texts of all blocks in order are the reply.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// Whether an empty row stands before it.
    pub gap: bool,
    /// Columns of indentation its lines share, inside a list.
    pub indent: usize,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but blank lines.
    Blank,
    /// Running text, HTML, indented code.
    Paragraph,
    /// A heading.
    Heading,
    /// Items of a list.
    List {
        /// Number the item before the first was written with and the one it got, in an ordered list that goes on.
        after: Option<(u64, u64)>,
    },
    /// Quoted text.
    Quote,
    /// A table; the head (two lines) when this is a later part of one.
    Table {
        /// The two lines of the head when this is a later part.
        head: Option<Arc<str>>,
    },
    /// Part of a fenced code block.
    Code {
        /// What follows the fence.
        info: Arc<str>,
        /// The opening fence is in the text.
        opens: bool,
        /// The closing fence is in the text.
        closes: bool,
        /// State of the highlighter where the part begins.
        state: State,
    },
    /// A rule across.
    Rule,
}

/// Cuts a reply that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct Splitter {}

impl Splitter {
    /// Takes the next piece; blocks that are finished by it are appended.
    pub fn push(&mut self, text: &str, done: &mut Vec<Block>) {
        let _ = (text, done);
    }
    /// The unfinished end as it looks now.
    pub fn open(&self) -> Option<Block> {
        None
    }
    /// The reply has ended.
    pub fn finish(&mut self, done: &mut Vec<Block>) {
        let _ = done;
    }
}
