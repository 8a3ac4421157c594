//! The shapes of the lines that a turn writes.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::content_blocks::{ContentBlock, ResultContent, UsageFields};
use crate::chat::event::{CallEnd, StopReason};
use crate::chat::usage::Tokens;

#[derive(Serialize)]
pub(super) struct MessageLine<'a, C: Serialize> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) message: MessageFields<'a, C>,
    pub(super) parent_tool_use_id: (),
    /// Why the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'static str>,
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
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
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
    pub(super) content: ResultContent<'a>,
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
    /// For the Marvin above, which does not have the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_input: Option<&'a Map<String, Value>>,
}

#[derive(Serialize)]
pub(super) struct OwnFields<'a> {
    pub(super) event: &'a RawValue,
}

/// A line of a child as its parent writes it: under the `call`, unless it is that of a child's child, and without ids that are not the parent's. `None` for
/// what is no message, no result and no refused call.
pub(super) fn under_call(call: &str, line: &str) -> Option<Map<String, Value>> {
    let mut line: Map<String, Value> = serde_json::from_str(line).ok()?;
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    let is_told = match text("type") {
        Some("assistant" | "user") => true,
        Some("system") => text("subtype") == Some("permission_denied"),
        _ => false,
    };
    if !is_told {
        return None;
    }
    line.shift_remove("uuid");
    line.shift_remove("session_id");
    let parent = line.entry("parent_tool_use_id").or_insert(Value::Null);
    if !parent.is_string() {
        *parent = Value::from(call);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_stands_under_the_call_that_started_the_child() {
        let line = json!({"type": "assistant", "parent_tool_use_id": null, "message": {}, "uuid": "u", "session_id": "s"});
        assert_eq!(
            Value::from(under_call("c1", &line.to_string()).unwrap()),
            json!({"type": "assistant", "parent_tool_use_id": "c1", "message": {}})
        );
        let deeper = json!({"type": "user", "parent_tool_use_id": "c7"});
        assert_eq!(
            under_call("c1", &deeper.to_string()).unwrap()["parent_tool_use_id"],
            "c7"
        );
        let denied = json!({"type": "system", "subtype": "permission_denied"});
        assert_eq!(
            under_call("c1", &denied.to_string()).unwrap()["parent_tool_use_id"],
            "c1"
        );
        for other in [
            r#"{"type":"result"}"#,
            r#"{"type":"system","subtype":"init"}"#,
            "{\"type\":\"user\"",
            "[]",
            "",
        ] {
            assert_eq!(under_call("c1", other), None, "{other}");
        }
    }
}
