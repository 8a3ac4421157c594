//! Tests on real pseudo-terminals, read by an emulator: what a program that takes over the terminal must get right.

#![allow(clippy::restriction, reason = "a test may panic and print")]
#![warn(clippy::todo, clippy::dbg_macro)]

#[path = "../support/mod.rs"]
mod support;

mod agents;
mod broken;
mod calling;
mod chat;
mod children;
mod commands;
mod confirm;
mod diffs;
mod files;
mod first_start;
mod git_questions;
mod hands;
mod hostile;
mod input;
mod leave;
mod log;
mod outside_sandbox;
mod pickers;
mod picture;
mod pipeline;
mod plain;
mod project_trust;
mod random;
mod reply;
mod rounds;
mod seeing;
mod servers;
mod sessions;
mod slash;
mod stage;
mod svg;
mod terminal;
mod themes;
mod tools;
mod voice;
