//! `--design-first`: a run of the pipeline from the settings of this process.

use std::path::PathBuf;

use super::settings::{PipelineFlags, Settings};
use crate::base::problem::{Outcome, Problem};
use crate::llm::choose::{self, ProviderChoice};
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::tier::{OwnModel, TierModels};
use crate::tools::engine::context::ToolContext;

/// Runs the pipeline for `task`.
///
/// # Errors
/// No provider can be used, or as [`run::run`].
pub(crate) fn run(
    ctx: &ToolContext,
    settings: &Settings,
    flags: &PipelineFlags,
    task: String,
) -> Outcome<()> {
    run::run(
        ctx,
        RunRequest {
            task,
            ticket: None,
            design_first: true,
            tdd: true,
            branch: flags.branch.clone(),
            allow_dirty: flags.allow_dirty,
            tiers: tiers(ctx, settings)?,
            max_cost: settings.max_cost,
            program: program()?,
        },
    )
}

/// The provider and model of each tier, by flags, variables, and what can be used here.
///
/// # Errors
/// No provider can be used.
pub(crate) fn tiers(ctx: &ToolContext, settings: &Settings) -> Outcome<TierModels> {
    let env = &settings.env;
    let ProviderChoice::Remote(remote) = choose::choose(env, settings.model.provider.as_deref())?
    else {
        return Err(Problem::config("No model can be used here, and the pipeline's work is done by models.")
            .next("Set a provider's key, start Ollama, or name one with --provider; marvin doctor says what is missing."));
    };
    let own = OwnModel {
        provider: remote.row.name,
        model: settings
            .model
            .model
            .as_deref()
            .unwrap_or_else(|| choose::model(env, remote.row)),
    };
    Ok(TierModels::resolve(
        &settings.tiers,
        env,
        &own,
        &ctx.session.clock,
    ))
}

/// This program, for children.
///
/// # Errors
/// The system does not say.
pub(crate) fn program() -> Outcome<PathBuf> {
    std::env::current_exe().map_err(|error| {
        Problem::system(
            "Cannot find this program, to start it again for a child",
            error,
        )
    })
}
