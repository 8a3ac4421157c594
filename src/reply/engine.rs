//! The order of the stages: from what the user said to a reply that is checked, shown and remembered.

use crate::agent::system::UserFacts;
use crate::reply::settings::ReplySettings;
use crate::tools::Effect;

/// A message of the user and what is known beside it.
pub(crate) struct ReplyInput<'a> {
    /// As it was typed or heard.
    pub text: &'a str,
    /// It was heard, and the answer will be spoken.
    pub spoken: bool,
    /// Preferences, saved places and background jobs.
    pub person: &'a UserFacts,
}

/// How a reply ended.
#[derive(Debug, Default)]
pub(crate) struct ReplyEnd {
    /// The checked answer; empty after `stop`.
    pub text: String,
    /// It only says that there is no answer.
    pub is_apology: bool,
    /// The model ended the conversation: nothing is shown or remembered.
    pub is_stop: bool,
    /// Changes of the session that tools requested.
    pub effects: Vec<Effect>,
}

/// The reply flow of one session: settings, what was said, what was found for it.
pub(crate) struct ReplyEngine {
    settings: ReplySettings,
}

impl ReplyEngine {
    pub(crate) fn new(settings: ReplySettings) -> Self {
        Self { settings }
    }
}
