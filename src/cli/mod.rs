//! Floor 10: the command line: one table of flags and one of subcommands, and all that is generated from them.

pub(crate) mod complete;
mod debug;
pub(crate) mod doctor;
pub(crate) mod help;
pub(crate) mod man;
mod memory;
mod models;
mod out;
pub(crate) mod parse;
mod pipeline;
pub(crate) mod run;
mod services;
mod sessions;
mod subcommands;
mod tk;
mod tool;
