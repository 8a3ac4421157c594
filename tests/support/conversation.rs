//! A conversation with a scripted model that speaks chat completions: its answers, and what it was sent.

use serde_json::{Value, json};

use super::server::{Answer, Exchange, Server};
use super::wire::openai;

/// A whole answer of text.
pub fn says(text: &str) -> Answer {
    Answer::sse(openai::text(&[text]))
}

/// An answer that consists of one call.
pub fn calls(name: &str, args: Value) -> Answer {
    Answer::sse(openai::call("call_1", name, args))
}

/// A server that plays these answers, one a request.
pub fn playing(answers: impl IntoIterator<Item = Answer>) -> Server {
    Server::with(
        answers
            .into_iter()
            .map(|answer| Exchange::post("/chat/completions").answer(answer)),
    )
}

/// The messages of a request, the system prompt first.
pub fn messages(server: &Server, request: usize) -> Vec<Value> {
    match server.request(request).json()["messages"].take() {
        Value::Array(messages) => messages,
        other => panic!("no list of messages: {other}"),
    }
}

/// Role and text of a request's messages, the system prompt left out.
pub fn sent(server: &Server, request: usize) -> Vec<(String, String)> {
    let expected = |message: &Value| {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        (role, text)
    };
    messages(server, request)
        .iter()
        .skip(1)
        .map(expected)
        .collect()
}

/// The text of a request's last message.
pub fn last_sent(server: &Server, request: usize) -> String {
    sent(server, request).pop().expect("a message").1
}

/// A list of entries or messages as it is compared.
pub fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(role, text)| ((*role).to_owned(), (*text).to_owned()))
        .collect()
}

/// An entry of the chat log.
pub fn entry(role: &str, text: impl Into<String>) -> Value {
    json!({"role": role, "text": text.into(), "time": "14:30"})
}
