//! How the tests of a Python project are run.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::{Run, context, files};
use super::has;
use crate::disk::beneath::RelPath;
use crate::proc::child::ProgramSpec;
use crate::proc::child_env::{command_env, search_path};
use crate::proc::program::find_for_command;

/// The command, where settings, or tests at their usual places, say that it is a Python project.
pub(super) fn detect(run: &Run) -> Option<String> {
    const SETTINGS: [&str; 4] = ["pytest.ini", "conftest.py", "tox.ini", "setup.py"];
    let names_pytest = |path: &str| {
        context::beginning(run, path, 64 << 10).is_some_and(|text| text.contains("pytest"))
    };
    let is_python = SETTINGS.iter().any(|path| has(run, path))
        || names_pytest("pyproject.toml")
        || names_pytest("setup.cfg")
        || has_usual_tests(run);
    is_python.then(|| command(run))
}

/// The command, where there are tests at all.
pub(super) fn detect_below(run: &Run) -> Option<String> {
    (!folders(run).is_empty()).then(|| command(run))
}

/// pytest of the project's own environment, else of the user's, else the standard library's unittest.
fn command(run: &Run) -> String {
    const OWN: [&str; 2] = [".venv/bin/pytest", "venv/bin/pytest"];
    if let Some(own) = OWN.iter().find(|path| has(run, path)) {
        return (*own).to_owned();
    }
    let session = &run.ctx.session;
    if find_for_command("pytest", &search_path(&session.env)).is_some() {
        return "pytest".to_owned();
    }
    // Without the current folder on its path: a file pytest.py of the project would be run.
    let mut probe = ProgramSpec::new(
        "python3",
        ["-c", "import sys; sys.path.pop(0); import pytest"],
        command_env(&session.env),
    );
    probe.limit = Duration::from_secs(20);
    let has_module = probe.run(&run.ctx.stop).is_ok_and(|done| done.success());
    match has_module {
        true => "python3 -m pytest".to_owned(),
        false => unittest(run),
    }
}

/// The discovery of unittest enters packages alone, so it is begun in each folder of tests that is in none.
fn unittest(run: &Run) -> String {
    const DISCOVER: &str = "python3 -m unittest discover -v";
    let mut starts: BTreeMap<String, bool> = BTreeMap::new();
    for (folder, has_usual) in folders(run) {
        let mut start = folder.as_str();
        while !start.is_empty() && has(run, &format!("{start}/__init__.py")) {
            start = start.rsplit_once('/').map_or("", |(above, _)| above);
        }
        *starts.entry(start.to_owned()).or_default() |= has_usual;
    }
    let commands = starts.iter().filter_map(|(start, has_usual)| {
        let pattern = if *has_usual { "" } else { " -p '*_test.py'" };
        Some(match start.as_str() {
            "" => format!("{DISCOVER}{pattern}"),
            start => format!("{DISCOVER} -s {}{pattern}", shlex::try_quote(start).ok()?),
        })
    });
    let commands: Vec<String> = commands.collect();
    match commands.is_empty() {
        true => DISCOVER.to_owned(),
        false => commands.join(" && "),
    }
}

/// The folders in which tests are, and whether some are named as unittest looks for them.
fn folders(run: &Run) -> BTreeMap<String, bool> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    for path in files::paths(run.root(), &run.ctx.stop) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if is_test(name) {
            *found.entry(folder.to_owned()).or_default() |= name.starts_with("test");
        }
    }
    found
}

fn is_test(name: &str) -> bool {
    let stem = name.strip_suffix(".py");
    stem.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

fn has_usual_tests(run: &Run) -> bool {
    let in_folder = |folder: &RelPath| {
        let entries = run.root().list(folder).unwrap_or_default();
        entries.iter().any(|entry| is_test(&entry.name))
    };
    let below = ["tests", "test"].map(|folder| run.root().check(folder));
    let folders = below.into_iter().flatten();
    in_folder(&RelPath::here()) || folders.into_iter().any(|folder| in_folder(&folder))
}
