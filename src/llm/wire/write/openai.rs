//! The body of a chat completion.

use std::borrow::Cow;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::cache_marks::{CacheMark, CacheMarks, MARK};
use super::effort::{EffortMembers, gemini_3};
use super::ids::call_id;
use super::json::Members;
use super::temperature;
use crate::chat::image::Image;
use crate::chat::message::{Assistant, Message, ToolCall};
use crate::llm::catalog::{EffortForm, ProviderSpec};
use crate::llm::image_data::DataUrl;
use crate::llm::provider::Request;
use crate::llm::wire::Dialect;
use crate::llm::wire::optional::OptionalMember;

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
    #[serde(flatten)]
    effort: EffortMembers,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

struct Messages<'a> {
    row: &'a ProviderSpec,
    marks: Option<CacheMarks>,
    /// Calls of other models get [`UNSIGNED`].
    signs: bool,
    system: &'a str,
    messages: &'a [Message],
}

#[derive(Serialize)]
struct ContentMessage<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    content: Content<'a>,
}

/// Servers that know no parts take a plain text.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<CompletionPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CompletionPart<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheMark>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
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

pub(super) fn body<'a>(dialect: Dialect, request: &Request<'a>) -> CompletionBody<'a> {
    let (row, quirks) = (dialect.row, &dialect.quirks);
    let sends = |member| !dialect.without.has(member);
    CompletionBody {
        model: request.model,
        messages: Messages {
            row,
            marks: CacheMarks::of(dialect, request.model),
            signs: quirks.effort == EffortForm::Gemini && gemini_3(request.model),
            system: request.system,
            messages: request.messages,
        },
        stream: request.options.stream,
        stream_options: (quirks.usage_option
            && request.options.stream
            && sends(OptionalMember::StreamOptions))
        .then_some(StreamOptions {
            include_usage: true,
        }),
        temperature: temperature(dialect, request),
        effort: EffortMembers::of(dialect, request),
        prompt_cache_key: Some(request.cache_key)
            .filter(|key| quirks.cache_key && !key.is_empty())
            .filter(|_| sends(OptionalMember::CacheKey)),
    }
}

/// The content of a message without images.
fn content(parts: bool, text: &str, mark: bool) -> Content<'_> {
    if !parts {
        return Content::Text(text);
    }
    Content::Parts(vec![CompletionPart::Text {
        text: text.into(),
        cache_control: mark.then_some(MARK),
    }])
}

fn image_part<'a>(image: (&'a Image, &'a [u8])) -> CompletionPart<'a> {
    CompletionPart::ImageUrl {
        image_url: ImageUrl {
            url: DataUrl(image),
        },
    }
}

/// The images of the results that end at `at`, as a message of the user: those of tools have only text here
/// (<https://platform.openai.com/docs/api-reference/chat/create>), and have to stand together directly after their calls.
fn images_of_round(messages: &[Message], at: usize) -> Option<ContentMessage<'_>> {
    let result = |message: &&Message| matches!(message, Message::Tool(_));
    if messages.get(at + 1).is_some_and(|next| result(&next)) {
        return None;
    }
    let until = messages.get(..=at)?;
    let first = until.len() - until.iter().rev().take_while(result).count();
    let mut parts = Vec::new();
    for message in until.get(first..)? {
        let Message::Tool(output) = message else {
            continue;
        };
        let mut images = output.sent_images().map(image_part).peekable();
        if images.peek().is_some() {
            parts.push(CompletionPart::Text {
                text: format!("Images of the result of {}:", output.name).into(),
                cache_control: None,
            });
            parts.extend(images);
        }
    }
    (!parts.is_empty()).then_some(ContentMessage {
        role: "user",
        tool_call_id: None,
        content: Content::Parts(parts),
    })
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(None)?;
        let marked = self.marks.map(|marks| marks.places(self.messages));
        // Where some messages are marked, all are written in parts: what was sent once stays the same but for the mark, which moves on.
        let parts = marked.is_some();
        let mut plain = |role, text, mark| {
            list.serialize_element(&ContentMessage {
                role,
                tool_call_id: None,
                content: content(parts, text, mark),
            })
        };
        if !self.system.is_empty() {
            plain("system", self.system, !self.system.trim().is_empty())?;
        }
        for (at, message) in self.messages.iter().enumerate() {
            let mark = marked.is_some_and(|places| places.contains(&Some(at)));
            match message {
                Message::System { text } => list.serialize_element(&ContentMessage {
                    role: "system",
                    tool_call_id: None,
                    content: content(parts, text, mark),
                }),
                Message::User(user) => {
                    let text = user.text_and_missing();
                    let mut content = content(parts, &text, mark);
                    let mut images = user.sent_images().map(image_part).peekable();
                    if images.peek().is_some()
                        && let Content::Text(text) = content
                    {
                        let text = Some(text).filter(|text| !text.is_empty());
                        let text = text.map(|text| CompletionPart::Text {
                            text: text.into(),
                            cache_control: None,
                        });
                        content = Content::Parts(text.into_iter().collect());
                    }
                    if let Content::Parts(parts) = &mut content {
                        parts.extend(images);
                    }
                    list.serialize_element(&ContentMessage {
                        role: "user",
                        tool_call_id: None,
                        content,
                    })
                }
                Message::Assistant(assistant) => list.serialize_element(&CompletionAssistant {
                    row: self.row,
                    signs: self.signs,
                    assistant,
                }),
                Message::Tool(output) => list.serialize_element(&ContentMessage {
                    role: "tool",
                    tool_call_id: Some(call_id(&output.id, self.row)),
                    content: content(parts, &output.text, mark),
                }),
            }?;
            if let Some(images) = images_of_round(self.messages, at) {
                list.serialize_element(&images)?;
            }
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
