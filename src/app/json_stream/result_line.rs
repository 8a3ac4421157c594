//! The last line of a turn: how it ended, what it used and cost.

use serde::Serialize;
use serde_json::{Map, Value};

use super::answer_lines::{AnswerLines, Denied, TurnTally, millis};
use super::content_blocks::UsageFields;
use super::line_writer::{LineWriter, MAX_TEXT, clipped, length_in_json};
use crate::base::problem::Problem;
use crate::chat::event::StopReason;
use crate::chat::usage::Totals;
use crate::llm::failure::{Failure, FailureKind};
use crate::model_call::model_target::ModelTarget;
use crate::tools::engine::context::SessionContext;

/// Bytes of a result for what is beside the answer and the calls that were refused: usage of each model, and what went wrong.
const BESIDE: usize = 64 << 10;
/// The longest value, as JSON: a result has one line.
pub(super) const MAX_VALUE: usize = MAX_TEXT - BESIDE;
/// Instead of the text of a value that a line has no room for twice.
const ONLY_ONCE: &str = "[The answer is in structured_output alone: a line has at most 1 MiB.]";

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnResult {
    subtype: &'static str,
    terminal_reason: &'static str,
}

/// The ends of turns: when, `subtype`, `terminal_reason`.
const SUCCESS: TurnResult = end("success", "completed");
const API_ERROR: TurnResult = end("error_during_execution", "api_error");
const MODEL_ERROR: TurnResult = end("error_during_execution", "model_error");
const ABORTED_STREAMING: TurnResult = end("error_during_execution", "aborted_streaming");
const ABORTED_TOOLS: TurnResult = end("error_during_execution", "aborted_tools");
const MAX_TURNS: TurnResult = end("error_max_turns", "max_turns");
const MISFIT: TurnResult = end(
    "error_max_structured_output_retries",
    "structured_output_retry_exhausted",
);
const MAX_BUDGET: TurnResult = end("error_max_budget_usd", "budget_exhausted");

/// The `terminal_reason` of a turn that a hook has ended.
const HOOK_STOPPED: &str = "hook_stopped";

const fn end(subtype: &'static str, terminal_reason: &'static str) -> TurnResult {
    TurnResult {
        subtype,
        terminal_reason,
    }
}

impl TurnResult {
    fn of(failure: Option<&Failure>, is_stopped: bool, is_in_call: bool) -> Self {
        let kind = failure.map(|failure| &failure.kind);
        match kind {
            _ if is_stopped && is_in_call => ABORTED_TOOLS,
            _ if is_stopped => ABORTED_STREAMING,
            None => SUCCESS,
            Some(FailureKind::Cancelled) => ABORTED_STREAMING,
            Some(FailureKind::Rounds) => MAX_TURNS,
            Some(FailureKind::Budget) => MAX_BUDGET,
            Some(FailureKind::Misfit) => MISFIT,
            Some(FailureKind::Unfinished | FailureKind::Filtered | FailureKind::Declined) => {
                MODEL_ERROR
            }
            Some(_) => API_ERROR,
        }
    }
}

/// Why a request failed, in the words of the form; `None` where none did.
fn error_of(failure: &Failure) -> Option<&'static str> {
    Some(match failure.kind {
        _ if TurnResult::of(Some(failure), false, false) != API_ERROR => return None,
        FailureKind::Auth => "authentication_failed",
        FailureKind::RateLimited { .. } => "rate_limit",
        FailureKind::Quota => "billing_error",
        FailureKind::Server => "server_error",
        FailureKind::TooLarge
        | FailureKind::TooLong
        | FailureKind::NoTools
        | FailureKind::BadCall { .. }
        | FailureKind::OtherWire
        | FailureKind::NoSummaries
        | FailureKind::NoSuchPath
        | FailureKind::Refused => "invalid_request",
        _ => "unknown",
    })
}

/// What the result of a turn is made of.
pub(super) struct TurnOutcome<'a> {
    pub(super) failure: Option<&'a Failure>,
    /// The caller, or a signal, stopped it.
    pub(super) is_stopped: bool,
    pub(super) session: &'a SessionContext,
    pub(super) target: Option<&'a ModelTarget>,
    /// The answer that fits the schema.
    pub(super) value: Option<&'a Value>,
}

/// Writes the result of the turn that `lines` has shown.
pub(super) fn write(lines: &AnswerLines, outcome: &TurnOutcome<'_>) {
    // Where nothing was asked, no model has failed.
    let failure = outcome
        .failure
        .filter(|_| !outcome.is_stopped && lines.has_asked());
    if let Some((failure, error)) = failure.and_then(|failure| Some((failure, error_of(failure)?)))
    {
        lines.request_failed(error, &failure.problem.one_line());
    }
    if let Some(tally) = lines.end_turn() {
        if !lines.writes_results() {
            outcome
                .value
                .into_iter()
                .for_each(|value| lines.writer().write_control(value));
            return;
        }
        let result = ResultLine::new(lines, &tally, outcome);
        lines.writer().write(&result);
    }
}

/// The same when the turn hangs and the process ends: nothing is waited for.
pub(crate) fn break_off(lines: &AnswerLines, session: &SessionContext) {
    if let Some(tally) = lines.break_off().filter(|_| lines.writes_results()) {
        let outcome = TurnOutcome {
            failure: None,
            is_stopped: true,
            session,
            target: None,
            value: None,
        };
        let result = ResultLine::new(lines, &tally, &outcome);
        lines.writer().try_write(&result);
    }
}

/// Writes the result of a run in which no turn began.
pub(crate) fn write_failure(writer: &LineWriter, problem: &Problem) {
    writer.write(&ResultLine {
        answer: ResultAnswer {
            errors: Some(vec![clipped(&problem.one_line(), BESIDE / 4).into_owned()]),
            ..ResultAnswer::default()
        },
        ..ResultLine::empty(API_ERROR)
    });
}

#[derive(Serialize)]
struct ResultLine {
    #[serde(rename = "type")]
    kind: &'static str,
    subtype: &'static str,
    is_error: bool,
    #[serde(flatten)]
    times: ResultTimes,
    stop_reason: Option<StopReason>,
    #[serde(flatten)]
    cost: ResultCost,
    permission_denials: Vec<Denied>,
    terminal_reason: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    marvin_cost_estimated: bool,
    #[serde(flatten)]
    answer: ResultAnswer,
}

/// How long the turn took, and in how many requests.
#[derive(Default, Serialize)]
struct ResultTimes {
    duration_ms: u64,
    duration_api_ms: u64,
    num_turns: u64,
}

/// What it used, and what the process has cost.
#[derive(Default, Serialize)]
struct ResultCost {
    total_cost_usd: f64,
    usage: UsageFields,
    #[serde(rename = "modelUsage")]
    model_usage: Map<String, Value>,
}

/// What came of it.
#[derive(Default, Serialize)]
struct ResultAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_output: Option<Value>,
}

/// What a model has used in this process.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    web_search_requests: u64,
    #[serde(rename = "costUSD")]
    cost: f64,
    context_window: u64,
    max_output_tokens: u64,
}

impl ResultLine {
    fn empty(end: TurnResult) -> Self {
        Self {
            kind: "result",
            subtype: end.subtype,
            is_error: end.subtype != SUCCESS.subtype,
            times: ResultTimes::default(),
            stop_reason: None,
            cost: ResultCost::default(),
            permission_denials: Vec::new(),
            terminal_reason: end.terminal_reason,
            marvin_cost_estimated: false,
            answer: ResultAnswer::default(),
        }
    }

    fn new(lines: &AnswerLines, tally: &TurnTally, outcome: &TurnOutcome<'_>) -> Self {
        let mut end = TurnResult::of(outcome.failure, outcome.is_stopped, tally.is_in_call);
        if !outcome.is_stopped && outcome.session.hooks.end().is_some() {
            end.terminal_reason = HOOK_STOPPED;
        }
        let totals = outcome.session.ledger.totals();
        let text = match outcome.value {
            Some(value) => value.to_string(),
            None => tally.text.clone(),
        };
        let text = match outcome.session.hooks.end() {
            Some(reason) if text.is_empty() && outcome.failure.is_none() => reason,
            _ => text,
        };
        let (text, permission_denials) = match lines.writes_lines() {
            true => in_line(text, &tally.denials, outcome.value.is_some()),
            false => (text, tally.denials.clone()),
        };
        let is_success = end.subtype == SUCCESS.subtype;
        let errors = (!is_success).then(|| vec![error_words(outcome)]);
        let is_told = is_success || !text.trim().is_empty();
        Self {
            times: ResultTimes {
                duration_ms: millis(tally.started.elapsed()),
                duration_api_ms: millis(tally.in_requests),
                num_turns: tally.requests,
            },
            stop_reason: tally.stop.filter(|_| !outcome.is_stopped),
            cost: ResultCost {
                total_cost_usd: rounded(totals.cost),
                usage: tally.tokens.into(),
                model_usage: model_usage(&totals, outcome.target),
            },
            permission_denials,
            marvin_cost_estimated: totals.cost_estimated(),
            answer: ResultAnswer {
                errors,
                result: is_told.then_some(text),
                structured_output: outcome.value.cloned(),
            },
            ..Self::empty(end)
        }
    }
}

fn error_words(outcome: &TurnOutcome<'_>) -> String {
    match outcome.failure {
        Some(failure) if !outcome.is_stopped && failure.kind != FailureKind::Cancelled => {
            clipped(&failure.problem.one_line(), BESIDE / 4).into_owned()
        }
        _ => "The turn was stopped.".to_owned(),
    }
}

/// The text of an answer and the refused calls as far as one line has room for them; the lines before have the whole. That of a value stands there a second
/// time.
fn in_line(text: String, denials: &[Denied], is_value: bool) -> (String, Vec<Denied>) {
    let value = if is_value { text.len() } else { 0 };
    let room = MAX_VALUE.saturating_sub(value);
    let denials = Denied::all_fitted(denials, room / 2);
    let taken = serde_json::to_string(&denials).map_or(0, |json| json.len());
    let room = room.saturating_sub(taken);
    let text = match is_value {
        true if length_in_json(&text) > room => match room > ONLY_ONCE.len() {
            true => ONLY_ONCE.to_owned(),
            false => String::new(),
        },
        true => text,
        false => clipped(&text, room).into_owned(),
    };
    (text, denials)
}

/// Every model of the process, those of children included.
fn model_usage(totals: &Totals, target: Option<&ModelTarget>) -> Map<String, Value> {
    let mut usage = Map::new();
    for (name, cost) in &totals.model_cost {
        let tokens = totals.model_tokens.get(name).copied().unwrap_or_default();
        let used = UsageFields::from(tokens);
        let info = target.map(|target| match target.model == *name {
            true => target.info.clone(),
            false => target.prices.facts(target.provider.name(), name),
        });
        let used = ModelUsage {
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            cache_read_input_tokens: used.cache_read_input_tokens,
            cache_creation_input_tokens: used.cache_creation_input_tokens,
            web_search_requests: 0,
            cost: rounded(*cost),
            context_window: info.as_ref().map_or(0, |info| info.window),
            max_output_tokens: info.as_ref().map_or(0, |info| info.output),
        };
        usage.insert(name.clone(), serde_json::to_value(used).unwrap_or_default());
    }
    usage
}

/// To a ten-millionth of a dollar.
fn rounded(dollars: f64) -> f64 {
    (dollars.clamp(0.0, f64::MAX / 1e8) * 1e7).round() / 1e7
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::Problem;

    #[test]
    fn an_end_has_the_words_of_the_form() {
        let failed = |kind| Failure::new(kind, Problem::network("x"));
        for (kind, is_stopped, is_in_call, result) in [
            (None, false, false, SUCCESS),
            (None, true, false, ABORTED_STREAMING),
            (Some(FailureKind::Cancelled), true, true, ABORTED_TOOLS),
            (Some(FailureKind::Server), false, false, API_ERROR),
            (Some(FailureKind::Unfinished), false, false, MODEL_ERROR),
            (Some(FailureKind::Declined), false, false, MODEL_ERROR),
            (Some(FailureKind::Rounds), false, false, MAX_TURNS),
            (Some(FailureKind::Budget), false, false, MAX_BUDGET),
        ] {
            let failure = kind.clone().map(failed);
            let made = TurnResult::of(failure.as_ref(), is_stopped, is_in_call);
            assert_eq!(made, result, "{kind:?}");
        }
    }
}
