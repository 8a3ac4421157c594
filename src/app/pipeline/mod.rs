//! `--design-first`, and who learns of it: a display, the record of events in the project, push messages, the summary at the end; and the status that is read
//! from outside.
//!
//! [`sinks`] is the event sink of a run. What was told so far is a [`progress`], which the display and the status build from the same events.

pub(crate) mod approve;
mod ask;
pub(crate) mod event_log;
pub(crate) mod log;
pub(crate) mod merge;
mod notices;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod sinks;
pub(crate) mod status;
pub(crate) mod summary;
pub(crate) mod worktrees;
