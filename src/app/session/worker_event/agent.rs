//! What happens to agents in the background.

use crossbeam_channel::Sender;

use crate::base::problem::Outcome;
use crate::chat::pipeline_event::PipelineEvent;
use crate::tools::engine::agent_task::AgentTask;

/// From the threads of agents, and from calls that launch them.
pub(in crate::app::session) enum AgentEvent {
    /// The model wants one to run.
    Launch(Box<AgentLaunch>),
    /// Something happened to the agent of this number.
    Happened(u64, PipelineEvent),
    Asks(AgentQuestions),
    /// The questions of this agent are no longer waiting for an answer.
    Unanswered(u64),
    /// The agent of this number has ended, with its report.
    Ended(u64, Outcome<String>),
}

pub(in crate::app::session) struct AgentLaunch {
    pub(in crate::app::session) task: AgentTask,
    /// Gets its number, or why it was not started.
    pub(in crate::app::session) reply: Sender<Outcome<u64>>,
}

/// Questions of an agent. Dropping them leaves them to the documents.
pub(in crate::app::session) struct AgentQuestions {
    pub(in crate::app::session) number: u64,
    /// A numbered list.
    pub(in crate::app::session) text: String,
    pub(in crate::app::session) reply: Sender<String>,
}
