//! Floor 7: the pipeline, which turns an idea into software. Each step is a child Marvin; no model decides what comes next.
//!
//! # A run from top to bottom
//! [`run`] takes the lock of the project, reads the recorded phase ([`state`]) and walks the table of [`phase`]: documents are written and reviewed, tests
//! are written that must fail, the program is implemented, its tests are run and mended, the program is started and tried, the pages it serves are checked,
//! and somebody tries to break it. What a phase needs from a model it asks of a [`child`]; between children [`repository`] commits what there is.
//!
//! # Rules
//! - Writers run one at a time; only read-only reviewers run in parallel.
//! - Whether a child did its work is checked in files, in commits, or by running the tests; what it says of itself counts for nothing.
//! - The recorded phase never goes back, so an interrupted run repeats at most the step that was in progress.
//! - Whatever happens is an event ([`crate::chat::pipeline_event`]); who shows it is no concern of this floor.

pub(crate) mod agents;
pub(crate) mod child;
pub(crate) mod context;
mod debugging;
mod documents;
mod epic;
pub(crate) mod files;
mod front_end;
mod implementation;
mod limits;
pub(crate) mod phase;
mod prompts;
mod quality;
pub(crate) mod record;
pub(crate) mod repository;
pub(crate) mod review;
pub(crate) mod review_job;
pub(crate) mod run;
mod smoke_test;
pub(crate) mod state;
mod test_command;
mod test_writing;
pub(crate) mod tier;
mod upstream;

#[cfg(test)]
mod tests;
