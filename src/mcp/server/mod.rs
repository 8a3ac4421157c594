//! A server of the protocol, for both eras and over two transports.
//!
//! [`stdio`] and [`http`] read messages of clients; [`engine`] admits them by the table in [`methods`] and answers in the form of the client's era
//! ([`answer`]); what there is to call and to read is an [`offering`]: [`own`] has Marvin's tools, notes and places, [`fixture`] what the protocol's
//! conformance suite asks for. `marvin mcp serve` starts it.

mod answer;
mod batch;
mod client;
mod engine;
mod exchange;
pub(crate) mod fixture;
pub(crate) mod http;
mod methods;
mod offering;
pub(crate) mod own;
mod request;
pub(crate) mod stdio;
mod subscription;
mod work;

pub(crate) use engine::Server;
