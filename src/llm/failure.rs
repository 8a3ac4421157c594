//! Failures of a model call, classified by what can be done about them.

use std::time::Duration;

use super::reply::Reply;
use super::wire::optional::OptionalMembers;
use crate::base::problem::Problem;

/// The kind of failure; it decides about retry and fallback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// 401 or 403: the key is missing or refused.
    Auth,
    /// 429: too many requests or tokens.
    RateLimited {
        /// How long the provider asks to wait.
        wait: Option<Duration>,
    },
    /// 429 that waiting does not solve: the quota is used up.
    Quota,
    /// The request exceeds the account's whole limit (Groq's free plans: 413 or 429 "Request too large"); retrying cannot help.
    TooLarge,
    /// The conversation is longer than the model's window.
    TooLong,
    /// The model does not support tools (Ollama: 400 `… does not support tools`).
    NoTools,
    /// The model wrote a malformed tool call (Groq: `tool_use_failed`).
    BadCall {
        /// The text of the failed generation.
        wrote: String,
    },
    /// The model supports what was requested only over the Responses wire (OpenAI: tools with reasoning).
    OtherWire,
    /// Reasoning summaries are refused (OpenAI: the organization is not verified).
    NoSummaries,
    /// 404, 405 or 501 that does not mention the model: the server does not speak this dialect at this address.
    NoSuchPath,
    /// Any other 4xx.
    Refused,
    /// 5xx or an error inside the stream that is the server's.
    Server,
    /// No connection, a reset, a name that does not resolve.
    Network,
    /// A timeout: connecting, first byte or silence.
    Stalled,
    /// The stream ended before the reply was complete.
    Cut,
    /// The reply is complete but is not an answer: the token limit ended it, or it is empty.
    Unfinished,
    /// The requests that a turn may make are used up.
    Rounds,
    /// No answer fitted the schema that was asked for.
    Misfit,
    /// What the run may cost is spent.
    Budget,
    /// A content filter ended the reply.
    Filtered,
    /// The model declined to answer.
    Declined,
    /// The reply violates the protocol.
    Protocol,
    Cancelled,
}

/// A failed model call.
#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub problem: Box<Problem>,
    /// What was received of the reply; its calls are never run.
    pub partial: Box<Reply>,
    /// Set when it may be over soon: the server's own error, or a connection that could not be made or was closed.
    pub passing: Option<PassingError>,
    /// Set when the server answered with an error status.
    pub answer: Option<ErrorAnswer>,
    /// The tool whose schema is the reason for it.
    pub refused_tool: Option<String>,
}

/// What is known of an answer with an error status, beyond its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorAnswer {
    pub status: u16,
    pub mentions_tools: bool,
    /// Members of the request that it refuses, and that the request can do without.
    pub(crate) refused: OptionalMembers,
}

/// A fault of the server or of the way to it that may be over soon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassingError {
    /// How long to wait, if the provider said so.
    pub wait: Option<Duration>,
}

impl Failure {
    /// A failure before anything of the reply was received.
    pub fn new(kind: FailureKind, problem: Problem) -> Self {
        Self {
            kind,
            problem: Box::new(problem),
            partial: Box::default(),
            passing: None,
            answer: None,
            refused_tool: None,
        }
    }

    /// Says which tool is the reason for it.
    #[must_use]
    pub(crate) fn about_tool(self, refused_tool: Option<String>) -> Self {
        Self {
            refused_tool,
            ..self
        }
    }

    /// Adds what was received of the reply.
    #[must_use]
    pub fn with_partial(mut self, partial: Reply) -> Self {
        self.partial = Box::new(partial);
        self
    }

    /// Marks it as one that may be over soon.
    #[must_use]
    pub fn passing(mut self) -> Self {
        self.passing = Some(PassingError::default());
        self
    }

    /// True if the request was too long for the model or the account.
    pub fn is_too_long(&self) -> bool {
        matches!(self.kind, FailureKind::TooLong | FailureKind::TooLarge)
    }

    /// How long the provider asks to wait, when the failure is its own and may be over soon: it has a fault, is overloaded, limits the rate, or cannot be
    /// reached. `None` when it is something else.
    pub(crate) fn outage(&self) -> Option<Option<Duration>> {
        match (&self.kind, self.passing) {
            (_, Some(error)) => Some(error.wait),
            (FailureKind::RateLimited { wait }, None) => Some(*wait),
            _ => None,
        }
    }

    /// The same for whoever has more patience than a turn: a provider that fell silent may also answer again.
    pub(crate) fn long_outage(&self) -> Option<Option<Duration>> {
        let is_silent = self.kind == FailureKind::Stalled;
        self.outage().or(is_silent.then_some(None))
    }

    /// Stopped on purpose.
    pub fn cancelled() -> Self {
        Self::new(FailureKind::Cancelled, Problem::cancelled())
    }

    /// True if no part of the answer was shown yet, so that the request can be repeated.
    pub fn nothing_shown(&self) -> bool {
        self.partial.text.is_empty() && self.partial.calls.is_empty()
    }
}
