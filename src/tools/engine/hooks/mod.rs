//! Hooks: what the user's programs, or the program that drives Marvin, say about events of a session before or after they happen.
//!
//! [`file`] reads hooks files, and [`command`] runs their commands. [`event`] names the events, [`matcher`] says which of them a hook is about, [`output`]
//! reads what a hook answers and [`verdict`] what several answer together: all pure. [`hook_set`] is what a session has of them, with the trait behind which a
//! hook runs; [`fire`] runs those that an event concerns, [`calls`] does so around a call, and [`turns`] around a message and its answer; [`programs`] are the
//! files that commands run. Called by the permission gate, the registry, the agent loop and the runs of the app; nothing here knows what a hook is. Where a
//! session has none, an event costs a look at a flag.

pub(crate) mod calls;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod file;
pub(crate) mod fire;
pub(crate) mod hook_set;
pub(crate) mod matcher;
pub(crate) mod output;
pub(crate) mod programs;
pub(crate) mod turns;
pub(crate) mod verdict;

#[cfg(test)]
mod hostile_commands;
#[cfg(test)]
mod tests;
