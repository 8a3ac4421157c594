//! The body of Ollama's own `/api/chat`.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::effort::Think;
use super::json::arguments;
use crate::chat::image::Image;
use crate::chat::message::Message;
use crate::llm::image_data::Base64;
use crate::llm::provider::Request;
use crate::llm::wire::Dialect;
use crate::llm::wire::optional::OptionalMember;

#[derive(Serialize)]
pub(super) struct OllamaBody<'a> {
    model: &'a str,
    messages: Vec<OllamaAssistant<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    /// Ollama's default window of 4096 tokens is far too small for the tool schemas.
    options: Options,
}

#[derive(Serialize)]
struct Options {
    num_ctx: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
}

#[derive(Serialize)]
struct OllamaAssistant<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<Base64<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaCallOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(Serialize)]
struct OllamaCallOut<'a> {
    id: &'a str,
    function: OllamaFunctionOut<'a>,
}

#[derive(Serialize)]
struct OllamaFunctionOut<'a> {
    name: &'a str,
    arguments: Cow<'a, RawValue>,
}

pub(super) fn body<'a>(dialect: Dialect, request: &Request<'a>) -> OllamaBody<'a> {
    let system = (!request.system.is_empty()).then(|| plain("system", request.system));
    OllamaBody {
        model: request.model,
        messages: system
            .into_iter()
            .chain(request.messages.iter().map(said))
            .collect(),
        stream: request.options.stream,
        think: Think::of(dialect, request),
        options: Options {
            num_ctx: request.options.window.unwrap_or(request.info.window),
            temperature: (request.options.temperature)
                .filter(|_| !dialect.without.has(OptionalMember::Temperature)),
        },
    }
}

fn plain<'a>(role: &'static str, content: impl Into<Cow<'a, str>>) -> OllamaAssistant<'a> {
    OllamaAssistant {
        role,
        content: content.into(),
        images: Vec::new(),
        tool_calls: Vec::new(),
        tool_name: None,
        tool_call_id: None,
    }
}

fn images<'a>(sent: impl Iterator<Item = (&'a Image, &'a [u8])>) -> Vec<Base64<'a>> {
    sent.map(|(_, bytes)| Base64(bytes)).collect()
}

fn said(message: &Message) -> OllamaAssistant<'_> {
    match message {
        Message::System { text } => plain("system", text),
        Message::User(user) => OllamaAssistant {
            images: images(user.sent_images()),
            ..plain("user", user.text_and_missing())
        },
        Message::Assistant(assistant) => OllamaAssistant {
            tool_calls: assistant
                .calls
                .iter()
                .map(|call| OllamaCallOut {
                    id: &call.id,
                    function: OllamaFunctionOut {
                        name: &call.name,
                        arguments: arguments(&call.args),
                    },
                })
                .collect(),
            ..plain("assistant", &assistant.text)
        },
        Message::Tool(output) => OllamaAssistant {
            tool_name: Some(&output.name),
            tool_call_id: Some(&output.id),
            images: images(output.sent_images()),
            ..plain("tool", &output.text)
        },
    }
}
