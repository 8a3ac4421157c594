//! The era of the protocol that opens with `initialize`.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::connection::{Connection, ServerFacts, Transport, Wait};
use super::text::clipped;
use crate::base::problem::{Outcome, Problem};
use crate::mcp::revision::LEGACY;

/// Characters of a server's words in an error.
const MAX_WORDS: usize = 1_000;

/// A connection over a transport.
pub(crate) struct LegacyConnection<T: Transport> {
    transport: T,
    last: AtomicU64,
}

impl<T: Transport> LegacyConnection<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self {
            transport,
            last: AtomicU64::new(0),
        }
    }

    /// Sends a request and returns its result.
    fn ask(&self, method: &str, params: Value, wait: Wait<'_>) -> Outcome<Map<String, Value>> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let response = self.transport.request(&message, wait);
        if response
            .as_ref()
            .is_err_and(|problem| method != "initialize" && ends_waiting(problem))
        {
            self.notify(
                "notifications/cancelled",
                json!({"requestId": id, "reason": "Nobody waits for it any more."}),
            );
        }
        let Value::Object(mut response) = response? else {
            return Err(Problem::network(format!(
                "The server's answer to {method} is no object."
            )));
        };
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            let said = error.get("message").and_then(Value::as_str);
            return Err(Problem::network(format!(
                "The server answered {method} with an error: {}",
                clipped(said.unwrap_or("it gave no reason."), MAX_WORDS)
            )));
        }
        if response.get("id") != Some(&Value::from(id)) {
            return Err(Problem::network(format!(
                "The server answered {method} with the id of another request."
            )));
        }
        match response.remove("result") {
            Some(Value::Object(result)) => Ok(result),
            _ => Err(Problem::network(format!(
                "The server's answer to {method} has no result."
            ))),
        }
    }

    fn notify(&self, method: &str, params: Value) {
        self.transport
            .notify(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
}

fn ends_waiting(problem: &Problem) -> bool {
    use crate::base::problem::ProblemKind::{Cancelled, Timeout};
    matches!(problem.kind, Cancelled | Timeout)
}

impl<T: Transport> Connection for LegacyConnection<T> {
    fn open(&self, wait: Wait<'_>) -> Outcome<ServerFacts> {
        let known = LEGACY.each_ref().map(|legacy| legacy.name);
        let [newest, ..] = known;
        let hello = json!({
            "protocolVersion": newest,
            "capabilities": {},
            "clientInfo": {"name": "marvin", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.ask("initialize", hello, wait)?;
        let version = answer.get("protocolVersion").and_then(Value::as_str);
        let version = version.unwrap_or_default();
        if !known.contains(&version) {
            return Err(Problem::network(format!(
                "The server speaks version \"{}\" of the protocol, and Marvin {}.",
                clipped(version, 40),
                known.join(", ")
            )));
        }
        self.notify("notifications/initialized", json!({}));
        let capabilities = answer.get("capabilities");
        let has_tools = capabilities
            .and_then(|all| all.get("tools"))
            .is_some_and(|tools| !tools.is_null());
        Ok(ServerFacts {
            info: answer.get("serverInfo").cloned().unwrap_or_default(),
            has_tools,
        })
    }

    fn tools_page(&self, cursor: Option<&str>, wait: Wait<'_>) -> Outcome<Value> {
        let params = match cursor {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        self.ask("tools/list", params, wait).map(Value::Object)
    }

    fn call(&self, tool: &str, args: &Map<String, Value>, wait: Wait<'_>) -> Outcome<Value> {
        let params = json!({"name": tool, "arguments": args});
        self.ask("tools/call", params, wait).map(Value::Object)
    }
}
