//! `marvin pipeline`: a run of the pipeline, seen from outside.

use std::fmt::Write as _;
use std::iter;
use std::path::PathBuf;
use std::time::Duration;

use super::out::{print, print_words};
use super::worktrees::{self, usage};
use crate::app::pipeline::log;
use crate::app::pipeline::status::{ChildStatus, PhaseStatus, RunState, RunStatus};
use crate::app::pipeline::summary::{foreign, time};
use crate::app::pipeline::worktrees as runs;
use crate::app::settings::Settings;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{counted, did_you_mean, one_line};
use crate::chat::usage::dollars;
use crate::disk::beneath::Root;

const COMMANDS: [&str; 4] = ["status", "log", "merge", "worktrees"];

/// The words after `marvin pipeline`.
#[derive(Debug, Default)]
struct PipelineArgs {
    command: Option<String>,
    /// What follows the command.
    phase: Option<String>,
    dir: Option<PathBuf>,
    json: bool,
}

/// The commands that the table of subcommands lists.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<u8> {
    if let Some((command, words)) = words.split_first()
        && worktrees::COMMANDS.contains(&command.as_str())
    {
        return worktrees::run(command, words, settings);
    }
    let args = PipelineArgs::read(words)?;
    let dir = args.dir.as_ref().or(settings.working_dir.as_ref());
    let Some(dir) = dir.or(settings.process.current.as_ref()) else {
        return Err(Problem::missing("The current directory no longer exists.")
            .next("Name one with --working-dir."));
    };
    let root = Root::open(dir)?;
    match args.command.as_deref() {
        Some("status") if args.phase.is_none() => {
            let now = Clock::new(&settings.env).now().timestamp().as_millisecond();
            let now = Duration::from_millis(u64::try_from(now).unwrap_or_default());
            let status = runs::status(&root, now)?;
            if args.json {
                let text = serde_json::to_string_pretty(&status).map_err(|why| {
                    Problem::internal(format!("The status cannot be written: {why}."))
                })?;
                print(&(text + "\n"))?;
            } else {
                for (at, status) in iter::once(&status).chain(&status.others).enumerate() {
                    let gap = if at == 0 { "" } else { "\n" };
                    print(&format!("{gap}{}", text(status)))?;
                }
            }
        }
        Some("log") if !args.json => {
            let root = runs::root_of_run(root);
            print_words(&log::text(&root, args.phase.as_deref())?)?;
        }
        Some("log") => return Err(usage("The log is text; it has no --json.")),
        Some("status") => return Err(usage("marvin pipeline status takes no phase.")),
        Some(other) => {
            let mut problem = usage(&format!("There is no command \"{}\".", one_line(other)));
            if let Some(hint) = did_you_mean(other, COMMANDS) {
                problem = problem.next(hint);
            }
            return Err(problem);
        }
        None => return Err(usage("A command is missing.")),
    }
    Ok(0)
}

impl PipelineArgs {
    fn read(words: &[String]) -> Outcome<Self> {
        let mut args = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--json" {
                args.json = true;
            } else if word == "--working-dir" {
                let dir = words
                    .next()
                    .ok_or_else(|| usage("--working-dir needs a value."))?;
                args.dir = Some(PathBuf::from(dir));
            } else if let Some(dir) = word.strip_prefix("--working-dir=") {
                args.dir = Some(PathBuf::from(dir));
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

fn text(status: &RunStatus) -> String {
    let mut out = headline(status);
    out.push('\n');
    if let Some(end) = &status.end {
        let _ = writeln!(out, "End: {}", foreign(end));
    }
    if !status.task.is_empty() {
        let _ = writeln!(out, "Task: {}", foreign(&status.task));
        let _ = writeln!(out, "Ticket: {}", foreign(&status.ticket));
    }
    if let (Some(folder), Some(branch)) = (&status.folder, &status.branch) {
        let _ = writeln!(out, "Folder: {}", foreign(folder));
        let _ = writeln!(out, "Branch: {}", foreign(branch));
    }
    if let Some(started) = &status.started {
        let verb = if status.resumed { "Resumed" } else { "Started" };
        let _ = writeln!(out, "{verb}: {started}");
        let _ = writeln!(out, "Time: {}", time(status.seconds));
        let _ = writeln!(out, "Cost: {}", cost(status));
    }
    if let Some(recorded) = &status.recorded {
        let _ = writeln!(out, "Recorded as done: {recorded}");
    }
    out.push_str("\nPhases:\n");
    let widest = status.phases.iter().map(|phase| phase.name.len()).max();
    for phase in &status.phases {
        let _ = writeln!(out, "{}", phase_row(phase, widest.unwrap_or_default()));
    }
    if let Some(round) = &status.round {
        let _ = writeln!(
            out,
            "\nRound {} of {}: {}",
            round.round,
            round.most,
            foreign(&round.subject)
        );
    }
    if !status.children.is_empty() {
        out.push_str("\nChildren:\n");
        for child in &status.children {
            let _ = writeln!(out, "{}", child_row(child));
        }
    }
    if let Some(tests) = &status.tests {
        let mark = if tests.passed { "passed" } else { "failed" };
        let _ = writeln!(out, "\nTests: {mark}. {}", foreign(&tests.words));
    }
    if !status.warnings.is_empty() {
        let _ = writeln!(out, "\nWarnings ({}):", status.warning_count);
        for warning in &status.warnings {
            let _ = writeln!(out, "  - {}", foreign(warning));
        }
    }
    out
}

fn headline(status: &RunStatus) -> String {
    let phase = status
        .phase
        .as_deref()
        .map_or_else(String::new, |phase| format!(" in phase {}", foreign(phase)));
    match (status.state, status.pid) {
        (RunState::Running, Some(pid)) => format!("Running{phase}, process {pid}."),
        (RunState::Running, None) => format!("Running{phase}."),
        (RunState::Done, _) => "Done.".to_owned(),
        (RunState::Failed, _) => {
            format!("Stopped{phase}. The same command again continues it.")
        }
        (RunState::Dead, _) => format!(
            "Dead: its process is gone{phase}, killed or crashed. The same command again continues it."
        ),
        (RunState::Recorded, _) => {
            "Not running. No events are recorded, only the last phase that is done.".to_owned()
        }
    }
}

fn cost(status: &RunStatus) -> String {
    let used = |tokens, cost| {
        let dollars = dollars(cost, status.cost_estimated);
        format!("{}, {dollars}", counted(tokens, "token"))
    };
    let mut out = used(status.tokens, status.cost);
    if status.total_tokens > status.tokens {
        let total = used(status.total_tokens, status.total_cost);
        let _ = write!(out, "; with the runs before it {total}");
    }
    out
}

fn phase_row(phase: &PhaseStatus, widest: usize) -> String {
    let mut result = phase.state.replace('_', " ");
    if phase.state == "omitted" {
        "not asked for".clone_into(&mut result);
    }
    match (phase.state, phase.seconds) {
        ("done", Some(seconds)) => {
            let _ = write!(result, " in {}", time(seconds));
        }
        ("stopped", Some(seconds)) => {
            let _ = write!(result, " after {}", time(seconds));
        }
        (_, Some(seconds)) => {
            let _ = write!(result, " for {}", time(seconds));
        }
        (_, None) => {}
    }
    if let Some(reason) = &phase.reason {
        let _ = write!(result, ". {}", foreign(reason));
    }
    let name = foreign(&phase.name);
    match foreign(&phase.about).as_str() {
        "" => format!("  {name:<widest$}  {result}"),
        about => format!("  {name:<widest$}  {about}: {result}"),
    }
}

fn child_row(child: &ChildStatus) -> String {
    let mut out = format!("  {} ({}", foreign(&child.label), foreign(&child.model));
    if child.attempt > 1 {
        let _ = write!(out, ", attempt {}", child.attempt);
    }
    let _ = write!(out, ") for {}", time(child.seconds));
    if child.tokens > 0 {
        let _ = write!(
            out,
            ", {}, {}",
            counted(child.tokens, "token"),
            dollars(child.cost, false)
        );
    }
    if !child.tools.is_empty() {
        let _ = write!(out, ", last tool: {}", foreign(&child.tools.join(", ")));
    }
    let _ = write!(out, "\n    {}", foreign(&child.log));
    out
}
