//! The output of `profiles` and `saved`.

use std::fmt::Write as _;

use crate::app::profile;
use crate::base::text::plural;
use crate::store::places::SavedPlaces;
use crate::tools::engine::context::SessionContext;

/// The profiles, the active one marked.
pub(in crate::app::session) fn profiles(context: &SessionContext) -> String {
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
pub(in crate::app::session) fn places(context: &SessionContext) -> String {
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
