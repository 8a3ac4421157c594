//! Reads what the chat model answered: calls, in the provider's fields or in the text; a final answer; thinking alone; nothing; or something that
//! is never shown.

use serde_json::Value;

use super::clean;
use super::echoes::OwnLines;
use super::guard;
use super::written_calls;
use crate::base::ids;
use crate::chat::message::{Assistant, ToolCall};
use crate::chat::repair::sendable_name;
use crate::llm::provider::{FinishReason, Reply};
use crate::reply::tools::aliases::KnownTools;
use crate::reply::tools::call::WrittenCall;

/// Calls of one answer that are run.
const MAX_NATIVE_CALLS: usize = 5;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChatAnswer {
    /// Calls, with the prose around them.
    Calls(Assistant),
    Final(String),
    /// A call was meant, but it cannot be run; with what else was said, checked.
    BrokenCall(Option<String>),
    /// Something that is never shown.
    Malformed,
    /// Only thinking.
    Thinking,
    /// Nothing.
    Empty,
}

/// Reads a reply of the chat model. `own` are lines of its prompt, `others` what the user and tools said.
pub(crate) fn read(
    reply: Reply,
    tools: &KnownTools,
    own: &OwnLines,
    others: &[&str],
) -> ChatAnswer {
    let answer = written_calls::read_answer(&reply.text, tools, others);
    if !reply.calls.is_empty() {
        let calls = reply.calls.into_iter().take(MAX_NATIVE_CALLS);
        return ChatAnswer::Calls(Assistant {
            text: answer.prose,
            calls: unique(calls.map(|call| native(call, tools)).collect()),
            provider_state: reply.provider_state,
        });
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.into_iter().map(|call| {
            ToolCall::new(
                ids::call(),
                sendable_name(&call.name),
                Value::Object(call.args).to_string(),
            )
        });
        return ChatAnswer::Calls(Assistant::new(answer.prose, calls.collect()));
    }
    let said = own.without(&answer.prose);
    if answer.is_broken || guard::is_broken_call(&said) {
        let rest = Some(clean::printed(&said));
        let rest = rest.filter(|text| !text.is_empty() && !guard::is_malformed(text));
        return ChatAnswer::BrokenCall(rest);
    }
    let content = match &reply.finish {
        FinishReason::Refused(words) if said.trim().is_empty() => words.trim(),
        _ => said.trim(),
    };
    if content.is_empty() {
        let has_thought = answer.has_thought || !reply.thinking.trim().is_empty();
        return if has_thought {
            ChatAnswer::Thinking
        } else {
            ChatAnswer::Empty
        };
    }
    if let Some(field) = guard::answer_field(content) {
        return finished(&own.without(&field));
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

/// A call of the provider's protocol, with the name of a tool and arguments that are an object.
fn native(call: ToolCall, tools: &KnownTools) -> ToolCall {
    let args = match serde_json::from_str(&call.args) {
        Ok(args) => args,
        Err(_) if call.args.trim().is_empty() => Value::Null,
        Err(_) => Value::from(call.args.as_str()),
    };
    let known = WrittenCall::native(&call.name, &args, tools);
    ToolCall {
        id: if call.id.is_empty() {
            ids::call()
        } else {
            call.id
        },
        name: sendable_name(&known.name),
        args: Value::Object(known.args).to_string(),
        provider_state: call.provider_state,
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
