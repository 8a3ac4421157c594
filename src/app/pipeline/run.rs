//! `--design-first`: a run of the pipeline from the settings of this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ask::TerminalPrompt;
use super::sinks::PipelineSinks;
use super::summary::SummaryFacts;
use super::worktrees as runs;
use crate::app::settings::{PipelineFlags, Settings};
use crate::app::stream::{say, write_out};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;
use crate::chat::event::EventSink;
use crate::disk::beneath::Root;
use crate::llm::choose::{self, ProviderChoice};
use crate::llm::copilot;
use crate::pipeline::feature::FeatureName;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self, RunRecord};
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::steering::{Pause, RunOutcome, Steering};
use crate::pipeline::tier::{OwnModel, TierModels};
use crate::pipeline::worktree::{features, remove, start};
use crate::pipeline::{approval, repository};
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
    let root = quiet.root()?;
    refuse_place(&quiet, &root)?;
    run::check_may_write(&quiet)?;
    let feature = flags.feature.as_ref();
    let task = match (feature, task.trim()) {
        (Some(name), "") => recorded_task(&root, name)?,
        // The same file, saved on another system, is the same task.
        _ => task.replace("\r\n", "\n"),
    };
    let steering = Steering {
        until: flags.until,
        from: flags.from,
        approve: flags.approve.clone(),
        prompt: TerminalPrompt::of(settings).map(|prompt| Arc::new(prompt) as _),
    };
    steering.check()?;
    let workplace = match flags.in_place || flags.branch.is_some() {
        true => None,
        // Uncommitted changes of a worktree, too, may be meant; and only a run that was begun can go back.
        false => {
            let may_make = !flags.allow_dirty && flags.from.is_none();
            start::for_run(&quiet, &root, &task, feature, may_make)?
        }
    };
    let is_new = workplace.as_ref().is_some_and(|place| place.is_new);
    let (worktree, places) = match (workplace, feature) {
        (Some(place), _) => {
            for note in &place.notes {
                say(note);
            }
            let there = Root::open(place.places.root.path())?;
            session.working_dir.set(there, true);
            (Some(place.record), place.places)
        }
        (None, Some(name)) => (None, features::begin_in_place(&quiet, &root, name)?),
        (None, None) => {
            start::check_in_place(&quiet, &root, &task)?;
            (None, RunPlaces::of_project(root))
        }
    };
    if worktree.is_none() && !flags.in_place && flags.branch.is_none() {
        start::check_merged(&places, &task, flags.from.is_some())?;
    }
    let request = RunRequest {
        places: places.clone(),
        task,
        ticket: None,
        tickets: None,
        design_first: true,
        tdd: true,
        branch: flags.branch.clone(),
        allow_dirty: flags.allow_dirty,
        tiers,
        max_cost: settings.model.max_cost,
        program,
        supervisor: settings.process.executable.clone(),
        steering,
    };
    let topic = settings.ntfy.as_deref();
    let sinks = PipelineSinks::new(session, &places, display, topic, stop);
    let ctx = ToolContext {
        listener: sinks.clone(),
        ..quiet
    };
    let outcome = run::run(&ctx, request);
    let pause = match &outcome {
        Ok(RunOutcome::Paused(pause)) => Some(pause),
        _ => None,
    };
    let recorded = RunRecord::read(&places).ok().flatten();
    if let Some(made) = worktree.as_ref().filter(|_| is_new)
        && outcome.is_err()
        && !sinks.has_begun()
    {
        // It was refused before it began. What lies in the folder says nothing of that: somebody may have removed it in mid-run.
        match remove::unmake(made, &session.env) {
            Ok(words) => words.iter().for_each(|words| say(words)),
            Err(problem) => say(&problem.one_line()),
        }
    }
    let written = write_out(&sinks.summary(&SummaryFacts {
        problem: outcome.as_ref().err(),
        branch: recorded.map(|record| record.branch),
        worktree: worktree.as_ref(),
        next: pause.map_or_else(Vec::new, |pause| next_steps(settings, &places, pause)),
        pause,
        ..SummaryFacts::default()
    }));
    outcome.and(written)
}

/// Refuses to build in the root of the file system, and to make a repository of the home folder: its first commit would take everything there.
fn refuse_place(ctx: &ToolContext, root: &Root) -> Outcome<()> {
    if root.path().to_str().is_none() {
        return Err(Problem::refused(format!(
            "The name of this folder is not UTF-8: {}",
            escape_controls(&root.path().to_string_lossy())
        ))
        .next("Give it another name: commands, tickets and records name it as text."));
    }
    let is_root = root.path() == Path::new("/");
    let home = ctx.session.paths.home().ok();
    let home = home.and_then(|home| home.canonicalize().ok());
    let is_home = home.as_deref() == Some(root.path()) && !repository::exists(root)?;
    match is_root || is_home {
        true => Err(Problem::refused(format!(
            "{} is no folder of a project.",
            root.path().display()
        ))
        .next("Name one with --working-dir.")),
        false => Ok(()),
    }
}

/// The task of a feature that was begun, for a run that is started without a prompt.
fn recorded_task(root: &Arc<Root>, name: &FeatureName) -> Outcome<String> {
    let places = runs::places_of(Arc::clone(root), Some(name))
        .map_err(|problem| problem.next("A feature is begun with its prompt: --prompt TEXT"))?;
    let record = record::known(&places)?;
    record.map(|record| record.task).ok_or_else(|| {
        Problem::missing(format!(
            "What the feature {name} is to do is not recorded here."
        ))
        .next("Give its prompt: --prompt TEXT")
    })
}

/// How to go on after a pause: a command to copy.
fn next_steps(settings: &Settings, places: &RunPlaces, pause: &Pause) -> Vec<String> {
    let same = command(&settings.process.command, pause);
    let approve = places.command(&["approve", approval::name_of(pause.phase)]);
    match (pause.waits, same) {
        (true, Some(same)) => vec![
            format!("Go on, which approves it: {same}"),
            format!("Or only approve it: {approve}"),
        ],
        (true, None) => vec![
            "Run the same command again: that approves it.".to_owned(),
            format!("Or only approve it: {approve}"),
        ],
        (false, Some(same)) => vec![format!("Go on: {same}")],
        (false, None) => vec!["Run the same command again without --until.".to_owned()],
    }
}

/// No command is shown that is longer: nobody copies it.
const MAX_COMMAND_CHARS: usize = 2_000;

/// The command of this run, without what has had its effect; `None` where it cannot be shown.
fn command(words: &[String], pause: &Pause) -> Option<String> {
    let mut kept = vec!["marvin"];
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (name, has_value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word, false),
        };
        if name == "--from" || (name == "--until" && !pause.waits) {
            if !has_value {
                words.next();
            }
            continue;
        }
        kept.push(word);
    }
    let command = shlex::try_join(kept).ok()?;
    let is_short = command.chars().count() <= MAX_COMMAND_CHARS && !command.contains('\n');
    is_short.then_some(command)
}

/// The provider and model of each tier, by flags, variables, and what can be used here.
///
/// # Errors
/// No provider can be used.
pub(crate) fn tiers(ctx: &ToolContext, settings: &Settings) -> Outcome<TierModels> {
    tiers_at(&ctx.session.clock, settings)
}

/// The same before there is a session.
///
/// # Errors
/// As [`tiers`].
pub(crate) fn tiers_at(clock: &Clock, settings: &Settings) -> Outcome<TierModels> {
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
    Ok(TierModels::resolve(&settings.model.tiers, env, &own, clock))
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
