//! Limits that are known before a request is sent: what the run may cost, and what the model's window holds.

use super::model_target::ModelTarget;
use crate::base::problem::Problem;
use crate::base::text::thousands;
use crate::chat::usage::dollars;
use crate::llm::catalog::{self, Wire};
use crate::llm::failure::{Failure, FailureKind};
use crate::tools::engine::context::ToolContext;

/// Words of the message when no more may be spent.
pub(crate) const COST_LIMIT_WORDS: &str = "cost limit";
/// Words of the message when a request does not fit into the window.
pub(crate) const TOO_LARGE_WORDS: &str = "was not sent";

/// Refuses a request when what was spent has reached the user's limit.
pub(super) fn check_cost(ctx: &ToolContext, max: Option<f64>) -> Result<(), Failure> {
    let Some(max) = max else { return Ok(()) };
    let totals = ctx.session.ledger.totals();
    if totals.cost < max {
        return Ok(());
    }
    let spent = dollars(totals.cost, totals.cost_estimated());
    let problem = Problem::limit(format!(
        "The {COST_LIMIT_WORDS} of ${max} is reached ({spent} spent)."
    ))
    .next("Raise --max-cost to continue.");
    Err(Failure::new(FailureKind::Refused, problem))
}

/// The size of a request in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestSize {
    /// About how many it has.
    pub about: u64,
    /// How many it has at least.
    pub at_least: u64,
    /// Those of the tool schemas.
    pub schemas: usize,
}

/// Refuses a request that the model's window cannot hold.
pub(crate) fn check_window(target: &ModelTarget, request: RequestSize) -> Result<(), Failure> {
    let limit = target.info.prompt_limit();
    if request.at_least <= limit || !target.info.known || !has_known_window(target) {
        return Ok(());
    }
    let model = &target.model;
    let (size, window) = (thousands(request.about), thousands(limit));
    let mut what = format!(
        "The request has about {size} tokens, more than the {window} that {model} takes, so it {TOO_LARGE_WORDS}."
    );
    let schemas = u64::try_from(request.schemas).unwrap_or(u64::MAX);
    let mut ways = "Send less, compact the conversation,".to_owned();
    if schemas > 0 {
        what.push_str(&format!(
            " The tool schemas are about {} of them.",
            thousands(schemas)
        ));
        ways.push_str(" offer fewer tools with --tools GROUP,");
    }
    ways.push_str(" or choose a model with a larger window: --model NAME.");
    Err(Failure::new(
        FailureKind::TooLong,
        Problem::limit(what).next(ways),
    ))
}

/// False for a server on this machine, whose window is set where it is started; Ollama's is set by each request.
fn has_known_window(target: &ModelTarget) -> bool {
    let row = catalog::row(target.provider.name());
    row.is_some_and(|row| !row.local || row.wire == Wire::Ollama)
}
