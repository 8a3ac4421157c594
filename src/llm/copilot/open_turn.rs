//! A turn of the CLI between two requests of the agent.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::messages::RequestedCall;

/// A turn that goes on with the next request, which has the results of its calls.
pub(super) struct OpenTurn {
    pub limit: Duration,
    pub deadline: Instant,
    /// Calls that the CLI waits for, and the requests that they are answered by.
    pub requested: HashMap<String, String>,
    /// Results for calls that it has not asked for yet.
    pub early: HashMap<String, CallOutcome>,
    /// Calls of the last reply that it has neither asked for nor answered.
    pub announced: Vec<RequestedCall>,
    /// Rounds of calls so far.
    pub rounds: usize,
    /// Rounds that were refused because the turn may have no more.
    pub refused_rounds: usize,
}

/// What came of a call.
#[derive(Debug, Clone)]
pub(super) struct CallOutcome {
    pub text: String,
    pub failed: bool,
}

impl OpenTurn {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            deadline: Instant::now() + limit,
            requested: HashMap::new(),
            early: HashMap::new(),
            announced: Vec::new(),
            rounds: 0,
            refused_rounds: 0,
        }
    }
}
