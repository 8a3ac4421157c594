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
    let mut versions = request.header_values(VERSION);
    versions.any(|version| !is_legacy(version))
}

/// The value of a header. One that is there twice and says two things is none that can be compared: whatever stands in between may read the other one.
fn only<'a>(
    request: &'a HttpRequest,
    name: &str,
    shown: &str,
) -> Result<Option<&'a str>, RpcError> {
    let mut values = request.header_values(name);
    let first = values.next();
    match values.all(|value| Some(value) == first) {
        true => Ok(first),
        false => Err(mismatch(shown)),
    }
}

/// Compares headers and body of a request of the era without a handshake.
///
/// # Errors
/// They differ, or the revision is not spoken here.
pub(super) fn check(request: &HttpRequest, method: &str, params: &Value) -> Result<(), RpcError> {
    let version = only(request, VERSION, "MCP-Protocol-Version")?;
    let in_body = request::version(params);
    match version {
        Some(version) if in_body.is_none_or(|body| body == version) => {
            if version != MODERN {
                return Err(request::unsupported(version));
            }
        }
        _ => return Err(mismatch("MCP-Protocol-Version")),
    }
    if only(request, METHOD, "Mcp-Method")? != Some(method) {
        return Err(mismatch("Mcp-Method"));
    }
    let named = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => return Ok(()),
    };
    let header = only(request, NAME, "Mcp-Name")?.and_then(decoded);
    match named.and_then(Value::as_str) {
        // What is missing in the body is told by the method.
        None => Ok(()),
        named if named == header.as_deref() => Ok(()),
        Some(_) => Err(mismatch("Mcp-Name")),
    }
}

/// Compares the headers of a call with what its tool's `schema` marks: a property that has a value is repeated in `Mcp-Param-NAME`, no other one is.
///
/// # Errors
/// They differ.
pub(super) fn check_marks(
    request: &HttpRequest,
    schema: &Value,
    params: &Value,
) -> Result<(), RpcError> {
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    each_mark(schema, arguments, &mut |mark, value| {
        let header = format!("mcp-param-{}", mark.to_ascii_lowercase());
        let repeated = only(request, &header, &format!("Mcp-Param-{mark}"))?;
        let said = match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let is_same = match (repeated, said) {
            (None, None) => true,
            (Some(repeated), Some(said)) => decoded(repeated).is_some_and(|own| own == said),
            _ => false,
        };
        match is_same {
            true => Ok(()),
            false => Err(mismatch(&format!("Mcp-Param-{mark}"))),
        }
    })
}

/// Calls `check` with each mark that properties alone lead to, and the value there.
fn each_mark(
    schema: &Value,
    value: &Value,
    check: &mut dyn FnMut(&str, &Value) -> Result<(), RpcError>,
) -> Result<(), RpcError> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let value = value.get(name).unwrap_or(&Value::Null);
        if let Some(mark) = property.get("x-mcp-header").and_then(Value::as_str) {
            check(mark, value)?;
        }
        each_mark(property, value, check)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn a_value_in_base64_is_read_back_and_any_other_is_taken_as_it_is(value in "\\PC{0,20}", text in "(=\\?base64\\?|\\?=|=|[a-zA-Z0-9+/!é]){0,8}") {
            let encoded = format!("=?base64?{}?=", STANDARD.encode(&value));
            let read = decoded(&encoded);
            prop_assert_eq!(read.as_deref(), Some(value.as_str()));
            let is_marked = text.len() >= 11 && text.starts_with("=?base64?") && text.ends_with("?=");
            match decoded(&text) {
                Some(read) if !is_marked => prop_assert_eq!(read, text.as_str()),
                // Only what is base64 as it is written, and text.
                Some(read) => prop_assert_eq!(format!("=?base64?{}?=", STANDARD.encode(&*read)), text),
                None => prop_assert!(is_marked),
            }
        }
    }

    #[test]
    fn a_header_that_says_two_things_agrees_with_no_body() {
        let request = |more: Option<(&str, &str)>| {
            let usual = [(VERSION, MODERN), (METHOD, "tools/call"), (NAME, "tree")];
            let headers = usual.into_iter().chain(more);
            HttpRequest {
                headers: headers
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                ..HttpRequest::default()
            }
        };
        let params =
            json!({"name": "tree", "_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}});
        for (more, is_right) in [
            (None, true),
            (Some((NAME, "tree")), true),
            (Some((NAME, "x")), false),
            (Some((METHOD, "tools/list")), false),
            (Some((VERSION, "2025-11-25")), false),
        ] {
            let request = request(more);
            let checked = check(&request, "tools/call", &params);
            assert_eq!(checked.is_ok(), is_right, "{more:?}");
            assert!(checked.err().is_none_or(|error| error.code == MISMATCH));
            assert!(is_modern(&request));
        }
    }

    #[test]
    fn marks_are_found_where_properties_alone_lead_to_them() {
        let schema = json!({"properties": {
            "a": {"x-mcp-header": "A"},
            "b": {"properties": {"c": {"x-mcp-header": "C"}}},
            "d": {"items": {"x-mcp-header": "D"}, "anyOf": [{"x-mcp-header": "E"}]},
        }});
        let mut found = Vec::new();
        let arguments = json!({"a": 1, "b": {"c": "x"}, "d": [2]});
        let all = each_mark(&schema, &arguments, &mut |mark, value| {
            found.push((mark.to_owned(), value.clone()));
            Ok(())
        });
        assert_eq!(all, Ok(()));
        let want = [("A".to_owned(), json!(1)), ("C".to_owned(), json!("x"))];
        assert_eq!(found, want);
    }
}
