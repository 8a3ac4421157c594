//! From conversation to request body. Everything is borrowed; the tools are rendered once per offer.

mod anthropic;
mod ids;
mod json;
mod ollama;
mod openai;
mod responses;
mod tools;

#[cfg(test)]
mod responses_tests;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::{Dialect, Wire};
use crate::llm::provider::{Request, ToolFormat};

/// Enough for a system prompt and a first question.
const INITIAL_CAPACITY_BYTES: usize = 8 * 1024;

/// The body of `request` in `dialect`.
pub(super) fn body(dialect: Dialect, request: &Request<'_>) -> Vec<u8> {
    let row = dialect.row;
    let mut body = match dialect.wire {
        Wire::Completions => bytes(&openai::body(row, request)),
        Wire::Responses => bytes(&responses::body(dialect, request)),
        Wire::Ollama => bytes(&ollama::body(request)),
        Wire::Anthropic => bytes(&anthropic::body(row, request)),
    };
    if request.offer.tools.is_empty() {
        return body;
    }
    let offer = request.offer;
    let tools = match dialect.wire {
        Wire::Completions | Wire::Ollama => offer.rendered(ToolFormat::Functions, tools::functions),
        Wire::Responses if row.quirks.openai_options => offer
            .rendered(ToolFormat::FlatNotStrict, |list| {
                tools::responses(list, true)
            }),
        Wire::Responses => offer.rendered(ToolFormat::Flat, |list| tools::responses(list, false)),
        Wire::Anthropic => offer.rendered(ToolFormat::InputSchema, tools::anthropic),
    };
    // Appends a member to the object.
    body.pop();
    body.reserve(tools.len() + 48);
    body.extend_from_slice(b",\"tools\":");
    body.extend_from_slice(tools);
    if !request.may_call {
        body.extend_from_slice(match dialect.wire {
            Wire::Anthropic => b",\"tool_choice\":{\"type\":\"none\"}",
            _ => b",\"tool_choice\":\"none\"",
        });
    }
    body.push(b'}');
    body
}

/// No body contains a map whose keys are not strings, so serialization cannot fail.
fn bytes(body: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(INITIAL_CAPACITY_BYTES);
    let _ = serde_json::to_writer(&mut out, body);
    out
}
