//! The code base as the subject of a review.
use super::work::JobRecord;
use crate::base::problem::{Outcome, Problem};
use crate::pipeline::run::Run;
use crate::store::review_jobs::ReviewJob;
pub(super) const FIXER: &str = "review-fixer";
pub(super) fn review(_: &Run, _: &ReviewJob, _: &[String], _: &JobRecord) -> Outcome<String> {
    Err(Problem::internal("stub"))
}
