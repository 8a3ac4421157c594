//! Finds a tool by name and runs one call of it; every failure becomes the call's result.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::context::Ctx;
use super::result_cap::capped;
use crate::base::problem::{Kind, Outcome, Problem};
use crate::base::text;
use crate::chat::event::CallEnd;
use crate::chat::message::{ToolCall, ToolOutput};
use crate::llm::provider::{Offer, Offered, Params};
use crate::tools::engine::arguments::{Args, understand};
use crate::tools::engine::call_log;
use crate::tools::engine::policy::Bounds;
use crate::tools::{Done, Effect, SideEffect, Tool, all};

/// The name used for a call without one.
pub(crate) const NAMELESS: &str = "unnamed";

/// The tool called `name`.
pub fn named(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name)
}

/// The tool that `name` refers to: some models add a namespace ("functions.read_file") or white space. `None` when there is no such tool.
pub(crate) fn meant(name: &str) -> Option<&'static str> {
    let bare = name.trim();
    let last = bare.rsplit(['.', ':', '/']).next().unwrap_or_default();
    named(bare).or_else(|| named(last)).map(|tool| tool.name)
}

/// What a process may offer its model: the tools that `bounds` allows, at most `most` of them (OpenAI refuses requests with more than 128).
pub(crate) fn offer(bounds: &Bounds, most: usize) -> Offer {
    let offered = all()
        .filter(|tool| bounds.offers(tool))
        .take(most)
        .map(|tool| Offered {
            name: tool.name.into(),
            about: tool.about().into(),
            params: Params::Declared(tool.schema),
            phrases: tool.phrases,
        });
    Offer::new(offered.collect())
}

/// A call that ended.
#[derive(Debug)]
pub struct Ended {
    /// The result for the model.
    pub output: ToolOutput,
    /// Effects for the session to apply.
    pub effects: Vec<Effect>,
    /// How it ended, for the user.
    pub end: CallEnd,
    /// Its run time.
    pub took: Duration,
}

/// How a call is to be run; known before it starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Its side effect; none for an unknown tool.
    pub effect: SideEffect,
    /// When it is stopped.
    pub limit: Duration,
}

/// Looks a call up without running it.
pub(crate) fn plan(call: &ToolCall) -> Plan {
    let Some(tool) = named(&call.name) else {
        return Plan {
            effect: SideEffect::None,
            limit: Duration::from_secs(5),
        };
    };
    let asked = tool
        .rules
        .limit_from
        .and_then(|field| match understand(tool, &call.args) {
            Ok(Args::Named(map)) => map
                .get(field)
                .and_then(<u64 as crate::base::params::Param>::read),
            _ => None,
        });
    // The tool ends itself at the time it was given; the batch only steps in when it does not.
    let limit = asked.map_or(tool.rules.limit, Duration::from_secs)
        + Duration::from_secs(if tool.rules.limit_from.is_some() {
            5
        } else {
            0
        });
    Plan {
        effect: tool.rules.effect,
        limit: limit.min(Duration::from_secs(24 * 3600)),
    }
}

/// Runs one call to its end. Never panics.
pub(crate) fn attempt(ctx: &Ctx, call: &ToolCall) -> Outcome<Done> {
    catch_unwind(AssertUnwindSafe(|| dispatch(ctx, &call.name, &call.args))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Problem::internal(format!("{} crashed: {}.", call.name, said.unwrap_or("no reason given")))
            .next("This is a bug in Marvin. Continue without this call, or try it with other arguments."))
    })
}

/// Turns an outcome into the call's result, logs and counts it.
pub(crate) fn end(ctx: &Ctx, call: &ToolCall, outcome: Outcome<Done>, took: Duration) -> Ended {
    let (text, failed, end, effects) = match outcome {
        Ok(done) => (done.text, false, done.end, done.effects),
        Err(problem) => {
            let end = match problem.kind {
                Kind::Declined => CallEnd::Declined,
                Kind::Timeout => CallEnd::Timeout,
                Kind::Cancelled => CallEnd::Stopped,
                _ => CallEnd::Failure,
            };
            (problem.for_model(), true, end, Vec::new())
        }
    };
    let text = capped(text, named(&call.name), &ctx.world.context);
    call_log::record(&ctx.world, &call.name, &call.args, &text, took);
    ctx.world.ledger.add_tool_call(&text::clip(&call.name, 64));
    Ended {
        output: ToolOutput {
            id: call.id.clone(),
            name: call.name.clone(),
            text,
            failed,
        },
        effects,
        end,
        took,
    }
}

/// Finds, checks and runs a tool: the one way in, for models and for `marvin tool`.
pub(crate) fn dispatch(ctx: &Ctx, name: &str, raw_args: &str) -> Outcome<Done> {
    ctx.stop.check()?;
    let tool = named(name).ok_or_else(|| unknown(name, &ctx.world.bounds))?;
    if let Some(refusal) = ctx.world.bounds.refusal(tool) {
        return Err(refusal);
    }
    match (understand(tool, raw_args)?, tool.whole) {
        (Args::Named(map), _) => (tool.run)(ctx, &map),
        (Args::Whole(text), Some(whole)) => whole(ctx, &text),
        (Args::Whole(_), None) => Err(Problem::internal(format!("{name} takes no text."))),
    }
}

/// The answer to a name that no tool has.
pub(crate) fn unknown(name: &str, bounds: &Bounds) -> Problem {
    let names: Vec<&str> = all()
        .filter(|tool| bounds.offers(tool))
        .map(|tool| tool.name)
        .collect();
    if name.is_empty() || name == NAMELESS {
        return Problem::input("The call has no tool name, so nothing was run.")
            .next("Call again with the name of a tool.");
    }
    let problem = Problem::missing(format!(
        "There is no tool \"{}\".",
        text::clip(&text::visible(name), 64)
    ));
    match text::did_you_mean(name, names.iter().copied()) {
        Some(hint) => problem.next(text::capital(&hint)),
        None if names.is_empty() => problem.next("No tools are available here; answer with text."),
        None => problem.next(format!("The tools are: {}.", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bounds: &Bounds, most: usize) -> Vec<String> {
        let offer = offer(bounds, most);
        offer
            .tools
            .iter()
            .map(|tool| tool.name.to_string())
            .collect()
    }

    #[test]
    fn every_default_is_a_value_that_its_schema_shows() {
        for tool in all() {
            let schema: serde_json::Value = serde_json::from_str(tool.schema).unwrap();
            for field in tool.fields {
                let shown = schema["properties"][field.name].get("default");
                assert_eq!(shown, field.default_value().as_ref(), "{}", tool.name);
                assert_eq!(shown.is_some(), field.default.is_some(), "{}", tool.name);
            }
        }
    }

    #[test]
    fn q38_no_more_is_offered_than_a_request_may_hold_and_the_first_stay() {
        let whole = names(&Bounds::default(), usize::MAX);
        assert!(whole.len() > 3);
        for most in [0, 1, 3, whole.len() - 1, whole.len(), whole.len() + 1] {
            let cut = names(&Bounds::default(), most);
            assert_eq!(cut, whole[..most.min(whole.len())], "at most {most}");
        }
        let readonly = Bounds {
            readonly: true,
            ..Bounds::default()
        };
        let allowed = names(&readonly, usize::MAX);
        assert!(allowed.len() < whole.len());
        // The limit counts what is offered, not what is passed over.
        assert_eq!(names(&readonly, allowed.len()), allowed);
    }
}
