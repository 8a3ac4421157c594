//! Servers of the Model Context Protocol that the calling program brings along. Messages to those that live in it go through it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::caller::Caller;
use crate::app::settings::caller_servers::{CallerServer, CallerServers};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::json_rpc::RpcError;
use crate::mcp::client::connection::Wait;
use crate::mcp::client::dial::over;
use crate::mcp::client::servers::Server;
use crate::mcp::client::transport::{Failure, Request, Transport};

/// The way to a server in the calling program.
struct CallerTransport {
    caller: Arc<Caller>,
    server: String,
}

impl CallerTransport {
    fn control(&self, message: &Value) -> Value {
        json!({"subtype": "mcp_message", "server_name": self.server, "message": message})
    }

    /// The result in the response to a request.
    fn result(&self, mut response: Value, request: &Request<'_>) -> Result<Value, Failure> {
        let method = request.method;
        let wrong = |words: String| Failure::Other(Problem::network(words));
        if !response.is_object() {
            return Err(wrong(format!(
                "The server's answer to {method} is no object."
            )));
        }
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(Failure::Rpc(RpcError::read(error)));
        }
        if response.get("id") != Some(&Value::from(request.id)) {
            return Err(wrong(format!(
                "The server answered {method} with the id of another request."
            )));
        }
        (response.get_mut("result").map(Value::take))
            .filter(Value::is_object)
            .ok_or_else(|| wrong(format!("The server's answer to {method} has no result.")))
    }
}

impl Transport for CallerTransport {
    fn request(&self, request: &Request<'_>, wait: Wait<'_>) -> Result<Value, Failure> {
        let Request {
            id, method, params, ..
        } = request;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = (self.caller).ask(&self.control(&message), Some(wait.limit), wait.stop);
        if *method != "initialize"
            && let Err(problem) = &answer
            && matches!(problem.kind, ProblemKind::Cancelled | ProblemKind::Timeout)
        {
            let params = json!({"requestId": id, "reason": "Nobody waits for it any more."});
            self.notify("notifications/cancelled", &params);
        }
        match answer?.get_mut("mcp_response").map(Value::take) {
            Some(response) => self.result(response, request),
            None => Err(Failure::Other(Problem::network(
                "The calling program answered a message to its server without mcp_response.",
            ))),
        }
    }

    fn notify(&self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.caller.tell(&self.control(&message));
    }

    fn has_progress(&self) -> bool {
        false
    }
}

/// Adds the servers that live in a caller.
pub(super) fn add(caller: &Arc<Caller>, servers: &[CallerServer]) {
    for server in servers {
        let transport = CallerTransport {
            caller: Arc::clone(caller),
            server: server.name.clone(),
        };
        let connection = Arc::new(over("The server", Arc::new(transport)));
        let server = Server::new(server.name.clone(), connection, server.call_limit);
        caller.servers.add(server);
    }
}

/// The servers that `initialize` names, in `sdkMcpServers` with their settings in `sdkMcpServerConfigs`, and in `mcpServers`.
///
/// # Errors
/// They have another form, or are too many.
pub(super) fn read(request: &Map<String, Value>) -> Outcome<CallerServers> {
    let mut servers = CallerServers::default();
    let named = request
        .get("sdkMcpServers")
        .filter(|named| !named.is_null());
    if let Some(named) = named {
        let no_form = || Problem::input("sdkMcpServers of initialize is no list of names.");
        let configs = request.get("sdkMcpServerConfigs");
        for name in named.as_array().ok_or_else(no_form)? {
            let name = name.as_str().ok_or_else(no_form)?;
            let config = configs.and_then(|all| all.get(name));
            let server = CallerServer::new(name, config.unwrap_or(&Value::Null));
            servers.own.push(server);
        }
    }
    let whole = request.get("mcpServers").filter(|whole| !whole.is_null());
    servers.add(whole.unwrap_or(&json!({})), "initialize")?;
    Ok(servers)
}
