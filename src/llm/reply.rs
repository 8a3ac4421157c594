//! A reply, complete or partial.

use crate::chat::message::{Assistant, Message, ProviderState, ToolCall};
use crate::chat::usage::Tokens;

/// Why the model stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// The provider did not say.
    #[default]
    Unknown,
    /// It was done, or it called tools.
    Done,
    /// The token limit was reached.
    Length,
    /// A content filter ended it.
    Filtered,
    /// The model declined, with this text instead of an answer.
    Refused(String),
    /// The provider ended it early, for this reason.
    Incomplete(String),
    /// Another reason, as the provider calls it.
    Other(String),
}

/// A reply, complete or partial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Visible text.
    pub text: String,
    /// Thinking.
    pub thinking: String,
    /// In the order in which they first appeared.
    pub calls: Vec<ToolCall>,
    /// Calls cut off by the token limit: never run, but they get results, because the model believes it made them.
    pub cut_calls: Vec<ToolCall>,
    /// What has to be sent back with this message.
    pub provider_state: Option<ProviderState>,
    /// Token counts, if the provider reports them.
    pub usage: Option<Tokens>,
    /// The charge in US dollars, if the provider reports it.
    pub billed: Option<f64>,
    /// Why it ended.
    pub finish: FinishReason,
}

impl Reply {
    /// The message for the conversation.
    pub fn into_message(self) -> Message {
        Message::Assistant(Assistant {
            text: self.text,
            calls: self.calls,
            provider_state: self.provider_state,
        })
    }
}
