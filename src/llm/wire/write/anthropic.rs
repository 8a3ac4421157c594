//! The request body for Anthropic's messages (<https://docs.anthropic.com/en/api/messages>).
//!
//! Roles alternate: consecutive messages of one role become one message with several blocks, and tool results are blocks of the user. Four cache
//! breakpoints, the maximum, let the server cache what does not change between the rounds of a turn: tools, system prompt, and the conversation up to
//! the end of the last request and of this one (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>).

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::cache_marks::{CacheMark, MARK};
use super::effort::AnthropicThinking;
use super::ids::call_id;
use super::json::{Members, arguments};
use super::sent_tools;
use crate::chat::found_tools;
use crate::chat::image::Image;
use crate::chat::message::{Assistant, Message, ToolOutput, User};
use crate::llm::catalog::ProviderSpec;
use crate::llm::image_data::Base64;
use crate::llm::provider::{Offered, Request};
use crate::llm::wire::Dialect;
use crate::llm::wire::optional::OptionalMember;

#[derive(Serialize)]
pub(super) struct AnthropicBody<'a> {
    model: &'a str,
    /// Required here, unlike elsewhere.
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<MessageBlock<'a>>,
    messages: Vec<AnthropicTurn<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(flatten)]
    effort: AnthropicThinking,
}

#[derive(Serialize)]
struct AnthropicTurn<'a> {
    role: &'static str,
    content: Vec<MessageBlock<'a>>,
}

/// A block of a message, or one that is sent back unchanged.
#[derive(Serialize)]
#[serde(untagged)]
enum MessageBlock<'a> {
    Own(Box<OwnBlock<'a>>),
    Kept(&'a RawValue),
}

fn own(block: OwnBlock<'_>) -> MessageBlock<'_> {
    MessageBlock::Own(Box::new(block))
}

/// A text, a call or a result.
#[derive(Serialize, Default)]
struct OwnBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<ImageSource<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ResultContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheMark>,
}

/// What a call returned.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultContent<'a> {
    Text(&'a str),
    /// Tools that the model sees from here on.
    References(Vec<ToolReference<'a>>),
    /// A text with images.
    Blocks(Vec<MessageBlock<'a>>),
}

#[derive(Serialize)]
struct ToolReference<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_name: &'a str,
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'static str,
    data: Base64<'a>,
}

pub(super) fn body<'a>(dialect: Dialect, request: &Request<'a>) -> AnthropicBody<'a> {
    let mut system: Vec<MessageBlock<'a>> = text(request.system).into_iter().collect();
    let deferred = sent_tools(dialect, request.offer).deferred;
    let mut messages = turns(dialect.row, request.messages, deferred);
    let effort = AnthropicThinking::of(dialect, request, resumes_without_thoughts(&messages));
    if !dialect.without.has(OptionalMember::CacheMarks) {
        mark(system.last_mut());
        // The end of this request and of the previous one: the server looks back only 20 blocks from a breakpoint, and a round of parallel calls may
        // have more.
        let users = messages.iter_mut().rev().filter(|turn| turn.role == "user");
        users.take(2).for_each(|turn| mark(turn.content.last_mut()));
    }
    AnthropicBody {
        model: request.model,
        max_tokens: request.info.output,
        system,
        messages,
        stream: request.options.stream,
        temperature: request
            .options
            .temperature
            .filter(|_| !dialect.without.has(OptionalMember::Temperature) && !effort.thinks()),
        effort,
    }
}

/// Whether the request brings the results of calls that were made without thinking: that turn has to end so.
fn resumes_without_thoughts(turns: &[AnthropicTurn<'_>]) -> bool {
    let [.., called, results] = turns else {
        return false;
    };
    let is = |kind: &'static str| move |block: &MessageBlock<'_>| matches!(block, MessageBlock::Own(own) if own.kind == kind);
    called.role == "assistant"
        && results.content.iter().any(is("tool_result"))
        && !called
            .content
            .iter()
            .any(|block| matches!(block, MessageBlock::Kept(_)))
}

fn turns<'a>(
    row: &ProviderSpec,
    messages: &'a [Message],
    deferred: &[Offered],
) -> Vec<AnthropicTurn<'a>> {
    let mut turns: Vec<AnthropicTurn<'a>> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            // There is only one system prompt; later system messages are sent as the user's.
            Message::System { text: words } => ("user", text(words).into_iter().collect()),
            Message::User(user) => ("user", user_blocks(user)),
            Message::Assistant(assistant) => ("assistant", answer(row, assistant)),
            Message::Tool(output) => (
                "user",
                vec![own(OwnBlock {
                    kind: "tool_result",
                    tool_use_id: Some(call_id(&output.id, row)),
                    content: Some(result(message, output, deferred)),
                    is_error: output.failed.then_some(true),
                    ..OwnBlock::default()
                })],
            ),
        };
        if blocks.is_empty() {
            continue;
        }
        if turns.is_empty() && role == "assistant" {
            turns.push(AnthropicTurn {
                role: "user",
                content: text("(The beginning of this conversation is not shown.)")
                    .into_iter()
                    .collect(),
            });
        }
        match turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.content.extend(blocks),
            None => turns.push(AnthropicTurn {
                role,
                content: blocks,
            }),
        }
    }
    turns
}

/// What a call returned: for a search references to those of the `deferred` tools that it found, which the server writes out in their place.
fn result<'a>(
    message: &'a Message,
    output: &'a ToolOutput,
    deferred: &[Offered],
) -> ResultContent<'a> {
    let is_deferred = |name: &&str| deferred.iter().any(|tool| tool.name == *name);
    let found = found_tools::answered(message).filter(is_deferred);
    let references: Vec<ToolReference<'a>> = found
        .map(|tool_name| ToolReference {
            kind: "tool_reference",
            tool_name,
        })
        .collect();
    if !references.is_empty() {
        return ResultContent::References(references);
    }
    let mut images = output.sent_images().map(image).peekable();
    match images.peek().is_some() {
        true => ResultContent::Blocks(text(&output.text).into_iter().chain(images).collect()),
        false => ResultContent::Text(&output.text),
    }
}

/// The blocks of a reply: thinking first, then text, then calls.
fn answer<'a>(row: &ProviderSpec, assistant: &'a Assistant) -> Vec<MessageBlock<'a>> {
    let kept = Members::for_row(assistant.provider_state.as_ref(), row).get("thinking_blocks");
    let thoughts: Vec<&RawValue> = kept
        .and_then(|list| serde_json::from_str(list.get()).ok())
        .unwrap_or_default();
    let calls = assistant.calls.iter().map(|call| {
        own(OwnBlock {
            kind: "tool_use",
            id: Some(call_id(&call.id, row)),
            name: Some(&call.name),
            input: Some(arguments(&call.args)),
            ..OwnBlock::default()
        })
    });
    let said: Vec<MessageBlock<'a>> = text(&assistant.text).into_iter().chain(calls).collect();
    if said.is_empty() {
        return said;
    }
    thoughts
        .into_iter()
        .map(MessageBlock::Kept)
        .chain(said)
        .collect()
}

/// The blocks of the user's message: images first, which is what the model reads best.
fn user_blocks(user: &User) -> Vec<MessageBlock<'_>> {
    let images = user.sent_images().map(image);
    images.chain(text(user.text_and_missing())).collect()
}

fn image<'a>((image, bytes): (&'a Image, &'a [u8])) -> MessageBlock<'a> {
    own(OwnBlock {
        kind: "image",
        source: Some(ImageSource {
            kind: "base64",
            media_type: image.kind.media_type(),
            data: Base64(bytes),
        }),
        ..OwnBlock::default()
    })
}

/// A text block; the server refuses empty ones.
fn text<'a>(text: impl Into<Cow<'a, str>>) -> Option<MessageBlock<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then(|| {
        own(OwnBlock {
            kind: "text",
            text: Some(text),
            ..OwnBlock::default()
        })
    })
}

/// Marks the end of a cacheable prefix.
fn mark(block: Option<&mut MessageBlock<'_>>) {
    if let Some(MessageBlock::Own(block)) = block {
        block.cache_control = Some(MARK);
    }
}
