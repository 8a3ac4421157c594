//! `marvin pipeline`: a run of the pipeline, seen from outside.
//!
//! [`status`] and [`plan`] word what [`crate::app::pipeline`] finds; [`worktrees`] merges and removes.

mod plan;
mod status;
mod worktrees;

use std::ffi::OsString;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::out::{print, print_words};
use super::parse;
use crate::app::pipeline::{
    approve as run_approval, log, plan as run_plan, report as run_report, worktrees as runs,
};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::one_line;
use crate::disk::atomic::{self, Access};
use crate::disk::beneath::Root;
use crate::pipeline::feature::FeatureName;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::steering::Steering;
use crate::pipeline::worktree::features;
use worktrees::usage;

const COMMANDS: [&str; 7] = [
    "status",
    "log",
    "plan",
    "approve",
    "report",
    "merge",
    "worktrees",
];

/// The words after `marvin pipeline`.
#[derive(Debug, Default)]
struct PipelineArgs {
    command: Option<String>,
    /// What follows the command.
    phase: Option<String>,
    json: bool,
    /// Where the page of a report goes.
    html: Option<PathBuf>,
}

/// The commands that the table of subcommands lists.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<u8> {
    if let Some((command, words)) = words.split_first()
        && command == "plan"
    {
        return plan(words, settings);
    }
    if let Some((command, words)) = words.split_first()
        && worktrees::COMMANDS.contains(&command.as_str())
    {
        return worktrees::run(command, words, settings);
    }
    let args = PipelineArgs::read(words)?;
    let feature = feature(settings);
    let point = args.phase.as_deref();
    let root = Arc::new(Root::open(dir(settings)?)?);
    let places = || runs::places_of(Arc::clone(&root), feature);
    if args.html.is_some() && args.command.as_deref() != Some("report") {
        return Err(usage("--html is for the report."));
    }
    match args.command.as_deref() {
        Some("status") if args.phase.is_none() => {
            let clock = Clock::new(&settings.env);
            let status = runs::status(&root, feature, &settings.env, &clock)?;
            if args.json {
                print_json(&status)?;
            } else {
                for (at, status) in iter::once(&status).chain(&status.others).enumerate() {
                    let gap = if at == 0 { "" } else { "\n" };
                    print(&format!("{gap}{}", status::text(status)))?;
                }
            }
        }
        Some("approve") if !args.json => {
            let places = runs::to_approve(&root, feature, point)?;
            let words = run_approval::approve(&places, settings, point)?;
            print(&format!("{words}\n"))?;
        }
        Some("approve") => return Err(usage("An approval has no --json.")),
        Some("report") if args.phase.is_none() => {
            report(&places()?, settings, &args)?;
        }
        Some("report") => return Err(usage("marvin pipeline report takes no phase.")),
        Some("log") if !args.json => {
            print_words(&log::text(&places()?, args.phase.as_deref())?)?;
        }
        Some("log") => return Err(usage("The log is text; it has no --json.")),
        Some("status") => return Err(usage("marvin pipeline status takes no phase.")),
        Some(other) => {
            let problem = usage(&format!("There is no command \"{}\".", one_line(other)));
            return Err(problem.near(other, COMMANDS));
        }
        None => return Err(usage("A command is missing.")),
    }
    Ok(0)
}

/// The project: that of the settings, else the current directory.
fn dir(settings: &Settings) -> Outcome<&Path> {
    let dir = settings.working_dir.as_ref();
    let dir = dir.or(settings.process.current.as_ref());
    dir.map(PathBuf::as_path).ok_or_else(|| {
        Problem::missing("The current directory no longer exists.")
            .next("Name one with --working-dir.")
    })
}

/// `plan`, with the flags of a run.
fn plan(words: &[String], settings: &Settings) -> Outcome<u8> {
    let dashes = words.iter().position(|word| word == "--");
    let is_json =
        |(at, word): (usize, &String)| word == "--json" && dashes.is_none_or(|end| at < end);
    let json = words.iter().enumerate().any(is_json);
    let kept = words.iter().enumerate().filter(|pair| !is_json(*pair));
    let mut args = vec![OsString::from("--design-first"), "--working-dir".into()];
    args.push(dir(settings)?.into());
    args.extend(flags_taken(settings));
    args.extend(kept.map(|(_, word)| word.into()));
    let settings = Settings::new(
        parse::of_run(args)?,
        settings.env.clone(),
        settings.process.clone(),
    );
    let root = Arc::new(Root::open(dir(&settings)?)?);
    let flags = settings.pipeline.clone().unwrap_or_default();
    let steering = Steering {
        until: flags.until,
        from: flags.from,
        approve: flags.approve.clone(),
        prompt: None,
    };
    steering.check()?;
    let places = match runs::places_of(Arc::clone(&root), flags.feature.as_ref()) {
        // It would be begun.
        Err(problem) if problem.kind == ProblemKind::Missing => match &flags.feature {
            Some(name) => features::places(&root, name)?,
            None => return Err(problem),
        },
        places => places?,
    };
    let task = match &flags.feature {
        // It may know its task.
        Some(_) => settings.prompt.first()?,
        None => settings.prompt.given(settings.process.stdin_is_terminal)?,
    };
    let task = task.map(|task| task.replace("\r\n", "\n"));
    let places = match &task {
        // Another one is no more of that run.
        Some(task) if flags.feature.is_none() && !run_plan::is_of(&places, task) => {
            runs::places_of_task(&root, task)
        }
        _ => places,
    };
    let mut warn = |words: String| say(&format!("Warning: {words}"));
    let plan = run_plan::plan(&places, &settings, &flags, task, &mut warn)?;
    match json {
        true => print_json(&plan)?,
        false => print(&plan::text(&plan))?,
    }
    Ok(0)
}

/// The feature that is meant.
fn feature(settings: &Settings) -> Option<&FeatureName> {
    settings.pipeline.as_ref()?.feature.as_ref()
}

/// The flags that the subcommand took, for a run.
fn flags_taken(settings: &Settings) -> Vec<OsString> {
    let model = &settings.model;
    let flag = |name: &str, value: String| OsString::from(format!("--{name}={value}"));
    let given = [
        ("provider", model.choice.provider.clone()),
        ("model", model.choice.model.clone()),
        ("max-cost", model.max_cost.map(|cost| cost.to_string())),
        ("feature", feature(settings).map(FeatureName::to_string)),
    ];
    let tiers = model.tiers.words().map(|tier| flag("model", tier));
    given
        .into_iter()
        .filter_map(|(name, value)| Some(flag(name, value?)))
        .chain(tiers)
        .collect()
}

/// The report of the last run, as a table, as JSON, or as a page in a file.
fn report(places: &RunPlaces, settings: &Settings, args: &PipelineArgs) -> Outcome<()> {
    let report = run_report::data::report(places, &settings.env, &Cancel::new())?;
    if let Some(path) = &args.html {
        let page = run_report::html::page(&report);
        atomic::write(path, page.as_bytes(), Access::Usual)
            .map_err(|problem| problem.next("Name another file with --html."))?;
        if !args.json {
            return print(&format!(
                "The report is in {}.\n",
                one_line(&path.to_string_lossy())
            ));
        }
    }
    match args.json {
        true => print_json(&report),
        false => print(&run_report::terminal::text(&report)),
    }
}

fn print_json(value: &impl serde::Serialize) -> Outcome<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|why| Problem::internal(format!("This cannot be written as JSON: {why}.")))?;
    print(&(text + "\n"))
}

impl PipelineArgs {
    fn read(words: &[String]) -> Outcome<Self> {
        let mut args = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--json" {
                args.json = true;
            } else if word == "--html" {
                let file = words.next().ok_or_else(|| usage("--html needs a file."))?;
                args.html = Some(PathBuf::from(file));
            } else if let Some(file) = word.strip_prefix("--html=") {
                args.html = Some(PathBuf::from(file));
            } else if word.starts_with('-') {
                return Err(usage(&format!(
                    "There is no flag \"{}\" here.",
                    one_line(word)
                )));
            } else if args.command.is_none() {
                args.command = Some(word.clone());
            } else if args.phase.is_none() {
                args.phase = Some(word.clone());
            } else {
                return Err(usage(&format!(
                    "\"{}\" is one word too many.",
                    one_line(word)
                )));
            }
        }
        Ok(args)
    }
}
