//! The era of the protocol that opens with `initialize`.

use serde_json::{Value, json};

use super::connection::{Freshness, ServerFacts};
use super::inbound::Inbound;
use super::modern::{client_info, no_common};
use super::text::clipped;
use super::transport::Transport;
use crate::base::problem::Outcome;
use crate::mcp::revision::LEGACY;

/// Messages of a server's log that are worth showing.
const LOG_LEVEL: &str = "warning";

/// The newest version of this era.
pub(super) fn newest() -> &'static str {
    let [newest, ..] = &LEGACY;
    newest.name
}

/// The parameters of `initialize`.
pub(super) fn hello(inbound: &Inbound, version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": inbound.capabilities(false),
        "clientInfo": client_info(),
    })
}

/// Ends the handshake: what the server's answer to `initialize` says of it.
///
/// # Errors
/// It speaks no version that is known here.
pub(super) fn greeted(
    answer: &Value,
    inbound: &Inbound,
    transport: &dyn Transport,
) -> Outcome<ServerFacts> {
    let version = answer.get("protocolVersion").and_then(Value::as_str);
    let version = version.unwrap_or_default();
    if !LEGACY.iter().any(|legacy| legacy.name == version) {
        return Err(no_common(&inbound.server, &clipped(version, 40)));
    }
    transport.agreed(version);
    transport.notify("notifications/initialized", &json!({}));
    // A server that leaves them out has none.
    let capabilities = match answer.get("capabilities") {
        Some(Value::Object(own)) => Value::Object(own.clone()),
        _ => json!({}),
    };
    Ok(ServerFacts {
        info: answer.get("serverInfo").cloned().unwrap_or_default(),
        version: version.to_owned(),
        is_modern: false,
        by_event_stream: false,
        capabilities,
        instructions: (answer.get("instructions").and_then(Value::as_str)).map(str::to_owned),
        freshness: Freshness::default(),
    })
}

/// The parameters that ask for messages of the server's log, where it has one.
pub(super) fn log_level(facts: &ServerFacts, wanted: Option<&str>) -> Option<Value> {
    let has_log = facts.capabilities.get("logging").is_some();
    has_log.then(|| json!({"level": wanted.unwrap_or(LOG_LEVEL)}))
}
