//! Which server of which file a command changes.

use std::path::Path;

use super::{unknown_flag, usage};
use crate::app::settings::Settings;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::one_line;
use crate::mcp::config::configured::Source;
use crate::mcp::config::files::ServerFile;

/// Words of `remove`, `enable` and `disable`: a name, and whose file it stands in.
pub(super) fn read<'a>(
    command: &str,
    words: &'a [String],
    settings: &Settings,
) -> Outcome<(ServerFile, &'a str)> {
    let mut is_of_project = false;
    let mut names = Vec::new();
    for word in words {
        match word.as_str() {
            "--project" => is_of_project = true,
            flag if flag.starts_with("--") && flag.len() > 2 => {
                return Err(unknown_flag(command, flag, &["--project"]));
            }
            "--" => {}
            name => names.push(name),
        }
    }
    let [name] = names.as_slice() else {
        return Err(usage(command, "It needs the name of one server."));
    };
    Ok((file(is_of_project, settings)?, name))
}

/// The user's file, or the project's.
pub(super) fn file(is_of_project: bool, settings: &Settings) -> Outcome<ServerFile> {
    match folder(settings).filter(|_| is_of_project) {
        Some(folder) => Ok(ServerFile::of_project(folder)),
        None => ServerFile::of_user(&settings.env),
    }
}

/// Where the project is looked for.
pub(super) fn folder(settings: &Settings) -> Option<&Path> {
    let current = settings.process.current.as_deref();
    settings.working_dir.as_deref().or(current)
}

/// The problem of a name that the file does not have, unless the other file has it, which is then named with the command for it.
pub(super) fn or_elsewhere(
    problem: Problem,
    command: &str,
    (file, name): (&ServerFile, &str),
    settings: &Settings,
) -> Problem {
    let other = match file.source {
        Source::Project => ServerFile::of_user(&settings.env).ok(),
        Source::User | Source::Client => folder(settings).map(ServerFile::of_project),
    };
    let has_it = |other: &ServerFile| {
        let servers = other.read().unwrap_or_default();
        servers.iter().any(|server| server.name == name)
    };
    match other.filter(|other| problem.kind == ProblemKind::Missing && has_it(other)) {
        Some(other) => {
            let whose = match other.source {
                Source::Project => " --project",
                Source::User | Source::Client => "",
            };
            let quoted = shlex::try_quote(name).unwrap_or_default();
            Problem::missing(format!(
                "\"{}\" stands in {}, not in {}.",
                one_line(name),
                other.path.display(),
                file.path.display()
            ))
            .next(format!("Run: marvin mcp {command} {quoted}{whose}"))
        }
        None => problem,
    }
}
