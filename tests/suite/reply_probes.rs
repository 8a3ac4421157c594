//! The parts of the reply flow that need no model, each on its own: `marvin debug reply`.

use std::path::Path;

use serde_json::Value;

use crate::support::home::Home;
use crate::support::reply_case;
use crate::support::shared::shared;

fn probes(file: &Path) -> Vec<Value> {
    let mut cases = reply_case::read(file);
    cases.retain(|case| case["kind"] == "probe");
    assert!(!cases.is_empty(), "{}", file.display());
    cases
}

#[test]
fn every_part_passes_the_acceptance_probes() {
    let Some(shared) = shared("every_part_passes_the_acceptance_probes") else {
        return;
    };
    reply_case::all(&probes(&shared.join("contract/reply-flow-cases.json")));
}

#[test]
fn every_part_passes_the_project_s_own_probes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reply");
    reply_case::all(&probes(&folder.join("probes.json")));
}

#[test]
fn a_probe_that_does_not_exist_is_an_error_that_names_the_others() {
    let home = Home::new();
    for words in [
        &["debug"][..],
        &["debug", "reply"],
        &["debug", "reply", "sing"],
        &["debug", "reply", "size"],
    ] {
        let done = home.marvin().args(words.iter().copied()).stdin("x").run();
        let done = done.expect(1);
        done.stderr_has(&["malformed, plan"]);
        assert_eq!(done.text(), "");
    }
    let done = home.marvin().args(["debug", "reply", "step", "none.json"]);
    done.stdin("x").fails(&["none.json"]);
    let done = home.marvin().args(["debug", "reply", "gate"]);
    done.stdin("x").fails(&["not JSON"]);
}

#[test]
fn a_probe_takes_a_megabyte_and_bytes_that_are_no_text() {
    let home = Home::new();
    let large = "語 word, 12 ".repeat(80_000);
    for part in [
        "redact",
        "scrub",
        "speech",
        "malformed",
        "plan",
        "fact",
        "split",
    ] {
        for input in [large.as_bytes(), b"\xff\xfe\x00\x1b[2J", b""] {
            let done = home.marvin().args(["debug", "reply", part]);
            done.stdin(input).run().expect(0);
        }
    }
    let done = home
        .marvin()
        .args(["debug", "reply", "redact"])
        .stdin(large);
    assert_eq!(done.run().expect(0).text().chars().count(), 8_000);
}

#[test]
fn the_probes_are_in_neither_help_nor_completions() {
    let home = Home::new();
    for words in [&["--help"][..], &["man"], &["completions", "bash"]] {
        let done = home.marvin().args(words.iter().copied()).run().expect(0);
        assert!(!done.text().contains("debug reply"), "{words:?}");
        assert!(!done.text().contains("reply flow on"), "{words:?}");
    }
}
