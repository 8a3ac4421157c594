//! The output of `profiles`, `saved` and `!model`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::app::profile;
use crate::base::text::plural;
use crate::disk::atomic;
use crate::llm::catalog::ROWS;
use crate::llm::{choose, offline};
use crate::tools::engine::context::SessionContext;

/// Most bytes of the places' file that are read.
const MAX_PLACES_BYTES: u64 = 16 << 20;

/// The profiles, the active one marked.
pub(super) fn profiles(world: &SessionContext) -> String {
    let active = world.profile();
    let mut out = String::new();
    for listed in profile::list(&world.paths, &active) {
        let mark = if listed.active { '*' } else { ' ' };
        let log = match listed.log_bytes {
            0 => "no conversation yet".to_owned(),
            bytes => format!("conversation of {} KB", bytes.div_ceil(1024)),
        };
        let _ = writeln!(
            out,
            "{mark} {:<16} {}, {log}",
            listed.name,
            plural(listed.places, "place"),
        );
    }
    if out.is_empty() {
        let _ = writeln!(out, "* {active:<16} nothing saved yet");
    }
    out.push_str("\n!profile NAME switches to another one, and creates it if it is new.\n");
    out
}

/// The saved places of the active profile.
pub(super) fn places(world: &SessionContext) -> String {
    let file = world
        .paths
        .profile(&world.profile())
        .map(|profile| profile.saved_places());
    let read = file.and_then(|path| atomic::read(&path, MAX_PLACES_BYTES));
    let places: Vec<Value> = match read {
        Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Ok(None) => Vec::new(),
        Err(problem) => return problem.one_line(),
    };
    let mut out = String::new();
    for place in &places {
        let text = |key: &str| place.get(key).and_then(Value::as_str).unwrap_or_default();
        let facts: Vec<&str> = ["name", "address", "phone", "website", "notes"]
            .into_iter()
            .map(text)
            .filter(|fact| !fact.is_empty())
            .collect();
        let _ = writeln!(out, "{:<16} {}", text("label"), facts.join(", "));
    }
    if out.is_empty() {
        out.push_str("No places are saved. Say what to remember: \"save my office, Main Street 5, as work\".\n");
    }
    out
}

/// The current provider and model, and the available ones.
pub(super) fn models(world: &SessionContext, now: &str) -> String {
    let mut out = format!("{now}\n\n");
    for row in ROWS {
        let remote = choose::remote(&world.env, row);
        let state = match row.key {
            Some(_) if remote.key.is_some() => "ready".to_owned(),
            Some(variable) => format!("set {variable}"),
            None => format!("at {}", remote.base),
        };
        let model = choose::model(&world.env, row);
        let _ = writeln!(out, "{:<14} {:<28} {state}", row.name, model);
    }
    let _ = writeln!(out, "{:<14} {:<28} ready", offline::NAME, "no model");
    out.push_str(
        "\n!model PROVIDER, !model MODEL or !model PROVIDER MODEL changes it for this session.\n",
    );
    out
}
