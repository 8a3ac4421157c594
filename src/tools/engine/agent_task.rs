//! What a tool asks of the floor above, which runs child Marvins.

use std::sync::Arc;

use crate::base::params::choice;
use crate::disk::beneath::Root;

choice! {
    pub enum AgentModel {
        /// Chosen by the words of the task.
        Auto = "auto",
        /// The tier for implementation.
        Codex = "codex",
        /// The tier for reviews and work on many files.
        Opus = "opus",
    }
}

/// Work for a child that writes.
#[derive(Debug, Clone)]
pub struct AgentTask {
    /// The project.
    pub root: Arc<Root>,
    /// Id of the ticket that the work is for, as given.
    pub ticket: String,
    /// What to do.
    pub prompt: String,
    pub model: AgentModel,
    /// Documents are written and reviewed first.
    pub design_first: bool,
    /// Tests are written first, and run and mended afterwards.
    pub tdd: bool,
}

/// What is known of a task that can be begun beside the conversation.
#[derive(Debug, Clone, Default)]
pub struct CheckedTask {
    /// The whole id of its ticket.
    pub ticket: String,
    /// What to say of the place of its own in which it is done, where it has one.
    pub place: Option<String>,
}

/// A review of a code base in the background.
#[derive(Debug, Clone)]
pub struct ReviewOrder {
    /// The project.
    pub root: Arc<Root>,
    /// Folder of explanatory documents, as given.
    pub documents: String,
    /// `all`, `backend`, `frontend`, `tests` or a glob.
    pub focus: String,
    /// The most rounds of reviews and fixes.
    pub max_rounds: u64,
    /// Further guidance for the reviewers.
    pub context: String,
}
