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
use super::line_writer::{CLIPPED, LineWriter, MAX_TEXT, head_in_json};
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
    state: Mutex<TurnState>,
}

/// What a turn's result tells of it.
#[derive(Debug, Clone)]
pub(super) struct TurnTally {
    pub(super) started: Instant,
    /// Time in requests to the model.
    pub(super) in_requests: Duration,
    pub(super) requests: u64,
    pub(super) tokens: Tokens,
    pub(super) stop: Option<StopReason>,
    /// The text of the last message.
    pub(super) text: String,
    /// Calls that were refused.
    pub(super) denials: Vec<Denied>,
    /// Calls were running when the turn ended, or the next request was not sent yet.
    pub(super) is_in_call: bool,
}

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
    /// Children and models beside the one that answers, for the cost of each.
    models: Vec<ModelTally>,
    is_open: bool,
}

/// What a model has used in this process.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModelTally {
    pub(super) model: String,
    pub(super) tokens: Tokens,
    pub(super) cost: f64,
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
                models: Vec::new(),
                is_open: false,
            }),
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

    /// A turn begins that `model` answers.
    pub(super) fn begin_turn(&self, model: &str) {
        let mut state = self.lock();
        model.clone_into(&mut state.model);
        state.tally = TurnTally::new();
        state.is_open = true;
    }

    /// Another model answers from now on.
    pub(super) fn set_model(&self, model: &str) {
        model.clone_into(&mut self.lock().model);
    }

    /// The turn is over: what was open of it is written. Returns what its result tells; `None` when that was written already.
    pub(super) fn end_turn(&self) -> Option<(TurnTally, Vec<ModelTally>)> {
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
        Some((state.tally.clone(), state.models.clone()))
    }

    /// The same at once, when the turn hangs and the process ends: nothing is waited for.
    pub(super) fn break_off(&self) -> Option<(TurnTally, Vec<ModelTally>)> {
        let mut state = self.state.try_lock().ok()?;
        std::mem::take(&mut state.is_open).then(|| (state.tally.clone(), state.models.clone()))
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
        let known = state.models.iter_mut();
        let mut known = known.filter(|known| known.model == turn.model);
        if let Some(known) = known.next() {
            known.tokens.add(turn.tokens);
            known.cost += turn.cost;
        } else {
            state.models.push(ModelTally {
                model: turn.model.clone(),
                tokens: turn.tokens,
                cost: turn.cost,
            });
        }
        if state.is_compacting {
            return;
        }
        state.tally.requests += 1;
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
        let head = head_in_json(&result.text, MAX_TEXT - CLIPPED.len());
        let clipped = match head.len() < result.text.len() {
            true => Some(format!("{head}{CLIPPED}")),
            false => None,
        };
        self.line(&ResultsLine {
            kind: "user",
            message: ResultsMessage {
                role: "user",
                content: [ToolResultBlock {
                    kind: "tool_result",
                    tool_use_id: id,
                    content: content_blocks::of_result(
                        clipped.as_deref().unwrap_or(&result.text),
                        &result.images,
                    ),
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
        let goes_on = message::is_part(&event) || matches!(event, Event::Notice(..));
        if !goes_on {
            self.close_message(state);
        }
        match event {
            Event::Delta(text) => self.piece(state, false, &text),
            Event::Thinking(text) => self.piece(state, true, &text),
            Event::Turn(turn) => self.count(state, &turn),
            Event::ReplyEnded(stop) => self.end_reply(state, stop),
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
            Event::ChildLine { call, line } => self.child_line(&call, &line),
            Event::CallState { .. }
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::CallChanged { .. } => {}
        }
    }

    fn takes_child_lines(&self) -> bool {
        self.writes_lines()
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
                message,
            },
        });
    }

    /// A line of a sub-agent that `call` has started, under that call's id.
    fn child_line(&self, call: &str, line: &str) {
        if let Some(line) = under_call(call, line) {
            self.line(&line);
        }
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

impl TurnTally {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            in_requests: Duration::ZERO,
            requests: 0,
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
