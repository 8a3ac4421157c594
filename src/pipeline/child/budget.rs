//! What a child may cost: what is left of the run, or a share of that for each of several that run side by side.

use std::sync::{Mutex, PoisonError};

use crate::base::problem::{Outcome, Problem};
use crate::pipeline::Run;

/// The ceiling of one task, over all its attempts.
pub(super) struct Budget<'a> {
    run: &'a Run,
    /// US dollars, when the task has only a share of what is left.
    share: Option<f64>,
    spent: Mutex<f64>,
}

impl<'a> Budget<'a> {
    /// Everything that is left.
    pub(super) fn of_run(run: &'a Run) -> Self {
        Self {
            run,
            share: None,
            spent: Mutex::new(0.0),
        }
    }

    /// Equal shares of what is left for `count` tasks.
    ///
    /// # Errors
    /// Nothing is left.
    pub(super) fn shares(run: &'a Run, count: usize) -> Outcome<Vec<Self>> {
        let left = run.budget_left()?;
        let parts = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let share = |_| Self {
            share: left.map(|left| left / f64::from(parts)),
            ..Self::of_run(run)
        };
        Ok((0..count).map(share).collect())
    }

    /// US dollars that the next child may spend; `None` without a ceiling.
    ///
    /// # Errors
    /// Nothing is left.
    pub(super) fn left(&self) -> Outcome<Option<f64>> {
        let of_run = self.run.budget_left()?;
        let Some(share) = self.share else {
            return Ok(of_run);
        };
        let left = share - *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        if left > 0.0 {
            return Ok(Some(of_run.map_or(left, |of_run| of_run.min(left))));
        }
        Err(Problem::limit(format!(
            "A child has spent its share of the run's ceiling, ${share:.2}."
        ))
        .next("Give a higher --max-cost."))
    }

    /// Counts what a child has spent.
    pub(super) fn spend(&self, dollars: f64) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += dollars;
    }
}
