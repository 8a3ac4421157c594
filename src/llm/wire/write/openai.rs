//! The body of a chat completion.

use std::borrow::Cow;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::ids::call_id;
use super::json::Members;
use super::temperature;
use crate::chat::message::{Assistant, Message, ToolCall};
use crate::llm::catalog::ProviderSpec;
use crate::llm::image_data::DataUrl;
use crate::llm::models::ReasoningEffort;
use crate::llm::provider::{Effort, Request};

/// The placeholder signature that Google documents for calls made by another model: Gemini 3 refuses calls without one.
#[derive(Serialize)]
struct Unsigned {
    google: Signature,
}

#[derive(Serialize)]
struct Signature {
    thought_signature: &'static str,
}

const UNSIGNED: Unsigned = Unsigned {
    google: Signature {
        thought_signature: "skip_thought_signature_validator",
    },
};

/// `max_tokens` is sent only on request: Groq counts it towards the tokens-per-minute limit.
#[derive(Serialize)]
pub(super) struct CompletionBody<'a> {
    model: &'a str,
    messages: Messages<'a>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_body: Option<Gemini>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// Gemini's own options, where its compatible endpoint looks for them.
#[derive(Serialize)]
struct Gemini {
    google: GoogleExtra,
}

#[derive(Serialize)]
struct GoogleExtra {
    thinking_config: Thinking,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Thinking {
    ThinkingLevel(&'static str),
    ThinkingBudget(u32),
}

struct Messages<'a> {
    row: &'a ProviderSpec,
    /// Calls of other models get [`UNSIGNED`].
    signs: bool,
    system: &'a str,
    messages: &'a [Message],
}

#[derive(Serialize)]
struct PlainMessage<'a> {
    role: &'static str,
    content: &'a str,
}

/// A message with images.
#[derive(Serialize)]
struct PartsMessage<'a> {
    role: &'static str,
    content: Vec<CompletionPart<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CompletionPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct ToolAnswer<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: &'a str,
}

struct CompletionAssistant<'a> {
    row: &'a ProviderSpec,
    signs: bool,
    assistant: &'a Assistant,
}

struct CompletionCall<'a> {
    row: &'a ProviderSpec,
    unsigned: bool,
    call: &'a ToolCall,
}

#[derive(Serialize)]
struct CompletionFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

pub(super) fn body<'a>(row: &'a ProviderSpec, request: &Request<'a>) -> CompletionBody<'a> {
    let offers = !request.offer.tools.is_empty();
    CompletionBody {
        model: request.model,
        messages: Messages {
            row,
            signs: row.quirks.gemini_thinking && gemini_3(request.model),
            system: request.system,
            messages: request.messages,
        },
        stream: request.options.stream,
        stream_options: (row.quirks.usage_option && request.options.stream).then_some(
            StreamOptions {
                include_usage: true,
            },
        ),
        temperature: temperature(request),
        reasoning_effort: (request.info.efforts.nearest(request.effort.into()))
            .filter(|_| row.quirks.effort)
            .map(ReasoningEffort::word),
        prompt_cache_key: Some(request.cache_key)
            .filter(|key| row.quirks.cache_key && !key.is_empty()),
        extra_body: (row.quirks.gemini_thinking && !offers)
            .then(|| {
                // The mode's effort is for models that think by themselves; here thinking is switched on.
                let effort = Some(request.effort).filter(|_| request.effort_chosen);
                thinking(request.model, effort.unwrap_or(Effort::Low))
            })
            .flatten(),
    }
}

/// Gemini's thinking options, only without tools. The budgets of medium and high are those that Google gives these words
/// (<https://ai.google.dev/gemini-api/docs/openai#thinking>).
fn thinking(model: &str, effort: Effort) -> Option<Gemini> {
    let thinking_config = if gemini_3(model) {
        Thinking::ThinkingLevel(effort.word())
    } else if model.contains("gemini-2.5") {
        Thinking::ThinkingBudget(match effort {
            Effort::Low => 2048,
            Effort::Medium => 8192,
            Effort::High => 24_576,
        })
    } else {
        return None;
    };
    Some(Gemini {
        google: GoogleExtra { thinking_config },
    })
}

fn gemini_3(model: &str) -> bool {
    model.contains("gemini-3")
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(None)?;
        let mut plain = |role, content| list.serialize_element(&PlainMessage { role, content });
        if !self.system.is_empty() {
            plain("system", self.system)?;
        }
        for message in self.messages {
            match message {
                Message::System { text } => list.serialize_element(&PlainMessage {
                    role: "system",
                    content: text,
                }),
                Message::User(user) => {
                    let (role, text) = ("user", user.text_and_missing());
                    let mut content = vec![CompletionPart::Text { text: &text }];
                    content.extend(user.sent_images().map(|image| CompletionPart::ImageUrl {
                        image_url: ImageUrl {
                            url: DataUrl(image),
                        },
                    }));
                    // Servers that know no parts take a plain text.
                    match content.len() {
                        1 => list.serialize_element(&PlainMessage {
                            role,
                            content: &text,
                        }),
                        _ => list.serialize_element(&PartsMessage { role, content }),
                    }
                }
                Message::Assistant(assistant) => list.serialize_element(&CompletionAssistant {
                    row: self.row,
                    signs: self.signs,
                    assistant,
                }),
                Message::Tool(output) => list.serialize_element(&ToolAnswer {
                    role: "tool",
                    tool_call_id: call_id(&output.id, self.row),
                    content: &output.text,
                }),
            }?;
        }
        list.end()
    }
}

impl Serialize for CompletionAssistant<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Assistant {
            text,
            calls,
            provider_state: keep,
        } = self.assistant;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("role", "assistant")?;
        let content = Some(text).filter(|text| !text.is_empty() || calls.is_empty());
        map.serialize_entry("content", &content)?;
        if !calls.is_empty() {
            let row = self.row;
            let kept = |call: &ToolCall| {
                call.provider_state
                    .as_ref()
                    .is_some_and(|k| k.provider == row.name)
            };
            let unsigned = self.signs && !calls.iter().any(kept);
            let calls: Vec<CompletionCall<'_>> = calls
                .iter()
                .enumerate()
                .map(|(at, call)| CompletionCall {
                    row,
                    unsigned: unsigned && at == 0,
                    call,
                })
                .collect();
            map.serialize_entry("tool_calls", &calls)?;
        }
        let own = ["role", "content", "tool_calls", "responses"];
        Members::for_row(keep.as_ref(), self.row).write(&mut map, &own)?;
        map.end()
    }
}

impl Serialize for CompletionCall<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let ToolCall {
            id,
            name,
            args,
            provider_state: keep,
        } = self.call;
        let arguments = if args.is_empty() { "{}" } else { args };
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &call_id(id, self.row))?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &CompletionFunction { name, arguments })?;
        if self.unsigned {
            map.serialize_entry("extra_content", &UNSIGNED)?;
        }
        Members::for_row(keep.as_ref(), self.row).write(&mut map, &["id", "type", "function"])?;
        map.end()
    }
}
