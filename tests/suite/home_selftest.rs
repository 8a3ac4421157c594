//! The child runner, the cost line and the repository fixture are tested with small shell programs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use crate::support::cost::Cost;
use crate::support::run::Marvin;
use crate::support::words::TextAssertions;

const SOON: Duration = Duration::from_secs(5);

fn sh(script: &str) -> Marvin {
    Marvin::new(Path::new("/bin/sh"))
        .args(["-c", script])
        .limit(SOON)
}

#[test]
fn the_environment_holds_nothing_that_was_not_given() {
    let output = sh("env").env("GIVEN", "1").run().expect(0);
    let mut names: Vec<_> = output
        .text()
        .lines()
        .filter_map(|l| l.split_once('='))
        .map(|(n, _)| n)
        .collect();
    names.retain(|n| !["PWD", "SHLVL", "_", "OLDPWD"].contains(n)); // The shell's own.
    names.sort_unstable();
    // The machine's own Copilot is kept out.
    assert_eq!(names, ["GIVEN", "MARVIN_COPILOT_CLI", "PATH"]);
}

#[test]
fn an_endless_run_and_a_leftover_child_fail_the_test() {
    let endless = catch_unwind(|| {
        sh("echo $$; sleep 1000")
            .limit(Duration::from_millis(300))
            .run()
    });
    (*endless.err().unwrap().downcast::<String>().unwrap()).assert_has(&["did not end"]);
    let orphan = catch_unwind(|| sh("sleep 1000 & exit 0").run());
    assert!(orphan.is_err());
}

#[test]
fn the_cost_line_must_be_last_and_whole() {
    let good = "noise\nMARVIN_COST:{\"session_cost\":0.5,\"llm_turns\":2,\"model_turns\":{\"m\":2},\"model_cost\":{},\"input_tokens\":1,\"cached_tokens\":0,\"written_tokens\":0,\"reasoning_tokens\":0,\"output_tokens\":1,\"estimated\":false}\n";
    let cost = Cost::last_line(good);
    assert_eq!(
        (cost.session_cost, cost.llm_turns, cost.model_cost.len()),
        (0.5, 2, 0)
    );
    for bad in [
        String::new(),
        format!("{good}later\n"),
        format!("{good}{good}"),
        good.replace("0.5,", "0.5,\"x\":1,"),
        good.replace(",\"estimated\":false", ""),
        good.replace("{\"session_cost\":0.5,", "{")
            .replace("{},\"input", "{},\"session_cost\":0.5,\"input"),
        good.trim_end().to_owned(),
    ] {
        assert!(
            catch_unwind(AssertUnwindSafe(|| Cost::last_line(&bad))).is_err(),
            "{bad}"
        );
    }
}
