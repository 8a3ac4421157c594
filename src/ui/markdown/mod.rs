//! Markdown, split into blocks as it streams and laid out block by block.
//!
//! `split` makes blocks of what arrives, `lines` says what a line begins, `flow` lays out a block, `table` and `code` their kinds, `highlight` colours by
//! `grammar`. Called by the conversation of the full screen. It knows no session and no screen: texts become rows of a width.

pub(crate) mod block;
mod code;
mod flow;
mod grammar;
pub(crate) mod highlight;
pub(crate) mod last_code;
pub(crate) mod layout;
mod lines;
pub(crate) mod split;
mod table;
