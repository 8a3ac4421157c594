//! Servers of the protocol as a client sees them: their tools become tools of the session.
//!
//! [`connection`] is what can be asked of a server, whatever lies between; [`legacy`] is the era that opens with `initialize`, over a [`connection::Transport`] that somebody else has.
//! [`listing`] reads lists page by page, [`names`] and [`schema`] make of a tool what models are offered, [`results`] of its answer what they are told: pure. [`servers`] is what a run
//! has of servers: it connects them and registers their tools. Called by the runs of the app; it does not know who is asked about a call.

pub(crate) mod connection;
pub(crate) mod credentials;
pub(crate) mod legacy;
mod listing;
mod names;
pub(crate) mod questions;
mod results;
mod schema;
pub(crate) mod servers;
mod text;
