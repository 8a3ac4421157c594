//! What was said before the messages of a conversation, for the reply flow, which keeps its own list of them.

use std::time::Duration;

use jiff::Timestamp;

use crate::chat::message::Message;
use crate::store::chat_log::{self, LogEntry};

/// What was said before in a conversation.
pub(super) enum SaidBefore {
    /// In the session that goes on.
    Session(Vec<Message>),
    /// In the sessions before it.
    Earlier(Vec<LogEntry>),
}

impl SaidBefore {
    /// What the flow sends again at `now`: all of a session that goes on, and of earlier ones what was said inside the window.
    pub(super) fn messages(self, window: Duration, now: Timestamp) -> Vec<Message> {
        match self {
            Self::Session(messages) => messages,
            Self::Earlier(mut entries) => {
                let begin = now.checked_sub(window).unwrap_or(Timestamp::MIN);
                entries.retain(|entry| entry.at.is_some_and(|at| at >= begin));
                chat_log::messages(&entries)
            }
        }
    }
}
