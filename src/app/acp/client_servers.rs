//! Servers of the Model Context Protocol that an editor wants a session to have, as entries of a configuration.

use serde_json::{Map, Value, json};

use super::params::{self, wrong};
use crate::base::text::{clip, escape_controls};
use crate::formats::json_rpc::RpcError;
use crate::mcp::config::configured::{ConfiguredServer, Source};

/// The servers of `session/new` and its like.
///
/// # Errors
/// One has no name, is reached in a way that is not offered, or is no server.
pub(super) fn read(params: &Value) -> Result<Vec<ConfiguredServer>, RpcError> {
    let servers = params::list(params, "mcpServers")?.iter();
    servers.map(server).collect()
}

fn server(given: &Value) -> Result<ConfiguredServer, RpcError> {
    let text = |key: &str| given.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| wrong("mcpServers", "A server has no name."))?;
    let refused = |words: &str| {
        let shown = clip(&escape_controls(name), 60);
        wrong("mcpServers", format!("The server \"{shown}\" {words}"))
    };
    let entry = match text("type") {
        Some("sse") => return Err(refused("is reached by \"sse\", which is not offered.")),
        Some("http") => json!({
            "type": "http",
            "url": text("url").ok_or_else(|| refused("has no url."))?,
            "headers": pairs(given, "headers").ok_or_else(|| refused(&no_pairs("headers")))?,
        }),
        None | Some("stdio") => json!({
            "type": "stdio",
            "command": text("command").ok_or_else(|| refused("has no command."))?,
            "args": texts(given, "args").ok_or_else(|| refused("has args that are no list of texts."))?,
            "env": pairs(given, "env").ok_or_else(|| refused(&no_pairs("env")))?,
        }),
        Some(_) => return Err(refused("is reached in a way that is not offered.")),
    };
    Ok(ConfiguredServer {
        name: name.to_owned(),
        source: Source::Client,
        entry,
    })
}

fn no_pairs(key: &str) -> String {
    format!("has {key} that are no list of {{\"name\", \"value\"}}, both texts.")
}

/// A list that may be missing or null.
fn items<'a>(given: &'a Value, key: &str) -> Option<&'a [Value]> {
    match given.get(key) {
        None | Some(Value::Null) => Some(&[]),
        Some(list) => list.as_array().map(Vec::as_slice),
    }
}

/// A list of texts; none where it is another.
fn texts<'a>(given: &'a Value, key: &str) -> Option<Vec<&'a str>> {
    items(given, key)?.iter().map(Value::as_str).collect()
}

/// `[{name, value}]` as an object; none where it is another list.
fn pairs(given: &Value, key: &str) -> Option<Map<String, Value>> {
    let pair = |pair: &Value| {
        let text = |key: &str| pair.get(key)?.as_str().map(str::to_owned);
        Some((text("name")?, Value::from(text("value")?)))
    };
    items(given, key)?.iter().map(pair).collect()
}
