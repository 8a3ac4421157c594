//! The reply flow from the outside: whole conversations with a model that plays a script, and the probes.

use std::path::Path;

use crate::support::reply_case;
use crate::support::shared::shared;

#[test]
fn the_flow_passes_the_acceptance_cases() {
    let Some(shared) = shared("the_flow_passes_the_acceptance_cases") else {
        return;
    };
    reply_case::all(&reply_case::read(
        &shared.join("contract/reply-flow-cases.json"),
    ));
}

#[test]
fn the_flow_passes_the_project_s_own_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reply");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let cases: Vec<_> = files
        .iter()
        .flat_map(|file| reply_case::read(file))
        .collect();
    reply_case::all(&cases);
}
