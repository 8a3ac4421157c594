//! What a server offers. All of it is JSON in the newest form; what older clients do not know is taken out on the way to them.

use serde_json::{Map, Value};

use super::exchange::Exchange;
use crate::formats::json_rpc::RpcError;

/// The result of a request.
pub(super) type Answer = Result<Value, RpcError>;

/// Wrong parameters of a request; what a client asks for and there is not, too.
pub(super) const INVALID_PARAMS: i64 = -32_602;

/// The client cannot do what a request needs of it.
pub(super) const MISSING_CAPABILITY: i64 = -32_021;

/// Wrong parameters, with words that say which.
pub(super) fn invalid_params(words: impl Into<String>) -> RpcError {
    RpcError::new(INVALID_PARAMS, words)
}

/// There is no such method.
pub(super) fn no_method(method: &str) -> RpcError {
    RpcError::new(RpcError::NO_METHOD, "Method not found.").with(method.into())
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

    /// What clients have to repeat in headers of a call of `tool`: the schema of its parameters, if it marks some.
    fn marked_schema(&self, tool: &str) -> Option<Value> {
        let _ = tool;
        None
    }

    fn prompts(&self) -> Vec<Value> {
        Vec::new()
    }

    /// # Errors
    /// There is no such prompt, or an argument is missing.
    fn prompt(&self, exchange: &Exchange, name: &str, arguments: &Value) -> Answer {
        let _ = (exchange, name, arguments);
        Err(invalid_params("There are no prompts here."))
    }

    /// What an argument of a prompt can be that begins with `value`.
    ///
    /// # Errors
    /// There is no such prompt.
    fn complete_prompt(
        &self,
        name: &str,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, RpcError> {
        let _ = (name, argument, value);
        Err(invalid_params("There are no prompts here."))
    }

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
