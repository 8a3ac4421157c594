//! The hooks around a session, a message and its answer.

use serde_json::{Map, Value, json};

use super::calls::as_told;
use super::event::HookEvent;
use super::fire::fire;
use super::verdict::joined;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{Event, Level};
use crate::tools::engine::context::ToolContext;

/// How often hooks may keep a turn from ending.
const MAX_STOPS: u32 = 5;

/// The session begins, by one of the ways that the form has words for; what hooks say of it goes to the model with the first message.
pub(crate) fn session_starts(ctx: &ToolContext, source: &str, model: &str) {
    let said = fire(ctx, HookEvent::SessionStart, &[source], || {
        object(json!({"source": source, "model": model}))
    });
    if let Some(context) = said.and_then(|said| said.context) {
        ctx.session.hooks.tell_later(context);
    }
}

/// The session ends.
pub(crate) fn session_ends(ctx: &ToolContext, reason: &str) {
    fire(ctx, HookEvent::SessionEnd, &[reason], || {
        object(json!({"reason": reason}))
    });
}

/// A message is about to be sent: returns what goes to the model with it.
///
/// # Errors
/// A hook does not want it sent: its reason.
pub(crate) fn prompt_is_sent(ctx: &ToolContext, prompt: &str) -> Outcome<Option<String>> {
    let set = &ctx.session.hooks;
    set.begin_turn();
    let said = match set.expects_own_words() {
        true => None,
        false => fire(ctx, HookEvent::UserPromptSubmit, &[], || {
            object(json!({"prompt": prompt}))
        }),
    };
    let said = said.unwrap_or_default();
    if let Some(reason) = said.block.or(said.end) {
        set.end_turn(reason.clone());
        let why = match reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        return Err(Problem::refused(format!(
            "A hook of the user did not let the message be sent{why}"
        )));
    }
    let mut context = set.told_later();
    context.extend(said.context);
    let context = context.iter().map(|words| as_told(words));
    Ok(context.reduce(|one, other| joined(Some(one), &other)))
}

/// How often hooks have kept a turn from ending.
#[derive(Debug, Default)]
pub(crate) struct StopHooks {
    times: u32,
}

impl StopHooks {
    /// The model has given its last answer: returns what it is told instead of ending the turn.
    pub(crate) fn objection(&mut self, ctx: &ToolContext, last: &str) -> Option<String> {
        if !ctx.session.hooks.has(HookEvent::Stop) || ctx.stop.is_fired() {
            return None;
        }
        let said = fire(ctx, HookEvent::Stop, &[], || {
            object(json!({"stop_hook_active": self.times > 0, "last_assistant_message": last}))
        })?;
        if said.end.is_some() {
            return None;
        }
        let reason = said.block?;
        if self.times == MAX_STOPS {
            let words = format!(
                "A hook kept the turn from ending {MAX_STOPS} times in a row; it ends now although the hook objects once more."
            );
            ctx.listener.emit(Event::Notice(Level::Warning, words));
            return None;
        }
        self.times += 1;
        let reason = match reason.as_str() {
            "" => "The work is not done yet.",
            reason => reason,
        };
        Some(as_told(reason))
    }
}

/// An agent has ended.
pub(crate) fn agent_ends(ctx: &ToolContext, agent: &str, log: &str, said: &str) {
    fire(ctx, HookEvent::SubagentStop, &[], || {
        object(json!({
            "agent_id": agent,
            "agent_type": "agent",
            "agent_transcript_path": log,
            "stop_hook_active": false,
            "last_assistant_message": said,
        }))
    });
}

/// The conversation is about to be shortened by itself: whether a hook objects.
pub(crate) fn objects_to_compaction(ctx: &ToolContext) -> bool {
    let said = fire(ctx, HookEvent::PreCompact, &["auto"], || {
        object(json!({"trigger": "auto", "custom_instructions": null}))
    });
    said.is_some_and(|said| said.block.is_some())
}

/// Somebody is about to be asked about a call.
pub(crate) fn question_is_asked(ctx: &ToolContext, title: &str) {
    let kind = "permission_prompt";
    fire(ctx, HookEvent::Notification, &[kind], || {
        object(json!({"message": title, "notification_type": kind}))
    });
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
