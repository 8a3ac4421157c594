//! Shows a client what was said in a session before.

use serde_json::{Value, json};

use super::list;
use super::out::{ChunkKind, chunk};
use super::prompt::{SentPart, sent_parts};
use super::session::AcpSession;
use super::tool_call::{self, ShownCall, set};
use super::updates::message_id;
use crate::app::sessions::transcript::{self, PastCall, TranscriptContent};
use crate::chat::message::ToolCall;
use crate::store::sessions::Replay;

/// Tells of everything that was said.
pub(super) fn show(replay: &Replay, session: &AcpSession) {
    let entries = transcript::entries(replay, &session.context.clock);
    for (n, entry) in entries.into_iter().enumerate() {
        let message = message_id();
        let say = |kind, text: &str| session.updates.update(&chunk(kind, &message, text));
        if let Some(thought) = &entry.thought {
            say(ChunkKind::Thought, thought);
        }
        match entry.content {
            TranscriptContent::User(text) => {
                for part in sent_parts(&text) {
                    let part = match part {
                        SentPart::Text(text) => chunk(ChunkKind::User, &message, text),
                        SentPart::Embedded(uri) => link(&message, uri),
                    };
                    session.updates.update(&part);
                }
            }
            TranscriptContent::Assistant(text) => say(ChunkKind::Message, &text),
            TranscriptContent::Call(past) => session.updates.update(&call(&past, n, session)),
            TranscriptContent::Command { command, output } => {
                say(ChunkKind::User, &format!("!{command}"));
                say(ChunkKind::Message, &output);
            }
            TranscriptContent::Error(error) => say(ChunkKind::Message, &error),
            TranscriptContent::Stopped | TranscriptContent::Notice(_) => {}
        }
    }
}

/// Tells how the session is called, when it was used last, what it has cost, and how full the window is with about so many tokens.
pub(super) fn show_facts(replay: &Replay, tokens: u64, session: &AcpSession) {
    let name = replay.name.clone().unwrap_or_else(|| replay.first());
    session.updates.update(&json!({
        "sessionUpdate": "session_info_update",
        "title": list::title(&name),
        "updatedAt": replay.time,
    }));
    let window = session.first.info(&session.choice().model).window;
    session.updates.usage(tokens, window);
}

/// What the user had embedded, which need not be shown again as a whole.
fn link(message: &str, uri: &str) -> Value {
    let mut update = chunk(ChunkKind::User, message, "");
    let name = uri.trim_end_matches('/').rsplit('/').next();
    let name = name.filter(|name| !name.is_empty()).unwrap_or(uri);
    let link = json!({"type": "resource_link", "uri": uri, "name": name});
    set(&mut update, "content", link);
    update
}

/// A call with what came of it, in one update.
fn call(past: &PastCall, n: usize, session: &AcpSession) -> Value {
    // Providers use an id again in another round.
    let id = format!("past-{n}-{}", past.call.id);
    let call = ToolCall::new(&past.call.id, &past.call.name, &past.call.args);
    let paths = session.updates.paths();
    let shown = ShownCall::new(&session.context, &paths, id.clone(), &call);
    let mut update = shown.begun();
    let display = past
        .record
        .as_ref()
        .and_then(|record| record.display.clone());
    let display = display.map(|display| tool_call::recalled(display, &paths));
    let ended = match &past.output {
        Some(output) => {
            tool_call::ended(&id, output.failed, &output.text, display.as_ref(), &paths)
        }
        None => json!({"status": "failed"}),
    };
    for key in ["status", "content", "rawOutput"] {
        if let Some(value) = ended.get(key) {
            set(&mut update, key, value.clone());
        }
    }
    update
}
