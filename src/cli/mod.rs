//! Floor 10: the command line: one table of flags and one of subcommands, and all that is generated from them.
//!
//! `parse` reads flags by the table of [`crate::app::settings`], [`run`] dispatches; each subcommand is a file, `complete`, `help` and `man` are generated.
//! Called by [`crate::run`] alone. It prints, and leaves what is printed to the floors below.

pub(crate) mod complete;
mod debug;
pub(crate) mod doctor;
pub(crate) mod help;
mod hooks;
pub(crate) mod man;
mod mcp;
mod memory;
mod models;
mod out;
pub(crate) mod parse;
mod pipeline;
pub(crate) mod run;
mod services;
mod sessions;
mod skills;
mod subcommands;
mod tk;
mod tool;
mod trust;
