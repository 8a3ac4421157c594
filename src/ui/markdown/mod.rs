//! Markdown, split into blocks as it streams and laid out block by block.

pub mod highlight;
pub mod layout;
pub mod split;
