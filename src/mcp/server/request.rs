//! What a request of the era without a handshake says about itself.

use serde_json::{Value, json};

use crate::formats::json_rpc::RpcError;
use crate::mcp::log_level::LEVELS;
use crate::mcp::revision::MODERN;

/// The client speaks a revision that is not spoken here.
const UNSUPPORTED_VERSION: i64 = -32_022;

/// The fields of `_meta`; each stands behind the protocol's name.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Of an answer's `_meta`.
pub(super) const SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// Of a notification's `_meta`: the request that asked for it.
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// What the client of a request can do.
pub(super) fn capabilities(params: &Value) -> Option<&Value> {
    meta(params, CAPABILITIES)
}

/// The least important level of what a request's client wants to know; without one it wants to know nothing.
pub(super) fn log_level(params: &Value) -> Option<&str> {
    meta(params, LOG_LEVEL)?.as_str()
}

fn meta<'a>(params: &'a Value, field: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(field)
}

/// The revision that a request names.
pub(super) fn version(params: &Value) -> Option<&str> {
    meta(params, VERSION)?.as_str()
}

fn invalid_params(words: String) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, words)
}

/// Whether a request says all that it has to.
///
/// # Errors
/// Something is missing, or it names a revision that is not spoken here.
pub(super) fn check(params: &Value) -> Result<(), RpcError> {
    let Some(version) = version(params) else {
        return Err(invalid_params(format!(
            "params._meta needs \"{VERSION}\" and \"{CAPABILITIES}\"."
        )));
    };
    if version != MODERN {
        return Err(unsupported(version));
    }
    let Some(Value::Object(_)) = meta(params, CAPABILITIES) else {
        return Err(invalid_params(format!(
            "params._meta needs \"{CAPABILITIES}\", an object."
        )));
    };
    let is_level = |level: &Value| LEVELS.iter().any(|own| level == own);
    if !meta(params, LOG_LEVEL).is_none_or(is_level) {
        return Err(invalid_params(format!(
            "\"{LOG_LEVEL}\" is one of {}.",
            LEVELS.join(", ")
        )));
    }
    let is_token = |token: &Value| token.is_string() || token.is_i64() || token.is_u64();
    match meta(params, "progressToken").is_none_or(is_token) {
        true => Ok(()),
        false => Err(invalid_params(
            "params._meta.progressToken is a text or an integer.".to_owned(),
        )),
    }
}

/// The error for a revision that is not spoken here.
pub(super) fn unsupported(version: &str) -> RpcError {
    RpcError {
        data: Some(json!({"supported": [MODERN], "requested": version})),
        ..RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version.")
    }
}
