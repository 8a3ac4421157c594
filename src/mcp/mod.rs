//! Floor 8: the Model Context Protocol (<https://modelcontextprotocol.io/specification>), by which programs use each other's tools.
//!
//! [`client`] makes tools of a server's tools, [`server`] offers Marvin's own to other programs; [`auth`] signs in to servers; [`revision`] tells the
//! protocol's revisions apart, [`log_level`] has the levels of logs, [`config`] reads which servers there are, [`session`] has those of a session. It knows
//! neither a provider, a conversation nor a terminal.

pub(crate) mod auth;
pub(crate) mod client;
pub(crate) mod config;
mod log_level;
mod revision;
pub(crate) mod server;
pub(crate) mod session;
