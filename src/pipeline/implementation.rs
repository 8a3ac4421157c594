//! Phase 3: the product is built.

use super::Run;
use super::child::{self, Access, ChildTask};
use super::context::{self, View};
use super::files::{self, FileStates};
use super::phase::PhaseEnd;
use super::review::code;
use super::tier::Tier;
use super::{limits, prompts, repository};
use crate::base::problem::Outcome;

/// Builds the product, and has it reviewed; a task that comes without documents and tests is done by one child.
///
/// # Errors
/// Nothing was built; the review fails.
pub(crate) fn implement(run: &Run) -> Outcome<PhaseEnd> {
    let before = files::at_phase_start(run, "3")?;
    build(run, &before)?;
    if run.is_staged {
        code::review_sources(run, "3")?;
    }
    files::forget_phase_start(run);
    Ok(PhaseEnd::Done)
}

fn build(run: &Run, before: &FileStates) -> Outcome<()> {
    let access = Access::Write {
        ticket: run.ticket.clone(),
    };
    child::run(
        run,
        &ChildTask {
            label: "implementer".to_owned(),
            tier: Tier::Codex,
            prompt: context::prompt(run, &access, View::Project, prompts::IMPLEMENT),
            access,
            withhold: &[],
            limit: limits::IMPLEMENTATION,
            check: &|_| {
                let now = files::states(&run.root, &run.ctx.stop);
                // A task by itself may be to find something out.
                match run.is_staged && files::changed(before, &now).is_empty() {
                    true => Err("No file of the project has changed.".to_owned()),
                    false => Ok(()),
                }
            },
        },
    )?;
    repository::checkpoint(run, "3: implemented")
}
