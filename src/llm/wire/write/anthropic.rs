//! The body of Anthropic's messages (<https://docs.anthropic.com/en/api/messages>).
//!
//! Roles alternate there: consecutive messages of one role become one with several blocks, and tool results are blocks of the user. Three cache
//! breakpoints let the server keep what does not change between the rounds of a turn: tools, system prompt, conversation.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::ids::call_id;
use super::json::{Members, arguments};
use crate::chat::message::{Assistant, Message};
use crate::llm::catalog::Row;
use crate::llm::models;
use crate::llm::provider::Request;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    /// Required here, unlike elsewhere.
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Turn<'a>>,
    stream: bool,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

/// A block of a message, or one that is sent back as it came.
#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Own(Own<'a>),
    Kept(&'a RawValue),
}

/// A text, a call or a result.
#[derive(Serialize, Default)]
struct Own<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Serialize)]
struct Mark {
    #[serde(rename = "type")]
    kind: &'static str,
}

const MARK: Mark = Mark { kind: "ephemeral" };

pub(super) fn body<'a>(row: &Row, request: &Request<'a>) -> Body<'a> {
    let mut system: Vec<Block<'a>> = text(request.system).into_iter().collect();
    mark(system.last_mut());
    let mut messages = turns(row, request.messages);
    let user = messages.iter_mut().rfind(|turn| turn.role == "user");
    mark(user.and_then(|turn| turn.content.last_mut()));
    Body {
        model: request.model,
        max_tokens: models::facts(row.local, request.model).output,
        system,
        messages,
        stream: true,
    }
}

fn turns<'a>(row: &Row, messages: &'a [Message]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            // There is only one system prompt; later system messages are sent as the user's.
            Message::System { text: words } => ("user", text(words).into_iter().collect()),
            Message::User(user) => ("user", text(&user.text).into_iter().collect()),
            Message::Assistant(assistant) => ("assistant", answer(row, assistant)),
            Message::Tool(output) => (
                "user",
                vec![Block::Own(Own {
                    kind: "tool_result",
                    tool_use_id: Some(call_id(&output.id, row)),
                    content: Some(&output.text),
                    is_error: output.failed.then_some(true),
                    ..Own::default()
                })],
            ),
        };
        if blocks.is_empty() {
            continue;
        }
        if turns.is_empty() && role == "assistant" {
            turns.push(Turn {
                role: "user",
                content: text("(The beginning of this conversation is not shown.)")
                    .into_iter()
                    .collect(),
            });
        }
        match turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => turn.content.extend(blocks),
            None => turns.push(Turn {
                role,
                content: blocks,
            }),
        }
    }
    turns
}

/// The blocks of an answer: thinking first, then text, then calls.
fn answer<'a>(row: &Row, assistant: &'a Assistant) -> Vec<Block<'a>> {
    let kept = Members::for_row(assistant.keep.as_ref(), row).get("thinking_blocks");
    let thoughts: Vec<&RawValue> = kept
        .and_then(|list| serde_json::from_str(list.get()).ok())
        .unwrap_or_default();
    let calls = assistant.calls.iter().map(|call| {
        Block::Own(Own {
            kind: "tool_use",
            id: Some(call_id(&call.id, row)),
            name: Some(&call.name),
            input: Some(arguments(&call.args)),
            ..Own::default()
        })
    });
    let said: Vec<Block<'a>> = text(&assistant.text).into_iter().chain(calls).collect();
    if said.is_empty() {
        return said;
    }
    thoughts.into_iter().map(Block::Kept).chain(said).collect()
}

/// A text block; empty ones are refused by the server.
fn text(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then(|| {
        Block::Own(Own {
            kind: "text",
            text: Some(text),
            ..Own::default()
        })
    })
}

/// Marks the end of what the server may keep.
fn mark(block: Option<&mut Block<'_>>) {
    if let Some(Block::Own(block)) = block {
        block.cache_control = Some(MARK);
    }
}
