//! What happens when the rounds of a turn are used up: the user is asked whether to go on, where somebody can answer.

use crate::base::text::plural;
use crate::llm::failure::Failure;
use crate::tools::engine::approval::{Approval, ApprovalRequest};
use crate::tools::engine::context::ToolContext;

/// How the words of the user begin in the refusal of a request.
const THEY_SAY: &str = "They say: ";

/// What the user wants when the rounds are used up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MoreRounds {
    /// As many again.
    Yes,
    /// None, perhaps with words for the model. Nobody to ask means none as well.
    No(Option<String>),
}

/// Asks whether to go on after `rounds` with as many again.
///
/// # Errors
/// The turn was stopped.
pub(super) fn ask(ctx: &ToolContext, model: &str, rounds: usize) -> Result<MoreRounds, Failure> {
    let Approval::Ask(approver) = &ctx.approval else {
        return Ok(MoreRounds::No(None));
    };
    let subject = format!(
        "{model} has used {} of tool calls and is not done. Yes allows as many again; no lets it answer with what it has.",
        plural(rounds, "round"),
    );
    let request = ApprovalRequest::new("Go on?", "go on", subject).only_once();
    match approver.ask(request, &ctx.stop) {
        Ok(()) => Ok(MoreRounds::Yes),
        Err(problem) if problem.is_cancelled() => Err(Failure::cancelled()),
        Err(problem) => {
            let mut said = problem
                .next
                .iter()
                .filter(|next| next.starts_with(THEY_SAY));
            Ok(MoreRounds::No(said.next().cloned()))
        }
    }
}
