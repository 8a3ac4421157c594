//! Floor 7: the command line: one table of flags and one of subcommands, and all that is generated from them.

pub mod complete;
pub mod doctor;
pub mod flags;
pub mod help;
pub mod man;
mod out;
pub mod parse;
pub mod run;
mod services;
mod tk;
mod tool;
