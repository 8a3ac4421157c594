//! Calls that a provider hands through as the model wrote them: servers of open models read the formats of some families, and not of all.
//!
//! What is shown meanwhile is everything up to where a call may begin. Without one, the rest is shown at the end.

use std::borrow::Cow;

use super::model_target::ModelTarget;
use crate::base::ids;
use crate::chat::message::{Message, ToolCall};
use crate::formats::model_text::draft::{DraftChange, DraftFilter};
use crate::formats::model_text::{self, RawArguments, RawCall};
use crate::llm::catalog;
use crate::llm::provider::{Reply, Request};

/// Holds calls back while a reply arrives, and moves them where calls belong at its end.
pub(super) struct WrittenCalls {
    filter: DraftFilter,
    names: Vec<String>,
    /// Bytes of the text that were shown.
    shown: usize,
}

impl WrittenCalls {
    /// Whether a request has tools and goes to a provider that may hand calls through.
    pub(super) fn may_be_in(target: &ModelTarget, request: &Request<'_>) -> bool {
        let row = catalog::row(target.provider.name());
        let hands_through = row.is_some_and(|row| row.quirks.written_calls);
        hands_through && request.may_call && !request.offer.tools.is_empty()
    }

    /// For the answer to a request.
    pub(super) fn of(request: &Request<'_>) -> Self {
        // One that waits is run too when it is called.
        let tools = request.offer.tools.iter().chain(&*request.offer.waiting);
        let names: Vec<String> = tools.map(|tool| tool.name.to_string()).collect();
        Self {
            filter: DraftFilter::of_calls(names.clone()),
            names,
            shown: 0,
        }
    }

    /// What to show of a piece, and of what was held back before it.
    pub(super) fn shown<'p>(&mut self, piece: &'p str) -> Cow<'p, str> {
        let shown = if self.filter.passes(piece) {
            Cow::Borrowed(piece)
        } else {
            let mut shown = String::new();
            for change in self.filter.feed(piece) {
                if let DraftChange::Show(text) = change {
                    shown.push_str(&text);
                }
            }
            Cow::Owned(shown)
        };
        self.shown += shown.len();
        shown
    }

    /// What of an answer that was cut is still to be shown: all but what began like a call.
    pub(super) fn rest_of_cut(self) -> Option<String> {
        self.filter.into_held()
    }

    /// Makes calls of what was written as calls of tools that there are, but for those that the model quotes from `messages`. Returns what is still to be
    /// shown when there are none.
    pub(super) fn take(self, reply: &mut Reply, messages: &[Message]) -> Option<String> {
        // Steps are prose until they turn out to be those of an agent.
        let may_have = self.filter.is_holding() || reply.text.contains("Action");
        if !may_have {
            return None;
        }
        if !reply.calls.is_empty() {
            return reply.text.get(self.shown..).map(str::to_owned);
        }
        let is_known = |name: &str| self.names.iter().any(|known| known == name);
        let found = model_text::read(&reply.text, &is_known);
        let text = &reply.text;
        let is_own = |call: &RawCall| {
            let written = text.get(call.range.clone()).unwrap_or_default();
            !model_text::is_quotation(written, written_by_others(messages))
        };
        let calls = found.calls.into_iter();
        let calls = calls.filter(|call| is_known(&call.name) && is_own(call));
        let calls: Vec<ToolCall> = calls.map(native).collect();
        if calls.is_empty() {
            return reply.text.get(self.shown..).map(str::to_owned);
        }
        // The conversation holds what the user saw.
        reply.text.truncate(self.shown);
        reply.text.truncate(reply.text.trim_end().len());
        reply.calls = calls;
        None
    }
}

/// What the user and tools said.
fn written_by_others(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().filter_map(|message| match message {
        Message::User(user) => Some(user.text.as_str()),
        Message::Tool(output) => Some(output.text.as_str()),
        Message::System { .. } | Message::Assistant(_) => None,
    })
}

fn native(call: RawCall) -> ToolCall {
    let arguments = match call.arguments {
        // The text of an object, as in the provider's own field.
        RawArguments::Json(serde_json::Value::String(text)) => text,
        RawArguments::Json(serde_json::Value::Null) => "{}".to_owned(),
        RawArguments::Json(value) => value.to_string(),
        RawArguments::Texts(pairs) => {
            let pairs = pairs.into_iter();
            let pairs = pairs.map(|(key, value)| (key, serde_json::Value::from(value)));
            serde_json::Value::Object(pairs.collect()).to_string()
        }
    };
    ToolCall::new(ids::call(), call.name, arguments)
}
