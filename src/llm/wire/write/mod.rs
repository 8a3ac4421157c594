//! Conversation to request body. Everything is borrowed; the schemas of the tools are rendered once per offer.

mod anthropic;
mod ids;
mod json;
mod ollama;
mod openai;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::{Dialect, Wire};
use crate::llm::provider::Request;

/// The body of `request` in `dialect`.
pub(super) fn body(dialect: Dialect, request: &Request<'_>) -> Vec<u8> {
    let row = dialect.row;
    match dialect.wire {
        Wire::OpenAi => bytes(&openai::body(row, request)),
        Wire::Ollama => bytes(&ollama::body(row, request)),
        Wire::Anthropic => bytes(&anthropic::body(row, request)),
    }
}

/// None of the bodies has a map with keys that are not text, so nothing here can fail.
fn bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}
