//! Servers of the protocol as a client sees them: their tools become tools of the session.
//!
//! [`connection`] is what can be asked of a server, whatever its era and whatever lies between; [`dial`] makes one of an entry. Below it, from the bytes up:
//! [`stdio`] and [`http`] carry messages ([`transport`]), [`router`] brings each where it belongs, [`inbound`] answers what the server asks, [`opening`] and
//! [`opening_http`] find out the era, [`modern`] and [`legacy`] are the eras, [`server_connection`] is all of it as operations. [`listing`] reads lists page by
//! page, [`names`] and [`schema`] make of a tool what models are offered, [`results`] of its answer what they are told: pure. [`secrets`] keeps what a server
//! was given out of what it says. [`servers`] is what a run has of servers: it connects them and registers their tools. Called by the runs of the app; it does
//! not know who is asked about a call.

pub(crate) mod answers;
pub(crate) mod connection;
pub(crate) mod credentials;
pub(crate) mod dial;
pub(crate) mod form;
mod http;
mod idle;
mod inbound;
mod legacy;
mod listening;
pub(crate) mod listing;
mod modern;
pub(crate) mod names;
mod opening;
mod opening_http;
pub(crate) mod questions;
pub(crate) mod results;
mod ring;
mod router;
mod schema;
mod secrets;
pub(crate) mod server_connection;
pub(crate) mod servers;
mod stdio;
mod stuck;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod tool_marks;
pub(crate) mod transport;
