//! Replies that are not an answer: cut off by the token limit, filtered, or empty.

use std::time::Duration;

use super::model_target::ModelTarget;
use crate::base::problem::Problem;
use crate::base::text::{clip, escape_controls, plural};
use crate::chat::message::ToolCall;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{FinishReason, Reply};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::registry::{self, FinishedCall};

/// The turn ends after this many consecutive rounds in which every call was cut off: the model does not learn from the results and would loop
/// forever.
pub(super) const MAX_CUT_ROUNDS: usize = 3;

/// A notice about a reply whose calls get results, so that the turn continues.
pub(super) fn remark(target: &ModelTarget, reply: &Reply, cut: &[ToolCall]) -> Option<String> {
    match &reply.finish {
        FinishReason::Length if cut.is_empty() => Some(limit_reached(target)),
        FinishReason::Length => {
            let names: Vec<&str> = cut.iter().map(|call| call.name.as_str()).collect();
            Some(format!(
                "{} A tool call was cut and not run ({}); the model is asked to call again in smaller pieces.",
                limit_reached(target),
                names.join(", ")
            ))
        }
        FinishReason::Filtered => Some(filtered(target)),
        FinishReason::Incomplete(reason) => Some(stopped(target, reason)),
        FinishReason::Refused(_)
        | FinishReason::Unknown
        | FinishReason::Done
        | FinishReason::Other(_) => None,
    }
}

/// Why a final reply without calls is not an answer; `shown` is true when the turn has already shown text.
pub(super) fn failure(target: &ModelTarget, reply: &Reply, shown: bool) -> Option<Failure> {
    let problem =
        match &reply.finish {
            FinishReason::Length => Problem::limit(limit_reached(target))
                .next("Ask it to continue, or for less at once."),
            FinishReason::Filtered => Problem::refused(filtered(target))
                .next("Ask in other words, or choose another model."),
            FinishReason::Refused(words) => Problem::refused(declined(target, words))
                .next("Ask in other words, or choose another model."),
            FinishReason::Incomplete(reason) => {
                Problem::limit(stopped(target, reason)).next("Ask it to continue.")
            }
            _ if !reply.text.trim().is_empty() => return None,
            // The last round offers no tools, but a model may call some anyway.
            _ if !reply.calls.is_empty() || !reply.cut_calls.is_empty() => Problem::limit(format!(
                "{} asks for more tools than the rounds of one turn allow, and gives no answer.",
                target.model
            ))
            .next("Ask it to continue."),
            FinishReason::Other(why) => Problem::refused(format!(
                "{} answered nothing ({}).",
                target.model,
                escape_controls(&clip(why, 600))
            )),
            FinishReason::Unknown | FinishReason::Done if shown => return None,
            FinishReason::Unknown | FinishReason::Done => {
                Problem::network(format!("{} answered nothing.", target.model)).next("Ask again.")
            }
        };
    Some(Failure::new(FailureKind::Unfinished, problem))
}

/// The failure of a turn whose calls are cut again and again.
pub(super) fn cut_again_and_again(target: &ModelTarget) -> Failure {
    let problem = Problem::limit(format!(
        "The tool calls of {} were cut by its limit of tokens {MAX_CUT_ROUNDS} times in a row, so nothing was done.",
        target.model
    ))
    .next("Ask for the work in smaller steps, or choose a model that may write longer replies: --model NAME.");
    Failure::new(FailureKind::Unfinished, problem)
}

/// The result of a call that was cut off by the token limit.
pub(super) fn answer_cut(ctx: &ToolContext, call: &ToolCall) -> FinishedCall {
    let arrived = plural(call.args.chars().count(), "character");
    let problem = Problem::limit(format!(
        "This call was cut off by the limit of tokens of one reply after {arrived} of its arguments; nothing of it was run."
    ))
    .next("Call again in smaller pieces: a long file begins with create_file, and append_file adds the rest part by part.");
    registry::finish_call(ctx, call, Err(problem), Duration::ZERO)
}

fn limit_reached(target: &ModelTarget) -> String {
    format!(
        "The reply hit {}'s limit of tokens and is cut.",
        target.model
    )
}

fn declined(target: &ModelTarget, words: &str) -> String {
    let model = &target.model;
    let words = escape_controls(&clip(words.trim(), 600));
    if words.is_empty() {
        format!("{model} declined to answer.")
    } else {
        format!("{model} declined to answer: \"{words}\"")
    }
}

fn stopped(target: &ModelTarget, reason: &str) -> String {
    format!(
        "{} stopped the reply before its end (reason: {}).",
        target.provider.name(),
        escape_controls(&clip(reason, 100))
    )
}

fn filtered(target: &ModelTarget) -> String {
    format!(
        "A content filter of {} ended the reply.",
        target.provider.name()
    )
}
