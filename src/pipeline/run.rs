//! One run of the pipeline, from top to bottom.

use std::path::PathBuf;
use std::sync::Arc;

use super::tier::TierModels;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::Event;
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::tools::engine::context::ToolContext;

/// What the phases of a run share.
pub(crate) struct Run {
    /// The session whose environment, clock, ledger and token to stop the run uses; its listener gets the events.
    pub ctx: ToolContext,
    /// The program that children run: this one.
    pub program: PathBuf,
    /// The project.
    pub root: Arc<Root>,
    /// The whole task, as the user wrote it.
    pub task: String,
    /// Id of the ticket that the children's tickets descend from.
    pub ticket: String,
    /// The model of each tier.
    pub tiers: TierModels,
    /// No child is started once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
}

impl Run {
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

    /// US dollars spent so far, children included.
    pub(crate) fn spent(&self) -> f64 {
        self.ctx.session.ledger.totals().cost
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
        Err(Problem::limit(format!("The run has reached its ceiling of ${max:.2}."))
            .next("Run the same command again with a higher --max-cost: finished phases are not repeated."))
    }
}
