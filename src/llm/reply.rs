//! A reply, complete or partial.

use std::time::Instant;

use crate::chat::event::StopReason;
use crate::chat::message::{Assistant, Message, ProviderState, ToolCall};
use crate::chat::usage::{PlanUse, Tokens};

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
    /// The conversation and the reply fill the model's context window.
    WindowFull,
    /// A content filter ended it, because of this; empty when it does not say.
    Filtered(String),
    /// The model declined, with this text empty when it has no words of their own for that.
    Refused(String),
    /// The provider ended it early, for this reason.
    Incomplete(String),
    /// Another reason, as the provider calls it.
    Other(String),
}

impl FinishReason {
    /// True when the model did not come to the end of what it wrote, so that its last call may be half a call.
    pub(crate) fn is_early(&self) -> bool {
        match self {
            Self::Length
            | Self::WindowFull
            | Self::Filtered(_)
            | Self::Refused(_)
            | Self::Incomplete(_) => true,
            Self::Unknown | Self::Done | Self::Other(_) => false,
        }
    }
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
    /// Calls that were cut off with the reply: never run, but they get results, because the model believes it made them.
    pub cut_calls: Vec<ToolCall>,
    /// What has to be sent back with this message.
    pub provider_state: Option<ProviderState>,
    /// Token counts, if the provider reports them.
    pub usage: Option<Tokens>,
    /// The charge in US dollars, if the provider reports it.
    pub billed: Option<f64>,
    /// What it took of the plan, at a provider that does not bill dollars.
    pub plan: Option<PlanUse>,
    /// How full the conversation is, if the provider keeps it.
    pub context: Option<ContextUse>,
    /// When the turn has to be over, tool calls included, if the provider limits it.
    pub deadline: Option<Instant>,
    /// Why it ended.
    pub finish: FinishReason,
}

/// How full a conversation is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUse {
    /// Those of the conversation, the system prompt and the tools.
    pub tokens: u64,
    /// The most there may be.
    pub limit: u64,
}

impl Reply {
    /// Why it ended, for who watches.
    pub fn stop_reason(&self) -> StopReason {
        match &self.finish {
            FinishReason::Length => StopReason::MaxTokens,
            FinishReason::WindowFull => StopReason::ModelContextWindowExceeded,
            FinishReason::Filtered(_) | FinishReason::Refused(_) => StopReason::Refusal,
            FinishReason::Incomplete(why) if why == "pause_turn" => StopReason::PauseTurn,
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            _ => StopReason::EndTurn,
        }
    }

    /// The message for the conversation.
    pub fn into_message(self) -> Message {
        Message::Assistant(Assistant {
            text: self.text,
            calls: self.calls,
            provider_state: self.provider_state,
        })
    }
}
