//! Floor 1: sockets and what comes over them.

pub mod download;
pub mod filtering_proxy;
pub mod guard;
pub mod guarded_client;
pub mod http;
mod http_proxy;
pub mod keys;
mod peer_owner;
mod pieces;
pub mod proxies;
pub mod retry_after;
pub mod service;
pub mod services;
mod transport;
pub mod user_agent;
