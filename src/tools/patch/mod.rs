//! Edits of files: the Codex patch form (contract/services/apply-patch.md) and the replacement of one passage.

mod apply;
mod edit;
mod parse;
mod replace;
mod seek;
mod unified;
mod wrap;

#[cfg(test)]
mod cases;

pub use apply::{Done, apply};
pub use edit::new_text;
pub use parse::{Chunk, Line, Patch, Section, parse};
pub use replace::replace_once;
pub use unified::explain_unified_diff;
pub use wrap::unwrap_patch_text;
