//! The commands of the memory that need a model: the diary is cleaned, and its topics become fewer.

use std::sync::Arc;

use super::command::MemoryCommand;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::model_call::model_target::ModelTarget;
use crate::reply::memory::update::clean::{self, MaintenanceEvent};
use crate::reply::memory::update::topics;
use crate::reply::models::stage_call::StageCaller;
use crate::reply::settings;
use crate::store::memory::MemoryStore;
use crate::tools::engine::context::ToolContext;

/// Runs [`MemoryCommand::Clean`] or [`MemoryCommand::Topics`] with a model that nothing else uses at the time; `on_row` hears of each entry as it is done.
/// Returns what came of it, a line.
///
/// # Errors
/// There is no model, it failed, or the memory cannot be read or written. Entries that were done stay done.
pub(crate) fn maintain(
    command: &MemoryCommand,
    store: &MemoryStore,
    ctx: &ToolContext,
    target: &Arc<ModelTarget>,
    on_row: &mut dyn FnMut(String),
) -> Outcome<String> {
    if !target.provider.is_model() {
        return Err(
            Problem::config("This needs a language model, and none is set up.")
                .next("marvin doctor says how to set one up."),
        );
    }
    let profile = ctx.session.paths.profile(&ctx.session.profile())?;
    let (env, paths) = (&ctx.session.env, &ctx.session.paths);
    let settings = settings::sources::load(env, paths, Some(&profile), &mut |warning| {
        on_row(format!("Warning: {warning}"));
    });
    let model = StageCaller::new(ctx, target, &settings, None);
    let (mut changed, mut failed) = (0, 0);
    let mut told = |event: &MaintenanceEvent| {
        changed += usize::from(event.changed);
        failed += usize::from(event.error.is_some());
        on_row(line(event));
    };
    let usable = match command {
        MemoryCommand::Topics => topics::unify(store, &model, &ctx.stop, &mut told)?,
        _ => clean::clean(store, &model, &settings, &ctx.stop, &mut told).map(|()| true)?,
    };
    if !usable {
        return Err(Problem::new(
            ProblemKind::Network,
            "The model's answer could not be used, so nothing was changed.",
        )
        .next("Try again, or use a larger model."));
    }
    let failed = match failed {
        0 => String::new(),
        1 => ", 1 entry left as it was after an error".to_owned(),
        failed => format!(", {failed} left as they were after errors"),
    };
    Ok(format!("{} changed{failed}.\n", super::entries(changed)))
}

/// Such as `3/12  2026-03-01  changed`. It has no text of the diary in it.
fn line(event: &MaintenanceEvent) -> String {
    let result = match (event.error, event.changed, event.would_empty) {
        (Some(error), ..) => format!("unchanged, error: {error}"),
        (None, true, _) => "changed".to_owned(),
        (None, false, true) => "unchanged, nothing would be left".to_owned(),
        (None, false, false) => "unchanged".to_owned(),
    };
    format!("{}/{}  {}  {result}", event.row, event.rows, event.date)
}
