//! From conversation to request body. Everything is borrowed and written once, into the body itself.

mod anthropic;
mod cache_marks;
pub(crate) mod effort;
mod ids;
mod json;
mod ollama;
mod openai;
mod responses;
mod tools;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::optional::OptionalMember;
use super::{Dialect, Wire};
use crate::chat::message::Message;
use crate::llm::models::EffortControl;
use crate::llm::provider::{Offer, Request};
use cache_marks::CacheMarks;
use tools::SentTools;

/// Room for what is neither text of the conversation nor a tool.
const FRAME_BYTES: usize = 1024;

/// What is written around the text of a message, about.
const MESSAGE_BYTES: usize = 64;

pub(super) fn body(dialect: Dialect, request: &Request<'_>) -> Vec<u8> {
    let tools = &request.offer.tools;
    let sends = |member| !dialect.without.has(member);
    let mut out = Vec::with_capacity(expected_bytes(request));
    match dialect.wire {
        Wire::Completions => write(&mut out, &openai::body(dialect, request)),
        Wire::Responses => write(&mut out, &responses::body(dialect, request)),
        Wire::Ollama => write(&mut out, &ollama::body(dialect, request)),
        Wire::Anthropic => write(&mut out, &anthropic::body(dialect, request)),
    }
    if tools.is_empty() {
        return out;
    }
    // Appends a member to the object.
    out.pop();
    out.extend_from_slice(b",\"tools\":");
    match dialect.wire {
        Wire::Completions => {
            let marks = CacheMarks::of(dialect, request.model) == Some(CacheMarks::All);
            tools::functions(&mut out, tools, marks);
        }
        Wire::Ollama => tools::functions(&mut out, tools, false),
        Wire::Responses => {
            let strict = dialect.quirks.openai_options;
            tools::responses(&mut out, tools, strict && sends(OptionalMember::Strict));
        }
        Wire::Anthropic => {
            let sent = sent_tools(dialect, request.offer);
            tools::anthropic(&mut out, &sent, sends(OptionalMember::CacheMarks));
        }
    }
    if !request.may_call && sends(OptionalMember::ToolChoice) {
        out.extend_from_slice(match dialect.wire {
            Wire::Anthropic => b",\"tool_choice\":{\"type\":\"none\"}",
            _ => b",\"tool_choice\":\"none\"",
        });
    }
    out.push(b'}');
    out
}

/// The tools of a request over `dialect`, in the order in which they are sent.
pub(crate) fn sent_tools(dialect: Dialect, offer: &Offer) -> SentTools<'_> {
    let defers = dialect.wire == Wire::Anthropic
        && dialect.quirks.deferred_tools
        && !dialect.without.has(OptionalMember::DeferredTools);
    SentTools::of(offer, defers)
}

/// The temperature of `request`, where its model takes one: a service's models that think by themselves refuse it with 400.
fn temperature(dialect: Dialect, request: &Request<'_>) -> Option<f64> {
    let efforts = request.info.efforts;
    let thinks = efforts.control() == EffortControl::Word && !efforts.is_empty();
    request
        .options
        .temperature
        .filter(|_| !thinks || dialect.row.local)
        .filter(|_| !dialect.without.has(OptionalMember::Temperature))
}

/// Enough for most bodies, so that a body is not moved while it is written: an eighth more than the texts for what JSON escapes.
fn expected_bytes(request: &Request<'_>) -> usize {
    let messages = request.messages.iter();
    let messages: usize = messages
        .map(|message| message.len() + MESSAGE_BYTES + image_bytes(message))
        .sum();
    let text = request.system.len() + messages;
    text + text / 8 + request.offer.bytes() + FRAME_BYTES
}

/// Bytes of the images of a message in base64.
fn image_bytes(message: &Message) -> usize {
    let images = message
        .images()
        .iter()
        .filter_map(|image| image.data.as_ref());
    images
        .map(|bytes| bytes.len() / 3 * 4 + MESSAGE_BYTES)
        .sum()
}

/// No body contains a map whose keys are not strings, so serialization cannot fail.
fn write(out: &mut Vec<u8>, body: &impl Serialize) {
    let _ = serde_json::to_writer(out, body);
}
