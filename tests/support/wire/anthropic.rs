//! Anthropic's messages stream: named events, content blocks that open, grow and close.

use serde_json::{Value, json};

use super::pieces;

/// A stream under construction; blocks are numbered as they come.
pub struct Stream {
    frames: Vec<String>,
    blocks: usize,
    called: bool,
}

/// A text reply in these pieces, ended properly.
pub fn text(expected: &[&str]) -> Vec<String> {
    Stream::new().text(expected).end()
}

/// Calls of one round: id, name, arguments.
pub fn calls(calls: &[(&str, &str, Value)]) -> Vec<String> {
    calls
        .iter()
        .fold(Stream::new(), |s, (id, name, args)| {
            s.call(id, name, &args.to_string(), 8)
        })
        .end()
}

pub fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// An error body, for an answer that is not a stream.
pub fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

impl Stream {
    /// Starts with `message_start`.
    pub fn new() -> Self {
        let start = Self {
            frames: Vec::new(),
            blocks: 0,
            called: false,
        };
        start.event(json!({"type": "message_start", "message": {
            "id": "msg_test", "type": "message", "role": "assistant", "model": "test-model", "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1},
        }}))
    }

    /// Any event, named as its `type`.
    pub fn event(mut self, value: Value) -> Self {
        let name = value["type"].as_str().unwrap_or("message").to_owned();
        self.frames.push(event(&name, &value));
        self
    }

    /// A block of text in these pieces.
    pub fn text(self, expected: &[&str]) -> Self {
        let deltas = expected
            .iter()
            .map(|w| json!({"type": "text_delta", "text": w}))
            .collect();
        self.block(json!({"type": "text", "text": ""}), deltas)
    }

    /// A block of thought and the signature that must go back with it.
    pub fn thinking(self, text: &[&str], signature: &str) -> Self {
        let mut deltas: Vec<_> = text
            .iter()
            .map(|w| json!({"type": "thinking_delta", "thinking": w}))
            .collect();
        deltas.push(json!({"type": "signature_delta", "signature": signature}));
        self.block(
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            deltas,
        )
    }

    /// A tool call whose argument text comes in pieces of `size` characters, after an empty one.
    pub fn call(mut self, id: &str, name: &str, args: &str, size: usize) -> Self {
        self.called = true;
        let deltas = std::iter::once(String::new())
            .chain(pieces(args, size))
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect();
        self.block(
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            deltas,
        )
    }

    /// A whole block: start, deltas, stop.
    pub fn block(mut self, start: Value, deltas: Vec<Value>) -> Self {
        let index = self.blocks;
        self.blocks += 1;
        let opened = self
            .event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        deltas
            .into_iter()
            .fold(opened, |s, delta| {
                s.event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
            })
            .event(json!({"type": "content_block_stop", "index": index}))
    }

    /// A sign of life.
    pub fn ping(self) -> Self {
        self.event(json!({"type": "ping"}))
    }

    /// An error in the middle of the stream.
    pub fn error(self, kind: &str, message: &str) -> Self {
        self.event(error(kind, message))
    }

    /// The stop reason and the count of tokens written.
    pub fn stop(self, reason: &str, output: u64) -> Self {
        self.event(json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": output},
        }))
    }

    /// Stop reason and `message_stop`.
    pub fn end(self) -> Vec<String> {
        let reason = if self.called { "tool_use" } else { "end_turn" };
        self.stop(reason, 5).done()
    }

    /// `message_stop` only.
    pub fn done(self) -> Vec<String> {
        self.event(json!({"type": "message_stop"})).frames
    }

    /// Unchanged, without an end.
    pub fn frames(self) -> Vec<String> {
        self.frames
    }
}
