//! Servers that are reached over HTTP: [`web`] sends one request with all that lets it in, [`streamable`] makes a transport of that, [`event_stream`] the one
//! of 2024-11-05, and [`body`] reads what comes back.

mod body;
pub(super) mod event_stream;
pub(super) mod streamable;
pub(super) mod web;
