//! What was said in a session, as an interface shows it.

use std::collections::HashMap;

use serde::Serialize;

use super::list::local_time;
use crate::base::clock::Clock;
use crate::base::text::plural;
use crate::chat::message::{Message, ToolCall, ToolOutput};
use crate::store::sessions::Replay;
use crate::store::sessions::record::TurnResult;
use crate::store::sessions::replay::TranscriptItem;

/// Entries that an interface shows of a long session.
pub(crate) const SHOWN: usize = 200;

/// An entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TranscriptEntry {
    /// Local date and time.
    pub time: String,
    pub content: TranscriptContent,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub(crate) enum TranscriptContent {
    User(String),
    Assistant(String),
    /// A call, with its result if it had one.
    Call(ToolCall, Option<ToolOutput>),
    /// A notice in plain text.
    Notice(String),
}

/// The entries of a session, the oldest first.
pub(crate) fn entries(replay: &Replay, clock: &Clock) -> Vec<TranscriptEntry> {
    let now = clock.now();
    let messages = || {
        replay.rows().iter().filter_map(|row| match row.item {
            TranscriptItem::Message(n) => replay.message(n),
            _ => None,
        })
    };
    // Results follow their calls; some providers use an id again in the next round.
    let mut results: HashMap<&str, Vec<&ToolOutput>> = HashMap::new();
    for message in messages() {
        if let Message::Tool(output) = message {
            results.entry(&output.id).or_default().push(output);
        }
    }
    results.values_mut().for_each(|outputs| outputs.reverse());
    let mut out = Vec::new();
    for row in replay.rows() {
        let mut push = |content| {
            out.push(TranscriptEntry {
                time: local_time(&row.time, &now),
                content,
            });
        };
        let notice = match &row.item {
            TranscriptItem::Message(n) => match replay.message(*n) {
                Some(Message::User(user)) => {
                    push(TranscriptContent::User(user.text.clone()));
                    continue;
                }
                Some(Message::Assistant(said)) => {
                    if !said.text.trim().is_empty() {
                        push(TranscriptContent::Assistant(said.text.clone()));
                    }
                    for call in &said.calls {
                        let output = results.get_mut(call.id.as_str()).and_then(Vec::pop);
                        push(TranscriptContent::Call(call.clone(), output.cloned()));
                    }
                    continue;
                }
                Some(Message::System { text }) => text.clone(),
                Some(Message::Tool(_)) | None => continue,
            },
            TranscriptItem::Compaction => {
                "Context compacted. Older messages summarized.".to_owned()
            }
            TranscriptItem::Model { provider, model } => {
                format!("From here on {provider} answers, with {model}.")
            }
            TranscriptItem::Name(name) => format!("Named \"{name}\"."),
            TranscriptItem::Ended(TurnResult::Stopped) => "stopped".to_owned(),
            TranscriptItem::Ended(_) => "The answer failed.".to_owned(),
        };
        push(TranscriptContent::Notice(notice));
    }
    out
}

/// The latest entries, and a notice about the others.
pub(crate) fn latest(mut entries: Vec<TranscriptEntry>, export: &str) -> Vec<TranscriptEntry> {
    let Some(over) = entries.len().checked_sub(SHOWN).filter(|over| *over > 0) else {
        return entries;
    };
    let mut shown = entries.split_off(over);
    shown.insert(
        0,
        TranscriptEntry {
            time: String::new(),
            content: TranscriptContent::Notice(format!(
                "{} before these: {export}",
                plural(over, "more message")
            )),
        },
    );
    shown
}
