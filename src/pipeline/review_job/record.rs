//! The record of the job that this process does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::disk::beneath::Root;
use crate::pipeline::Run;
use crate::store::review_jobs::{JobStatus, ReviewJob, RoundResult};
use crate::tools::engine::context::SessionContext;

/// Most characters of what a job says at its end.
const TEXT_CHARS: usize = 20_000;

/// The record of the running job, written with every change.
pub(super) struct JobRecord {
    root: Arc<Root>,
    session: Arc<SessionContext>,
    job: Mutex<ReviewJob>,
}

impl JobRecord {
    fn job(&self) -> MutexGuard<'_, ReviewJob> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of a job that `run` does.
    pub(super) fn new(run: &Run, job: ReviewJob) -> Self {
        Self {
            root: Arc::clone(run.root()),
            session: Arc::clone(&run.ctx.session),
            job: Mutex::new(job),
        }
    }

    /// What the job is at.
    pub(super) fn phase(&self) -> String {
        self.job().phase.clone()
    }

    /// Records what the job is at, and what it has cost so far.
    ///
    /// # Errors
    /// The disk is not writable.
    pub(super) fn set_phase(&self, phase: String) -> Outcome<()> {
        self.change(|job| job.phase = phase)
    }

    fn change(&self, change: impl FnOnce(&mut ReviewJob)) -> Outcome<()> {
        let mut job = self.job();
        change(&mut job);
        let totals = self.session.ledger.totals();
        (job.cost, job.cost_estimated) = (totals.cost, totals.cost_estimated());
        job.write(&self.root)
    }

    /// Adds what came of a round.
    ///
    /// # Errors
    /// The disk is not writable.
    pub(super) fn add_round(&self, round: RoundResult) -> Outcome<()> {
        self.change(|job| job.rounds.push(round))
    }

    /// The number of rounds so far.
    pub(super) fn rounds(&self) -> usize {
        self.job().rounds.len()
    }

    /// Records how the job ended.
    ///
    /// # Errors
    /// The disk is not writable.
    pub(super) fn end(&self, status: JobStatus, text: &str) -> Outcome<()> {
        let now = self.session.clock.utc();
        self.change(|job| {
            job.status = status;
            job.phase = "ended".to_owned();
            job.ended = Some(now);
            job.text = clip(text, TEXT_CHARS);
        })
    }
}
