//! A model server that plays a script by stages: each request names its stage in the first line of its system message, and gets the next unused answer of
//! that stage.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{Answer, Request, Server};

/// One answer of the script.
#[derive(Debug, Clone)]
pub struct StageAnswer {
    /// The stage that gets it; `chat` for requests that name none.
    pub stage: String,
    /// The answer's text.
    pub text: String,
    /// Native tool calls: `{"name": …, "arguments": {…}}`.
    pub calls: Vec<Value>,
    /// The model's reasoning.
    pub thinking: String,
    /// An HTTP error instead of an answer.
    pub status: Option<u16>,
    /// How long the server waits first.
    pub delay: Duration,
}

impl StageAnswer {
    pub fn text(stage: &str, text: &str) -> Self {
        Self::from_json(&json!({"stage": stage, "text": text}))
    }

    /// An entry of a script.
    pub fn from_json(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self {
            stage: text("stage"),
            text: text("text"),
            calls: value["calls"].as_array().cloned().unwrap_or_default(),
            thinking: text("thinking"),
            status: value["status"]
                .as_u64()
                .and_then(|status| u16::try_from(status).ok()),
            delay: Duration::from_millis(value["delay_ms"].as_u64().unwrap_or_default()),
        }
    }
}

/// A request for a model's answer.
#[derive(Debug, Clone)]
pub struct StageCall {
    /// Its stage; `chat` when it names none.
    pub stage: String,
    /// The whole body.
    pub body: Value,
}

/// The server and what it was asked.
pub struct StageServer {
    server: Server,
    state: Arc<Mutex<State>>,
}

struct State {
    script: Vec<Option<StageAnswer>>,
    calls: Vec<StageCall>,
    ids: usize,
}

impl StageServer {
    /// Listens with this script.
    pub fn start(script: impl IntoIterator<Item = StageAnswer>) -> Self {
        let state = Arc::new(Mutex::new(State {
            script: script.into_iter().map(Some).collect(),
            calls: Vec::new(),
            ids: 0,
        }));
        let shared = Arc::clone(&state);
        let server = Server::answering(move |request, _| answer(&shared, request)).lenient();
        Self { server, state }
    }

    /// `http://127.0.0.1:PORT` followed by `path`.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// The requests so far, in order.
    pub fn calls(&self) -> Vec<StageCall> {
        lock(&self.state).calls.clone()
    }

    /// The stages of the requests so far.
    pub fn stages(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.stage).collect()
    }

    /// The bodies of all requests, of whatever kind.
    pub fn bodies(&self) -> Vec<String> {
        self.server.requests().iter().map(Request::text).collect()
    }

    /// Adds an answer to the end of the script.
    pub fn then(&self, answer: StageAnswer) {
        lock(&self.state).script.push(Some(answer));
    }

    /// Waits until `n` requests of any kind have come.
    pub fn wait_requests(&self, n: usize, limit: Duration) {
        self.server.wait_requests(n, limit);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stage that a request names.
pub fn stage_of(body: &Value) -> String {
    let messages = body["messages"].as_array();
    let system = messages
        .into_iter()
        .flatten()
        .find(|message| message["role"] == "system")
        .map(content)
        .unwrap_or_default();
    let first = system.lines().next().unwrap_or_default();
    first
        .strip_prefix("Stage: ")
        .map_or("chat", str::trim)
        .to_owned()
}

/// The text of a message, whether it is a string or a list of parts.
pub fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

fn answer(state: &Mutex<State>, request: &Request) -> Answer {
    let own = request.path.ends_with("/api/chat");
    if request.method != "POST" || !(own || request.path.ends_with("/chat/completions")) {
        return Answer::json(&json!({"error": "not here"})).with_status(404);
    }
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        return Answer::json(&json!({"error": "no JSON"})).with_status(400);
    };
    let stage = stage_of(&body);
    let (next, first_id) = {
        let mut state = lock(state);
        state.calls.push(StageCall {
            stage: stage.clone(),
            body: body.clone(),
        });
        let next = state
            .script
            .iter_mut()
            .find(|entry| entry.as_ref().is_some_and(|entry| entry.stage == stage))
            .and_then(Option::take);
        let first_id = state.ids;
        state.ids += next.as_ref().map_or(0, |next| next.calls.len());
        (next, first_id)
    };
    let Some(next) = next else {
        return Answer::json(&json!({"error": "the script has no answer left"})).with_status(500);
    };
    thread::sleep(next.delay);
    if let Some(status) = next.status {
        return Answer::json(&json!({"error": "as the script says"})).with_status(status);
    }
    match (own, body["stream"].as_bool().unwrap_or(own)) {
        (true, false) => Answer::json(&ollama(&next, true)),
        (true, true) => {
            let mut said = ollama(&next, false);
            said["done"] = json!(false);
            Answer::ndjson([
                format!("{said}\n"),
                format!("{}\n", ollama(&StageAnswer::text("", ""), true)),
            ])
        }
        (false, false) => Answer::json(&completion(&next, first_id)),
        (false, true) => Answer::sse(streamed(&next, first_id)),
    }
}

fn ollama(next: &StageAnswer, done: bool) -> Value {
    let mut message = json!({"role": "assistant", "content": next.text});
    if !next.thinking.is_empty() {
        message["thinking"] = json!(next.thinking);
    }
    if !next.calls.is_empty() {
        let calls = next.calls.iter();
        message["tool_calls"] = calls.map(|call| json!({"function": call})).collect();
    }
    let mut value = json!({
        "model": "test-model", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done,
    });
    if done {
        value["done_reason"] = json!("stop");
        value["prompt_eval_count"] = json!(10);
        value["eval_count"] = json!(5);
    }
    value
}

/// The message of a chat completion, its finish reason and its calls with ids.
fn message(next: &StageAnswer, first_id: usize) -> (Value, &'static str) {
    let mut message = json!({"role": "assistant", "content": next.text});
    if !next.thinking.is_empty() {
        message["reasoning_content"] = json!(next.thinking);
    }
    let calls: Vec<Value> = next
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            json!({
                "index": index, "id": format!("call_{}", first_id + index), "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"].to_string()},
            })
        })
        .collect();
    if calls.is_empty() {
        return (message, "stop");
    }
    message["tool_calls"] = json!(calls);
    (message, "tool_calls")
}

fn completion(next: &StageAnswer, first_id: usize) -> Value {
    let (message, finish) = message(next, first_id);
    json!({
        "id": "chatcmpl-test", "object": "chat.completion", "created": 1_700_000_000, "model": "test-model",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
}

fn streamed(next: &StageAnswer, first_id: usize) -> Vec<String> {
    let (delta, finish) = message(next, first_id);
    let chunk = |choices: Value| {
        json!({
            "id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "test-model",
            "choices": choices,
        })
    };
    let mut last = chunk(json!([]));
    last["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let frames = [
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])),
        chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}])),
        last,
    ];
    let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
    frames.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// A server of Ollama whose answer `make` gives, by the stage of the request and its body. Other requests get 404.
pub fn ollama_by_stage(make: impl Fn(&str, &Value) -> Answer + Send + Sync + 'static) -> Server {
    Server::answering(move |request, _| {
        if request.method != "POST" || !request.path.ends_with("/api/chat") {
            return Answer::status(404);
        }
        let body = request.json();
        make(&stage_of(&body), &body)
    })
    .lenient()
}

/// A text as Ollama answers it: in lines if the request wants a stream.
pub fn ollama_says(body: &Value, text: &str) -> Answer {
    ollama_answers(body, &StageAnswer::text("", text)).0
}

/// Text and calls as Ollama answers them, and the bytes of that.
pub fn ollama_answers(body: &Value, said: &StageAnswer) -> (Answer, String) {
    if body["stream"] == false {
        let whole = ollama(said, true);
        return (Answer::json(&whole), whole.to_string());
    }
    let mut piece = ollama(said, false);
    piece["done"] = json!(false);
    let end = ollama(&StageAnswer::text("", ""), true);
    let lines = [format!("{piece}\n"), format!("{end}\n")];
    let text = lines.concat();
    (Answer::ndjson(lines), text)
}

/// The last message of a request.
pub fn last_message(body: &Value) -> String {
    let last = body["messages"].as_array().and_then(|rows| rows.last());
    last.map(content).unwrap_or_default()
}
