//! Floor 1: sockets and what comes over them.

pub mod http;
pub mod lines;
pub mod route;
pub mod services;
pub mod sse;
mod transport;
