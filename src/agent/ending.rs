//! The end of a run: replies that are not an answer (cut off, filtered, declined, empty), and the table of all ends with their exit status.

use std::time::Duration;

use crate::base::problem::Problem;
use crate::base::text::{clip, escape_controls, plural};
use crate::chat::message::ToolCall;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{FinishReason, Reply};
use crate::model_call::limits::{COST_LIMIT_WORDS, TOO_LARGE_WORDS};
use crate::model_call::model_target::ModelTarget;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::registry::{self, FinishedCall};

/// The turn ends after this many consecutive rounds in which every call was cut off: the model does not learn from the results and would loop
/// forever.
pub(super) const MAX_CUT_ROUNDS: usize = 3;

const HIT_LIMIT: &str = "limit of tokens and is cut";
const FILLED: &str = "fill its context window";
const FILTERED: &str = "content filter";
const DECLINED: &str = "declined to answer";
const STOPPED: &str = "before its end";
const LOADED: &str = "only loaded";
const ROUNDS: &str = "still asks for tools";
const MAX_TURNS: &str = "limit of requests";
const NOTHING: &str = "answered nothing";
const AGAIN: &str = "times in a row";

/// One way in which a run may end.
#[derive(Debug)]
pub(crate) struct RunEnd {
    /// What happened.
    pub when: &'static str,
    /// The exit status.
    pub status: u8,
    /// Words of the error line that no other end has; empty where it has words of its own for each case.
    pub words: &'static str,
}

const fn end(status: u8, when: &'static str, words: &'static str) -> RunEnd {
    RunEnd {
        when,
        status,
        words,
    }
}

/// Every end of a run, for the help and the manual. Whatever the status, what had arrived of the answer stands on standard output.
pub(crate) static RUN_ENDS: &[RunEnd] = &[
    end(0, "the answer is complete", ""),
    end(1, "the model's limit of tokens cut the answer", HIT_LIMIT),
    end(1, "the conversation filled the model's window", FILLED),
    end(1, "a content filter ended the answer", FILTERED),
    end(1, "the model declined", DECLINED),
    end(
        1,
        "the provider stopped the answer for another reason",
        STOPPED,
    ),
    end(1, "a server only loaded the model", LOADED),
    end(1, "the provider failed, or the connection to it", ""),
    end(1, "the rounds of tool calls are used up", ROUNDS),
    end(1, "--max-turns is reached", MAX_TURNS),
    end(1, "tool calls were cut again and again", AGAIN),
    end(1, "the model wrote nothing", NOTHING),
    end(1, "--max-cost is reached", COST_LIMIT_WORDS),
    end(1, "the request is too large for the model", TOO_LARGE_WORDS),
    end(1, "wrong arguments or settings, and anything else", ""),
    end(129, "the terminal was closed (SIGHUP)", ""),
    end(130, "Ctrl-C (SIGINT)", ""),
    end(143, "SIGTERM", ""),
];

/// A notice about a reply whose calls are answered, so that the turn continues.
pub(super) fn remark(target: &ModelTarget, reply: &Reply, cut: &[ToolCall]) -> Option<String> {
    if !reply.finish.is_early() {
        return None;
    }
    let mut words = early(target, &reply.finish)?;
    if !cut.is_empty() {
        let names: Vec<&str> = cut.iter().map(|call| call.name.as_str()).collect();
        words.push_str(&format!(
            " A tool call was cut and not run ({}); the model is asked to call again in smaller pieces.",
            names.join(", ")
        ));
    }
    Some(words)
}

/// Why a reply is not complete, as a sentence; `None` when it is.
fn early(target: &ModelTarget, finish: &FinishReason) -> Option<String> {
    let model = &target.model;
    let provider = target.provider.name();
    Some(match finish {
        FinishReason::Length => format!("The reply hit {model}'s {HIT_LIMIT}."),
        FinishReason::WindowFull => {
            format!("The conversation and {model}'s reply {FILLED}, and the reply is cut.")
        }
        FinishReason::Filtered(why) => {
            let why = escape_controls(&clip(why.trim(), 200));
            let why = match why.as_str() {
                "" => String::new(),
                why => format!(" ({why})"),
            };
            format!("A {FILTERED} of {provider} ended the reply{why}.")
        }
        FinishReason::Refused(words) => {
            let words = escape_controls(&clip(words.trim(), 600));
            if words.is_empty() {
                format!("{model} {DECLINED}.")
            } else {
                format!("{model} {DECLINED}: \"{words}\"")
            }
        }
        FinishReason::Incomplete(reason) if matches!(reason.as_str(), "load" | "unload") => {
            format!("{provider} {LOADED} or unloaded {model}, and wrote nothing.")
        }
        FinishReason::Incomplete(reason) if reason.is_empty() => {
            format!("{provider} stopped the reply {STOPPED} and gave no reason.")
        }
        FinishReason::Incomplete(reason) => format!(
            "{provider} stopped the reply {STOPPED} (reason: {}).",
            escape_controls(&clip(reason, 100))
        ),
        FinishReason::Unknown | FinishReason::Done | FinishReason::Other(_) => return None,
    })
}

/// Why a final reply, whose calls are not run, is not an answer; `shown` is true when the turn has already shown text, `rounds` is how many rounds
/// of calls it had, and `has_most` that no mode has more.
pub(super) fn failure(
    target: &ModelTarget,
    reply: &Reply,
    shown: bool,
    rounds: usize,
    has_most: bool,
) -> Option<Failure> {
    let model = &target.model;
    let early = early(target, &reply.finish);
    let has_calls = !reply.calls.is_empty() || !reply.cut_calls.is_empty();
    let is_out_of_rounds = early.is_none() && has_calls;
    let problem = if let Some(what) = early {
        match &reply.finish {
            FinishReason::Filtered(_) | FinishReason::Refused(_) => {
                Problem::refused(what).next("Ask in other words, or choose another model.")
            }
            FinishReason::WindowFull => Problem::limit(what).next(
                "Shorten the conversation or begin a new one, or choose a model with a larger window: --model NAME.",
            ),
            FinishReason::Length => {
                Problem::limit(what).next("Ask it to continue, or for less at once.")
            }
            FinishReason::Incomplete(reason) if reason.ends_with("load") => {
                Problem::network(what).next("Ask again.")
            }
            _ => Problem::limit(what).next("Ask it to continue."),
        }
    } else if has_calls {
        // The last round has no tools, or forbids to call them; a model may do so nevertheless.
        Problem::limit(format!(
            "{model} {ROUNDS} after {}, the most that one turn may have, so its answer is not complete.",
            plural(rounds, "round")
        ))
        .next(match has_most {
            true => "Ask it to continue.",
            false => "Ask it to continue. In coding mode, /code, a turn has more rounds.",
        })
    } else if !reply.text.trim().is_empty() {
        return None;
    } else if let FinishReason::Other(why) = &reply.finish {
        let why = escape_controls(&clip(why, 600));
        Problem::refused(format!("{model} {NOTHING} ({why})."))
    } else if shown {
        return None;
    } else {
        Problem::network(format!("{model} {NOTHING}.")).next("Ask again.")
    };
    let kind = match reply.finish {
        FinishReason::Refused(_) => FailureKind::Declined,
        FinishReason::Filtered(_) => FailureKind::Filtered,
        _ if is_out_of_rounds => FailureKind::Rounds,
        _ => FailureKind::Unfinished,
    };
    Some(Failure::new(kind, problem))
}

/// The failure of a turn that has made as many requests as the caller allows.
pub(crate) fn out_of_requests(most: usize) -> Failure {
    let what = match most {
        1 => format!("The {MAX_TURNS}, 1, is reached, and the model is not done."),
        most => format!("The {MAX_TURNS}, {most}, is reached, and the model is not done."),
    };
    let problem = Problem::limit(what).next("Raise --max-turns, or ask it to continue.");
    Failure::new(FailureKind::Rounds, problem)
}

/// The failure of a turn whose calls are cut again and again.
pub(super) fn cut_again_and_again(target: &ModelTarget, finish: &FinishReason) -> Failure {
    let by = match finish {
        FinishReason::Length => "its limit of tokens",
        _ => "the end of its reply",
    };
    let problem = Problem::limit(format!(
        "The tool calls of {} were cut by {by} {MAX_CUT_ROUNDS} {AGAIN}, so nothing was done.",
        target.model
    ))
    .next("Ask for the work in smaller steps, or choose a model that may write longer replies: --model NAME.");
    Failure::new(FailureKind::Unfinished, problem)
}

/// The answer to a call that was cut off with its reply.
pub(super) fn answer_cut(
    ctx: &ToolContext,
    call: &ToolCall,
    finish: &FinishReason,
) -> FinishedCall {
    let by = match finish {
        FinishReason::Length => "the limit of tokens of one reply",
        _ => "the end of the reply",
    };
    let arrived = plural(call.args.chars().count(), "character");
    let problem = Problem::limit(format!(
        "This call was cut off by {by} after {arrived} of its arguments; nothing of it was run."
    ))
    .next("Call again in smaller pieces: a long file begins with create_file, and append_file adds the rest part by part.");
    registry::finish_call(ctx, call, Err(problem), Duration::ZERO)
}
