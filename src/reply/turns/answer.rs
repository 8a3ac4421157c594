//! Reads what the chat model answered: calls, in the provider's fields or in the text; a final answer; thinking alone; nothing; or something that
//! is never shown.

use serde_json::{Map, Value};

use crate::base::ids;
use crate::base::text::clip;
use crate::chat::message::{Assistant, ToolCall};
use crate::llm::provider::{FinishReason, Reply};
use crate::reply::aliases::KnownTools;
use crate::reply::{clean, guard, json_span, thinking, written_calls};

/// Calls of one answer that are run.
const MAX_NATIVE_CALLS: usize = 5;
const MAX_NAME_CHARS: usize = 64;

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChatAnswer {
    /// Calls, with the prose around them.
    Calls(Assistant),
    /// The checked answer.
    Final(String),
    /// Something that is never shown.
    Malformed,
    /// Only thinking.
    Thinking,
    /// Nothing.
    Empty,
}

/// Reads a reply of the chat model.
pub(crate) fn read(reply: Reply, tools: &KnownTools) -> ChatAnswer {
    let (thought, content) = thinking::split(&reply.text);
    let content = content.trim();
    if !reply.calls.is_empty() {
        let calls = reply.calls.into_iter().take(MAX_NATIVE_CALLS);
        return ChatAnswer::Calls(Assistant {
            text: content.to_owned(),
            calls: unique(calls.map(|call| native(call, tools)).collect()),
            provider_state: reply.provider_state,
        });
    }
    let written = written_calls::read(content, tools);
    if !written.is_empty() {
        let calls = written.into_iter().map(|call| ToolCall {
            id: ids::call(),
            name: clip(&call.name, MAX_NAME_CHARS),
            args: Value::Object(call.args).to_string(),
            provider_state: None,
        });
        return ChatAnswer::Calls(Assistant {
            text: prose(content),
            calls: calls.collect(),
            provider_state: None,
        });
    }
    let content = match &reply.finish {
        FinishReason::Refused(words) if content.is_empty() => words.trim(),
        _ => content,
    };
    if content.is_empty() {
        let has_thought = thought.is_some_and(|thought| !thought.is_empty())
            || !reply.thinking.trim().is_empty();
        return if has_thought {
            ChatAnswer::Thinking
        } else {
            ChatAnswer::Empty
        };
    }
    if let Some(answer) = guard::answer_field(content) {
        return finished(&answer);
    }
    if guard::is_malformed(content) {
        return ChatAnswer::Malformed;
    }
    finished(content)
}

fn finished(text: &str) -> ChatAnswer {
    let text = clean::printed(text);
    if text.is_empty() {
        ChatAnswer::Empty
    } else {
        ChatAnswer::Final(text)
    }
}

/// The text before the first written call.
fn prose(content: &str) -> String {
    let at = ["```tool", "tool_calls:"]
        .iter()
        .filter_map(|opening| content.find(opening))
        .min();
    at.and_then(|at| content.get(..at))
        .map(|before| before.trim().trim_end_matches('`').trim().to_owned())
        .unwrap_or_default()
}

/// A call of the provider's protocol, with the name of a tool and arguments that are an object.
fn native(call: ToolCall, tools: &KnownTools) -> ToolCall {
    let mut name = call.name.trim().to_owned();
    let mut args = arguments(&call.args);
    // Some models put the whole call into its arguments.
    if let Some(Value::Object(inner)) = args.as_ref().and_then(|args| args.get("tool")) {
        let inner_name = inner.get("name").and_then(Value::as_str);
        let inner_args = inner.get("args").or_else(|| inner.get("arguments"));
        if let (Some(inner_name), Some(Value::Object(inner_args))) = (inner_name, inner_args) {
            name = inner_name.to_owned();
            args = Some(inner_args.clone());
        }
    }
    let written = tools.call(&name, args.unwrap_or_else(|| {
        let text = call.args.trim().trim_matches('"').to_owned();
        let field = tools.first_text(&name).unwrap_or_else(|| "query".to_owned());
        Map::from_iter([(field, Value::from(text))])
    }));
    ToolCall {
        id: if call.id.is_empty() { ids::call() } else { call.id },
        name: clip(&written.name, MAX_NAME_CHARS),
        args: Value::Object(written.args).to_string(),
        provider_state: call.provider_state,
    }
}

/// The object in the arguments; a string that holds one counts.
fn arguments(raw: &str) -> Option<Map<String, Value>> {
    let raw = raw.trim();
    if raw.is_empty() || raw == "null" {
        return Some(Map::new());
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(Value::Object(map)) => Some(map),
        Ok(Value::String(inner)) => serde_json::from_str(inner.trim()).ok(),
        Ok(_) => None,
        Err(_) => serde_json::from_str(json_span::object(raw)?).ok(),
    }
}

/// Gives calls with an id that another one has a new one.
fn unique(mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let mut seen = std::collections::HashSet::new();
    for call in &mut calls {
        if !seen.insert(call.id.clone()) {
            call.id = ids::call();
            seen.insert(call.id.clone());
        }
    }
    calls
}
