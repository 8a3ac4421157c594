//! Chat-completions streams: server-sent events with one JSON chunk each.

use serde_json::{Value, json};

/// A stream under construction; `end` (or `frames` for one without an end) returns the frames.
pub struct Stream {
    frames: Vec<String>,
    called: bool,
}

/// A text reply in these pieces, ended properly.
pub fn text(expected: &[&str]) -> Vec<String> {
    Stream::new().text(expected).end()
}

/// Calls of one round, each whole in one chunk: id, name, arguments.
pub fn calls(calls: &[(&str, &str, Value)]) -> Vec<String> {
    let start = Stream::new();
    calls
        .iter()
        .enumerate()
        .fold(start, |s, (i, (id, name, args))| {
            s.call(i, id, name, &args.to_string())
        })
        .end()
}

pub fn call(id: &str, name: &str, args: Value) -> Vec<String> {
    calls(&[(id, name, args)])
}

/// One frame with any JSON.
pub fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// One chunk with this delta and finish reason.
pub fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "test-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

/// The same reply unstreamed.
pub fn whole(text: &str) -> Value {
    json!({
        "id": "chatcmpl-test", "object": "chat.completion", "created": 1_700_000_000, "model": "test-model",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": usage(10, 5),
    })
}

/// An error body as most of them send it.
pub fn error(message: &str, kind: &str, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "code": code}})
}

fn usage(input: u64, output: u64) -> Value {
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output})
}

impl Stream {
    /// Starts with the empty delta that names the role.
    pub fn new() -> Self {
        let start = Self {
            frames: Vec::new(),
            called: false,
        };
        start.delta(json!({"role": "assistant", "content": ""}))
    }

    pub fn delta(self, delta: Value) -> Self {
        self.raw(data(&chunk(delta, None)))
    }

    /// Text, one chunk for each piece.
    pub fn text(self, expected: &[&str]) -> Self {
        expected
            .iter()
            .fold(self, |s, word| s.delta(json!({"content": word})))
    }

    /// Thoughts in the field most servers use.
    pub fn reasoning(self, text: &[&str]) -> Self {
        text.iter()
            .fold(self, |s, word| s.delta(json!({"reasoning_content": word})))
    }

    /// A tool call whole in one chunk; `args` is the raw argument text.
    pub fn call(mut self, index: usize, id: &str, name: &str, args: &str) -> Self {
        self.called = true;
        self.delta(json!({"tool_calls": [{
            "index": index, "id": id, "type": "function", "function": {"name": name, "arguments": args},
        }]}))
    }

    /// The chunk with the finish reason.
    pub fn finish(self, reason: &str) -> Self {
        self.raw(data(&chunk(json!({}), Some(reason))))
    }

    /// The chunk with the token counts and no choice.
    pub fn usage(self, input: u64, output: u64) -> Self {
        let mut value = chunk(json!({}), None);
        value["choices"] = json!([]);
        value["usage"] = usage(input, output);
        self.raw(data(&value))
    }

    /// An error in the middle of a stream that began with 200.
    pub fn error(self, message: &str) -> Self {
        self.raw(data(&error(message, "server_error", None)))
    }

    /// A comment line, as some servers send while they wait.
    pub fn comment(self, text: &str) -> Self {
        self.raw(format!(": {text}\n\n"))
    }

    pub fn raw(mut self, frame: impl Into<String>) -> Self {
        self.frames.push(frame.into());
        self
    }

    /// Finish reason, token counts and `[DONE]`.
    pub fn end(self) -> Vec<String> {
        let reason = if self.called { "tool_calls" } else { "stop" };
        self.finish(reason).usage(10, 5).done()
    }

    /// `[DONE]` only.
    pub fn done(self) -> Vec<String> {
        self.raw("data: [DONE]\n\n").frames
    }

    /// Unchanged: no finish reason and no `[DONE]`, unless they were added.
    pub fn frames(self) -> Vec<String> {
        self.frames
    }
}
