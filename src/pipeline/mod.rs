//! Floor 8: the pipeline, which turns an idea into software. Each step is a child Marvin; no model decides what comes next.
//!
//! [`run`] takes the lock of the project, reads the recorded phase ([`state`]) and walks the table of [`phase`]: documents are written and reviewed, tests
//! are written that must fail, the program is implemented, its tests are run and mended, the program is started and tried, the pages it serves are checked,
//! and somebody tries to break it. What a phase needs from a model it asks of a [`child`]; between children [`repository`] commits what there is. What always
//! holds:
//! - Writers of a run work one at a time; only read-only reviewers run in parallel. Agents of one round write side by side, each in a worktree
//!   ([`agent_worktrees`]).
//! - Whether a child did its work is checked in files, in commits, or by running the tests; what it says of itself counts for nothing.
//! - The recorded phase goes back only when the user says so, so an interrupted run repeats at most the step that was in progress.
//! - Whatever happens is an event ([`crate::chat::pipeline_event`]); who shows it is no concern of this floor.

mod agent_worktrees;
pub(crate) mod agents;
pub(crate) mod approval;
pub(crate) mod child;
pub(crate) mod context;
mod debugging;
mod documents;
mod earlier_rounds;
pub(crate) mod epic;
mod evidence;
pub(crate) mod feature;
pub(crate) mod files;
mod front_end;
mod heartbeat;
pub(crate) mod implementation;
mod limits;
pub(crate) mod next_task;
mod nothing_to_change;
pub(crate) mod phase;
mod phase_record;
pub(crate) mod places;
pub(crate) mod plan;
mod prompts;
mod quality;
pub(crate) mod record;
pub(crate) mod repository;
pub(crate) mod review;
pub(crate) mod review_job;
pub(crate) mod run;
mod shown_documents;
mod smoke_test;
pub(crate) mod state;
pub(crate) mod steering;
mod test_command;
mod test_writing;
pub(crate) mod tier;
mod upstream;
mod working_tree;
pub(crate) mod worktree;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::chat::event::Event;
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::tools::engine::context::ToolContext;
use places::RunPlaces;
use tier::TierModels;

/// What the phases of a run share.
pub(crate) struct Run {
    /// The session whose environment, clock, ledger and token to stop the run uses; its listener gets the events.
    pub ctx: ToolContext,
    /// The program that children run: this one.
    pub program: PathBuf,
    /// This program, where children get a supervisor, with whose end everything that they started ends.
    pub supervisor: Option<PathBuf>,
    /// Its project, and where it keeps what there.
    pub places: RunPlaces,
    /// The whole task, as the user wrote it.
    pub task: String,
    /// Id of the ticket that the children's tickets descend from.
    pub ticket: String,
    /// The model of each tier.
    pub tiers: TierModels,
    /// No child is started once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
    /// The folder of tickets, where children would not find it by themselves.
    pub tickets: Option<PathBuf>,
    /// US dollars that earlier starts of the same run spent; `None` where no account is kept.
    pub spent_before: Option<f64>,
    /// Documents or tests were asked for, so the code is reviewed; otherwise a single child does the task.
    pub is_staged: bool,
    /// The branch that it works on; empty when that is not looked at.
    pub branch: String,
}

impl Run {
    /// The project.
    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.places.root
    }

    /// Tells whoever watches.
    pub(crate) fn emit(&self, event: PipelineEvent) {
        self.ctx.listener.emit(Event::Pipeline(event));
    }

    /// Tells whoever watches that something went wrong and the run continues.
    pub(crate) fn warn(&self, words: impl Into<String>) {
        self.emit(PipelineEvent::Warning {
            words: words.into(),
        });
    }

    /// US dollars spent so far, by children and by earlier starts too.
    pub(crate) fn spent(&self) -> f64 {
        self.spent_before.unwrap_or_default() + self.ctx.session.ledger.totals().cost
    }

    /// US dollars that are left; `None` without a ceiling.
    ///
    /// # Errors
    /// Nothing is left.
    pub(crate) fn budget_left(&self) -> Outcome<Option<f64>> {
        let Some(max) = self.max_cost else {
            return Ok(None);
        };
        let left = max - self.spent();
        if left > 0.0 {
            return Ok(Some(left));
        }
        Err(Problem::limit(format!(
            "The run has reached its ceiling of ${max:.2}."
        )))
    }
}

/// The first line of a text, short enough for a title.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    clip(&escape_controls(line.unwrap_or_default()), 120)
}
