//! The add-on's socket. A request and a reply are one JSON object each, without a length and without a line end, and the connection stays open: a reply
//! has arrived when its brackets are closed. Reading up to the end of the stream would wait forever, and so would closing our half of it, which the
//! add-on takes for the end of the client.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::json::JsonExt as _;
use crate::base::problem::{Outcome, Problem, io_words};
use crate::base::text::{clip, escape_controls};
use crate::base::variables::{BLENDER_MCP_HOST, BLENDER_MCP_PORT};
use crate::formats::json_object::{ObjectError, ObjectReader, ascii};
use crate::net::connect::{ConnectError, connect};

/// How long a reply may take.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
/// How long code may run.
pub(super) const CODE_LIMIT: Duration = Duration::from_secs(180);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Longest reply in bytes. The longest are outputs of code.
const MAX_REPLY_BYTES: usize = 4 << 20;
/// Longest message of the add-on that is repeated, in characters.
const MAX_MESSAGE_CHARS: usize = 2_000;
const DEFAULT_HOST: &str = "127.0.0.1";

/// The commands that every version of the add-on since April 2025 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    SceneInfo,
    ObjectInfo,
    Screenshot,
    ExecuteCode,
}

impl Command {
    fn name(self) -> &'static str {
        match self {
            Self::SceneInfo => "get_scene_info",
            Self::ObjectInfo => "get_object_info",
            Self::Screenshot => "get_viewport_screenshot",
            Self::ExecuteCode => "execute_code",
        }
    }
}

/// Where the add-on listens.
#[derive(Debug, Clone)]
pub(super) struct AddOn {
    host: String,
    port: u16,
}

impl AddOn {
    /// The add-on that the environment names.
    ///
    /// # Errors
    /// The port is not one.
    pub(super) fn new(env: &Env) -> Outcome<Self> {
        let host = BLENDER_MCP_HOST.read(env).map_or(DEFAULT_HOST, str::trim);
        let mut is_number = true;
        let port = BLENDER_MCP_PORT.read(env, &mut |_| is_number = false);
        let port = u16::try_from(port)
            .ok()
            .filter(|port| is_number && *port > 0);
        let port = port.ok_or_else(|| {
            Problem::config(format!("{} is not a port.", BLENDER_MCP_PORT.name))
                .next("Set it to a number from 1 to 65535, or remove it: the add-on uses 9876.")
        })?;
        Ok(Self {
            host: escape_controls(host),
            port,
        })
    }

    /// The address for messages.
    pub(super) fn address(&self) -> String {
        match self.host.contains(':') && !self.host.starts_with('[') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// Sends a command and returns its result, which is an object.
    ///
    /// # Errors
    /// Blender is not connected, reports an error, is silent for longer than `limit` or sends something else than a reply; `Cancelled`.
    pub(super) fn ask(
        &self,
        command: Command,
        params: &Value,
        limit: Duration,
        stop: &Cancel,
    ) -> Outcome<Value> {
        let until = Instant::now() + limit;
        let connect_limit = CONNECT_LIMIT.min(limit);
        let stream = connect(&self.host, self.port, connect_limit, stop)
            .map_err(|error| self.not_connected(error, connect_limit))?;
        let request = json!({"type": command.name(), "params": params});
        // The add-on gives up on a character that two of its reads share.
        let request = ascii(&request.to_string());
        let exchange = Exchange {
            stream: &stream,
            until,
            limit,
            stop,
        };
        let reply = exchange.run(&request).map_err(|failure| {
            let problem = failure.problem(&self.address(), limit);
            match command {
                Command::ExecuteCode => problem.next(
                    "Blender may have run the code, or may still do so: look at the scene before you repeat it.",
                ),
                _ => problem,
            }
        })?;
        result(reply)
    }

    fn not_connected(&self, error: ConnectError, limit: Duration) -> Problem {
        let (host, port) = (BLENDER_MCP_HOST.name, BLENDER_MCP_PORT.name);
        let address = self.address();
        let refused = |reason: &str| {
            Problem::network(
                "Blender is not connected: enable the BlenderMCP add-on and press Connect.",
            )
            .next(format!(
                "No connection to {address}: {reason}. {host} and {port} set another address."
            ))
        };
        match error {
            ConnectError::Cancelled => Problem::cancelled(),
            ConnectError::TimedOut => refused(&format!("no answer within {} s", limit.as_secs())),
            ConnectError::Refused(reason) => refused(&reason),
            ConnectError::UnknownHost(reason) => Problem::config(format!(
                "The host \"{}\" of Blender is not known: {reason}.",
                clip(&self.host, 80)
            ))
            .next(format!("Correct {host}.")),
        }
    }
}

/// Why there is no reply.
enum ExchangeFailure {
    Cancelled,
    /// Time is up; how many bytes had arrived.
    TimedOut(usize),
    /// The connection ended; how many bytes had arrived, and the system's reason if there is one.
    Closed(usize, Option<String>),
    Unreadable(ObjectError),
}

impl ExchangeFailure {
    fn problem(self, address: &str, limit: Duration) -> Problem {
        let seconds = limit.as_secs();
        match self {
            Self::Cancelled => Problem::cancelled(),
            Self::TimedOut(0) => Problem::timeout(format!("Blender did not answer within {seconds} s."))
                .next("It answers only when it has a window and is idle: wait for a render or a running script to end, and close open dialogs."),
            Self::TimedOut(bytes) => Problem::timeout(format!(
                "Blender stopped in the middle of its reply: {bytes} bytes arrived within {seconds} s."
            ))
            .next("Stop and start the add-on's connection in Blender, then try again."),
            Self::Closed(bytes, reason) => {
                let after = match bytes {
                    0 => "without an answer".to_owned(),
                    bytes => format!("in the middle of its reply, after {bytes} bytes"),
                };
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                Problem::network(format!("Blender closed the connection {after}{reason}."))
                    .next("Blender's console says why. If the add-on was stopped, press Connect again.")
            }
            Self::Unreadable(ObjectError::NoObject) => Problem::network(format!(
                "What listens at {address} is not the BlenderMCP add-on."
            ))
            .next(format!("Let {} name the add-on's port.", BLENDER_MCP_PORT.name)),
            Self::Unreadable(ObjectError::TooLong) => Problem::limit(format!(
                "Blender's reply is longer than {} MB.",
                MAX_REPLY_BYTES >> 20
            ))
            .next("Ask for less: let code print a part, or write to a file."),
            Self::Unreadable(ObjectError::Invalid) => {
                Problem::network("Blender sent a reply that is not JSON.").next("Update the BlenderMCP add-on.")
            }
        }
    }
}

/// One request and its reply.
struct Exchange<'a> {
    stream: &'a TcpStream,
    until: Instant,
    limit: Duration,
    stop: &'a Cancel,
}

impl Exchange<'_> {
    fn run(&self, request: &str) -> Result<Map<String, Value>, ExchangeFailure> {
        let closed = |bytes: usize| {
            move |error: std::io::Error| ExchangeFailure::Closed(bytes, Some(io_words(&error)))
        };
        let socket = self.stream.try_clone().map_err(closed(0))?;
        let _closer = self.stop.on_fire(move || {
            let _ = socket.shutdown(Shutdown::Both);
        });
        let mut stream = self.stream;
        let _ = stream.set_nodelay(true);
        stream
            .set_write_timeout(Some(self.limit))
            .map_err(closed(0))?;
        let sent = stream.write_all(request.as_bytes());
        if self.stop.is_fired() {
            return Err(ExchangeFailure::Cancelled);
        }
        match sent {
            Err(error) if is_timeout(&error) => return Err(ExchangeFailure::TimedOut(0)),
            Err(error) => return Err(closed(0)(error)),
            Ok(()) => {}
        }
        let mut reader = ObjectReader::new(MAX_REPLY_BYTES);
        let mut piece = vec![0; 64 * 1024];
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ExchangeFailure::TimedOut(reader.received()));
            }
            stream
                .set_read_timeout(Some(left))
                .map_err(closed(reader.received()))?;
            let read = stream.read(&mut piece);
            if self.stop.is_fired() {
                return Err(ExchangeFailure::Cancelled);
            }
            let count = match read {
                Ok(0) => return Err(ExchangeFailure::Closed(reader.received(), None)),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted || is_timeout(&error) => {
                    continue;
                }
                Err(error) => return Err(closed(reader.received())(error)),
            };
            let arrived = piece.get(..count).unwrap_or_default();
            let reply = reader.feed(arrived).map_err(ExchangeFailure::Unreadable)?;
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The result in a reply. One that reports success can still contain an error.
fn result(mut reply: Map<String, Value>) -> Outcome<Value> {
    let result = reply.remove("result");
    match (reply.get("status").and_then(Value::as_str), result) {
        (Some("error"), _) => {
            let message = reply.get("message").map(message).unwrap_or_default();
            Err(failure(&message))
        }
        (Some("success"), Some(result)) => match result.at("error") {
            Some(error) => Err(failure(&message(error))),
            None if result.is_object() => Ok(result),
            None => Err(unknown_reply()),
        },
        _ => Err(unknown_reply()),
    }
}

fn message(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn unknown_reply() -> Problem {
    Problem::network("Blender sent a reply in a form that is not known here.")
        .next("Update the BlenderMCP add-on.")
}

/// The problem for an error message of the add-on.
fn failure(message: &str) -> Problem {
    let message = message.trim();
    let message = message
        .strip_prefix("Code execution error:")
        .unwrap_or(message);
    let message = escape_controls(&clip(message.trim(), MAX_MESSAGE_CHARS));
    if message.is_empty() {
        return Problem::input("Blender reported an error without saying which.")
            .next("Blender's console may say more.");
    }
    let problem = Problem::input(format!(
        "Blender reported an error: {}.",
        message.trim_end_matches('.')
    ));
    if message.starts_with("Object not found") {
        return problem.next(
            "blender_get_scene lists the first objects of the scene; names are case-sensitive.",
        );
    }
    if message.starts_with("Unknown command") {
        return problem.next("Update the BlenderMCP add-on.");
    }
    problem
}

#[cfg(test)]
mod tests;
