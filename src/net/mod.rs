//! Floor 2: sockets and the protocols on them.
//!
//! [`http`] is the client for providers, [`service`] the one for services, [`guarded_client`] the one for addresses of models and pages; below them timeouts,
//! proxies and certificates. [`http_server`] answers programs on this machine, [`oauth`] has what every sign-in needs. Called by `llm`, `voice`, `alerts` and
//! `tools`; it knows no model and no tool, and no key but by the name of its variable.

pub(crate) mod connect;
pub(crate) mod download;
pub(crate) mod error;
pub(crate) mod filtering_proxy;
pub(crate) mod guard;
pub(crate) mod guarded_client;
pub(crate) mod http;
mod http_proxy;
pub(crate) mod http_server;
mod ip_range;
pub(crate) mod keys;
pub(crate) mod oauth;
pub(crate) mod peer_owner;
pub(crate) mod proxies;
pub(crate) mod retry_after;
pub(crate) mod service;
pub(crate) mod services;
pub(crate) mod transport;
pub(crate) mod user_agent;
