//! `--review-job`: the process of a review in the background. Nobody reads its output but the log of the job.

use std::sync::Arc;

use super::pipeline::run as pipeline_run;
use super::settings::Settings;
use super::setup;
use super::stream::say;
use super::watch::{RECORD_GRACE, RunWatch};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{MARVIN_REVIEW_CODEBASE_FIXER, MARVIN_REVIEW_CODEBASE_MODEL};
use crate::chat::event::{Event, EventSink};
use crate::pipeline::Run;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::review_job::work;
use crate::tools::engine::context::ToolContext;

/// Does the review `id` to its end and returns the exit status.
pub(crate) fn run(id: &str, settings: Settings) -> u8 {
    let stop = Cancel::new();
    let watch = RunWatch::start(stop.clone(), false, RECORD_GRACE, |status| {
        std::process::exit(status.into());
    });
    let outcome = match watch {
        Ok(_) => work(id, settings, stop),
        Err(error) => Err(Problem::system("Cannot watch for signals", error)),
    };
    match outcome {
        Ok(()) => 0,
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            1
        }
    }
}

fn work(id: &str, mut settings: Settings, stop: Cancel) -> Outcome<()> {
    // A flag for a tier is of the user too, but these variables name exactly this work.
    for (variable, tiers) in [
        (MARVIN_REVIEW_CODEBASE_MODEL, &["opus", "aux_reviewer"][..]),
        (MARVIN_REVIEW_CODEBASE_FIXER, &["fallback"]),
    ] {
        if let Some(model) = variable.read(&settings.env) {
            let model = model.to_owned();
            for tier in tiers {
                settings.model.tiers.add(tier, &model)?;
            }
        }
    }
    let mut warn = |words: String| say(&format!("Warning: {words}"));
    let session = Arc::new(setup::session(&settings, &mut warn)?);
    let ctx = ToolContext::new(session, stop, Arc::new(LogSink));
    let root = ctx.root()?;
    let tiers = pipeline_run::tiers(&ctx, &settings)?;
    work::work(
        Run {
            ctx,
            program: pipeline_run::program(&settings)?,
            supervisor: settings.process.executable.clone(),
            places: RunPlaces::of_project(root),
            task: String::new(),
            ticket: String::new(),
            tiers,
            max_cost: settings.model.max_cost,
            is_staged: false,
            branch: String::new(),
            tickets: None,
            spent_before: None,
        },
        id,
    )
}

/// Writes what happens to the log, an event a line.
struct LogSink;

impl EventSink for LogSink {
    fn emit(&self, event: Event) {
        if let Event::Pipeline(event) = event
            && let Ok(line) = serde_json::to_string(&event)
        {
            say(&line);
        }
    }
}
