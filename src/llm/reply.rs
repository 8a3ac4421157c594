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
    /// The conversation and the reply fill the model's context window.
    WindowFull,
    /// A content filter ended it.
    Filtered,
    /// The model declines, in these words; empty when it has no words of their own for that.
    Refused(String),
    /// The provider stopped it before its end, for this reason.
    Incomplete(String),
    /// Something else, in the provider's word.
    Other(String),
}

impl FinishReason {
    /// True when the model did not come to the end of what it wrote, so that its last call may be half a call.
    pub(crate) fn is_early(&self) -> bool {
        match self {
            Self::Length
            | Self::WindowFull
            | Self::Filtered
            | Self::Refused(_)
            | Self::Incomplete(_) => true,
            Self::Unknown | Self::Done | Self::Other(_) => false,
        }
    }
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
    /// Calls that were cut off with the reply: never run, but answered, because the model believes that it made them.
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
