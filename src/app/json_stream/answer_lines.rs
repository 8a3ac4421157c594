//! A turn's events as lines: the model's messages block by block ([`message`]), results of calls in call order, waits, compactions, notices.

pub(super) mod message;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::message::OpenMessage;
use super::content_blocks::{self, input_of};
use super::line_forms::{
    BoundaryFields, CompactMetadata, DenialFields, OwnFields, ResultsLine, ResultsMessage,
    RetryFields, StatusFields, StreamEvent, StreamLine, SystemLine, ToolResultBlock, ToolUseResult,
    under_call,
};
use super::line_writer::{LineWriter, MAX_TEXT, clipped, length_in_json};
use crate::app::settings::json_flags::OutputFormat;
use crate::app::stream::say;
use crate::chat::event::{CallEnd, DenialReason, Event, EventSink, StopReason};
use crate::chat::image::Image;
use crate::chat::message::ToolCall;
use crate::chat::usage::{Tokens, TurnUsage};
use crate::chat::wait::Wait;

/// How much of a turn is written while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LineDetail {
    /// Nothing, and of its end the value alone that was asked for.
    ValueOnly,
    /// Nothing: only its end is.
    ResultOnly,
    /// Whole blocks and results.
    Blocks,
    /// Every piece of an answer too.
    Partial,
}

impl LineDetail {
    /// How much of a turn is written in this form; `None` where that is text, unless that is a value.
    pub(crate) fn of(format: OutputFormat, is_partial: bool, is_value: bool) -> Option<Self> {
        match (format, is_partial) {
            (OutputFormat::Text, _) => is_value.then_some(Self::ValueOnly),
            (OutputFormat::Json, _) => Some(Self::ResultOnly),
            (OutputFormat::StreamJson, false) => Some(Self::Blocks),
            (OutputFormat::StreamJson, true) => Some(Self::Partial),
        }
    }
}

/// Writes the lines of turns, one after the other, and counts what their results tell.
pub(crate) struct AnswerLines {
    writer: Arc<LineWriter>,
    detail: LineDetail,
    /// The lines go to the Marvin above, which tells of calls that were refused what they were.
    is_child: bool,
    state: Mutex<TurnState>,
}

/// What a turn's result tells of it.
#[derive(Debug, Clone)]
pub(super) struct TurnTally {
    pub(super) started: Instant,
    /// Time in requests to the model.
    pub(super) in_requests: Duration,
    pub(super) requests: u64,
    /// There was one, answered or not.
    pub(super) has_asked: bool,
    pub(super) tokens: Tokens,
    pub(super) stop: Option<StopReason>,
    /// The text of the last message.
    pub(super) text: String,
    /// Calls that were refused.
    pub(super) denials: Vec<Denied>,
    /// Calls were running when the turn ended, or the next request was not sent yet.
    pub(super) is_in_call: bool,
}

/// Bytes that each refused call may take in a result.
const MIN_DENIAL: usize = 400;

/// A call that was refused.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Denied {
    tool_name: String,
    tool_use_id: String,
    tool_input: Map<String, Value>,
}

struct TurnState {
    model: String,
    tally: TurnTally,
    /// When the request was sent that has no end yet.
    request: Option<Instant>,
    message: Option<OpenMessage>,
    /// Usage of a reply that had no text before its calls.
    usage: Tokens,
    /// The calls of the round whose results are not written, in call order.
    round: VecDeque<String>,
    /// The arguments of its calls, for those that are refused.
    inputs: HashMap<String, Map<String, Value>>,
    /// Results that wait for those before them.
    results: HashMap<String, ToolResult>,
    is_compacting: bool,
    /// A request was counted whose reply is not whole: if it is sent again, both are one.
    is_counted: bool,
    is_open: bool,
}

struct ToolResult {
    text: String,
    images: Vec<Image>,
    failed: bool,
    took: Duration,
    end: CallEnd,
}

impl AnswerLines {
    pub(crate) fn new(writer: Arc<LineWriter>, detail: LineDetail) -> Self {
        Self {
            writer,
            detail,
            is_child: false,
            state: Mutex::new(TurnState {
                model: String::new(),
                tally: TurnTally::new(),
                request: None,
                message: None,
                usage: Tokens::default(),
                round: VecDeque::new(),
                inputs: HashMap::new(),
                results: HashMap::new(),
                is_compacting: false,
                is_counted: false,
                is_open: false,
            }),
        }
    }

    /// Lines for the Marvin that started this one.
    pub(super) fn for_parent(writer: Arc<LineWriter>) -> Self {
        Self {
            is_child: true,
            ..Self::new(writer, LineDetail::Blocks)
        }
    }

    pub(super) fn writer(&self) -> &LineWriter {
        &self.writer
    }

    pub(super) fn writes_lines(&self) -> bool {
        self.detail > LineDetail::ResultOnly
    }

    /// Where the value alone is written, nothing tells of an end without one.
    pub(crate) fn writes_results(&self) -> bool {
        self.detail > LineDetail::ValueOnly
    }

    /// The text of the last message.
    pub(super) fn said(&self) -> String {
        self.lock().tally.text.clone()
    }

    /// How many requests to the model the turn took so far.
    pub(super) fn requests(&self) -> usize {
        usize::try_from(self.lock().tally.requests).unwrap_or(usize::MAX)
    }

    /// A request was sent in this turn, whatever came of it.
    pub(super) fn has_asked(&self) -> bool {
        self.lock().tally.has_asked
    }

    /// A turn begins that `model` answers.
    pub(super) fn begin_turn(&self, model: &str) {
        let mut state = self.lock();
        model.clone_into(&mut state.model);
        state.tally = TurnTally::new();
        state.is_counted = false;
        state.is_open = true;
    }

    /// Another model answers from now on.
    pub(super) fn set_model(&self, model: &str) {
        model.clone_into(&mut self.lock().model);
    }

    /// The turn is over: what was open of it is written. Returns what its result tells; `None` when that was written already.
    pub(super) fn end_turn(&self) -> Option<TurnTally> {
        let mut state = self.lock();
        if !std::mem::take(&mut state.is_open) {
            return None;
        }
        let is_asking = state.request.is_some() || state.message.is_some();
        state.tally.is_in_call = state.tally.stop == Some(StopReason::ToolUse) && !is_asking;
        if let Some(since) = state.request.take() {
            state.tally.in_requests += since.elapsed();
        }
        self.close_message(&mut state);
        self.write_results(&mut state, true);
        Some(state.tally.clone())
    }

    /// The same at once, when the turn hangs and the process ends: nothing is waited for.
    pub(super) fn break_off(&self) -> Option<TurnTally> {
        let mut state = self.state.try_lock().ok()?;
        std::mem::take(&mut state.is_open).then(|| state.tally.clone())
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, line: &impl Serialize) {
        if self.writes_lines() {
            self.writer.write(line);
        }
    }

    fn stream_event(&self, event: StreamEvent<'_>) {
        if self.detail == LineDetail::Partial {
            self.writer.write(&StreamLine {
                kind: "stream_event",
                event,
                parent_tool_use_id: (),
            });
        }
    }
}

/// What requests took.
impl AnswerLines {
    fn count(&self, state: &mut TurnState, turn: &TurnUsage) {
        if let Some(since) = state.request.take() {
            state.tally.in_requests += since.elapsed();
        }
        if state.is_compacting {
            return;
        }
        state.tally.requests += 1;
        state.is_counted = true;
        state.tally.tokens.add(turn.tokens);
        match &mut state.message {
            Some(message) => message.usage = turn.tokens,
            None => state.usage = turn.tokens,
        }
    }
}

/// Results of calls.
impl AnswerLines {
    fn round(&self, state: &mut TurnState, calls: &[ToolCall]) {
        self.open_message(state);
        self.close_block(state);
        for call in calls {
            self.call(state, call);
        }
        self.end_message(state, StopReason::ToolUse);
        self.close_message(state);
        // The answer that counts is that of the last message.
        state.tally.text.clear();
        state.round.extend(calls.iter().map(|call| call.id.clone()));
        let inputs = calls.iter();
        state.inputs = inputs
            .map(|call| (call.id.clone(), input_of(&call.args)))
            .collect();
    }

    /// Writes the results of which all before them are there; at the `end` of a turn all.
    /// The caller had the conversation compacted, from so many tokens to so many.
    pub(super) fn compacted_by_hand(&self, before: u64, after: u64) {
        self.status(Some("compacting"));
        self.status(None);
        self.boundary("manual", before, after);
    }

    fn status(&self, status: Option<&'static str>) {
        self.line(&SystemLine {
            kind: "system",
            subtype: "status",
            fields: StatusFields { status },
        });
    }

    fn boundary(&self, trigger: &'static str, pre_tokens: u64, post_tokens: u64) {
        self.line(&SystemLine {
            kind: "system",
            subtype: "compact_boundary",
            fields: BoundaryFields {
                compact_metadata: CompactMetadata {
                    trigger,
                    pre_tokens,
                    post_tokens,
                },
            },
        });
    }

    fn write_results(&self, state: &mut TurnState, end: bool) {
        while let Some(id) = state.round.front() {
            let Some(result) = state.results.remove(id) else {
                if end {
                    state.round.pop_front();
                    continue;
                }
                return;
            };
            let id = state.round.pop_front().unwrap_or_default();
            self.result(&id, &result);
        }
    }

    fn result(&self, id: &str, result: &ToolResult) {
        let text = clipped(&result.text, MAX_TEXT);
        self.line(&ResultsLine {
            kind: "user",
            message: ResultsMessage {
                role: "user",
                content: [ToolResultBlock {
                    kind: "tool_result",
                    tool_use_id: id,
                    content: content_blocks::of_result(&text, &result.images),
                    is_error: result.failed,
                }],
            },
            parent_tool_use_id: (),
            tool_use_result: ToolUseResult {
                duration_ms: millis(result.took),
                end: result.end,
            },
        });
    }
}

impl EventSink for AnswerLines {
    fn emit(&self, event: Event) {
        let mut state = self.lock();
        let state = &mut *state;
        // The calls of a reply follow it at once: whatever else comes says that there are none.
        if !message::goes_on(&event, state.message.as_ref()) {
            self.close_message(state);
        }
        match event {
            Event::Delta(text) => self.piece(state, false, &text),
            Event::Thinking(text) => self.piece(state, true, &text),
            Event::ThoughtSigned(signature) => self.signed(state, &signature),
            Event::Turn(turn) => self.count(state, &turn),
            Event::ReplyEnded(stop) => {
                state.is_counted = false;
                self.end_reply(state, stop);
            }
            Event::ToolsStarted(calls) => self.round(state, &calls),
            Event::ToolDone {
                id,
                failed,
                took,
                end,
                text,
                images,
                ..
            } => {
                let result = ToolResult {
                    text,
                    images,
                    failed,
                    took,
                    end,
                };
                if state.round.contains(&id) {
                    state.results.insert(id, result);
                    self.write_results(state, false);
                }
            }
            Event::Denied {
                id,
                name,
                reason,
                message,
            } => self.denied(state, &id, &name, reason, &message),
            Event::Wait(wait) => self.wait(state, &wait),
            Event::Compacted { before, after } => {
                state.is_compacting = false;
                self.status(None);
                self.boundary("auto", before, after);
            }
            Event::Notice(..) | Event::Pipeline(_) | Event::Reply(_) => {
                if let Event::Notice(_, words) = &event {
                    say(&words.replace('\n', "\n  "));
                }
                self.own(&event);
            }
            Event::ChildLine { call, line } => self.child_line(state, &call, &line),
            Event::CallState { .. }
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::CallChanged { .. } => {}
        }
    }

    fn takes_child_lines(&self) -> bool {
        // A result tells what sub-agents were refused.
        self.writes_results()
    }
}

/// What is said beside messages.
impl AnswerLines {
    fn wait(&self, state: &mut TurnState, wait: &Wait) {
        match wait {
            Wait::Compaction => {
                state.is_compacting = true;
                self.line(&SystemLine {
                    kind: "system",
                    subtype: "status",
                    fields: StatusFields {
                        status: Some("compacting"),
                    },
                });
            }
            Wait::Retry {
                is_rate_limit,
                wait,
                attempt,
                most,
                status,
                ..
            } => {
                state.request = None;
                // What was shown is not what the next attempt says.
                state.tally.text.clear();
                self.line(&SystemLine {
                    kind: "system",
                    subtype: "api_retry",
                    fields: RetryFields {
                        attempt: *attempt,
                        max_retries: *most,
                        retry_delay_ms: millis(*wait),
                        error_status: *status,
                        error: match is_rate_limit {
                            true => "rate_limit",
                            false => "server_error",
                        },
                    },
                });
            }
            Wait::Start { .. } | Wait::Connection { .. } | Wait::FirstByte { .. } => {
                if state.request.is_none() {
                    state.request = Some(Instant::now());
                    state.tally.text.clear();
                    state.tally.has_asked = true;
                    if std::mem::take(&mut state.is_counted) {
                        state.tally.requests -= 1;
                    }
                }
            }
        }
    }

    fn denied(
        &self,
        state: &mut TurnState,
        id: &str,
        name: &str,
        reason: DenialReason,
        message: &str,
    ) {
        let input = state.inputs.remove(id).unwrap_or_default();
        let told = self
            .is_child
            .then(|| content_blocks::fitted(input.clone(), MAX_TEXT / 2));
        state.tally.denials.push(Denied {
            tool_name: name.to_owned(),
            tool_use_id: id.to_owned(),
            tool_input: input,
        });
        self.line(&SystemLine {
            kind: "system",
            subtype: "permission_denied",
            fields: DenialFields {
                tool_name: name,
                tool_use_id: id,
                decision_reason_type: match reason {
                    DenialReason::Rule => "rule",
                    DenialReason::Mode => "mode",
                    DenialReason::Hook => "hook",
                    DenialReason::Asked => "permissionPromptTool",
                    DenialReason::Other => "other",
                },
                message: &clipped(message, MAX_TEXT / 4),
                tool_input: told.as_ref(),
            },
        });
    }

    /// A line of a sub-agent that `call` has started, under that call's id.
    fn child_line(&self, state: &mut TurnState, call: &str, line: &str) {
        let Some(mut line) = under_call(call, line) else {
            return;
        };
        if let Some(Value::Object(tool_input)) = line.shift_remove("tool_input") {
            let text = |key: &str| line.get(key).and_then(Value::as_str);
            state.tally.denials.push(Denied {
                tool_name: text("tool_name").unwrap_or_default().to_owned(),
                tool_use_id: text("tool_use_id").unwrap_or_default().to_owned(),
                tool_input: tool_input.clone(),
            });
            // A parent of this one counts it too.
            if self.is_child {
                line.insert("tool_input".to_owned(), Value::Object(tool_input));
            }
        }
        self.line(&line);
    }

    /// An event that the form has no word for.
    fn own(&self, event: &Event) {
        let json = serde_json::to_string(event).unwrap_or_default();
        if json.len() <= MAX_TEXT
            && let Ok(event) = RawValue::from_string(json)
        {
            self.line(&SystemLine {
                kind: "system",
                subtype: "marvin",
                fields: OwnFields { event: &event },
            });
        }
    }
}

impl Denied {
    /// The same in at most `most` bytes; `None` where that is too little for its names.
    fn fitted(&self, most: usize) -> Option<Self> {
        /// Of the members' names, and of marks between them.
        const AROUND: usize = 80;
        let names = length_in_json(&self.tool_name) + length_in_json(&self.tool_use_id);
        let most = most.checked_sub(names + AROUND)?;
        Some(Self {
            tool_input: content_blocks::fitted(self.tool_input.clone(), most),
            ..self.clone()
        })
    }

    /// Refused calls as far as `most` bytes have room for them: each has as much of it, and the last are left out where that is not enough for names.
    pub(super) fn all_fitted(denials: &[Self], most: usize) -> Vec<Self> {
        let length = serde_json::to_string(denials).map_or(0, |json| json.len());
        if length <= most {
            return denials.to_vec();
        }
        let share = (most / denials.len().max(1)).max(MIN_DENIAL);
        let shown = denials.iter().take(most / share);
        shown.filter_map(|denied| denied.fitted(share)).collect()
    }
}

impl TurnTally {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            in_requests: Duration::ZERO,
            requests: 0,
            has_asked: false,
            tokens: Tokens::default(),
            stop: None,
            text: String::new(),
            denials: Vec::new(),
            is_in_call: false,
        }
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
