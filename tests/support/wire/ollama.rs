//! Ollama's own `/api/chat`: one JSON object a line, tool calls whole, arguments as an object.

use serde_json::{Value, json};

/// A text reply in these pieces with the closing line.
pub fn text(expected: &[&str]) -> Vec<String> {
    let mut lines: Vec<_> = expected.iter().map(|w| say(w)).collect();
    lines.push(done("stop"));
    lines
}

/// Calls (name and arguments, no ids), a line for each, and the closing line.
pub fn calls(calls: &[(&str, Value)]) -> Vec<String> {
    let mut lines: Vec<_> = calls.iter().map(|(name, args)| call(name, args)).collect();
    lines.push(done("stop"));
    lines
}

/// A line with a piece of text.
pub fn say(text: &str) -> String {
    line(json!({"role": "assistant", "content": text}))
}

/// A line with a piece of thought.
pub fn think(text: &str) -> String {
    line(json!({"role": "assistant", "content": "", "thinking": text}))
}

/// A line with one call.
pub fn call(name: &str, args: &Value) -> String {
    line(json!({
        "role": "assistant", "content": "",
        "tool_calls": [{"function": {"name": name, "arguments": args}}],
    }))
}

/// The closing line, with the counts.
pub fn done(reason: &str) -> String {
    format!("{}\n", last(reason))
}

/// A failure, as a line in a stream or as a body of its own.
pub fn error(message: &str) -> String {
    format!("{}\n", json!({"error": message}))
}

fn line(message: Value) -> String {
    format!("{}\n", shape(message))
}

fn shape(message: Value) -> Value {
    json!({"model": "test-model", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false})
}

fn last(reason: &str) -> Value {
    let mut value = shape(json!({"role": "assistant", "content": ""}));
    value["done"] = json!(true);
    value["done_reason"] = json!(reason);
    value["prompt_eval_count"] = json!(10);
    value["eval_count"] = json!(5);
    value
}
