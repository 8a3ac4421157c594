//! How a reply came about, for a user who asks why: the stages with their times, the model calls, what was picked, planned and remembered.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::embedding::Embedding;
use crate::base::problem::Outcome;
use crate::reply::models::stage::{StageModel, StageRequest};

#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyReport {
    /// What the user said, redacted.
    pub query: String,
    pub took: Duration,
    /// In the order in which they ran.
    pub stages: Vec<StageReport>,
    /// In the order in which they ended.
    pub calls: Vec<ModelCall>,
    /// How tools were picked: the strategy, and `+plan`, `+carryover`.
    pub tools_by: String,
    /// The tools that the model was shown.
    pub tools: Vec<String>,
    pub plan: Vec<String>,
    /// What of memory was in the prompt, one line each, redacted.
    pub memory: Vec<String>,
    /// The tools that ran, in order.
    pub ran: Vec<String>,
    pub end: ReplyOutcome,
}

#[derive(Debug, Clone)]
pub(crate) struct StageReport {
    pub name: &'static str,
    pub took: Duration,
    /// What came of it, in a few words.
    pub note: String,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelCall {
    /// The stage that asked, or `embeddings`.
    pub stage: &'static str,
    pub took: Duration,
    pub failed: bool,
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ReplyOutcome {
    #[default]
    Answered,
    /// What the model wrote is never shown.
    Malformed,
    /// With an apology, or with what was found instead of an answer.
    NoAnswer,
    /// The model ended the conversation.
    Stopped,
    /// A hook ended it.
    Ended,
    /// The user ended it.
    Cancelled,
}

impl ReplyOutcome {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Malformed => "the model's answer could not be shown",
            Self::NoAnswer => "the model came to no answer",
            Self::Stopped => "the model ended the conversation",
            Self::Ended => "ended by a hook",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Takes down stages and model calls while a reply is made.
#[derive(Debug, Default)]
pub(crate) struct ReplyRecorder {
    stages: Mutex<Vec<StageReport>>,
    calls: Mutex<Vec<ModelCall>>,
}

impl ReplyRecorder {
    /// Runs a stage; `note` says what came of it.
    pub(crate) fn stage<T>(
        &self,
        name: &'static str,
        run: impl FnOnce() -> T,
        note: impl FnOnce(&T) -> String,
    ) -> T {
        let since = Instant::now();
        let result = run();
        let stage = StageReport {
            name,
            took: since.elapsed(),
            note: note(&result),
        };
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.push(stage);
        result
    }

    /// Calls a model for a stage.
    pub(crate) fn call<T, E>(
        &self,
        stage: &'static str,
        call: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let since = Instant::now();
        let answer = call();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(ModelCall {
            stage,
            took: since.elapsed(),
            failed: answer.is_err(),
        });
        answer
    }

    /// What was taken down.
    pub(crate) fn into_parts(self) -> (Vec<StageReport>, Vec<ModelCall>) {
        let stages = self.stages.into_inner();
        let calls = self.calls.into_inner();
        (
            stages.unwrap_or_else(PoisonError::into_inner),
            calls.unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// A model of stages whose calls are taken down.
pub(crate) struct RecordedModel<'a> {
    pub model: &'a dyn StageModel,
    pub recorder: &'a ReplyRecorder,
}

impl StageModel for RecordedModel<'_> {
    fn ask(&self, request: &StageRequest<'_>) -> Outcome<String> {
        self.recorder
            .call(request.stage.id(), || self.model.ask(request))
    }

    fn embed(&self, texts: &[String]) -> Outcome<Vec<Embedding>> {
        self.recorder.call("embeddings", || self.model.embed(texts))
    }
}
