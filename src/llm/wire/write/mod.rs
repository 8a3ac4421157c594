//! Conversation to request body. Everything is borrowed; the tools are rendered once per offer.

mod anthropic;
mod ids;
mod json;
mod ollama;
mod openai;
mod tools;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::{Dialect, Wire};
use crate::llm::provider::Request;

/// Room for a system prompt and a first question.
const ROOM: usize = 8 * 1024;

/// A request's body in pieces: what every request repeats is not copied.
#[derive(Debug)]
pub struct Body<'a> {
    start: Vec<u8>,
    tools: &'a [u8],
    end: &'static [u8],
}

impl Body<'_> {
    /// The pieces, in order.
    pub fn pieces(&self) -> [&[u8]; 3] {
        [&self.start, self.tools, self.end]
    }
}

/// The body of `request` in `dialect`.
pub(super) fn body<'a>(dialect: Dialect, request: &Request<'a>) -> Body<'a> {
    let row = dialect.row;
    let start = match dialect.wire {
        Wire::OpenAi => bytes(&openai::body(row, request)),
        Wire::Ollama => bytes(&ollama::body(row, request)),
        Wire::Anthropic => bytes(&anthropic::body(row, request)),
    };
    if request.offer.tools.is_empty() {
        return Body {
            start,
            tools: b"",
            end: b"",
        };
    }
    let render = match dialect.wire {
        Wire::OpenAi | Wire::Ollama => tools::functions,
        Wire::Anthropic => tools::anthropic,
    };
    Body {
        start: opened(start),
        tools: request.offer.rendered(render),
        end: b"}",
    }
}

/// None of the bodies has a map with keys that are not strings, so serialization cannot fail.
fn bytes(body: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(ROOM);
    let _ = serde_json::to_writer(&mut out, body);
    out
}

/// An object that is to have one more member.
fn opened(mut object: Vec<u8>) -> Vec<u8> {
    object.pop();
    object.extend_from_slice(b",\"tools\":");
    object
}
