//! `--design-first`: a run of the pipeline from the settings of this process.

use std::path::PathBuf;
use std::sync::Arc;

use super::sinks::PipelineSinks;
use super::summary::SummaryFacts;
use crate::app::settings::{PipelineFlags, Settings};
use crate::app::stream::{say, write_out};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::EventSink;
use crate::llm::choose::{self, ProviderChoice};
use crate::llm::copilot;
use crate::pipeline::repository;
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::tier::{OwnModel, TierModels};
use crate::pipeline::worktree::start;
use crate::tools::engine::context::{SessionContext, ToolContext};

/// Runs the pipeline for `task` and writes its summary to standard output.
///
/// # Errors
/// No provider can be used, or as [`run::run`]; the summary cannot be written.
pub(crate) fn run(
    session: &Arc<SessionContext>,
    stop: &Cancel,
    settings: &Settings,
    flags: &PipelineFlags,
    task: String,
    display: Box<dyn EventSink>,
) -> Outcome<()> {
    let quiet = ToolContext::new(
        Arc::clone(session),
        stop.clone(),
        Arc::new(crate::chat::event::NullSink),
    );
    let tiers = tiers(&quiet, settings)?;
    let program = program(settings)?;
    let workplace = match flags.in_place || flags.branch.is_some() {
        true => None,
        // Uncommitted changes of a worktree, too, may be meant.
        false => start::for_run(&quiet, &*quiet.root()?, &task, !flags.allow_dirty)?,
    };
    let worktree = workplace.map(|place| {
        for note in &place.notes {
            say(note);
        }
        session.working_dir.set(place.root, true);
        place.record
    });
    let root = quiet.root()?;
    let request = RunRequest {
        root: Arc::clone(&root),
        task,
        ticket: None,
        design_first: true,
        tdd: true,
        branch: flags.branch.clone(),
        allow_dirty: flags.allow_dirty,
        tiers,
        max_cost: settings.model.max_cost,
        program,
        supervisor: settings.process.executable.clone(),
    };
    let topic = settings.ntfy.as_deref();
    let sinks = PipelineSinks::new(session, &root, display, topic, stop);
    let ctx = ToolContext {
        listener: sinks.clone(),
        ..quiet
    };
    let outcome = run::run(&ctx, request);
    let written = write_out(&sinks.summary(&SummaryFacts {
        problem: outcome.as_ref().err(),
        branch: repository::branch(&ctx, &root),
        worktree: worktree.as_ref(),
        ..SummaryFacts::default()
    }));
    outcome.and(written)
}

/// The provider and model of each tier, by flags, variables, and what can be used here.
///
/// # Errors
/// No provider can be used.
pub(crate) fn tiers(ctx: &ToolContext, settings: &Settings) -> Outcome<TierModels> {
    let env = &settings.env;
    let chosen = choose::choose(env, settings.model.choice.provider.as_deref())?;
    let default = match &chosen {
        ProviderChoice::Remote(remote) => choose::model(env, remote.row),
        ProviderChoice::Copilot => copilot::model(env),
        ProviderChoice::Offline => {
            return Err(Problem::config("No model can be used here, and the pipeline's work is done by models.")
                .next("Set a provider's key, start Ollama, or name one with --provider; marvin doctor says what is missing."));
        }
    };
    let own = OwnModel {
        provider: chosen.name(),
        model: settings.model.choice.model.as_deref().unwrap_or(default),
    };
    Ok(TierModels::resolve(
        &settings.model.tiers,
        env,
        &own,
        &ctx.session.clock,
    ))
}

/// This program, for children.
///
/// # Errors
/// The system does not say where it is.
pub(crate) fn program(settings: &Settings) -> Outcome<PathBuf> {
    settings.process.executable.clone().ok_or_else(|| {
        Problem::config("Cannot find this program, to start it again for a child.")
            .next("Start it by its full path.")
    })
}
