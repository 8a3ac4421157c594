//! What was said in a session, as an interface shows it.

use std::collections::HashMap;

use serde::Serialize;

use super::list::local_time;
use super::model_notes;
use crate::base::clock::Clock;
use crate::base::text::plural;
use crate::chat::message::{Message, ToolCall, ToolOutput};
use crate::store::sessions::Replay;
use crate::store::sessions::record::{CallRecord, TurnResult};
use crate::store::sessions::replay::TranscriptItem;

/// Entries that an interface shows of a long session.
pub(crate) const SHOWN: usize = 200;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TranscriptEntry {
    /// Local date and time.
    pub time: String,
    pub content: TranscriptContent,
    /// What the model thought before it.
    #[serde(skip)]
    pub thought: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub(crate) enum TranscriptContent {
    User(String),
    Assistant(String),
    Call(Box<PastCall>),
    /// A command of the user in the shell.
    Command {
        command: String,
        /// Its output and how it ended.
        output: String,
    },
    /// The user stopped the answer.
    Stopped,
    /// Why an answer failed.
    Error(String),
    /// A notice in plain text.
    Notice(String),
}

/// A call of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PastCall {
    pub call: ToolCall,
    /// Absent when the process ended before the call did.
    pub output: Option<ToolOutput>,
    /// What the user saw of it. Files of older versions do not say.
    pub record: Option<CallRecord>,
}

/// The entries of a session, the oldest first.
pub(crate) fn entries(replay: &Replay, clock: &Clock) -> Vec<TranscriptEntry> {
    let now = clock.now();
    let mut out: Vec<TranscriptEntry> = Vec::new();
    // Where the latest call of each id is: some providers use an id again in the next round.
    let mut calls: HashMap<String, usize> = HashMap::new();
    for row in replay.rows() {
        let entry = |content| TranscriptEntry {
            time: local_time(&row.time, &now),
            content,
            thought: None,
        };
        let notice = match &row.item {
            TranscriptItem::Message(n) => match replay.message(*n) {
                Some(Message::User(user)) => {
                    let said = user.text_and_markers().into_owned();
                    out.push(entry(TranscriptContent::User(said)));
                    continue;
                }
                Some(Message::Assistant(said)) => {
                    let first = out.len();
                    if !said.text.trim().is_empty() {
                        out.push(entry(TranscriptContent::Assistant(said.text.clone())));
                    }
                    for call in &said.calls {
                        let call = call.clone();
                        calls.insert(call.id.clone(), out.len());
                        let past = PastCall {
                            call,
                            output: None,
                            record: None,
                        };
                        out.push(entry(TranscriptContent::Call(Box::new(past))));
                    }
                    if let Some(entry) = out.get_mut(first) {
                        entry.thought = replay.thought(*n).map(str::to_owned);
                    }
                    continue;
                }
                Some(Message::System { text }) => match model_notes::read_command(text) {
                    Some((command, output)) => {
                        out.push(entry(TranscriptContent::Command { command, output }));
                        continue;
                    }
                    None => model_notes::words(text).to_owned(),
                },
                Some(Message::Tool(output)) => {
                    let at = calls.get(&output.id);
                    let called = at.and_then(|at| out.get_mut(*at));
                    // For the model a result may be written once more, with a warning.
                    if let Some(TranscriptContent::Call(past)) =
                        called.map(|entry| &mut entry.content)
                        && past.output.is_none()
                    {
                        past.output = Some(output.clone());
                        past.record = replay.call(*n).cloned();
                    }
                    continue;
                }
                None => continue,
            },
            TranscriptItem::Compaction => {
                "Context compacted. Older messages summarized.".to_owned()
            }
            TranscriptItem::Model { provider, model } => {
                format!("From here on {provider} answers, with {model}.")
            }
            TranscriptItem::Name(name) => format!("Named \"{name}\"."),
            TranscriptItem::CutOff => "Marvin ended before this answer did.".to_owned(),
            TranscriptItem::Ended(ending) => match (ending.result, &ending.error) {
                (TurnResult::Stopped, _) => {
                    out.push(entry(TranscriptContent::Stopped));
                    continue;
                }
                (_, Some(error)) => {
                    out.push(entry(TranscriptContent::Error(error.clone())));
                    continue;
                }
                (_, None) => "The answer failed.".to_owned(),
            },
        };
        out.push(entry(TranscriptContent::Notice(notice)));
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
            thought: None,
        },
    );
    shown
}
