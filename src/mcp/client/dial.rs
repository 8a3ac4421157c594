//! From an entry of a configuration to a connection.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

use super::connection::{Connection, ServerEvents, Spoken};
use super::credentials::Credentials;
use super::inbound::Inbound;
use super::questions::Questions;
use super::server_connection::{ServerConnection, Way};
use super::text::clipped;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::variables::MARVIN_MCP_LOG;
use crate::mcp::config::entry::ServerEntry;

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
        clock: Default::default(),
        has_given_roots: Default::default(),
        has_promised_roots: Default::default(),
        stop: Cancel::new(),
    });
    let log_level = MARVIN_MCP_LOG.read(&host.env).map(str::to_owned);
    let way = Way::Entry(Box::new(entry.clone()));
    let mut connection = ServerConnection::new(inbound, way, host.env, host.spoken);
    connection.supervisor = host.supervisor;
    connection.credentials = host.credentials;
    connection.log_level = log_level;
    Arc::new(connection)
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
