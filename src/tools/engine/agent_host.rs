//! What agents have of a conversation, where there is one: they go on beside it, and the user answers their questions.

use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::tools::engine::agent_task::AgentTask;

/// Runs agents beside a conversation.
pub trait AgentHost: Send + Sync {
    /// Starts an agent and returns its number, by which the user knows it.
    ///
    /// # Errors
    /// There are as many as there may be, there is no model, or the call was stopped.
    fn start(&self, task: AgentTask, stop: &Cancel) -> Outcome<u64>;
}

/// Answers what an agent wants to know.
pub trait QuestionAnswerer: Send + Sync {
    /// The answers to a numbered list of questions; `None` when nobody gives any.
    ///
    /// # Errors
    /// The agent was stopped.
    fn answer(&self, questions: &str, stop: &Cancel) -> Outcome<Option<String>>;
}
