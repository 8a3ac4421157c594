//! What the model is told about the user.

use std::sync::{Arc, LazyLock};

use crate::llm::provider::Offer;

/// Facts about the user, read from the profile's files by whoever starts a turn.
pub(crate) struct UserFacts {
    /// What a calling program wants of the system prompt.
    pub caller: CallerPrompt,
    /// One per line. Read for each message: when they change, a new prompt is needed.
    pub preferences: String,
    /// What configured servers say of how their tools are to be used, each under its name.
    pub servers: Vec<(String, String)>,
    /// Commands that run in the background, one per line.
    pub jobs: String,
    /// The saved places, one per line.
    pub places: LazyText,
    /// The latest entries of the chat log, shortened, one per line.
    pub history: LazyText,
}

/// Read from disk on first use: not every request needs it.
pub(crate) type LazyText = LazyLock<String, Box<dyn FnOnce() -> String + Send>>;

impl Default for UserFacts {
    fn default() -> Self {
        Self {
            caller: CallerPrompt::default(),
            preferences: String::new(),
            servers: Vec::new(),
            jobs: String::new(),
            places: LazyText::new(Box::new(String::new)),
            history: LazyText::new(Box::new(String::new)),
        }
    }
}

/// What a calling program wants of the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallerPrompt {
    /// Takes the place of everything but what the tools and the project need said.
    pub instead: Option<String>,
    /// Follows everything else.
    pub appended: Option<String>,
    /// A program talks with the model: what was said in other conversations is no business of its own.
    pub without_history: bool,
    pub form: Option<Arc<AnswerForm>>,
}

/// What is said of the form of an answer, which depends on whether the model can call the tool for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerForm {
    /// The tool by which the answer is given.
    pub tool: String,
    /// Where the model has it.
    pub by_tool: String,
    /// Where it has not.
    pub as_text: String,
}

impl AnswerForm {
    /// What follows the system prompt of a request that offers these tools.
    pub(crate) fn words(&self, offer: &Offer, may_call: bool) -> &str {
        match may_call && offer.tools.iter().any(|tool| *tool.name == *self.tool) {
            true => &self.by_tool,
            false => &self.as_text,
        }
    }
}
