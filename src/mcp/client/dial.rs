//! From an entry of a configuration to a connection.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use super::connection::{Connection, ServerEvents, Spoken};
use super::credentials::Credentials;
use super::inbound::Inbound;
use super::questions::Questions;
use super::secrets::Secrets;
use super::server_connection::{ServerConnection, Way};
use super::text::clipped;
use super::transport::Transport;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_MCP_LOG;
use crate::mcp::config::entry::ServerEntry;
use crate::mcp::log_level::LEVELS;

/// Characters of a server's name in messages.
const MAX_NAME: usize = 64;

/// What a server's client has of the program around it.
#[derive(Default, Clone)]
pub(crate) struct ClientHost {
    pub env: Env,
    /// The one root that servers are told of, and where their processes run.
    pub working_dir: Option<PathBuf>,
    /// This executable, which ends a server's process with Marvin.
    pub supervisor: Option<PathBuf>,
    /// Without it a server's questions are refused.
    pub questions: Option<Arc<dyn Questions>>,
    /// Without it nobody signs in.
    pub credentials: Option<Arc<dyn Credentials>>,
    pub events: Option<Arc<dyn ServerEvents>>,
    /// What an earlier connection to this very entry found.
    pub spoken: Option<Spoken>,
}

/// A connection to a server. Nothing is started or sent before it is used.
pub(crate) fn dial(entry: &ServerEntry, host: ClientHost) -> Arc<dyn Connection> {
    let inbound = Arc::new(Inbound {
        server: clipped(&entry.name, MAX_NAME),
        working_dir: Mutex::new(host.working_dir),
        questions: host.questions,
        events: host.events,
        ring: Arc::default(),
        secrets: Secrets::new(entry.secrets.clone()),
        clock: Default::default(),
        has_given_roots: Default::default(),
        has_promised_roots: Default::default(),
        stop: Cancel::new(),
    });
    let log_level = log_level(&host.env).ok().flatten();
    let way = Way::Entry(Box::new(entry.clone()));
    let mut connection = ServerConnection::new(inbound, way, host.env, host.spoken);
    connection.supervisor = host.supervisor;
    connection.credentials = host.credentials;
    connection.log_level = log_level;
    Arc::new(connection)
}

/// The least important level of what servers are to log, where the user names one.
///
/// # Errors
/// There is no such level.
pub(crate) fn log_level(env: &Env) -> Outcome<Option<String>> {
    let level = MARVIN_MCP_LOG.read(env).map(str::trim);
    match level.filter(|level| !LEVELS.contains(level)) {
        Some(unknown) => Err(Problem::config(format!(
            "{} is \"{}\", which is no level, so servers are asked for warnings.",
            MARVIN_MCP_LOG.name,
            clipped(unknown, 40)
        ))
        .next(format!("Levels are {}.", LEVELS.join(", ")))),
        None => Ok(level.map(str::to_owned)),
    }
}

/// Over a transport that somebody else has; the server speaks the era with a handshake.
pub(crate) fn over(server: &str, transport: Arc<dyn Transport>) -> ServerConnection {
    let inbound = Arc::new(Inbound {
        server: server.to_owned(),
        working_dir: Mutex::default(),
        questions: None,
        events: None,
        ring: Arc::default(),
        secrets: Default::default(),
        clock: Default::default(),
        has_given_roots: Default::default(),
        has_promised_roots: Default::default(),
        stop: Cancel::new(),
    });
    ServerConnection::new(inbound, Way::Given(transport), Env::default(), None)
}

/// Ends all of them side by side, so that one slow server does not hold up the others. For those that were never used no thread is started.
pub(crate) fn close_all(connections: &[Arc<dyn Connection>]) {
    let (open, unused): (Vec<_>, Vec<_>) =
        (connections.iter()).partition(|connection| connection.is_open());
    unused.iter().for_each(|connection| connection.close());
    thread::scope(|scope| {
        for connection in open {
            let close = || connection.close();
            if thread::Builder::new().spawn_scoped(scope, close).is_err() {
                connection.close();
            }
        }
    });
}
