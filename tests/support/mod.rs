//! Test support: a scripted HTTP server, provider wire bodies, temporary homes, and real git repositories.
//!
//! Shared by several test binaries, each of which uses a part of it.

#![allow(dead_code, unreachable_pub)]

pub mod blender;
pub mod conversation;
pub mod copilot_peer;
pub mod cost;
pub mod editor;
pub mod engineer;
pub mod flood;
pub mod forward;
pub mod home;
pub mod image;
pub mod latch;
pub mod pipe;
pub mod proxy;
pub mod pty;
pub mod questions;
pub mod reply_case;
pub mod repo;
pub mod run;
pub mod samples;
pub mod server;
pub mod shared;
pub mod snapshot;
pub mod stages;
pub mod tcp;
pub mod tls;
pub mod voice;
pub mod wait;
pub mod wire;
pub mod words;
