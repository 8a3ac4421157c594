//! Markdown, split into blocks as it streams and laid out block by block.

mod code;
mod flow;
mod grammar;
pub mod highlight;
pub mod layout;
mod lines;
pub mod split;
mod table;
