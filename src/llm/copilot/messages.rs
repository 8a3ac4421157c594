//! The messages of the Copilot CLI, JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>), as far as a turn needs them. Event types grow with every
//! release: the ones named here are read, all others are dropped unread.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::word_list::WordList;
use crate::chat::usage::Tokens;
use crate::llm::reply::FinishReason;

/// The answer to a method that the other side does not have.
pub(crate) const UNKNOWN_METHOD: i64 = -32601;
/// The notification that carries a session's events.
const SESSION_EVENT: &str = "session.event";

#[derive(Debug)]
pub(crate) enum Incoming {
    /// The answer to the call of this number.
    Response(u64, Result<Box<RawValue>, RpcError>),
    /// An event of the session of this id.
    Event(String, SessionEvent),
    /// A request of the CLI; its id.
    Request(Box<RawValue>),
}

/// An error as JSON-RPC writes it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
}

/// A call of a tool that the model made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestedCall {
    pub id: String,
    pub name: String,
    /// JSON.
    pub args: String,
}

/// What happens in a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SessionEvent {
    /// The user's message has reached the model.
    Begun,
    /// A piece of the answer.
    Text(String),
    /// A piece of the model's thinking.
    Thinking(String),
    /// One reply of the model, whole.
    Message {
        text: String,
        calls: Vec<RequestedCall>,
    },
    /// The CLI waits for the result of a call.
    ToolRequested {
        request: String,
        call: RequestedCall,
    },
    /// A call has its result; the CLI itself answers a call of a tool that does not exist.
    ToolDone(String),
    /// What one call of the model used.
    Usage(CallUsage),
    /// How full the context is, in tokens.
    Context {
        tokens: u64,
        limit: u64,
    },
    /// AI credits of the session so far, in billionths.
    Credits(f64),
    /// The CLI asks whether a tool may run.
    Permission(String),
    /// The CLI tries again, for this reason.
    Retry(String),
    /// The CLI shortens the conversation.
    Compacting,
    Compacted,
    Failed {
        kind: String,
        message: String,
        status: Option<u16>,
    },
    /// The session waits for the next message.
    Idle,
    /// A message of the turn was too long to read; its bytes.
    TooLong(u64),
    /// The user stopped the turn.
    Cancelled,
    /// The CLI is gone.
    Gone,
}

/// What one call of the model used.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CallUsage {
    pub tokens: Tokens,
    pub finish: FinishReason,
    /// The part of the plan's allowance that is left, in percent.
    pub quota_left: Option<f64>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct EventParams<'a> {
    #[serde(borrow, rename = "sessionId")]
    session: Cow<'a, str>,
    #[serde(borrow)]
    event: EventBody<'a>,
}

#[derive(Deserialize)]
struct EventBody<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Reads a message; `None` for one that is not needed, or makes no sense.
pub(crate) fn read(message: &[u8]) -> Option<Incoming> {
    let envelope: Envelope<'_> = serde_json::from_slice(message).ok()?;
    let Some(method) = envelope.method else {
        let id = envelope.id?.get().parse().ok()?;
        let outcome = match (envelope.error, envelope.result) {
            (Some(error), _) => Err(error),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Ok(RawValue::NULL.to_owned()),
        };
        return Some(Incoming::Response(id, outcome));
    };
    if let Some(id) = envelope.id {
        return Some(Incoming::Request(id.to_owned()));
    }
    if method != SESSION_EVENT {
        return None;
    }
    let params: EventParams<'_> = serde_json::from_str(envelope.params?.get()).ok()?;
    let data = params.event.data.map_or("{}", RawValue::get);
    let event = event(&params.event.kind, data)?;
    Some(Incoming::Event(params.session.into_owned(), event))
}

/// Whether a long message that begins like this is needed: all but the events that are not read.
pub(crate) fn is_wanted(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    if !head.contains(SESSION_EVENT) {
        return !head.contains("\"method\"");
    }
    // `"event":{"type":"…"` is how every event begins.
    let after = |text: &'_ str, mark: &str| text.find(mark).map(|at| at + mark.len());
    let kind = after(&head, "\"event\"").and_then(|at| {
        let rest = head.get(at..)?;
        let rest = rest.get(after(rest, "\"type\"")?..)?;
        let rest = rest.trim_start_matches([':', ' ', '\t', '\n', '\r']);
        Some(rest.strip_prefix('"')?.split('"').next()?.to_owned())
    });
    kind.is_none_or(|kind| EVENTS.has(&kind))
}

/// The types of events that are read.
const EVENTS: WordList = WordList(
    "user.message assistant.turn_start assistant.message_delta assistant.reasoning_delta \
     assistant.message external_tool.requested tool.execution_complete assistant.usage \
     session.usage_info session.usage_checkpoint permission.requested assistant.turn_retry \
     session.compaction_start session.compaction_complete session.truncation session.error \
     session.idle",
);

fn event(kind: &str, data: &str) -> Option<SessionEvent> {
    if !EVENTS.has(kind) {
        return None;
    }
    Some(match kind {
        "user.message" | "assistant.turn_start" => SessionEvent::Begun,
        "assistant.message_delta" => SessionEvent::Text(parse::<DeltaData>(data)?.content),
        "assistant.reasoning_delta" => SessionEvent::Thinking(parse::<DeltaData>(data)?.content),
        "assistant.message" => {
            let message: MessageData = parse(data)?;
            let calls = message.calls.into_iter().map(CallData::into_call);
            SessionEvent::Message {
                text: message.content,
                calls: calls.collect(),
            }
        }
        "external_tool.requested" => {
            let mut request: ToolRequestData = parse(data)?;
            SessionEvent::ToolRequested {
                request: std::mem::take(&mut request.request),
                call: CallData {
                    id: request.call,
                    name: request.name,
                    arguments: request.arguments,
                }
                .into_call(),
            }
        }
        "tool.execution_complete" => SessionEvent::ToolDone(parse::<ToolDoneData>(data)?.call),
        "assistant.usage" => SessionEvent::Usage(parse::<UsageData>(data)?.into_usage()),
        "session.usage_info" => {
            let info: ContextData = parse(data)?;
            SessionEvent::Context {
                tokens: info.tokens.as_u64()?,
                limit: info.limit.as_u64()?,
            }
        }
        "session.usage_checkpoint" => SessionEvent::Credits(parse::<CreditData>(data)?.total),
        "permission.requested" => SessionEvent::Permission(parse::<PermissionData>(data)?.request),
        "assistant.turn_retry" => SessionEvent::Retry(parse::<RetryData>(data)?.reason),
        "session.compaction_start" => SessionEvent::Compacting,
        "session.compaction_complete" | "session.truncation" => SessionEvent::Compacted,
        "session.error" => {
            let error: ErrorData = parse(data).unwrap_or_default();
            SessionEvent::Failed {
                kind: error.kind,
                message: error.message,
                status: error.status,
            }
        }
        _ => SessionEvent::Idle,
    })
}

fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Option<T> {
    serde_json::from_str(data).ok()
}

#[derive(Deserialize)]
struct DeltaData {
    #[serde(rename = "deltaContent")]
    content: String,
}

#[derive(Deserialize)]
struct MessageData {
    #[serde(default)]
    content: String,
    #[serde(default, rename = "toolRequests")]
    calls: Vec<CallData>,
}

#[derive(Deserialize)]
struct CallData {
    #[serde(rename = "toolCallId")]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

impl CallData {
    fn into_call(self) -> RequestedCall {
        let args = self.arguments.map_or_else(String::new, |args| {
            // Arguments of a free form come as a text.
            serde_json::from_str(args.get()).unwrap_or_else(|_| args.get().to_owned())
        });
        RequestedCall {
            id: self.id,
            name: self.name,
            args: if args.is_empty() { "{}".into() } else { args },
        }
    }
}

#[derive(Deserialize)]
struct ToolRequestData {
    #[serde(rename = "requestId")]
    request: String,
    #[serde(rename = "toolCallId")]
    call: String,
    #[serde(rename = "toolName")]
    name: String,
    #[serde(default)]
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ToolDoneData {
    #[serde(rename = "toolCallId")]
    call: String,
}

#[derive(Deserialize)]
struct PermissionData {
    #[serde(rename = "requestId")]
    request: String,
}

#[derive(Deserialize)]
struct RetryData {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct ContextData {
    #[serde(rename = "currentTokens")]
    tokens: serde_json::Number,
    #[serde(rename = "tokenLimit")]
    limit: serde_json::Number,
}

#[derive(Deserialize)]
struct CreditData {
    #[serde(rename = "totalNanoAiu")]
    total: f64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorData {
    #[serde(rename = "errorType")]
    kind: String,
    message: String,
    #[serde(rename = "statusCode")]
    status: Option<u16>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UsageData {
    input_tokens: Value,
    output_tokens: Value,
    cache_read_tokens: Value,
    cache_write_tokens: Value,
    finish_reason: Option<String>,
    quota_snapshots: Value,
}

impl UsageData {
    fn into_usage(self) -> CallUsage {
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        CallUsage {
            tokens: Tokens {
                input: count(&self.input_tokens),
                output: count(&self.output_tokens),
                cached: count(&self.cache_read_tokens),
                written: count(&self.cache_write_tokens),
                ..Tokens::default()
            },
            finish: match self.finish_reason.as_deref() {
                None => FinishReason::Unknown,
                Some("stop" | "tool_calls" | "end_turn" | "tool_use") => FinishReason::Done,
                Some("length" | "max_tokens") => FinishReason::Length,
                Some("content_filter") => FinishReason::Filtered(String::new()),
                Some(other) => FinishReason::Other(other.to_owned()),
            },
            quota_left: quota_left(&self.quota_snapshots),
        }
    }
}

/// Of the plan's allowances, the part that is left of the smallest, in percent; `None` when nothing limits it.
pub(crate) fn quota_left(snapshots: &Value) -> Option<f64> {
    let limited = |snapshot: &&Value| {
        let unlimited = snapshot.get("isUnlimitedEntitlement");
        unlimited != Some(&Value::Bool(true))
    };
    let snapshots = snapshots.as_object()?.values();
    let left = snapshots.filter(limited).filter_map(|snapshot| {
        let left = snapshot.get("remainingPercentage")?.as_f64()?;
        (0.0..=100.0).contains(&left).then_some(left)
    });
    left.reduce(f64::min)
}

/// A call to the CLI.
#[derive(Serialize)]
pub(crate) struct RpcCall<'a, P> {
    jsonrpc: &'static str,
    pub id: u64,
    pub method: &'a str,
    pub params: P,
}

impl<'a, P: Serialize> RpcCall<'a, P> {
    pub(crate) fn text(id: u64, method: &'a str, params: P) -> String {
        let call = Self {
            jsonrpc: "2.0",
            id,
            method,
            params,
        };
        // It is made of texts and numbers, which always can be written.
        serde_json::to_string(&call).unwrap_or_default()
    }
}

/// The answer to a request of the CLI: Marvin has no methods.
pub(crate) fn refusal(id: &RawValue) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{UNKNOWN_METHOD},"message":"Marvin has no methods."}}}}"#,
        id.get()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event_of(kind: &str, data: &str) -> Option<SessionEvent> {
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"session.event","params":{{"sessionId":"s","event":{{"type":"{kind}","data":{data}}}}}}}"#
        );
        match read(message.as_bytes())? {
            Incoming::Event(session, event) => {
                assert_eq!(session, "s");
                Some(event)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn events_are_read_by_type_and_unknown_ones_are_dropped() {
        let text = event_of("assistant.message_delta", r#"{"deltaContent":"a\nb"}"#);
        assert_eq!(text, Some(SessionEvent::Text("a\nb".into())));
        let requested = event_of(
            "external_tool.requested",
            r#"{"requestId":"r","toolCallId":"c","toolName":"tree","arguments":{"a":[1, 2]}}"#,
        );
        let call = |args: &str| RequestedCall {
            id: "c".into(),
            name: "tree".into(),
            args: args.into(),
        };
        let request = "r".to_owned();
        let expected = SessionEvent::ToolRequested {
            request,
            call: call(r#"{"a":[1, 2]}"#),
        };
        assert_eq!(requested, Some(expected));
        let message = event_of(
            "assistant.message",
            r#"{"content":"","toolRequests":[{"toolCallId":"c","name":"tree"},{"toolCallId":"c","name":"tree","arguments":"*** Begin"}]}"#,
        );
        let expected = SessionEvent::Message {
            text: String::new(),
            calls: vec![call("{}"), call("*** Begin")],
        };
        assert_eq!(message, Some(expected));
        for (kind, data) in [
            ("assistant.streaming_delta", "{}"),
            ("session.brand_new", r#"{"deltaContent":"x"}"#),
            ("assistant.message_delta", "{}"),
            ("assistant.message_delta", "[1]"),
            ("external_tool.requested", r#"{"requestId":1}"#),
        ] {
            assert_eq!(event_of(kind, data), None, "{kind}");
        }
        assert_eq!(
            event_of("session.error", "7"),
            Some(SessionEvent::Failed {
                kind: String::new(),
                message: String::new(),
                status: None
            })
        );
    }

    #[test]
    fn usage_has_tokens_the_reason_of_the_end_and_what_is_left_of_the_plan() {
        let usage = event_of(
            "assistant.usage",
            r#"{"inputTokens":120,"outputTokens":14,"cacheReadTokens":100,"cost":0.33,"finishReason":"length",
               "quotaSnapshots":{"chat":{"isUnlimitedEntitlement":true,"remainingPercentage":1},"premium_interactions":{"remainingPercentage":90}}}"#,
        );
        let Some(SessionEvent::Usage(usage)) = usage else {
            panic!("{usage:?}");
        };
        assert_eq!((usage.tokens.input, usage.tokens.cached), (120, 100));
        assert_eq!(usage.finish, FinishReason::Length);
        assert_eq!(usage.quota_left, Some(90.0));
    }

    #[test]
    fn answers_have_a_result_or_an_error_and_requests_are_refused() {
        let read = |text: &str| read(text.as_bytes());
        assert!(matches!(
            read(r#"{"id":3,"result":null}"#),
            Some(Incoming::Response(3, Ok(result))) if result.get() == "null"
        ));
        assert!(matches!(
            read(r#"{"id":3,"error":{"code":-32603,"message":"no"}}"#),
            Some(Incoming::Response(3, Err(RpcError { code: -32603, .. })))
        ));
        let Some(Incoming::Request(id)) = read(r#"{"id":"x","method":"hook","params":{}}"#) else {
            panic!("no request");
        };
        let refused: Value = serde_json::from_str(&refusal(&id)).unwrap();
        assert_eq!(refused["id"], "x");
        assert_eq!(refused["error"]["code"], UNKNOWN_METHOD);
        for text in [
            "",
            "[]",
            "{}",
            r#"{"id":-1}"#,
            r#"{"method":"session.lifecycle","params":1}"#,
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn of_long_messages_those_that_are_read_are_known_by_their_beginning() {
        let head = |kind: &str| {
            format!(
                r#"{{"method": "session.event", "params": {{"sessionId":"s","event": {{"type": "{kind}","data"#
            )
        };
        assert!(is_wanted(head("assistant.message").as_bytes()));
        assert!(!is_wanted(head("model.messages_snapshot").as_bytes()));
        assert!(is_wanted(
            br#"{"jsonrpc":"2.0","id":4,"result":{"models":["#
        ));
        assert!(!is_wanted(br#"{"method":"session.lifecycle","params":{"#));
        assert!(is_wanted(
            br#"{"method":"session.event","params":{"event":{"#
        ));
    }

    proptest! {
        #[test]
        fn nothing_that_the_cli_may_write_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,200}", kind in 0usize..17) {
            let _ = read(&bytes);
            let _ = is_wanted(&bytes);
            let _ = is_wanted(text.as_bytes());
            let _ = event(EVENTS.iter().nth(kind).unwrap(), &text);
        }
    }
}
