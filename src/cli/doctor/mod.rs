//! `marvin doctor`: what works here, and what to do about the rest.
//!
//! One file for each area, all making findings. Called by [`super::run`]. It looks and asks, and changes nothing but a folder that it makes.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::thread;
use std::time::Duration;

mod blender;
mod copilot;
mod editors;
mod extensions;
mod files;
mod finding;
mod flow;
mod model;
mod outside;
mod provider;
mod sandbox;
mod voice;

use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    LLM_PROVIDER, MARVIN_CONNECT_TIMEOUT, MARVIN_FIRST_BYTE_TIMEOUT, MARVIN_IDLE_TIMEOUT,
};
use crate::disk::atomic::{Access, make_folder};
use crate::disk::paths::Paths;
use crate::llm::catalog::ROWS;
use crate::llm::choose::{self, ProviderChoice};
use crate::net::services::shown_address;
use crate::proc::child::ProgramSpec;
use crate::proc::child_env::command_env;
use crate::proc::program::find_program;
use finding::{Finding, finding};
use provider::ProviderLists;

/// A program that tools use.
struct Program {
    name: &'static str,
    purpose: &'static str,
    install: &'static str,
    /// The argument that prints its version, if there is one.
    version: Option<&'static str>,
}

const fn wanted(
    name: &'static str,
    what: &'static str,
    get: &'static str,
    version: Option<&'static str>,
) -> Program {
    Program {
        name,
        purpose: what,
        install: get,
        version,
    }
}

#[rustfmt::skip]
const PROGRAMS: [Program; 12] = [
    wanted("git", "the git tools", "Install the package git.", Some("--version")),
    wanted("sh", "run_command", "Install a shell.", None),
    wanted("gh", "github_search", "Install the package gh, then: gh auth login.", Some("--version")),
    wanted("yt-dlp", "yt_dlp_download", "Install it: uv tool install yt-dlp, or the package yt-dlp.", Some("--version")),
    wanted("ffmpeg", "audio_only of yt_dlp_download", "Install the package ffmpeg.", Some("-version")),
    wanted("lynx", "browse_web; a built-in rendering takes its place", "Install the package lynx.", None),
    wanted("geckodriver", "scrape_page with Firefox; Chromium's chromedriver takes its place", "Install geckodriver and the package firefox-esr.", None),
    wanted("chromedriver", "scrape_page with Chromium; Firefox's geckodriver takes its place", "Install the packages chromium and chromium-driver.", None),
    wanted("uv", "install_packages for Python; pip takes its place", "Install uv.", Some("--version")),
    wanted("crontab", "alarms and reminders after Marvin has ended", "Install the package cron.", None),
    wanted("at", "the same, where there is no crontab", "Install the package at.", None),
    wanted("notify-send", "alarms on the desktop", "Install the package libnotify-bin.", Some("--version")),
];

/// The report, as text or JSON.
pub(super) fn report(words: &[String], settings: &Settings) -> Outcome<String> {
    examined(words, settings).map(|(report, _)| report)
}

/// The report, and whether the model that would answer works, as far as its provider says.
pub(super) fn examined(words: &[String], settings: &Settings) -> Outcome<(String, bool)> {
    let json = match words {
        [] => false,
        [word] if word == "--json" => true,
        _ => return Err(Problem::input("marvin doctor takes only --json.")),
    };
    let today = Clock::new(&settings.env).now().date();
    let (copilot, lists) = thread::scope(|scope| {
        let lists = scope.spawn(|| ProviderLists::ask(&settings.env));
        // The choice below depends on its answer, which is kept.
        (copilot::provider(&settings.env), lists.join())
    });
    let lists = lists.map_err(|_| Problem::internal("The providers could not be asked."))?;
    let has_copilot = copilot.ok;
    let mut findings = vec![copilot];
    let providers = ROWS.iter();
    findings.extend(providers.map(|row| lists.provider(row, &settings.env, today)));
    let chosen = choose::choose(&settings.env, settings.model.choice.provider.as_deref());
    let works = match &chosen {
        Ok(ProviderChoice::Remote(remote)) => lists.works(remote, settings),
        Ok(ProviderChoice::Copilot) => has_copilot,
        Ok(ProviderChoice::Offline) => true,
        Err(_) => false,
    };
    findings.insert(
        0,
        match &chosen {
            Ok(chosen) => finding(
                "choice",
                "provider",
                chosen.name() != "offline",
                format!(
                    "{} would answer now: {}",
                    chosen.name(),
                    reason(chosen, settings)
                ),
                "Install the Copilot CLI, set a key below, or run ollama.",
            ),
            Err(problem) => finding(
                "choice",
                "provider",
                false,
                problem.what.clone(),
                &problem.next.join(" "),
            ),
        },
    );
    if let Ok(ProviderChoice::Remote(remote)) = &chosen {
        findings.insert(1, model::chosen(remote, settings, &lists));
        findings.insert(2, flow::answers(remote, settings));
    }
    if let Ok(ProviderChoice::Copilot) = &chosen {
        findings.insert(1, copilot::model(settings));
    }
    findings.extend(PROGRAMS.iter().map(|wanted| program(wanted, settings)));
    findings.push(sandbox::holds(settings));
    findings.push(sandbox::searches(settings));
    findings.push(blender::answers(&settings.env));
    findings.extend(voice::findings(&settings.env));
    findings.extend(outside::findings(&settings.env));
    findings.extend(folders(settings));
    findings.extend(files::findings(settings));
    findings.extend(editors::findings(settings));
    let terminal = std::io::stdout().is_terminal();
    let term = settings.env.get("TERM").unwrap_or("not set");
    findings.push(finding(
        "terminal",
        "stdout",
        true,
        format!(
            "{}, TERM {term}",
            if terminal {
                "a terminal"
            } else {
                "no terminal"
            }
        ),
        "",
    ));
    for limit in [
        MARVIN_CONNECT_TIMEOUT,
        MARVIN_FIRST_BYTE_TIMEOUT,
        MARVIN_IDLE_TIMEOUT,
    ] {
        let mut wrong = None;
        let seconds = limit.read(&settings.env, &mut |words| wrong = Some(words));
        findings.push(finding(
            "limits",
            limit.name,
            wrong.is_none(),
            wrong.unwrap_or_else(|| format!("{seconds} s")),
            "Set it to a whole number of seconds.",
        ));
    }
    if json {
        return serde_json::to_string_pretty(&findings)
            .map(|text| (text + "\n", works))
            .map_err(|error| Problem::internal(format!("The report cannot be written: {error}.")));
    }
    let mut out = String::new();
    for found in &findings {
        let mark = if found.ok { "ok " } else { "-- " };
        let advice = if found.ok || found.advice.is_empty() {
            String::new()
        } else {
            format!("  → {}", found.advice)
        };
        let _ = writeln!(
            out,
            "{mark} {:<10} {:<26} {}{advice}",
            found.area, found.name, found.state
        );
    }
    Ok((out, works))
}

fn reason(chosen: &ProviderChoice, settings: &Settings) -> String {
    if settings.model.choice.provider.is_some() {
        return format!("{} or --provider names it", LLM_PROVIDER.name);
    }
    match chosen {
        ProviderChoice::Copilot => "its CLI is signed in".to_owned(),
        ProviderChoice::Remote(remote) => match remote.key_variable() {
            Some(key) => format!("the first with a key ({key})"),
            None if remote.is_on_this_machine() => "it answers on this machine".to_owned(),
            None => format!("it answers at {}", shown_address(&remote.base)),
        },
        ProviderChoice::Offline => "nothing else is set up".to_owned(),
    }
}

fn program(program: &Program, settings: &Settings) -> Finding {
    let name = program.name;
    let Some(path) = find_program(name, &settings.env) else {
        let state = format!("not found; wanted for {}", program.purpose);
        return finding("program", name, false, state, program.install);
    };
    let version = program.version.map(|flag| {
        let mut run = ProgramSpec::new(&path, [flag], command_env(&settings.env));
        run.limit = Duration::from_secs(3);
        let version_output = run.run(&Cancel::new()).map(|done| done.stdout.text());
        version_output.unwrap_or_default()
    });
    let version = version.unwrap_or_default();
    let version = version.lines().next().unwrap_or_default();
    finding(
        "program",
        name,
        true,
        format!("{} {version}", path.display()),
        "",
    )
}

fn folders(settings: &Settings) -> Vec<Finding> {
    let paths = Paths::new(&settings.env);
    let config = match paths.config() {
        Ok(dir) => {
            let dir = dir.to_owned();
            let writable =
                make_folder(&dir, Access::Private).is_ok() && tempfile::tempfile_in(&dir).is_ok();
            finding(
                "folder",
                "settings",
                writable,
                format!(
                    "{}{}",
                    dir.display(),
                    if writable { "" } else { " is not writable" }
                ),
                "Make it writable, or set MARVIN_CONFIG_DIR.",
            )
        }
        Err(problem) => finding(
            "folder",
            "settings",
            false,
            problem.what,
            "Set HOME or MARVIN_CONFIG_DIR.",
        ),
    };
    let current = match &settings.process.current {
        Some(dir) => finding("folder", "current", true, dir.display().to_string(), ""),
        None => finding(
            "folder",
            "current",
            false,
            "the current directory is gone".to_owned(),
            "Change to one that exists.",
        ),
    };
    let mut all = vec![config, current];
    all.extend(extensions::findings(settings));
    all
}
