//! The body of Ollama's own `/api/chat`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::json::arguments;
use crate::chat::message::Message;
use crate::llm::catalog::Row;
use crate::llm::models;
use crate::llm::provider::Request;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<Said<'a>>,
    stream: bool,
    /// Ollama's default window of 4096 tokens is far too small for the tool schemas.
    options: Options,
}

#[derive(Serialize)]
struct Options {
    num_ctx: u64,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Cow<'a, RawValue>,
}

pub(super) fn body<'a>(row: &Row, request: &Request<'a>) -> Body<'a> {
    let system = (!request.system.is_empty()).then(|| plain("system", request.system));
    Body {
        model: request.model,
        messages: system
            .into_iter()
            .chain(request.messages.iter().map(said))
            .collect(),
        stream: true,
        options: Options {
            num_ctx: models::facts(row.local, request.model).window,
        },
    }
}

fn plain<'a>(role: &'static str, content: &'a str) -> Said<'a> {
    Said {
        role,
        content,
        tool_calls: Vec::new(),
        tool_name: None,
        tool_call_id: None,
    }
}

fn said(message: &Message) -> Said<'_> {
    match message {
        Message::System { text } => plain("system", text),
        Message::User(user) => plain("user", &user.text),
        Message::Assistant(assistant) => Said {
            tool_calls: assistant
                .calls
                .iter()
                .map(|call| Call {
                    id: &call.id,
                    function: Function {
                        name: &call.name,
                        arguments: arguments(&call.args),
                    },
                })
                .collect(),
            ..plain("assistant", &assistant.text)
        },
        Message::Tool(output) => Said {
            tool_name: Some(&output.name),
            tool_call_id: Some(&output.id),
            ..plain("tool", &output.text)
        },
    }
}
