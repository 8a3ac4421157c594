//! Headers that repeat what a message says, so that a proxy can route it without reading the body.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::formats::json_rpc::RpcError;
use crate::mcp::revision::{LEGACY, MODERN};
use crate::mcp::server::request;
use crate::net::http_server::HttpRequest;

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// A header says something else than the body.
const MISMATCH: i64 = -32_020;

/// Whether a request says by its headers that it is of the era without a handshake.
pub(super) fn is_modern(request: &HttpRequest) -> bool {
    let is_legacy = |version: &str| LEGACY.iter().any(|legacy| legacy.name == version);
    request
        .header(VERSION)
        .is_some_and(|version| !is_legacy(version))
}

/// Compares headers and body of a request of the era without a handshake.
///
/// # Errors
/// They differ, or the revision is not spoken here.
pub(super) fn check(request: &HttpRequest, method: &str, params: &Value) -> Result<(), RpcError> {
    let version = request.header(VERSION);
    let in_body = request::version(params);
    match version {
        Some(version) if in_body.is_none_or(|body| body == version) => {
            if version != MODERN {
                return Err(request::unsupported(version));
            }
        }
        _ => return Err(mismatch("MCP-Protocol-Version")),
    }
    if request.header(METHOD) != Some(method) {
        return Err(mismatch("Mcp-Method"));
    }
    let named = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => return Ok(()),
    };
    let header = request.header(NAME).and_then(decoded);
    match named.and_then(Value::as_str) {
        // What is missing in the body is told by the method.
        None => Ok(()),
        named if named == header.as_deref() => Ok(()),
        Some(_) => Err(mismatch("Mcp-Name")),
    }
}

fn mismatch(header: &str) -> RpcError {
    RpcError::new(
        MISMATCH,
        format!("The header {header} is missing or differs from the body."),
    )
}

/// A value in base64 stands between these: one that a header cannot have as it is.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(inner) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(value.into());
    };
    let bytes = STANDARD.decode(inner).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
