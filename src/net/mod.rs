//! Floor 1: sockets and what comes over them.

pub mod address;
pub mod agent;
pub mod charset;
pub mod download;
pub mod feed;
pub mod filename;
mod forward;
pub mod gateway;
pub mod guard;
pub mod html;
pub mod http;
pub mod keys;
pub mod lines;
pub mod links;
mod neighbour;
pub mod outside;
pub mod route;
pub mod services;
pub mod sse;
mod transport;
pub mod visit;
pub mod wait;
