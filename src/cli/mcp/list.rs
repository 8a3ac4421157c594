//! `marvin mcp list`: which servers there are. None is started for it.

use serde_json::{Value, json};

use super::{target, unknown_flag};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::cli::out::{print, print_words};
use crate::mcp::config::configured::{ConfiguredServer, Kind, Source};
use crate::mcp::config::expand::Variables;
use crate::mcp::config::files;

/// Characters of a command line that are shown.
const MAX_TARGET: usize = 100;

/// `marvin mcp list [--json]`.
pub(super) fn run(words: &[String], settings: Settings) -> Outcome<u8> {
    let is_json = match words {
        [] => false,
        [flag] if flag == "--json" => true,
        [other, ..] => return Err(unknown_flag("list", other, &["--json"])),
    };
    let (servers, faults) = files::read_all(&settings.env, target::folder(&settings));
    faults.iter().for_each(|fault| say(&fault.one_line()));
    let failed = u8::from(!faults.is_empty());
    let variables = Variables {
        env: &settings.env,
        folder: target::folder(&settings),
        is_literal: false,
    };
    if is_json {
        let list: Vec<Value> = servers
            .iter()
            .map(|server| as_json(server, variables))
            .collect();
        let text = serde_json::to_string_pretty(&list)
            .map_err(|error| Problem::internal("The list cannot be written.").because(error))?;
        print_words(&format!("{text}\n"))?;
        return Ok(failed);
    }
    if servers.is_empty() && faults.is_empty() {
        print("There are no servers. marvin mcp add NAME COMMAND ARGS… adds one.\n")?;
    }
    let shown = |server: &ConfiguredServer| one_line(&clip(&server.name, 40));
    let width = servers.iter().map(|server| shown(server).chars().count());
    let width = width.max().unwrap_or_default();
    for server in &servers {
        let kind = server.kind().map_or("?", Kind::word);
        let mut line = format!(
            "{:width$}  {:7}  {kind:5}  {}",
            shown(server),
            server.source.word(),
            clip(&server.target(), MAX_TARGET)
        );
        if server.is_disabled() {
            line.push_str("  (disabled)");
        }
        let (problem, notices) = faults_of(server, variables);
        if let Some(problem) = problem {
            line.push_str(&format!("  (broken: {problem})"));
        }
        print_words(&format!("{}\n", line.trim_end()))?;
        for notice in notices {
            say(&format!("{}: {notice}", shown(server)));
        }
    }
    Ok(failed)
}

/// Why a server could not be started as it is, and what was understood in another way than it may be meant.
fn faults_of(server: &ConfiguredServer, variables: Variables<'_>) -> (Option<String>, Vec<String>) {
    let read = match server.source {
        Source::User | Source::Client => server.resolve(variables).map(|(_, notices)| notices),
        // Nothing of a project's is expanded before the user agreed to it.
        Source::Project => server.check().map(|()| Vec::new()),
    };
    let mut notices = Vec::new();
    if let Some(key) = server.ignored_consent() {
        notices.push(format!(
            "{key} is ignored: Marvin asks about calls itself (marvin help permissions)."
        ));
    }
    match read {
        Ok(own) => {
            notices.extend(own);
            (None, notices)
        }
        Err(problem) => (Some(problem.one_line()), notices),
    }
}

fn as_json(server: &ConfiguredServer, variables: Variables<'_>) -> Value {
    let (problem, notices) = faults_of(server, variables);
    json!({
        "name": server.name,
        "source": server.source.word(),
        "type": server.kind().ok().map(Kind::word),
        "target": server.target(),
        "variables": server.variables(),
        "envFile": server.entry.get("envFile"),
        "cwd": server.entry.get("cwd"),
        "disabled": server.is_disabled(),
        "problem": problem,
        "notices": notices,
    })
}
