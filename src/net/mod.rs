//! Floor 1: sockets and what comes over them.

mod forward;
pub mod http;
pub mod lines;
pub mod route;
pub mod services;
pub mod sse;
mod transport;
