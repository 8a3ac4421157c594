//! The hooks around a call: before its tool runs, and when it has run.

use std::time::Duration;

use serde_json::{Map, Value};

use super::event::HookEvent;
use super::fire::fire;
use super::verdict::{Verdict, joined};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::head;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::permission::second_names;
use crate::tools::engine::result::ToolOk;

/// The most bytes of a result that hooks are told: a line to a calling program has at most 1 MiB.
pub(super) const MAX_RESPONSE: usize = 256 << 10;
/// What names of tools of servers begin with elsewhere.
const SERVER_PREFIX: &str = "mcp__";

/// A call as hooks are told of it.
#[derive(Debug, Clone)]
pub(crate) struct HookedCall {
    pub tool: String,
    pub input: Map<String, Value>,
}

/// Whether the hooks of an event are about the calls of this context: what the user calls themselves they want.
pub(crate) fn concern(ctx: &ToolContext, event: HookEvent) -> bool {
    ctx.session.hooks.has(event)
        && !(ctx.approval.is_user_invoked() && ctx.session.policy.depth == 0)
}

/// Whether a hook is told of calls that have run.
pub(crate) fn is_told(ctx: &ToolContext) -> bool {
    concern(ctx, HookEvent::PostToolUse) || concern(ctx, HookEvent::PostToolUseFailure)
}

/// What the hooks say before a call runs.
pub(crate) fn before(ctx: &ToolContext, call: &HookedCall) -> Option<Verdict> {
    with_names(&call.tool, |names| {
        fire(ctx, HookEvent::PreToolUse, names, || fields(ctx, call))
    })
}

/// The outcome of a call that has run, with what the hooks add to it and what they have said before.
pub(crate) fn after(
    ctx: &ToolContext,
    call: Option<&HookedCall>,
    told_before: Option<String>,
    outcome: Outcome<ToolOk>,
    took: Duration,
) -> Outcome<ToolOk> {
    let mut remarks = told_before;
    let event = match outcome {
        Ok(_) => HookEvent::PostToolUse,
        Err(_) => HookEvent::PostToolUseFailure,
    };
    if let Some(call) = call.filter(|_| concern(ctx, event) && !ctx.stop.is_fired()) {
        let said = with_names(&call.tool, |names| {
            fire(ctx, event, names, || {
                let mut fields = fields(ctx, call);
                let (name, text) = match &outcome {
                    Ok(done) => ("tool_response", done.text.clone()),
                    Err(problem) => ("error", problem.for_model()),
                };
                fields.insert(name.to_owned(), Value::from(head(&text, MAX_RESPONSE)));
                let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                fields.insert("duration_ms".to_owned(), Value::from(took));
                fields
            })
        });
        if let Some(said) = said.and_then(Verdict::remarks) {
            remarks = Some(joined(remarks, &said));
        }
    }
    match remarks {
        Some(remarks) => with_remarks(outcome, &remarks),
        None => outcome,
    }
}

fn with_remarks(outcome: Outcome<ToolOk>, remarks: &str) -> Outcome<ToolOk> {
    match outcome {
        Ok(mut done) => {
            done.text.push_str("\n\n");
            done.text.push_str(remarks);
            Ok(done)
        }
        Err(problem) => {
            let facts = joined(problem.facts.clone(), remarks);
            Err(Problem {
                facts: Some(facts),
                ..problem
            })
        }
    }
}

fn fields(ctx: &ToolContext, call: &HookedCall) -> Map<String, Value> {
    let fields = [
        ("tool_name", Value::from(call.tool.as_str())),
        ("tool_input", Value::from(call.input.clone())),
        ("tool_use_id", Value::from(ctx.call.as_str())),
    ];
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The names under which a matcher may mean a tool: its own, those that it has elsewhere, and for one of a server that with the prefix of others.
fn with_names<T>(tool: &str, run: impl FnOnce(&[&str]) -> T) -> T {
    let prefixed = format!("{SERVER_PREFIX}{tool}");
    let mut names = vec![tool];
    for name in second_names::all() {
        let mut meant = second_names::meant(name).into_iter().flatten();
        if meant.any(|meant| *meant == tool) {
            names.push(name);
        }
    }
    if tool.contains("__") {
        names.push(&prefixed);
    }
    run(&names)
}
