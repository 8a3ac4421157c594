//! Shows a client what was said in a session before.

use serde_json::{Value, json};

use super::out::{ChunkKind, chunk};
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
            TranscriptContent::User(text) => say(ChunkKind::User, &text),
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
