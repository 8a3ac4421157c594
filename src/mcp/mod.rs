//! Floor 8: the Model Context Protocol (<https://modelcontextprotocol.io/specification>), by which programs use each other's tools.
//!
//! As a client: [`connection`] is what can be asked of a server, whatever lies between; [`legacy`] is the era that opens with `initialize`, over a [`connection::Transport`] that somebody
//! else has; [`listing`], [`names`], [`schema`] and [`results`] make of its tools and answers what models are offered and told: pure; [`servers`] is what a run has of servers.
//! As a server: [`server`] offers Marvin's tools. [`revision`] tells the protocol's revisions apart. It knows neither a provider, a conversation nor a terminal.

pub(crate) mod connection;
pub(crate) mod legacy;
mod listing;
mod names;
mod results;
mod revision;
mod schema;
pub(crate) mod server;
pub(crate) mod servers;
mod text;
