//! A reply, whole or as far as it came.

use crate::chat::message::{Assistant, Message, ProviderState, ToolCall};
use crate::chat::usage::Tokens;

/// Why the model stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FinishReason {
    /// The provider did not say.
    #[default]
    Unknown,
    /// It was done, or asked for tools.
    Done,
    /// It hit the limit of tokens.
    Length,
    /// A content filter ended it.
    Filtered,
    /// The model declines, in these words; it wrote nothing else.
    Refused(String),
    /// The provider stopped it before its end, for this reason.
    Incomplete(String),
    /// Something else, in the provider's word.
    Other(String),
}

/// A reply, whole or as far as it came.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Visible text.
    pub text: String,
    /// Thinking.
    pub thinking: String,
    /// Tool calls in order of first sight.
    pub calls: Vec<ToolCall>,
    /// Calls that the limit of tokens cut off: never run, but answered, because the model believes that it made them.
    pub cut_calls: Vec<ToolCall>,
    /// What must go back with this message.
    pub provider_state: Option<ProviderState>,
    /// Tokens, when the provider said.
    pub usage: Option<Tokens>,
    /// US dollars, when the provider said what it charges.
    pub billed: Option<f64>,
    /// Why it ended.
    pub finish: FinishReason,
}

impl Reply {
    /// The message to keep in the conversation.
    pub fn into_message(self) -> Message {
        Message::Assistant(Assistant {
            text: self.text,
            calls: self.calls,
            provider_state: self.provider_state,
        })
    }
}
