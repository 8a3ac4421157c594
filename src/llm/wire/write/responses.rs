//! The request body for Responses (<https://platform.openai.com/docs/api-reference/responses/create>).
//!
//! The server keeps nothing (`store: false`), so every request contains the whole conversation as items, including encrypted reasoning. What was sent
//! once is repeated with the same bytes: a prefix that changes is charged again.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::Serialize;
use serde_json::value::RawValue;

use super::effort;
use super::ids::responses_call_id;
use super::json::Members;
use super::temperature;
use crate::chat::image::Image;
use crate::chat::message::{Assistant, Message, ToolCall, ToolOutput};
use crate::llm::image_data::DataUrl;
use crate::llm::models;
use crate::llm::provider::Request;
use crate::llm::wire::Dialect;
use crate::llm::wire::optional::OptionalMember;
use crate::llm::wire::read::{SavedItem, SavedOutput};

/// The output of a call must not be empty.
const NO_OUTPUT: &str = "(no output)";

#[derive(Serialize)]
pub(super) struct ResponsesBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<InputItem<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    /// Without it the server keeps the conversation for a month.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_obfuscation: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TypedItem<'a> {
    Message {
        role: &'static str,
        content: Vec<ContentPart<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: CallOutput<'a>,
    },
}

/// What a call returned: a text, or parts where there are images.
#[derive(Serialize)]
#[serde(untagged)]
enum CallOutput<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

/// Our own item, or one that is sent back unchanged.
#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    Typed(TypedItem<'a>),
    Saved(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        image_url: DataUrl<'a>,
        detail: &'static str,
    },
    OutputText {
        text: &'a str,
    },
}

pub(super) fn body<'a>(dialect: Dialect, request: &Request<'a>) -> ResponsesBody<'a> {
    let quirks = &dialect.quirks;
    let thinks = request.info.thinks;
    let sends = |member| !dialect.without.has(member);
    ResponsesBody {
        model: request.model,
        instructions: request.system,
        input: items(dialect, request),
        stream: request.options.stream,
        temperature: temperature(dialect, request),
        store: sends(OptionalMember::Store).then_some(false),
        reasoning: (thinks && sends(OptionalMember::Effort)).then(|| Reasoning {
            effort: effort::responses(dialect, request),
            summary: dialect.summaries.then_some("auto"),
        }),
        include: (thinks && sends(OptionalMember::Include))
            .then_some(["reasoning.encrypted_content"]),
        prompt_cache_key: Some(request.cache_key)
            .filter(|key| quirks.cache_key && !key.is_empty())
            .filter(|_| sends(OptionalMember::CacheKey)),
        stream_options: (quirks.openai_options
            && request.options.stream
            && sends(OptionalMember::StreamOptions))
        .then_some(StreamOptions {
            include_obfuscation: false,
        }),
    }
}

fn items<'a>(dialect: Dialect, request: &Request<'a>) -> Vec<InputItem<'a>> {
    let developer = dialect.row.quirks.openai_options && models::takes_developer(request.model);
    let mut items = Vec::new();
    // Later instructions, for a model that accepts them only from the user.
    let mut notes: Vec<ContentPart<'a>> = Vec::new();
    for message in request.messages {
        match message {
            Message::System { text } if developer => {
                items.push(from_input(
                    "developer",
                    vec![ContentPart::InputText { text: text.into() }],
                ));
            }
            Message::System { text } => {
                notes.push(ContentPart::InputText { text: text.into() });
            }
            Message::User(user) => {
                let mut parts = std::mem::take(&mut notes);
                let text = user.text_and_missing();
                let images = parts.len();
                parts.extend(user.sent_images().map(image));
                // Some servers refuse an empty text.
                if !text.is_empty() || parts.len() == images {
                    parts.insert(images, ContentPart::InputText { text });
                }
                items.push(from_input("user", parts));
            }
            Message::Assistant(assistant) => {
                flush(&mut items, &mut notes);
                reply(dialect, request.model, assistant, &mut items);
            }
            // Results stay directly after their calls.
            Message::Tool(output) => {
                items.push(InputItem::Typed(TypedItem::FunctionCallOutput {
                    call_id: responses_call_id(&output.id),
                    output: call_output(output),
                }));
            }
        }
    }
    flush(&mut items, &mut notes);
    items
}

fn image<'a>(image: (&'a Image, &'a [u8])) -> ContentPart<'a> {
    ContentPart::InputImage {
        image_url: DataUrl(image),
        detail: "auto",
    }
}

fn call_output(output: &ToolOutput) -> CallOutput<'_> {
    let text = match output.text.is_empty() {
        true => NO_OUTPUT,
        false => &output.text,
    };
    let mut images = output.sent_images().map(image).peekable();
    if images.peek().is_none() {
        return CallOutput::Text(text);
    }
    let text = ContentPart::InputText { text: text.into() };
    CallOutput::Parts(std::iter::once(text).chain(images).collect())
}

fn flush<'a>(items: &mut Vec<InputItem<'a>>, notes: &mut Vec<ContentPart<'a>>) {
    if !notes.is_empty() {
        items.push(from_input("user", std::mem::take(notes)));
    }
}

fn from_input<'a>(role: &'static str, content: Vec<ContentPart<'a>>) -> InputItem<'a> {
    InputItem::Typed(TypedItem::Message {
        role,
        content,
        phase: None,
    })
}

/// A reply as items, in the model's order and with its reasoning if this model wrote it.
fn reply<'a>(
    dialect: Dialect,
    model: &str,
    assistant: &'a Assistant,
    items: &mut Vec<InputItem<'a>>,
) {
    let saved = Members::for_row(assistant.provider_state.as_ref(), dialect.row).get("responses");
    let saved = saved.and_then(|raw| serde_json::from_str::<SavedOutput>(raw.get()).ok());
    let saved = saved.filter(|saved| saved.model == model);
    let mut calls: VecDeque<&'a ToolCall> = assistant.calls.iter().collect();
    let mut text = Paragraphs::new(&assistant.text, saved.as_ref());
    // Reasoning is sent only together with the item that it led to.
    let mut reasoning = Vec::new();
    for item in saved.into_iter().flat_map(|saved| saved.items) {
        match item {
            SavedItem::Reasoning(raw) => reasoning.push(raw),
            SavedItem::Message { phase, bytes } => match text.next(bytes) {
                Some(text) => {
                    items.extend(reasoning.drain(..).map(InputItem::Saved));
                    items.push(output_text(text, phase));
                }
                None => reasoning.clear(),
            },
            SavedItem::Call(id) => match calls.iter().position(|call| call.id == id) {
                Some(at) => {
                    items.extend(reasoning.drain(..).map(InputItem::Saved));
                    items.extend(calls.remove(at).map(function_call));
                }
                None => reasoning.clear(),
            },
        }
    }
    if let Some(text) = text.rest() {
        items.push(output_text(text, None));
    }
    items.extend(calls.into_iter().map(function_call));
}

fn output_text(text: &str, phase: Option<String>) -> InputItem<'_> {
    InputItem::Typed(TypedItem::Message {
        role: "assistant",
        content: vec![ContentPart::OutputText { text }],
        phase,
    })
}

fn function_call(call: &ToolCall) -> InputItem<'_> {
    let arguments = call.args.trim();
    InputItem::Typed(TypedItem::FunctionCall {
        call_id: responses_call_id(&call.id),
        name: &call.name,
        arguments: if arguments.is_empty() {
            "{}"
        } else {
            &call.args
        },
    })
}

/// Splits the text of a reply into its messages if the saved lengths add up to it; otherwise everything belongs to the first message.
struct Paragraphs<'a> {
    rest: &'a str,
    exact: bool,
}

impl<'a> Paragraphs<'a> {
    fn new(text: &'a str, saved: Option<&SavedOutput>) -> Self {
        let lengths = saved.iter().flat_map(|saved| &saved.items);
        let lengths: Vec<usize> = lengths
            .filter_map(|item| match item {
                SavedItem::Message { bytes, .. } => Some(*bytes),
                _ => None,
            })
            .collect();
        let breaks = 2 * lengths.len().saturating_sub(1);
        Self {
            rest: text,
            exact: lengths
                .iter()
                .fold(breaks, |sum, length| sum.saturating_add(*length))
                == text.len(),
        }
    }

    /// The next message's text; `None` when nothing is left.
    fn next(&mut self, bytes: usize) -> Option<&'a str> {
        if !self.exact {
            return self.rest();
        }
        let Some((text, rest)) = self.rest.split_at_checked(bytes) else {
            return self.rest();
        };
        self.rest = rest.strip_prefix("\n\n").unwrap_or(rest);
        Some(text).filter(|text| !text.is_empty())
    }

    /// Everything that is left.
    fn rest(&mut self) -> Option<&'a str> {
        Some(std::mem::take(&mut self.rest)).filter(|text| !text.trim().is_empty())
    }
}
