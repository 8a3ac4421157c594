//! Dispatches the commands.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};

use super::out::print;
use super::parse::{CliCommand, parse};
use super::{
    complete, debug, doctor, help, man, memory, models, pipeline, services, sessions, tk, tool,
};
use crate::alerts::ring;
use crate::app::direct_call::catalogue;
use crate::app::settings::session::SessionChoice;
use crate::app::settings::{CliArgs, ProcessFacts, Settings};
use crate::app::stream::say;
use crate::app::{images, review_job, run_notice, setup, variables};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::chat::usage::Totals;
use crate::proc::supervise;

/// What remains to be done after parsing.
pub(crate) enum CliOutcome {
    /// Exit with this status.
    Done(u8),
    /// Start an interactive session.
    Interactive(Box<Settings>),
    /// Run one prompt without a user.
    NonInteractive(Box<Settings>),
}

impl From<u8> for CliOutcome {
    fn from(status: u8) -> Self {
        Self::Done(status)
    }
}

/// Runs everything that needs no interactive session.
pub(crate) fn run(args: Vec<OsString>, mut env: Env) -> CliOutcome {
    // Callers of the non-interactive mode expect a cost line even when the flags are wrong.
    let machine = args
        .iter()
        .any(|arg| arg == "--non-interactive" || arg == "--design-first");
    match parse(args) {
        Ok(CliCommand::Sub(name, rest)) => {
            warn(variables::layer(&mut env));
            report(subcommand(name, rest, env)).into()
        }
        Ok(CliCommand::Run(args)) if args.help => report(print(&help::help())).into(),
        Ok(CliCommand::Run(args)) if args.version => {
            report(print(&format!("marvin {}\n", env!("CARGO_PKG_VERSION")))).into()
        }
        Ok(CliCommand::Run(args)) if args.supervise.is_some() => {
            let input = args.supervise.unwrap_or_default();
            report(supervise::run(&args.words, input)).into()
        }
        Ok(CliCommand::Run(args)) => {
            warn(variables::layer(&mut env));
            match (args.fire_alarm.clone(), args.review_job.clone()) {
                (Some(id), _) => report(fire(&id, &settings(*args, env))).into(),
                (None, Some(id)) => CliOutcome::Done(review_job::run(&id, settings(*args, env))),
                (None, None) => interactive(*args, env),
            }
        }
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            if machine {
                say(&Totals::default().cost_line());
            }
            CliOutcome::Done(1)
        }
    }
}

/// The entry point of a crontab line.
fn fire(id: &str, settings: &Settings) -> Outcome<()> {
    let session = setup::session(settings, &mut |words| say(&words))?;
    ring::fire_scheduled(&session.alerts, id, &Cancel::new())
}

fn warn(warnings: Vec<String>) {
    warnings
        .iter()
        .for_each(|words| say(&format!("Warning: {words}")));
}

fn interactive(mut args: CliArgs, env: Env) -> CliOutcome {
    args.ntfy = args.ntfy.map(|topic| run_notice::topic(&topic));
    let is_machine = args.non_interactive;
    let settings = Box::new(settings(args, env));
    if is_machine {
        return CliOutcome::NonInteractive(settings);
    }
    // Before a conversation whose first message could not be sent.
    let mut images = settings.images.iter();
    let readable = images.try_for_each(|path| images::open(path).map(drop));
    if readable.is_err() {
        return report(readable).into();
    }
    let has_terminal = settings.process.stdin_is_terminal && io::stdout().is_terminal();
    if settings.session.choice() == SessionChoice::Pick && !has_terminal {
        // Nobody can choose here.
        return report(sessions::list(&[], &settings)).into();
    }
    CliOutcome::Interactive(settings)
}

fn settings(args: CliArgs, env: Env) -> Settings {
    let process = ProcessFacts {
        current: std::env::current_dir().ok(),
        stdin_is_terminal: io::stdin().is_terminal(),
        executable: std::env::current_exe().ok(),
    };
    Settings::new(args, env, process)
}

fn subcommand(name: &str, args: Vec<OsString>, env: Env) -> Outcome<u8> {
    let words: Vec<String> = args
        .into_iter()
        .map(|arg| arg.into_string().map_err(|arg| not_text(name, &arg)))
        .collect::<Outcome<_>>()?;
    let asks_help = matches!(words.first().map(String::as_str), Some("--help" | "-h"));
    let settings = settings(CliArgs::default(), env);
    match name {
        // The ticket script has its own help.
        _ if asks_help && name != "tk" => print(&help::subcommand(name)).map(|()| 0),
        "tool" => tool::run(&words, settings),
        "tk" => tk::run(&words, &settings),
        "tools" => print(&catalogue::list(&words, &setup::registry())?).map(|()| 0),
        "models" => models::run(&words, &settings),
        "memory" => memory::run(&words, &settings),
        "sessions" => sessions::run(&words, &settings).map(|()| 0),
        "export" => sessions::export(&words, &settings).map(|()| 0),
        "pipeline" => pipeline::run(&words, &settings),
        "services" => {
            print(&services::list(&words, &settings.env, &setup::registry())?).map(|()| 0)
        }
        "doctor" => print(&doctor::report(&words, &settings)?).map(|()| 0),
        "completions" => {
            let shell = words.first().map_or("", String::as_str);
            let script = complete::script(shell).ok_or_else(|| {
                Problem::input(format!("There is no completion script for \"{shell}\"."))
                    .next(format!("Shells: {}.", complete::SHELLS.join(", ")))
            })?;
            print(&script).map(|()| 0)
        }
        "debug" => print(&debug::run(&words)?).map(|()| 0),
        "man" => print(&man::page()).map(|()| 0),
        _ => Err(Problem::internal(format!(
            "The subcommand {name} does nothing."
        ))),
    }
}

fn not_text(name: &str, arg: &OsStr) -> Problem {
    let shown = text::escape_controls(&text::clip(&arg.to_string_lossy(), 60));
    Problem::input(format!(
        "An argument of marvin {name} is not UTF-8: \"{shown}\"."
    ))
    .next("Fix the terminal's encoding, or write other characters as \\uXXXX in --json.")
}

fn report<T: Into<StatusWindow>>(outcome: Outcome<T>) -> u8 {
    match outcome {
        Ok(status) => status.into().0,
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            if let Some(facts) = &problem.facts {
                say(facts);
            }
            1
        }
    }
}

struct StatusWindow(u8);

impl From<()> for StatusWindow {
    fn from((): ()) -> Self {
        Self(0)
    }
}

impl From<u8> for StatusWindow {
    fn from(status: u8) -> Self {
        Self(status)
    }
}
