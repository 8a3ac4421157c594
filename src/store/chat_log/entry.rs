//! Entries of the chat log, and the part of them that a model sees.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::chat::budget;
use crate::chat::message::Message;

/// The author of an entry. The file says `you`, `assistant` or `system`; other versions may have written other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogRole {
    /// The user.
    You,
    /// Marvin.
    Assistant,
    /// Notices, command output, summaries.
    System,
    /// A role of another version: shown, but never sent to a model.
    Other,
}

/// An entry as it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    pub role: LogRole,
    /// Never empty.
    pub text: String,
    /// `14:30`, or another format of another version.
    pub time: String,
    /// When it was said, for entries of the reply flow: they become memory, unless that was done before.
    #[serde(skip)]
    pub at: Option<Timestamp>,
}

impl LogRole {
    /// The word for it in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Assistant => "assistant",
            Self::System | Self::Other => "system",
        }
    }

    pub(super) fn of(entry: &Map<String, Value>) -> Self {
        match entry.get("role").and_then(Value::as_str) {
            // Some versions used the word of the model APIs.
            Some("you" | "user") => Self::You,
            Some("assistant") => Self::Assistant,
            Some("system") => Self::System,
            _ => Self::Other,
        }
    }
}

impl LogEntry {
    /// True for messages of the user or of Marvin.
    pub fn is_spoken(&self) -> bool {
        matches!(self.role, LogRole::You | LogRole::Assistant)
    }

    /// True for the summary written by a compaction.
    pub fn is_summary(&self) -> bool {
        self.role == LogRole::System && budget::is_summary_text(&self.text)
    }

    /// Reads an entry of the file; `None` when it has no text.
    pub(super) fn read(entry: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        (!text("text").trim().is_empty()).then(|| Self {
            role: LogRole::of(entry),
            text: text("text").to_owned(),
            time: text("time").to_owned(),
            at: text("at").parse().ok(),
        })
    }
}

/// The conversation for a model: messages of the user and the assistant, and a summary of what came before. Starts with the user, because providers
/// refuse conversations that start with an answer.
pub(crate) fn messages(entries: &[LogEntry]) -> Vec<Message> {
    let message = |entry: &LogEntry| match entry.role {
        LogRole::You => Some(Message::user(entry.text.as_str())),
        LogRole::Assistant => Some(Message::assistant(entry.text.as_str())),
        LogRole::System | LogRole::Other => None,
    };
    let is_answer = |message: &Message| matches!(message, Message::Assistant(_));
    let spoken = entries.iter().filter_map(message);
    let mut messages: Vec<Message> = spoken.skip_while(is_answer).collect();
    let summary = entries.iter().rfind(|entry| entry.is_summary());
    if let Some(LogEntry { text, .. }) = summary.filter(|_| !messages.is_empty()) {
        budget::insert_summary(&mut messages, Message::System { text: text.clone() });
    }
    messages
}
