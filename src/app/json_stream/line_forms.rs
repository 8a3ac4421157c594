//! The shapes of the lines that a turn writes.

use serde::Serialize;
use serde_json::value::RawValue;

use super::content_blocks::{ContentBlock, UsageFields};
use crate::chat::event::{CallEnd, StopReason};
use crate::chat::usage::Tokens;

#[derive(Serialize)]
pub(super) struct MessageLine<'a, C: Serialize> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) message: MessageFields<'a, C>,
    pub(super) parent_tool_use_id: (),
}

#[derive(Serialize)]
pub(super) struct MessageFields<'a, C: Serialize> {
    pub(super) id: &'a str,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) role: &'static str,
    pub(super) model: &'a str,
    pub(super) content: C,
    pub(super) stop_reason: (),
    pub(super) stop_sequence: (),
    pub(super) usage: UsageFields,
}

impl<'a, C: Serialize> MessageFields<'a, C> {
    pub(super) fn new(id: &'a str, model: &'a str, content: C, usage: Tokens) -> Self {
        Self {
            id,
            kind: "message",
            role: "assistant",
            model,
            content,
            stop_reason: (),
            stop_sequence: (),
            usage: usage.into(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct StreamLine<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) event: StreamEvent<'a>,
    pub(super) parent_tool_use_id: (),
}

/// An event of Anthropic's stream (<https://docs.anthropic.com/en/docs/build-with-claude/streaming>).
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StreamEvent<'a> {
    MessageStart {
        message: MessageFields<'a, [(); 0]>,
    },
    ContentBlockStart {
        index: usize,
        content_block: &'a ContentBlock,
    },
    ContentBlockDelta {
        index: usize,
        delta: BlockDelta<'a>,
    },
    ContentBlockStop {
        index: usize,
    },
    MessageDelta {
        delta: StopFields,
        usage: UsageFields,
    },
    MessageStop,
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum BlockDelta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
}

#[derive(Serialize)]
pub(super) struct StopFields {
    pub(super) stop_reason: Option<StopReason>,
    pub(super) stop_sequence: (),
}

#[derive(Serialize)]
pub(super) struct ResultsLine<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) message: ResultsMessage<'a>,
    pub(super) parent_tool_use_id: (),
    pub(super) tool_use_result: ToolUseResult,
}

#[derive(Serialize)]
pub(super) struct ResultsMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: [ToolResultBlock<'a>; 1],
}

#[derive(Serialize)]
pub(super) struct ToolResultBlock<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) tool_use_id: &'a str,
    pub(super) content: &'a str,
    pub(super) is_error: bool,
}

#[derive(Serialize)]
pub(super) struct ToolUseResult {
    pub(super) duration_ms: u64,
    pub(super) end: CallEnd,
}

#[derive(Serialize)]
pub(super) struct SystemLine<T: Serialize> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) subtype: &'static str,
    #[serde(flatten)]
    pub(super) fields: T,
}

#[derive(Serialize)]
pub(super) struct StatusFields {
    pub(super) status: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct BoundaryFields {
    pub(super) compact_metadata: CompactMetadata,
}

#[derive(Serialize)]
pub(super) struct CompactMetadata {
    pub(super) trigger: &'static str,
    pub(super) pre_tokens: u64,
    pub(super) post_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct RetryFields {
    pub(super) attempt: u64,
    pub(super) max_retries: u64,
    pub(super) retry_delay_ms: u64,
    pub(super) error_status: Option<u16>,
    pub(super) error: &'static str,
}

#[derive(Serialize)]
pub(super) struct DenialFields<'a> {
    pub(super) tool_name: &'a str,
    pub(super) tool_use_id: &'a str,
    pub(super) decision_reason_type: &'static str,
    pub(super) message: &'a str,
}

#[derive(Serialize)]
pub(super) struct OwnFields<'a> {
    pub(super) event: &'a RawValue,
}
