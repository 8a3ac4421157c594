//! Markdown, split into blocks as it streams and laid out block by block.
