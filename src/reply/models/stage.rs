//! The stages that call a model, and how they call it.

use std::time::Duration;

use crate::base::embedding::Embedding;
use crate::base::problem::{Outcome, Problem};
use crate::chat::message::Message;
use crate::llm::provider::Offer;
use crate::reply::settings::ReplySettings;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// Picks tools for the message.
    Router,
    /// Writes the steps of the reply.
    Planner,
    /// Finds what to look up in memory.
    Extractor,
    /// Condenses what memory had.
    MemoryDigest,
    /// Turns a planned step into a call.
    Resolver,
    /// Answers.
    Chat,
    /// Condenses a tool's result.
    ToolDigest,
    /// Says what was found when there is no answer.
    LoopDigest,
    /// Writes the diary.
    Summariser,
    /// Finds facts in a diary entry.
    GraphExtract,
    /// Picks a place for a fact.
    GraphPick,
    /// Merges facts of one place.
    GraphMerge,
    /// Splits a place that has grown too large.
    GraphSplit,
    /// Removes failures of the assistant from diary entries.
    DiaryClean,
    /// Maps topics that mean the same to one.
    DiaryTopics,
}

/// Whose model a stage uses; the chat model when the setting is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageModelRole {
    Chat,
    Planner,
    Router,
    Judge,
}

impl Stage {
    /// Its name: in the first line of its system message, in traces and in `!why`.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Planner => "planner",
            Self::Extractor => "extractor",
            Self::MemoryDigest => "memory_digest",
            Self::Resolver => "resolver",
            Self::Chat => "chat",
            Self::ToolDigest => "tool_digest",
            Self::LoopDigest => "loop_digest",
            Self::Summariser => "summariser",
            Self::GraphExtract => "graph_extract",
            Self::GraphPick => "graph_pick",
            Self::GraphMerge => "graph_merge",
            Self::GraphSplit => "graph_split",
            Self::DiaryClean => "diary_clean",
            Self::DiaryTopics => "diary_topics",
        }
    }

    /// Whose model it uses.
    pub(crate) const fn role(self) -> StageModelRole {
        match self {
            Self::Planner | Self::Resolver => StageModelRole::Planner,
            Self::Router | Self::Extractor | Self::GraphPick | Self::GraphMerge => {
                StageModelRole::Router
            }
            Self::LoopDigest => StageModelRole::Judge,
            Self::Chat
            | Self::MemoryDigest
            | Self::ToolDigest
            | Self::Summariser
            | Self::GraphExtract
            | Self::GraphSplit
            | Self::DiaryClean
            | Self::DiaryTopics => StageModelRole::Chat,
        }
    }

    /// The temperature, where it is set.
    pub(crate) const fn temperature(self) -> Option<f64> {
        match self {
            Self::Router
            | Self::Planner
            | Self::Resolver
            | Self::Extractor
            | Self::GraphExtract
            | Self::GraphMerge => Some(0.0),
            _ => None,
        }
    }

    /// The context window to ask a local server for, in tokens.
    pub(crate) const fn window(self, settings: &ReplySettings) -> u64 {
        match self {
            Self::Chat | Self::Planner | Self::Resolver | Self::Router => settings.num_ctx,
            _ => 4_096,
        }
    }
}

/// A call of an auxiliary stage: one system message, one user message, no tools, not streamed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageRequest<'a> {
    pub stage: Stage,
    /// The duties of the stage, without the line that names it.
    pub system: &'a str,
    pub user: &'a str,
    pub limit: Duration,
}

pub(crate) struct ChatRequest<'a> {
    pub system: &'a str,
    /// History and the message, repaired.
    pub messages: &'a [Message],
    /// Native tools; none when they are written as text.
    pub offer: &'a Offer,
    /// The answer is shown as a draft while it arrives.
    pub stream: bool,
}

/// Calls the models of auxiliary stages.
pub(crate) trait StageModel: Send + Sync {
    /// The model's text, without its thinking.
    ///
    /// # Errors
    /// The model failed, took too long, or the reply was stopped.
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String>;

    /// A vector for each text, by the model for embeddings.
    ///
    /// # Errors
    /// There is none, it failed or took too long, or the reply was stopped.
    fn embed(&self, texts: &[String]) -> Outcome<Vec<Embedding>> {
        let _ = texts;
        Err(Problem::config("No model for embeddings is set.").next("Set embed_model."))
    }
}
