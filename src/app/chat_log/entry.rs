//! Entries of the chat log, and what of them a model sees.

use serde_json::{Map, Value};

use crate::chat::message::Message;

/// Who said an entry. The file says `you`, `assistant`, `system`; other words come from other versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    You,
    /// Marvin.
    Assistant,
    /// Notices, command output, summaries.
    System,
    /// A role of another version; shown, never sent to a model.
    Other,
}

/// One entry as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who said it.
    pub role: Role,
    /// The words; never empty.
    pub text: String,
    /// `14:30`, or whatever another version wrote.
    pub time: String,
}

impl Role {
    /// The word in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Assistant => "assistant",
            Self::System | Self::Other => "system",
        }
    }

    pub(super) fn of(entry: &Map<String, Value>) -> Self {
        match entry.get("role").and_then(Value::as_str) {
            // Some versions wrote what models call it.
            Some("you" | "user") => Self::You,
            Some("assistant") => Self::Assistant,
            Some("system") => Self::System,
            _ => Self::Other,
        }
    }
}

impl Entry {
    /// An entry of the file; nothing when it has no text.
    pub(super) fn read(entry: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        (!text("text").trim().is_empty()).then(|| Self {
            role: Role::of(entry),
            text: text("text").to_owned(),
            time: text("time").to_owned(),
        })
    }
}

/// Entries as a model's conversation: `you` and `assistant`, nothing else (contract/interfaces.md 7).
pub fn messages(entries: &[Entry]) -> Vec<Message> {
    let message = |entry: &Entry| match entry.role {
        Role::You => Some(Message::user(entry.text.as_str())),
        Role::Assistant => Some(Message::assistant(entry.text.as_str())),
        Role::System | Role::Other => None,
    };
    entries.iter().filter_map(message).collect()
}
