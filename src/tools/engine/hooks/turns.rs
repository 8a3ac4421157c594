//! The hooks around a session, a message and its answer.

use serde_json::{Map, Value, json};

use super::event::HookEvent;
use super::fire::fire;
use super::hook_set::{HookSet, HookedSession};
use super::verdict::{Verdict, as_told, joined};
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{Event, Level};
use crate::tools::engine::context::ToolContext;

/// How often hooks may keep a turn from ending.
const MAX_STOPS: u32 = 5;
/// The source of a session that goes on with a shortened conversation.
pub(crate) const COMPACTED: &str = "compact";
/// The source of a copy of a session.
const FORKED: &str = "fork";

/// A message of a session is about to be sent. The first one begins the session, and ends the one before. `session` has the id and the file of the session that
/// is written, if one is; `has_earlier` says whether something was said in it before.
pub(crate) fn message_begins(
    ctx: &ToolContext,
    session: Option<(String, String)>,
    has_earlier: bool,
    model: &str,
) {
    let set = &ctx.session.hooks;
    if !set.has_any() {
        return;
    }
    let known = set.session();
    let session = match session {
        Some((id, transcript)) if id != known.id => HookedSession {
            id,
            transcript,
            source: match (has_earlier, known.id.is_empty()) {
                // How the process began, before it was known which session that is.
                (true, true) if known.source == FORKED => FORKED,
                (true, _) => "resume",
                (false, true) => "startup",
                (false, false) => "clear",
            },
        },
        _ => known,
    };
    let begun = set.begun();
    if begun.as_ref() == Some(&session.id) {
        return;
    }
    if begun.is_some() {
        session_ends(ctx, session.source);
    }
    set.set_session(session.clone());
    session_starts(ctx, session.source, model);
}

/// The session begins, by one of the ways that the form has words for; what hooks say of it goes to the model with the first message.
pub(crate) fn session_starts(ctx: &ToolContext, source: &str, model: &str) {
    let set = &ctx.session.hooks;
    set.note_begun(Some(set.session().id));
    let said = fire(ctx, HookEvent::SessionStart, &[source], || {
        object(json!({"source": source, "model": model}))
    });
    if let Some(told) = said.and_then(Verdict::remarks) {
        set.tell_later(told);
    }
}

/// The conversation was shortened by itself: returns what hooks say of that, which goes to the model at once.
pub(crate) fn session_is_compacted(ctx: &ToolContext, model: &str) -> Option<String> {
    session_starts(ctx, COMPACTED, model);
    told(&ctx.session.hooks)
}

/// What was kept for the model, as it is told it.
fn told(set: &HookSet) -> Option<String> {
    let told = set.told_later();
    told.into_iter()
        .reduce(|one, other| joined(Some(one), &other))
}

/// The session ends, if hooks were told that it began.
pub(crate) fn session_ends(ctx: &ToolContext, reason: &str) {
    if ctx.session.hooks.note_begun(None).is_none() {
        return;
    }
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
    if let Some(reason) = said.block.clone().or(said.end.clone()) {
        set.end_turn(reason.clone());
        let why = match reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        return Err(Problem::refused(format!(
            "A {} did not let the message be sent{why}",
            said.objector.words()
        )));
    }
    said.remarks()
        .into_iter()
        .for_each(|told| set.tell_later(told));
    Ok(told(set))
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
        Some(as_told(said.objector, reason))
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

/// The user has the conversation shortened, to which no hook can object.
pub(crate) fn is_compacted_by_hand(ctx: &ToolContext) {
    fire(ctx, HookEvent::PreCompact, &["manual"], || {
        object(json!({"trigger": "manual", "custom_instructions": null}))
    });
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
