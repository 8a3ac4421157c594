//! Markdown, split into blocks as it streams and laid out block by block.

mod code;
mod flow;
mod grammar;
pub(crate) mod highlight;
pub(crate) mod last_code;
pub(crate) mod layout;
mod lines;
pub(crate) mod split;
mod table;
