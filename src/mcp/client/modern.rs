//! The era without a handshake: what every request says, and what its results may be.

use serde_json::{Map, Value, json};

use super::connection::{Freshness, ServerFacts};
use super::inbound::Inbound;
use super::text::clipped;
use super::transport::Failure;
use crate::base::cancel::Cancel;
use crate::base::json::put;
use crate::base::problem::Problem;
use crate::mcp::revision::{LEGACY, MODERN};

/// The headers of HTTP do not fit the message.
pub(super) const HEADER_MISMATCH: i64 = -32_020;
const MISSING_CAPABILITY: i64 = -32_021;
/// The revision is not spoken.
pub(super) const UNSUPPORTED_VERSION: i64 = -32_022;

/// Times that one request may be sent again with answers.
pub(super) const MAX_ROUNDS: usize = 10;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

pub(super) fn client_info() -> Value {
    json!({"name": "marvin", "version": env!("CARGO_PKG_VERSION")})
}

/// Whether only a server of this era answers with such an error.
pub(super) fn is_of_modern(code: i64) -> bool {
    matches!(
        code,
        HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION
    )
}

/// The parameters with what every request of this era says.
pub(super) fn with_meta(mut params: Value, inbound: &Inbound, log_level: Option<&str>) -> Value {
    let mut meta = match params.get_mut("_meta").map(Value::take) {
        Some(Value::Object(meta)) => Value::Object(meta),
        _ => json!({}),
    };
    put(&mut meta, VERSION, MODERN);
    put(&mut meta, CLIENT, client_info());
    put(&mut meta, CAPABILITIES, inbound.capabilities(true));
    if let Some(level) = log_level {
        put(&mut meta, LOG_LEVEL, level);
    }
    put(&mut params, "_meta", meta);
    params
}

/// What a list of versions means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Versions {
    Modern,
    /// The newest that both know is one with a handshake.
    Legacy(&'static str),
}

/// The newest common version of a list; `None` where it is no list.
///
/// # Errors
/// There is none in common.
pub(super) fn common(list: Option<&Value>, server: &str) -> Option<Result<Versions, Problem>> {
    let list = list?.as_array()?;
    let has = |name: &str| list.iter().any(|version| version == name);
    if has(MODERN) {
        return Some(Ok(Versions::Modern));
    }
    if let Some(legacy) = LEGACY.iter().find(|legacy| has(legacy.name)) {
        return Some(Ok(Versions::Legacy(legacy.name)));
    }
    let theirs = list.iter().filter_map(Value::as_str).take(20);
    let theirs: Vec<String> = theirs.map(|version| clipped(version, 40)).collect();
    Some(Err(no_common(server, &theirs.join(", "))))
}

/// Marvin and the server have no version in common.
pub(super) fn no_common(server: &str, theirs: &str) -> Problem {
    let ours = LEGACY.each_ref().map(|legacy| legacy.name);
    let theirs = if theirs.is_empty() { "none" } else { theirs };
    Problem::network(format!(
        "{server} speaks {theirs} of the protocol's versions, and Marvin {MODERN}, {}.",
        ours.join(", ")
    ))
    .next("Update whichever of the two is older.")
}

/// What a server says of itself in its answer to `server/discover`.
pub(super) fn facts(result: &Value) -> ServerFacts {
    let info = result.get("_meta").and_then(|meta| meta.get(SERVER));
    ServerFacts {
        info: info.cloned().unwrap_or_default(),
        version: MODERN.to_owned(),
        is_modern: true,
        by_event_stream: false,
        capabilities: result.get("capabilities").cloned().unwrap_or_default(),
        instructions: (result.get("instructions").and_then(Value::as_str)).map(str::to_owned),
        freshness: Freshness::read(result),
    }
}

/// A result that is an end, or the parameters with which to ask again.
pub(super) enum Turn {
    Complete(Value),
    Again(Value),
}

/// What a result of `method` asked with `params` leads to; questions in it are answered.
///
/// # Errors
/// It is of a kind that nobody here knows, or asks what nobody here answers.
pub(super) fn turn(
    mut result: Value,
    method: &str,
    params: &Value,
    inbound: &Inbound,
    stop: &Cancel,
) -> Result<Turn, Failure> {
    let server = &inbound.server;
    let kind = match result.get("resultType") {
        None => "complete",
        Some(Value::String(kind)) => kind,
        Some(_) => "",
    };
    let takes_answers = matches!(method, "tools/call" | "prompts/get" | "resources/read");
    match kind {
        "complete" => return Ok(Turn::Complete(result)),
        "input_required" if takes_answers => {}
        other => {
            return Err(Problem::network(format!(
                "{server} answered {method} with a result of the type \"{}\", which is unknown here.",
                clipped(other, 40)
            ))
            .into());
        }
    }
    let state = result.get_mut("requestState").map(Value::take);
    let state = state.filter(|state| !state.is_null());
    let requests = match result.get_mut("inputRequests").map(Value::take) {
        Some(Value::Object(requests)) => requests,
        _ => Map::new(),
    };
    if requests.is_empty() && state.is_none() {
        return Err(Problem::network(format!(
            "{server} answered {method} by asking for input, and does not say which."
        ))
        .into());
    }
    let mut answers = Map::new();
    for (key, request) in requests {
        let asked = request.get("method").and_then(Value::as_str);
        let about = request.get("params").unwrap_or(&Value::Null);
        let answer = inbound.answer(asked.unwrap_or_default(), about, stop);
        answers.insert(
            key,
            answer.map_err(|error| Problem::refused(error.message))?,
        );
        stop.check()?;
    }
    // What was answered or remembered in an earlier round is not sent with this one.
    let mut again = params.clone();
    if let Some(again) = again.as_object_mut() {
        again.remove("requestState");
        again.remove("inputResponses");
        if !answers.is_empty() {
            again.insert("inputResponses".to_owned(), Value::Object(answers));
        }
        if let Some(state) = state {
            again.insert("requestState".to_owned(), state);
        }
    }
    Ok(Turn::Again(again))
}
