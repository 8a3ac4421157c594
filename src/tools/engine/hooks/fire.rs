//! Runs the hooks that an event concerns, side by side, and says what they say together.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use serde_json::{Map, Value};

use super::event::HookEvent;
use super::hook_set::Hook;
use super::output::{HookDecision, HookOutput};
use super::verdict::Verdict;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::chat::event::{Event, Level};
use crate::tools::engine::context::ToolContext;

/// Hooks that run at once.
const AT_ONCE: usize = 16;

/// What the hooks for an event say; `None` where there are none. `names` are those of its subject, for matchers, and `fields` what it has beside what all
/// events have. The time limit of the call is paused meanwhile.
pub(crate) fn fire(
    ctx: &ToolContext,
    event: HookEvent,
    names: &[&str],
    fields: impl FnOnce() -> Map<String, Value>,
) -> Option<Verdict> {
    let set = &ctx.session.hooks;
    if !set.has(event) {
        return None;
    }
    let hooks = set.about(event, names);
    if hooks.is_empty() {
        return None;
    }
    let mut input = common(ctx, event);
    input.extend(fields());
    let input = Value::Object(input);
    let answers = ctx.pauses.during(|| run_all(&hooks, &input, &ctx.stop));
    let outputs = hooks.iter().zip(answers);
    let outputs = outputs.filter_map(|(hook, answer)| {
        let output = answer.and_then(|answer| HookOutput::read(event, &answer));
        let output = output.map_or_else(|problem| without_answer(ctx, hook, &problem), Some);
        output.map(|output| HookOutput {
            origin: hook.origin,
            ..output
        })
    });
    let outputs: Vec<HookOutput> = outputs.collect();
    for notice in outputs.iter().filter_map(|output| output.notice.clone()) {
        ctx.listener.emit(Event::Notice(Level::Info, notice));
    }
    let verdict = Verdict::of(outputs);
    if let Some(reason) = &verdict.end {
        // A message that is not sent is told as a failure, with the reason.
        if event != HookEvent::UserPromptSubmit && set.end().is_none() {
            ctx.listener.emit(Event::Notice(Level::Info, ended(reason)));
        }
        set.end_turn(reason.clone());
    }
    Some(verdict)
}

/// That a hook ended the turn, and why.
fn ended(reason: &str) -> String {
    match reason {
        "" => "A hook ended the turn.".to_owned(),
        reason => format!("A hook ended the turn: {reason}"),
    }
}

/// What every event tells.
fn common(ctx: &ToolContext, event: HookEvent) -> Map<String, Value> {
    let session = ctx.session.hooks.session();
    let cwd = ctx.session.working_dir.root();
    let cwd = cwd.map(|root| root.path().display().to_string());
    let mode = (ctx.session.permissions).mode_in_effect(&ctx.session.approval);
    let fields = [
        ("session_id", Value::from(session.id)),
        ("transcript_path", Value::from(session.transcript)),
        ("cwd", Value::from(cwd.unwrap_or_default())),
        ("permission_mode", Value::from(mode.word())),
        ("hook_event_name", Value::from(event.name())),
    ];
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// What counts instead of an answer that there is none of.
fn without_answer(ctx: &ToolContext, hook: &Hook, problem: &Problem) -> Option<HookOutput> {
    let (event, name) = (hook.event, hook.runner.name());
    // A hook that could not even be asked has agreed to nothing.
    let is_unasked = event == HookEvent::PreToolUse && problem.kind == ProblemKind::Limit;
    if (hook.blocks_on_failure || is_unasked) && !problem.is_cancelled() {
        let words = format!("{name} for {} failed: {}", event.name(), problem.one_line());
        return Some(match event {
            HookEvent::PreToolUse => HookOutput {
                decision: Some((HookDecision::Deny, words)),
                ..HookOutput::default()
            },
            _ => HookOutput {
                block: Some(words),
                ..HookOutput::default()
            },
        });
    }
    // At the end of a session nobody may be there any more to answer.
    if !problem.is_cancelled() && event != HookEvent::SessionEnd {
        let words = format!(
            "The work goes on without {name} for {}: {}",
            event.name(),
            problem.one_line()
        );
        ctx.listener.emit(Event::Notice(Level::Warning, words));
    }
    None
}

fn run_all(hooks: &[Arc<Hook>], input: &Value, stop: &Cancel) -> Vec<Outcome<Value>> {
    let run = |hook: &Hook| {
        catch_unwind(AssertUnwindSafe(|| hook.run(input, stop)))
            .unwrap_or_else(|_| Err(Problem::internal("It crashed; this is a bug in Marvin.")))
    };
    if let [hook] = hooks {
        return vec![run(hook)];
    }
    let mut answers = Vec::with_capacity(hooks.len());
    for some in hooks.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let run = &run;
            let running: Vec<_> = (some.iter())
                .map(|hook| thread::Builder::new().spawn_scoped(scope, move || run(hook)))
                .collect();
            answers.extend(running.into_iter().map(|running| {
                match running {
                    Ok(running) => running
                        .join()
                        .unwrap_or_else(|_| Err(Problem::internal("Its thread crashed."))),
                    Err(error) => Err(Problem::system("Cannot start a thread for it", error)),
                }
            }));
        });
    }
    answers
}
