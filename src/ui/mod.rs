//! Floor 7: what a person sees and types into.

pub mod editor;
pub mod keys;
pub mod markdown;
pub mod term;
pub mod text;
