//! Dispatches the commands.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::Path;

use super::out::print;
use super::parse::{CliCommand, parse};
use super::{
    complete, debug, doctor, help, hooks, man, mcp, memory, models, pipeline, services, sessions,
    skills, tk, tool, trust,
};
use crate::alerts::ring;
use crate::app::help::HelpTables;
use crate::app::settings::session::SessionChoice;
use crate::app::settings::{CliArgs, ProcessFacts, Settings};
use crate::app::stream::say;
use crate::app::{acp, images, json_stream, review_job, run_notice, setup, variables};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text;
use crate::chat::usage::Totals;
use crate::proc::{own_image, supervise};

/// Flags with which nobody is there to be asked.
const MACHINE_FLAGS: [&str; 4] = ["--non-interactive", "--design-first", "-p", "--print"];

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
pub(crate) fn run(args: Vec<OsString>, mut env: Env, tables: &HelpTables) -> CliOutcome {
    // Callers of the non-interactive mode expect a cost line even when the flags are wrong.
    let is_driven = has_form(&args, "--input-format", &["stream-json"]);
    let machine = args
        .iter()
        .any(|arg| MACHINE_FLAGS.iter().any(|flag| arg == flag))
        || is_driven
        || args.first().is_some_and(|arg| arg == "acp");
    // As far as can be told of flags that could not be parsed.
    let wants_json = has_form(&args, "--output-format", &["json", "stream-json"]);
    match parse(args) {
        Ok(CliCommand::Sub(name, args, _)) if args.command.help => {
            report(print(&help::subcommand(name))).into()
        }
        Ok(CliCommand::Sub(name, args, rest)) => {
            warn(variables::layer(&mut env));
            let prompt = looks_like_a_prompt(name, &rest);
            let mut outcome = subcommand(name, rest, settings(*args, env), tables);
            if let (Err(problem), Some(prompt)) = (&mut outcome, prompt)
                && problem.kind == ProblemKind::Input
                && !problem.next.iter().any(|hint| hint.contains(" -- "))
            {
                problem.next.push(format!("If it is a prompt: {prompt}"));
            }
            report(outcome).into()
        }
        Ok(CliCommand::Run(args)) if args.command.help => report(print(&help::screen())).into(),
        Ok(CliCommand::Run(args)) if args.command.version => {
            report(print(&format!("marvin {}\n", env!("CARGO_PKG_VERSION")))).into()
        }
        Ok(CliCommand::Run(args)) => {
            if let Some(input) = args.command.supervise {
                return report(supervise::run(&args.prompt.words, input)).into();
            }
            warn(variables::layer(&mut env));
            match (
                args.command.fire_alarm.clone(),
                args.command.review_job.clone(),
            ) {
                (Some(id), _) => report(fire(&id, &settings(*args, env))).into(),
                (None, Some(id)) => CliOutcome::Done(review_job::run(&id, settings(*args, env))),
                (None, None) => interactive(*args, env),
            }
        }
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            if wants_json {
                json_stream::tell_failure(&problem, is_driven);
            }
            if machine || wants_json {
                say(&Totals::default().cost_line());
            }
            CliOutcome::Done(1)
        }
    }
}

/// Whether the flag `name` has one of these values.
fn has_form(args: &[OsString], name: &str, forms: &[&str]) -> bool {
    let joined = args.iter().filter_map(|arg| arg.to_str());
    let mut joined = joined.filter_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
    let mut pairs = args.windows(2);
    joined.any(|form| forms.contains(&form))
        || pairs.any(|pair| {
            matches!(pair, [flag, form] if flag == name && forms.iter().any(|known| form == known))
        })
}

/// Says what is missing until a model can answer; the status is 0 once one can.
fn set_up(settings: &Settings) -> Outcome<u8> {
    let (report, works) = doctor::examined(&[], settings)?;
    print(&report)?;
    Ok(u8::from(!(works && acp::has_model(settings))))
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
    let mut images = settings.prompt.images.iter();
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
        executable: own_image::path().map(Path::to_owned),
        command: std::env::args_os()
            .skip(1)
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect(),
    };
    Settings::new(args, env, process)
}

/// How to ask this, when the words after a subcommand's name may be a sentence.
fn looks_like_a_prompt(name: &str, rest: &[OsString]) -> Option<String> {
    let words: Vec<&str> = rest.iter().filter_map(|word| word.to_str()).collect();
    let is_plain = |word: &&str| !word.starts_with('-') && !word.contains('=');
    let fits = words.len() > 1 && words.len() == rest.len() && words.iter().all(is_plain);
    let shown = text::one_line(&text::clip(&words.join(" "), 60));
    fits.then(|| format!("marvin -- {name} {shown}"))
}

/// The subcommands that read `--help` themselves, behind other words too.
const OWN_HELP: [&str; 3] = ["tool", "tk", "help"];

fn subcommand(
    name: &str,
    args: Vec<OsString>,
    mut settings: Settings,
    tables: &HelpTables,
) -> Outcome<u8> {
    let words: Vec<String> = args
        .into_iter()
        .map(|arg| arg.into_string().map_err(|arg| not_text(name, &arg)))
        .collect::<Outcome<_>>()?;
    let is_help = |word: &str| matches!(word, "--help" | "-h");
    let mut before_dashes = words.iter().take_while(|word| *word != "--");
    let asks_help = match OWN_HELP.contains(&name) {
        true => name != "tk" && words.first().is_some_and(|word| is_help(word)),
        false => before_dashes.any(|word| is_help(word)),
    };
    match name {
        _ if asks_help => print(&help::subcommand(name)).map(|()| 0),
        "help" => print(&help::run(&words, &settings.env, tables)?).map(|()| 0),
        "tool" => tool::run(&words, settings),
        "tk" => tk::run(&words, &settings),
        "tools" => print(&tool::list(&words)?).map(|()| 0),
        "models" => models::run(&words, &settings),
        "memory" => memory::run(&words, &settings),
        "acp" if words.is_empty() => Ok(acp::run(settings)),
        "acp" => set_up(&settings),
        "sessions" => sessions::run(&words, &settings).map(|()| 0),
        "export" => sessions::export(&words, &settings).map(|()| 0),
        "pipeline" => {
            // A merge has tests run that children wrote.
            settings.access.sandbox.run_unattended();
            pipeline::run(&words, &settings)
        }
        "mcp" => mcp::run(&words, settings),
        "trust" => print(&trust::run(&words, &settings)?).map(|()| 0),
        "skills" => print(&skills::run(&words, &settings)?).map(|()| 0),
        "hooks" => print(&hooks::run(&words, &settings)?).map(|()| 0),
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
        "debug" => match words.split_first() {
            Some((word, words)) if word == "mcp-fixture" => mcp::fixture(words),
            _ => print(&debug::run(&words)?).map(|()| 0),
        },
        "man" => match words.as_slice() {
            [] => print(&man::page(tables)).map(|()| 0),
            _ => Err(Problem::input("marvin man takes no words.")
                .next("marvin help TOPIC explains one topic.")),
        },
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
