//! What a server offers. All of it is JSON in the newest form; what older clients do not know is taken out on the way to them.

use serde_json::{Map, Value};

use super::exchange::Exchange;
use crate::formats::json_rpc::RpcError;

/// The result of a request.
pub(super) type Answer = Result<Value, RpcError>;

/// Wrong parameters of a request; what a client asks for and there is not, too.
pub(super) const INVALID_PARAMS: i64 = -32_602;

/// Wrong parameters, with words that say which.
pub(super) fn invalid_params(words: impl Into<String>) -> RpcError {
    RpcError::new(INVALID_PARAMS, words)
}

/// There is nothing at this address.
pub(super) fn no_resource(uri: &str) -> RpcError {
    let mut error = invalid_params("Resource not found.");
    error.data = Some(serde_json::json!({"uri": uri}));
    error
}

/// What clients can call and read.
pub(crate) trait Offering: Send + Sync {
    /// Name, title and version.
    fn about(&self) -> Value;

    /// What a model should know before it calls anything.
    fn instructions(&self) -> &str;

    /// What there is, in the protocol's terms.
    fn capabilities(&self) -> Value;

    fn tools(&self) -> Vec<Value>;

    /// # Errors
    /// There is no such tool. What goes wrong in a tool is a result.
    fn call(&self, exchange: &Exchange, tool: &str, arguments: Map<String, Value>) -> Answer;

    fn resources(&self) -> Vec<Value>;

    fn templates(&self) -> Vec<Value>;

    /// # Errors
    /// There is nothing at this address.
    fn read(&self, uri: &str) -> Answer;

    /// What an argument of the template `uri` can be that begins with `value`.
    ///
    /// # Errors
    /// There is no such template.
    fn complete(&self, uri: &str, argument: &str, value: &str) -> Result<Vec<String>, RpcError>;
}
