//! Phase 3: the product is built.

use super::Run;
use super::child::{self, ChildTask};
use super::context::writer_task;
use super::files::{self, FileStates};
use super::phase::PhaseEnd;
use super::review::code;
use super::tier::Tier;
use super::{limits, nothing_to_change, phase_record, prompts, repository, test_command};
use crate::base::problem::Outcome;

const PHASE: &str = "3";
/// The message of the commit after the child that builds the product.
pub(crate) const IMPLEMENTED: &str = "3: implemented";

/// Builds the product, and has it reviewed; a task that comes without documents and tests is done by one child.
///
/// # Errors
/// Nothing was built; the review fails.
pub(crate) fn implement(run: &Run) -> Outcome<PhaseEnd> {
    let before = phase_record::files_at_start(run, PHASE)?;
    phase_record::once(run, PHASE, "built", || build(run, &before))?;
    if run.is_staged {
        code::review_sources(run, PHASE)?;
    }
    Ok(PhaseEnd::Done)
}

fn build(run: &Run, before: &FileStates) -> Outcome<()> {
    child::run(
        run,
        &ChildTask {
            check: &|report| {
                let now = files::states(run.root(), &run.ctx.stop);
                // A task by itself may be to find something out, and a phase that is done again may find everything done.
                let is_done = !run.is_staged || !files::changed(before, &now).is_empty();
                nothing_to_change::check(
                    report,
                    is_done || is_there(run),
                    "No file of the project has changed.",
                )
            },
            ..writer_task(
                run,
                "implementer",
                Tier::Codex,
                limits::IMPLEMENTATION,
                &prompts::placed(run, prompts::IMPLEMENT),
            )
        },
    )?;
    repository::checkpoint(run, IMPLEMENTED)
}

/// Whether the tests say that the product is there already.
fn is_there(run: &Run) -> bool {
    test_command::run_tests(run).is_ok_and(|tests| tests.is_green())
}
