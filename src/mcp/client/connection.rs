//! What can be asked of a server, whatever its era and whatever lies between.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// How long an operation may take, and what stops it.
#[derive(Clone, Copy)]
pub(crate) struct Wait<'a> {
    pub limit: Duration,
    pub stop: &'a Cancel,
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerFacts {
    /// `{name, version}`, for showing.
    pub info: Value,
    pub has_tools: bool,
}

/// A connection to a server. Operations may overlap.
pub(crate) trait Connection: Send + Sync {
    /// Opens it.
    ///
    /// # Errors
    /// The server does not answer, or speaks no version that is known here.
    fn open(&self, wait: Wait<'_>) -> Outcome<ServerFacts>;

    /// One page of its tools.
    ///
    /// # Errors
    /// The server does not answer, or with an error.
    fn tools_page(&self, cursor: Option<&str>, wait: Wait<'_>) -> Outcome<Value>;

    /// The result of a call; one of a tool that failed is a result too.
    ///
    /// # Errors
    /// The server does not answer, or with an error.
    fn call(&self, tool: &str, args: &Map<String, Value>, wait: Wait<'_>) -> Outcome<Value>;
}

/// Carries messages of JSON-RPC 2.0 to a server and back.
pub(crate) trait Transport: Send + Sync {
    /// Sends a request and waits for its response.
    ///
    /// # Errors
    /// There is none, its time is over, or the token fired.
    fn request(&self, message: &Value, wait: Wait<'_>) -> Outcome<Value>;

    /// Sends a notification, to which there is no response.
    fn notify(&self, message: &Value);
}
