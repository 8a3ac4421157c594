//! What a model answered, read and checked: its thinking, JSON and calls that it wrote as text, notes of digests; what of an answer is never shown, and
//! how the rest is printed.

pub(crate) mod chat_answer;
pub(crate) mod clean;
pub(crate) mod echoes;
pub(crate) mod guard;
pub(crate) mod json_span;
pub(crate) mod notes;
pub(crate) mod written_calls;
