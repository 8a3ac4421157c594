//! Floor 2: sockets and the protocols on them.

pub(crate) mod connect;
pub(crate) mod download;
pub(crate) mod error;
pub(crate) mod filtering_proxy;
pub(crate) mod guard;
pub(crate) mod guarded_client;
pub(crate) mod http;
mod http_proxy;
mod ip_range;
pub(crate) mod keys;
mod peer_owner;
pub(crate) mod proxies;
pub(crate) mod retry_after;
pub(crate) mod service;
pub(crate) mod services;
pub(crate) mod transport;
pub(crate) mod user_agent;
