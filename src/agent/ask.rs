//! One model call with everything around it: the spending limit, waiting and retrying, counting tokens and cost.

use super::model_target::ModelTarget;
use crate::base::problem::Problem;
use crate::chat::event::{Event, Level};
use crate::chat::tokens::estimate;
use crate::chat::usage::{Tokens, TurnUsage};
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::fallback::{AttemptState, Decision, decide};
use crate::llm::provider::{Delta, Offer, Reply, Request};
use crate::tools::engine::context::ToolContext;

/// Sends `request` until a reply is complete or retries and fallbacks are exhausted.
///
/// `before` is what happened earlier in the turn. Pieces of the reply go to the listener as they arrive.
pub(crate) fn ask(
    ctx: &ToolContext,
    target: &ModelTarget,
    request: &Request<'_>,
    before: AttemptState,
) -> Result<Reply, Failure> {
    let mut now = before;
    let no_tools = Offer::none();
    let mut offer = request.offer;
    loop {
        check_cost(ctx, target.max_cost)?;
        now.tools = !offer.tools.is_empty();
        let request = Request { offer, ..*request };
        let mut on = |delta: Delta<'_>| {
            ctx.listener.emit(match delta {
                Delta::Text(text) => Event::Delta(text.to_owned()),
                Delta::Thinking(text) => Event::Thinking(text.to_owned()),
            });
        };
        let failure = match target.provider.stream(&request, &mut on, &ctx.stop) {
            Ok(reply) => {
                count(ctx, target, &request, &reply);
                return Ok(reply);
            }
            Err(failure) => failure,
        };
        if failure.partial.usage.is_some() || !failure.nothing_shown() {
            count(ctx, target, &request, &failure.partial);
        }
        match decide(&failure, now) {
            Decision::Wait(wait) => {
                now.waited += 1;
                let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
                let words = format!(
                    "⚠️ Rate limited by {}. Waiting {seconds}s...",
                    target.provider.name()
                );
                ctx.listener.emit(Event::Notice(Level::Warning, words));
                if !ctx.stop.sleep(wait) {
                    return Err(Failure::cancelled());
                }
            }
            Decision::Again => now.repeated = true,
            Decision::WithoutTools => {
                let words = format!(
                    "⚠️ {} takes no tools; asking again without them.",
                    request.model
                );
                ctx.listener.emit(Event::Notice(Level::Warning, words));
                offer = &no_tools;
            }
            Decision::FallBack | Decision::GiveUp => return Err(failure),
        }
    }
}

fn check_cost(ctx: &ToolContext, max: Option<f64>) -> Result<(), Failure> {
    let Some(max) = max else { return Ok(()) };
    let spent = ctx.session.ledger.totals().cost;
    if spent < max {
        return Ok(());
    }
    let problem = Problem::limit(format!(
        "The cost limit of ${max} is reached (${spent:.4} spent)."
    ))
    .next("Raise --max-cost to continue.");
    Err(Failure::new(FailureKind::Refused, problem))
}

/// Records the call's tokens and cost. Numbers that the provider does not report are estimated and marked as such.
fn count(ctx: &ToolContext, target: &ModelTarget, request: &Request<'_>, reply: &Reply) {
    if !target.provider.is_model() {
        return;
    }
    let tokens = reply.usage.unwrap_or_else(|| {
        let sent: usize = request
            .messages
            .iter()
            .map(crate::chat::message::Message::len)
            .sum();
        let calls: usize = reply
            .calls
            .iter()
            .map(|call| call.args.len() + call.name.len())
            .sum();
        Tokens {
            input: estimate(sent + request.system.len()),
            output: estimate(reply.text.len() + calls),
            estimated: true,
            ..Tokens::default()
        }
    });
    let (cost, estimated) = target.prices.cost(&target.model, target.local, tokens);
    let turn = TurnUsage {
        provider: target.provider.name().to_owned(),
        model: target.model.clone(),
        tokens: Tokens {
            estimated,
            ..tokens
        },
        cost,
    };
    ctx.session
        .ledger
        .add_turn(turn.clone(), target.local, ctx.session.clock.utc());
    ctx.listener.emit(Event::Turn(turn));
}
