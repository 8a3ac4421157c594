//! The output of `profiles`, `saved` and `/model`.

use std::fmt::Write as _;

use crate::app::profile;
use crate::base::text::plural;
use crate::llm::catalog::ROWS;
use crate::llm::copilot::{self, availability};
use crate::llm::{choose, offline};
use crate::store::places::SavedPlaces;
use crate::tools::engine::context::SessionContext;

/// The profiles, the active one marked.
pub(super) fn profiles(context: &SessionContext) -> String {
    let active = context.profile();
    let mut out = String::new();
    for listed in profile::list(&context.paths, &context.clock, &active) {
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
    out.push_str("\n/profile NAME switches to another one, and creates it if it is new.\n");
    out
}

/// The saved places of the active profile.
pub(super) fn places(context: &SessionContext) -> String {
    let read = context
        .paths
        .profile(&context.profile())
        .and_then(|profile| SavedPlaces::of(&profile, &context.clock).read());
    let places = match read {
        Ok(places) => places,
        Err(problem) => return problem.one_line(),
    };
    let mut out = String::new();
    for place in &places {
        let facts: Vec<&str> = [
            &place.name,
            &place.address,
            &place.phone,
            &place.website,
            &place.notes,
        ]
        .into_iter()
        .map(String::as_str)
        .filter(|fact| !fact.is_empty())
        .collect();
        let _ = writeln!(out, "{:<16} {}", place.label, facts.join(", "));
    }
    if out.is_empty() {
        out.push_str("No places are saved. Say what to remember: \"save my office, Main Street 5, as work\".\n");
    }
    out
}

/// The current provider and model, and the others that are available.
pub(super) fn models(context: &SessionContext, current: &str) -> String {
    let mut out = format!("{current}\n\n");
    let state = match availability::is_installed(&context.env) {
        true => "its CLI is installed",
        false => "npm install -g @github/copilot",
    };
    let model = copilot::model(&context.env);
    let _ = writeln!(out, "{:<14} {:<28} {state}", copilot::NAME, model);
    for row in ROWS {
        let remote = choose::remote(&context.env, row);
        let state = match row.key {
            Some(_) if remote.key.is_some() => "ready".to_owned(),
            Some(variable) => format!("set {variable}"),
            None => format!("at {}", remote.base),
        };
        let model = choose::model(&context.env, row);
        let _ = writeln!(out, "{:<14} {:<28} {state}", row.name, model);
    }
    let _ = writeln!(out, "{:<14} {:<28} ready", offline::NAME, "no model");
    out.push_str(
        "\n/model PROVIDER, /model MODEL or /model PROVIDER MODEL changes it for this session.\n",
    );
    out
}
