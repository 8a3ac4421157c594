//! One model call with everything around it: the spending limit, waiting and retrying, counting tokens and cost.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limits::check_cost;
use super::model_target::ModelTarget;
use super::user_facts::AnswerForm;
use super::written_calls::WrittenCalls;
use crate::base::cancel::Cancel;
use crate::base::embedding::Embedding;
use crate::base::problem::Outcome;
use crate::base::text::{clip, escape_controls};
use crate::base::variables::MARVIN_RETRIES;
use crate::chat::event::{Event, Level};
use crate::chat::tokens::estimate;
use crate::chat::usage::{Tokens, TurnUsage};
use crate::chat::wait::Wait;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::fallback::{AttemptState, Decision, MAX_RETRIES, decide};
use crate::llm::provider::{Delta, Offer, Reply, Request};
use crate::net::transport::ConnectHook;
use crate::tools::engine::context::ToolContext;

/// More tokens than any model's window holds: a count above it is a mistake of the server.
const MAX_CALL_TOKENS: u64 = 100_000_000;
/// Characters of the reason for a wait.
const MAX_REASON_CHARS: usize = 300;
/// US dollars that no call costs.
const MAX_CALL_DOLLARS: f64 = 100_000.0;

/// Models that have refused tools in this session: they are not offered any again. Provider and model.
#[derive(Default)]
struct ToolRefusers(Mutex<HashSet<(&'static str, String)>>);

impl ToolRefusers {
    fn lock(&self) -> MutexGuard<'_, HashSet<(&'static str, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends `request` until a reply is complete or retries and fallbacks are exhausted.
///
/// `before` is what happened earlier in the turn, and `form` the one that the answer has to have. Pieces of the reply go to the listener as they arrive.
pub(crate) fn ask(
    ctx: &ToolContext,
    target: &ModelTarget,
    request: &Request<'_>,
    before: AttemptState,
    form: Option<&AnswerForm>,
) -> Result<Reply, Failure> {
    let mut now = before;
    let no_tools = Offer::none();
    let refusers = ctx.session.modules.get::<ToolRefusers>();
    let model = (target.provider.name(), request.model.to_owned());
    let mut offer = match refusers.lock().contains(&model) {
        true => &no_tools,
        false => request.offer,
    };
    loop {
        now.tools = !offer.tools.is_empty();
        let system = match form.map(|form| form.words(offer, request.may_call)) {
            Some(words) => Cow::Owned(format!("{}\n\n{words}", request.system)),
            None => Cow::Borrowed(request.system),
        };
        let request = Request {
            offer,
            system: system.trim_start(),
            ..*request
        };
        // Not before there is text: most rounds of a long task have calls alone.
        let hands_through = WrittenCalls::may_be_in(target, &request);
        let mut written = None;
        let mut on = |delta: Delta<'_>| {
            ctx.listener.emit(match delta {
                Delta::Text(text) if hands_through => {
                    let written = written.get_or_insert_with(|| WrittenCalls::of(&request));
                    match written.shown(text) {
                        shown if shown.is_empty() => return,
                        shown => Event::Delta(shown.into_owned()),
                    }
                }
                Delta::Text(text) => Event::Delta(text.to_owned()),
                Delta::Thinking(text) => Event::Thinking(text.to_owned()),
                Delta::Signature(text) => Event::ThoughtSigned(text.to_owned()),
                Delta::Notice(level, words) => Event::Notice(level, words.to_owned()),
            });
        };
        let started = Instant::now();
        let failure = match ask_once(ctx, target, &request, &mut on, &ctx.stop) {
            Ok(mut reply) => {
                let rest = written.and_then(|written| written.take(&mut reply, request.messages));
                if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                    ctx.listener.emit(Event::Delta(rest));
                }
                ctx.listener.emit(Event::ReplyEnded(reply.stop_reason()));
                return Ok(reply);
            }
            Err(failure) => failure,
        };
        match decide(&failure, now.limited_to(retries(ctx))) {
            Decision::GiveUp if waits_out(ctx, target, &failure, started.elapsed())? => {}
            Decision::Wait(wait) => {
                now.waited += 1;
                announce_wait(ctx, target, &failure, (wait, now.waited));
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
                refusers.lock().insert(model.clone());
                offer = &no_tools;
            }
            Decision::FallBack | Decision::GiveUp => {
                // Nothing that arrived is lost because it might have become a call.
                if let Some(rest) = written.and_then(WrittenCalls::rest_of_cut) {
                    ctx.listener.emit(Event::Delta(rest));
                }
                return Err(failure);
            }
        }
    }
}

/// Whether an outage was waited out by a child whose conversation would be lost with it. One that was not answered yet is started again, which costs nothing.
fn waits_out(
    ctx: &ToolContext,
    target: &ModelTarget,
    failure: &Failure,
    took: Duration,
) -> Result<bool, Failure> {
    let was_answered = || ctx.session.ledger.totals().turns > 0;
    let patience = ctx.session.patience.as_ref();
    let Some(patience) = patience.filter(|_| failure.nothing_shown() && was_answered()) else {
        return Ok(false);
    };
    match patience.wait(target.provider.name(), failure, took, &ctx.stop) {
        Some(false) => Err(Failure::cancelled()),
        waited => Ok(waited.is_some()),
    }
}

/// Sends `request` once, within the spending limit, and counts what it used.
pub(crate) fn ask_once(
    ctx: &ToolContext,
    target: &ModelTarget,
    request: &Request<'_>,
    on: &mut dyn FnMut(Delta<'_>),
    stop: &Cancel,
) -> Result<Reply, Failure> {
    check_cost(ctx, target.max_cost)?;
    let hook = announce_request(ctx, target, request);
    let request = &Request {
        on_connect: Some(&hook),
        ..*request
    };
    let answered = target.provider.stream(request, on, stop);
    match &answered {
        Ok(reply) => count(ctx, target, request, reply),
        Err(failure) => {
            let partial = &failure.partial;
            if partial.usage.is_some() || partial.billed.is_some() || !failure.nothing_shown() {
                count(ctx, target, request, partial);
            }
        }
    }
    answered
}

/// Vectors of texts, within the spending limit, and counted like a call.
pub(crate) fn embed(
    ctx: &ToolContext,
    target: &ModelTarget,
    model: &str,
    texts: &[String],
    stop: &Cancel,
) -> Outcome<Vec<Embedding>> {
    check_cost(ctx, target.max_cost).map_err(|failure| *failure.problem)?;
    let embeddings = target.provider.embed(model, texts, stop)?;
    let known = embeddings.tokens.filter(|tokens| *tokens < MAX_CALL_TOKENS);
    let length = texts.iter().map(String::len).sum();
    let tokens = Tokens {
        input: known.unwrap_or_else(|| estimate(length)),
        estimated: known.is_none(),
        ..Tokens::default()
    };
    let info = target.prices.facts(target.provider.name(), model);
    let (cost, estimated) = target.prices.call_cost(model, &info, tokens, None);
    let turn = TurnUsage {
        provider: target.provider.name().to_owned(),
        model: model.to_owned(),
        tokens,
        cost,
        cost_estimated: estimated && !(target.local && cost == 0.0),
        plan: None,
    };
    record(ctx, target, turn);
    Ok(embeddings.vectors)
}

/// Says what the answer waits for: first for a connection, if there is none, then for the first byte.
fn announce_request(ctx: &ToolContext, target: &ModelTarget, request: &Request<'_>) -> ConnectHook {
    let listener = Arc::clone(&ctx.listener);
    let first_byte = Wait::FirstByte {
        provider: target.provider.name(),
        loads: target.local.then(|| request.model.to_owned()),
    };
    if target.provider.is_model() {
        let wait = target.provider.before_sending();
        listener.emit(Event::Wait(wait.unwrap_or_else(|| first_byte.clone())));
    }
    ConnectHook::new(move || listener.emit(Event::Wait(first_byte.clone())))
}

/// How often a request is sent again that could not be answered now.
pub(crate) fn retries(ctx: &ToolContext) -> u64 {
    MARVIN_RETRIES.read(&ctx.session.env, &mut |words| {
        ctx.listener.emit(Event::Notice(Level::Warning, words));
    })
}

/// Tells the user why the answer takes longer: it waits for an attempt, of which this is so many.
pub(crate) fn announce_wait(
    ctx: &ToolContext,
    target: &ModelTarget,
    failure: &Failure,
    (wait, attempt): (Duration, usize),
) {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let name = target.provider.name();
    let is_rate_limit = matches!(failure.kind, FailureKind::RateLimited { .. });
    let words = match (&failure.kind, failure.answer) {
        (FailureKind::RateLimited { .. }, _) => {
            format!("⚠️ Rate limited by {name}. Waiting {seconds}s...")
        }
        // Which server it was and why helps the user more than that it failed.
        (FailureKind::Network | FailureKind::Cut, _) => {
            let what = clip(&escape_controls(&failure.problem.what), MAX_REASON_CHARS);
            format!("⚠️ {what} Trying again in {seconds}s...")
        }
        (_, Some(answer)) => format!(
            "⚠️ {name} failed ({}). Trying again in {seconds}s...",
            answer.status
        ),
        (_, None) => format!("⚠️ {name} failed. Trying again in {seconds}s..."),
    };
    // First, so that whoever shows the words knows that they tell of a wait.
    ctx.listener.emit(Event::Wait(Wait::Retry {
        provider: name,
        is_rate_limit,
        wait,
        attempt: attempt as u64,
        most: retries(ctx).min(MAX_RETRIES),
        status: failure.answer.map(|answer| answer.status),
    }));
    ctx.listener.emit(Event::Notice(Level::Warning, words));
}

/// Records the call's tokens and cost. Numbers that the provider does not report are estimated and marked as such.
fn count(ctx: &ToolContext, target: &ModelTarget, request: &Request<'_>, reply: &Reply) {
    if !target.provider.is_model() {
        return;
    }
    let tokens = used_tokens(request, reply);
    let (cost, cost_estimated) = price(target, request, tokens, reply.billed);
    let turn = TurnUsage {
        provider: target.provider.name().to_owned(),
        model: request.model.to_owned(),
        tokens,
        cost,
        cost_estimated,
        plan: reply.plan,
    };
    record(ctx, target, turn);
}

fn record(ctx: &ToolContext, target: &ModelTarget, turn: TurnUsage) {
    ctx.session
        .ledger
        .add_turn(turn.clone(), target.local, ctx.session.clock.utc());
    ctx.listener.emit(Event::Turn(turn));
}

/// The tokens as the provider counts them. What it does not say, or cannot be, is estimated and marked: no request is empty, and no model has a
/// window of 10^18.
fn used_tokens(request: &Request<'_>, reply: &Reply) -> Tokens {
    let mut tokens = reply.usage.unwrap_or_default();
    if tokens.input == 0 || tokens.input > MAX_CALL_TOKENS {
        let messages = request.messages.iter();
        let sent: usize = messages.map(crate::chat::message::Message::len).sum();
        let schemas = request.offer.tokens() as u64;
        tokens = Tokens {
            input: estimate(sent + request.system.len()) + schemas,
            cached: 0,
            written: 0,
            written_1h: 0,
            estimated: true,
            ..tokens
        };
    }
    let calls: usize = reply
        .calls
        .iter()
        .chain(&reply.cut_calls)
        .map(|call| call.args.len() + call.name.len())
        .sum();
    let thinking = estimate(reply.thinking.len());
    let came = estimate(reply.text.len() + calls) + thinking;
    if tokens.output == 0 && came > 0 || tokens.output > MAX_CALL_TOKENS {
        tokens.output = came;
        tokens.reasoning = thinking;
        tokens.estimated = true;
    }
    tokens
}

/// US dollars of one call, and whether that is an estimate.
fn price(
    target: &ModelTarget,
    request: &Request<'_>,
    tokens: Tokens,
    billed: Option<f64>,
) -> (f64, bool) {
    if !target.provider.bills_dollars() {
        return (0.0, false);
    }
    let billed = billed.filter(|dollars| (0.0..MAX_CALL_DOLLARS).contains(dollars));
    let (cost, estimated) = target
        .prices
        .call_cost(request.model, request.info, tokens, billed);
    // Nobody charges for a local model, however many tokens it had.
    (cost, estimated && !(target.local && cost == 0.0))
}
