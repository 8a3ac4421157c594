//! Servers of the Model Context Protocol that live in the calling program: their messages go through it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::caller::Caller;
use crate::app::settings::caller_servers::{CallerServer, of_object};
use crate::base::problem::{Outcome, Problem};
use crate::mcp::client::connection::{Transport, Wait};
use crate::mcp::client::legacy::LegacyConnection;
use crate::mcp::client::servers::Server;

/// Servers that a caller may have.
const MAX_SERVERS: usize = 100;

/// The way to a server in the calling program.
struct CallerTransport {
    caller: Arc<Caller>,
    server: String,
}

impl CallerTransport {
    fn control(&self, message: &Value) -> Value {
        json!({"subtype": "mcp_message", "server_name": self.server, "message": message})
    }
}

impl Transport for CallerTransport {
    fn request(&self, message: &Value, wait: Wait<'_>) -> Outcome<Value> {
        let request = self.control(message);
        let mut answer = self.caller.ask(&request, Some(wait.limit), wait.stop)?;
        match answer.get_mut("mcp_response").map(Value::take) {
            Some(response) => Ok(response),
            None => Err(Problem::network(
                "The calling program answered a message to its server without mcp_response.",
            )),
        }
    }

    fn notify(&self, message: &Value) {
        self.caller.tell(&self.control(message));
    }
}

/// Adds a server of the caller.
pub(super) fn add(caller: &Arc<Caller>, server: &CallerServer) {
    let transport = CallerTransport {
        caller: Arc::clone(caller),
        server: server.name.clone(),
    };
    let connection = Arc::new(LegacyConnection::new(transport));
    let server = Server::new(server.name.clone(), connection, server.call_limit);
    caller.servers.add(server);
}

/// The servers that `initialize` names, in `sdkMcpServers` with their settings in `sdkMcpServerConfigs`, and in `mcpServers`.
///
/// # Errors
/// They have another form, are not in the calling program, or are too many.
pub(super) fn read(request: &Map<String, Value>) -> Outcome<Vec<CallerServer>> {
    let mut servers = Vec::new();
    let named = request
        .get("sdkMcpServers")
        .filter(|named| !named.is_null());
    if let Some(named) = named {
        let no_form = || Problem::input("sdkMcpServers of initialize is no list of names.");
        let configs = request.get("sdkMcpServerConfigs");
        for name in named.as_array().ok_or_else(no_form)? {
            let name = name.as_str().ok_or_else(no_form)?;
            let config = configs.and_then(|all| all.get(name));
            servers.push(CallerServer::new(name, config.unwrap_or(&Value::Null)));
        }
    }
    let whole = request.get("mcpServers").filter(|whole| !whole.is_null());
    if let Some(whole) = whole {
        servers.extend(of_object(whole, "mcpServers of initialize")?);
    }
    match servers.len() {
        0..=MAX_SERVERS => Ok(servers),
        _ => Err(Problem::limit(format!(
            "initialize names more than {MAX_SERVERS} servers."
        ))),
    }
}
