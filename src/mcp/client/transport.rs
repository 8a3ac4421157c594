//! What carries the messages of a connection, and how it fails.

use serde_json::Value;

use super::connection::Wait;
use super::text::clipped;
use crate::base::problem::{Problem, ProblemKind};
use crate::formats::json_rpc::RpcError;

/// Characters of a server's words in an error.
pub(super) const MAX_WORDS: usize = 1_000;

/// A request that is about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub id: u64,
    pub method: &'a str,
    pub params: &'a Value,
    /// The revision that it is of; `None` before one is agreed on.
    pub version: Option<&'a str>,
    /// Arguments that HTTP repeats in headers.
    pub headers: &'a [(String, String)],
}

/// Carries messages of JSON-RPC 2.0 to a server and back.
pub(crate) trait Transport: Send + Sync {
    /// Sends a request and waits for its result.
    ///
    /// # Errors
    /// See [`Failure`].
    fn request(&self, request: &Request<'_>, wait: Wait<'_>) -> Result<Value, Failure>;

    /// Sends a notification, to which there is no answer.
    fn notify(&self, method: &str, params: &Value);

    /// The handshake is done, with this revision.
    fn agreed(&self, _version: &str) {}

    /// Whether progress of a call comes this way.
    fn has_progress(&self) -> bool {
        true
    }

    /// Whether it is HTTP.
    fn is_http(&self) -> bool {
        false
    }

    /// False once nothing comes through any more.
    fn is_alive(&self) -> bool {
        true
    }

    /// How many messages have come this way, where that is counted.
    fn heard(&self) -> u64 {
        0
    }

    /// Ends it.
    fn close(&self) {}
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server answered with an error.
    Rpc(RpcError),
    /// An HTTP status that is none of success, or a success without an answer; the error in its body, if there is one.
    Status(u16, Option<RpcError>, Box<Problem>),
    /// The answer is lost.
    Lost(Loss, Problem),
    /// Time is over, the token fired, or there is no use in trying again.
    Other(Problem),
}

/// How an answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The server is gone: it has to be opened again, and may have worked on the request.
    Gone,
    /// The stream of this answer broke: the server may have worked on the request.
    Broken,
    /// The server has forgotten the session, and has not looked at the request.
    SessionOver,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

impl Failure {
    /// For whoever asked `server`.
    pub(super) fn problem(self, server: &str, method: &str) -> Problem {
        match self {
            Self::Rpc(error) | Self::Status(_, Some(error), _) => {
                let words = clipped(&error.message, MAX_WORDS);
                let words = match words.is_empty() {
                    true => "it gave no reason.",
                    false => &words,
                };
                let end = match words.ends_with(['.', '!', '?', '…']) {
                    true => "",
                    false => ".",
                };
                Problem::network(format!(
                    "{server} answered {method} with an error: {words}{end}"
                ))
            }
            Self::Status(_, None, problem) => *problem,
            Self::Lost(_, problem) | Self::Other(problem) => problem,
        }
    }

    /// Whoever asked does not wait any more.
    pub(super) fn is_given_up(&self) -> bool {
        matches!(self, Self::Other(problem) if matches!(problem.kind, ProblemKind::Cancelled | ProblemKind::Timeout))
    }

    /// The code of the server's error.
    pub(super) fn code(&self) -> Option<i64> {
        match self {
            Self::Rpc(error) | Self::Status(_, Some(error), _) => Some(error.code),
            _ => None,
        }
    }
}
