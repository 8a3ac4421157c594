//! The stream of OpenAI's Responses: items that are added, grow and are done, and a last event that repeats them.

use serde_json::{Value, json};

use super::pieces;

/// A stream under construction; items are numbered as they come.
pub struct Stream {
    frames: Vec<String>,
    items: Vec<Value>,
    usage: Value,
}

/// A text reply in these pieces, ended properly.
pub fn text(words: &[&str]) -> Vec<String> {
    Stream::new().text(words).end()
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

/// An error body, for an answer that is not a stream.
pub fn error(code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}})
}

impl Stream {
    /// Starts with `response.created`.
    pub fn new() -> Self {
        let start = Self {
            frames: Vec::new(),
            items: Vec::new(),
            usage: json!({
                "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
            }),
        };
        start.event(
            "response.created",
            json!({"response": {"id": "resp_test", "object": "response", "status": "in_progress", "output": []}}),
        )
    }

    /// The usage in the last event.
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = usage;
        self
    }

    pub fn event(mut self, name: &str, mut fields: Value) -> Self {
        fields["type"] = json!(name);
        fields["sequence_number"] = json!(self.frames.len());
        self.frames
            .push(format!("event: {name}\ndata: {fields}\n\n"));
        self
    }

    /// A message in these pieces.
    pub fn text(self, words: &[&str]) -> Self {
        self.message(words, None)
    }

    pub fn message(self, words: &[&str], phase: Option<&str>) -> Self {
        let index = self.items.len();
        let item = |text: &[Value]| {
            let mut item = json!({"type": "message", "id": format!("msg_{index}"), "role": "assistant", "content": text});
            if let Some(phase) = phase {
                item["phase"] = json!(phase);
            }
            item
        };
        let opened = self.event(
            "response.output_item.added",
            json!({"output_index": index, "item": item(&[])}),
        );
        let whole = words.concat();
        let grown = words.iter().fold(opened, |s, word| {
            let obfuscation = "x".repeat(1 + word.len() % 7);
            s.event(
                "response.output_text.delta",
                json!({"output_index": index, "item_id": format!("msg_{index}"), "content_index": 0, "delta": word, "logprobs": [], "obfuscation": obfuscation}),
            )
        });
        grown.done(item(&[
            json!({"type": "output_text", "text": whole, "annotations": []}),
        ]))
    }

    /// Reasoning: a summary, and what only the provider can read.
    pub fn reasoning(self, summary: &str, encrypted: &str) -> Self {
        let index = self.items.len();
        let item = |parts: Value, encrypted: &str| json!({"type": "reasoning", "id": format!("rs_{index}"), "summary": parts, "encrypted_content": encrypted});
        self.event(
            "response.output_item.added",
            json!({"output_index": index, "item": item(json!([]), "")}),
        )
        .event(
            "response.reasoning_summary_text.delta",
            json!({"output_index": index, "summary_index": 0, "delta": summary}),
        )
        .done(item(
            json!([{"type": "summary_text", "text": summary}]),
            encrypted,
        ))
    }

    /// A call whose argument text comes in pieces of `size` characters.
    pub fn call(self, id: &str, name: &str, args: &str, size: usize) -> Self {
        let index = self.items.len();
        let item = |args: &str| json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id, "name": name, "arguments": args});
        let opened = self.event(
            "response.output_item.added",
            json!({"output_index": index, "item": item("")}),
        );
        pieces(args, size)
            .into_iter()
            .fold(opened, |s, piece| {
                s.event(
                    "response.function_call_arguments.delta",
                    json!({"output_index": index, "item_id": format!("fc_{index}"), "delta": piece}),
                )
            })
            .done(item(args))
    }

    /// The newest item, whole.
    pub fn done(mut self, item: Value) -> Self {
        let index = self.items.len();
        self.items.push(item.clone());
        self.event(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        )
    }

    /// `response.completed`.
    pub fn end(self) -> Vec<String> {
        self.end_as("completed", Value::Null)
    }

    /// The last event with another status, and why it is incomplete.
    pub fn end_as(self, status: &str, details: Value) -> Vec<String> {
        let response = json!({
            "id": "resp_test", "object": "response", "status": status, "error": null,
            "incomplete_details": details, "output": self.items, "usage": self.usage,
        });
        self.event(&format!("response.{status}"), json!({"response": response}))
            .frames
    }

    /// Unchanged, without an end.
    pub fn frames(self) -> Vec<String> {
        self.frames
    }
}
