//! `marvin trust`: which projects may act by themselves.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::app::extensions;
use crate::app::settings::Settings;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, one_line};
use crate::disk::paths::Paths;
use crate::store::trusted_projects::{
    ProjectFolder, TrustDecision, TrustedProjects, decide, forget,
};

/// `marvin trust [DIR] | --list [--json] | --remove DIR`: what is printed.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<String> {
    let paths = Paths::new(&settings.env);
    let clock = Clock::new(&settings.env);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--list"] => list(&paths),
        ["--list", "--json"] | ["--json", "--list"] => listed_as_json(&paths),
        ["--remove", dir] => remove(&paths, &clock, settings, dir),
        [] => trust(&paths, &clock, settings, "."),
        [dir] if !dir.starts_with('-') => trust(&paths, &clock, settings, dir),
        _ => Err(Problem::input("marvin trust cannot read these words.")
            .next("Usage: marvin trust [DIR] | --list [--json] | --remove DIR")),
    }
}

/// The folder that was meant.
fn folder(settings: &Settings, dir: &str) -> PathBuf {
    match &settings.process.current {
        Some(current) => current.join(dir),
        None => PathBuf::from(dir),
    }
}

fn trust(paths: &Paths, clock: &Clock, settings: &Settings, dir: &str) -> Outcome<String> {
    let dir = folder(settings, dir);
    if !dir.is_dir() {
        return Err(
            Problem::missing(format!("There is no folder {}.", dir.display()))
                .next("Give the folder of a project."),
        );
    }
    let folder = ProjectFolder::around(&dir);
    let is_home = paths.home().is_ok_and(|home| {
        home.canonicalize()
            .is_ok_and(|home| home.starts_with(&folder.path))
    });
    if is_home {
        return Err(Problem::refused(format!(
            "{} is no project: everything in it would be trusted.",
            folder.path.display()
        ))
        .next("Give the folder of one project."));
    }
    let items = extensions::items(&folder, &dir);
    let notice = decide(paths, clock, &folder, TrustDecision::Trusted, &items)?;
    let mut text = notice.map_or_else(String::new, |notice| format!("{notice}\n"));
    let path = escape_controls(&folder.path.display().to_string());
    let _ = writeln!(text, "{path} is trusted. From now on this is used there:");
    for item in &items {
        let _ = writeln!(text, "  {} {}", item.kind.word(), one_line(&item.words));
    }
    if items.is_empty() {
        text.push_str("  nothing yet; its skills will be, hooks and MCP servers are asked about\n");
    }
    Ok(text)
}

fn remove(paths: &Paths, clock: &Clock, settings: &Settings, dir: &str) -> Outcome<String> {
    let given = folder(settings, dir);
    // A folder that is gone has an entry by its name alone.
    let whole = ProjectFolder::around(&given).path;
    for path in [given, whole] {
        if forget(paths, clock, &path)? {
            let path = escape_controls(&path.display().to_string());
            return Ok(format!("Nothing is known of {path} any more.\n"));
        }
    }
    Err(Problem::missing(format!(
        "Nothing was decided about {}.",
        escape_controls(dir)
    ))
    .next("marvin trust --list shows the folders."))
}

fn list(paths: &Paths) -> Outcome<String> {
    let known = TrustedProjects::read(paths)?;
    let mut text = String::new();
    for (folder, trust) in known.all() {
        let path = escape_controls(folder);
        let shared = ProjectFolder::around(folder.as_ref()).shared_with();
        let shared = shared.filter(|_| trust.decision == TrustDecision::Trusted);
        let note = shared.map_or_else(String::new, |why| format!("; does not count: {why}"));
        let _ = writeln!(
            text,
            "{:<8} {}  {path}{note}",
            trust.decision.word(),
            escape_controls(&trust.since)
        );
    }
    if text.is_empty() {
        text.push_str("Nothing was decided about any project yet.\n");
    }
    Ok(text)
}

fn listed_as_json(paths: &Paths) -> Outcome<String> {
    let known = TrustedProjects::read(paths)?;
    let rows = known.all().map(|(folder, trust)| {
        json!({
            "folder": folder,
            "decision": trust.decision.word(),
            "since": trust.since,
            "hooks": trust.hooks,
            "mcp": trust.servers,
        })
    });
    Ok(format!("{:#}\n", Value::from(rows.collect::<Vec<_>>())))
}
