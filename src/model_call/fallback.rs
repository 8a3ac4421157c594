//! Another model answers when the chosen one fails and nothing of its answer was shown yet: who it is, and what the user is told.

use std::sync::Arc;

use super::model_target::ModelTarget;
use crate::base::text::{clip, escape_controls};
use crate::chat::event::{Event, Level};
use crate::llm::copilot;
use crate::llm::failure::Failure;
use crate::llm::fallback::{AttemptState, Decision, decide};
use crate::tools::engine::context::ToolContext;

/// Characters of the reason in the announcement, which is one line.
const REASON: usize = 300;

/// The model that takes over after `failure`, with the turn as it is `now`: none when text was shown or a tool has changed something, since another model would
/// repeat it.
pub(crate) fn successor<'a>(
    ctx: &ToolContext,
    target: &'a ModelTarget,
    failure: &Failure,
    now: AttemptState,
) -> Option<&'a Arc<ModelTarget>> {
    let successor = target.successor.as_ref()?;
    let exhausted = AttemptState {
        waited: usize::MAX,
        repeated: true,
        tools: false,
        successor: true,
        ..now
    };
    if decide(failure, exhausted) != Decision::FallBack || ctx.stop.is_fired() {
        return None;
    }
    successor.get(&ctx.stop)
}

/// Tells the user that, and when their text leaves the machine by it.
pub(crate) fn announce(
    ctx: &ToolContext,
    target: &ModelTarget,
    failure: &Failure,
    successor: &ModelTarget,
) {
    let provider = target.provider.name();
    let reason = clip(&escape_controls(&failure.problem.what), REASON);
    let reason = reason.trim_end_matches('.');
    let leaves = match target.on_this_machine {
        true if is_copilot(successor) => {
            "; the conversation now leaves this machine and goes to GitHub"
        }
        _ => "",
    };
    let name = match is_copilot(successor) {
        true => "Copilot SDK",
        false => &successor.model,
    };
    let words = format!("⚠️ {provider} error: {reason} — falling back to {name}{leaves}");
    ctx.listener.emit(Event::Notice(Level::Warning, words));
}

/// What people call a model that has taken over.
pub(crate) fn known_name(successor: &ModelTarget) -> &str {
    match is_copilot(successor) {
        true => "Copilot",
        false => &successor.model,
    }
}

fn is_copilot(successor: &ModelTarget) -> bool {
    successor.provider.name() == copilot::NAME
}

/// The failure when the successor fails too: the first is what the user has to do something about.
pub(crate) fn both(first: Failure, second: Failure, successor: &ModelTarget) -> Failure {
    if second.problem.is_cancelled() {
        return second;
    }
    let also = also_failed(&second, known_name(successor));
    let facts = match &first.problem.facts {
        Some(facts) => format!("{facts}\n{also}"),
        None => also,
    };
    Failure {
        problem: Box::new(first.problem.facts(facts)),
        partial: second.partial,
        ..first
    }
}

/// What the user is told when the successor fails too.
pub(crate) fn also_failed(second: &Failure, name: &str) -> String {
    format!("{name} failed too: {}", second.problem.one_line())
}
