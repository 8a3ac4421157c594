//! Runs of the pipeline that stop where the user wants them to: after a phase, or until somebody approves.

use serde_json::Value;

use crate::pipeline_run::pipeline;
use crate::support::cost::Cost;
use crate::support::engineer::{self, PYTHON};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::words::TextAssertions;

fn of_pipeline(home: &Home, words: &[&str]) -> Done {
    home.marvin()
        .dir(&home.work())
        .arg("pipeline")
        .args(words.iter().copied())
        .run()
}

fn state(home: &Home) -> String {
    let found = of_pipeline(home, &["status", "--json"]).expect(0);
    let found: Value = serde_json::from_str(found.text()).unwrap();
    found["state"].as_str().unwrap().to_owned()
}

/// A folder in which the architecture is reviewed, and nothing after it is done.
fn designed(home: &Home) -> Repo {
    let repo = Repo::at(&home.work());
    for name in ["spec", "ux", "design"] {
        let text = "A line of the document.\n".repeat(50);
        repo.file(&format!(".marvin/{name}.md"), &text);
    }
    repo.file(".marvin/pipeline_state", "1b_review");
    repo.commit("designed");
    repo
}

/// A run whose model nobody serves.
fn offline(home: &Home) -> Marvin {
    home.marvin()
        .line("--non-interactive --design-first --provider openai-compat")
        .args(["--model", "all=m", "--prompt", "A to-do list"])
        .arg("--working-dir")
        .arg(home.work())
        .env("OPENAI_COMPAT_URL", "http://127.0.0.1:9/v1")
        .env("OPENAI_COMPAT_API_KEY", "k")
}

#[test]
fn a_run_stops_after_a_phase_with_status_0_and_says_how_to_go_on() {
    let home = Home::new();
    let (server, asked) = engineer::server(&PYTHON);
    let until = || pipeline(&home, &server, &home.work()).args(["--until", "1a"]);
    let done = until().run().expect(0);
    done.stdout_has(&[
        "Phase 1a is done, and the run was to stop after it. 1 of 11 phases are done.",
        "Read: .marvin/spec.md",
        "Read: .marvin/ux.md",
        // Its prompt has two lines, so the command is not shown.
        "Next: Run the same command again without --until.",
    ])
    .stdout_lacks(&["stopped in phase"]);
    let requests = asked.requests();
    assert_eq!(Cost::last_line(&done.errors()).llm_turns, requests as u64);
    assert_eq!(home.read("work/.marvin/pipeline_state"), "1a");
    assert_eq!(state(&home), "paused");
    of_pipeline(&home, &["status"])
        .expect(0)
        .stdout_has(&["Paused.", "was to stop after it"]);
    until().run().expect(0);
    assert_eq!(asked.requests(), requests, "nothing is paid twice");
}

#[test]
fn a_run_that_waits_for_approval_is_approved_once_from_anywhere() {
    let home = Home::new();
    designed(&home);
    let nothing = of_pipeline(&home, &["approve"]).expect(1);
    nothing.errors().assert_has(&["No run of the pipeline"]);
    let run = || offline(&home).args(["--approve", "spec,design"]);
    run().run().expect(0).stdout_has(&[
        "Phase 1b_review is done and waits for your approval (design).",
        "Read: .marvin/design.md",
        "Next: Go on, which approves it: marvin --non-interactive",
        "--approve 'spec,design'",
        "marvin pipeline approve design --working-dir",
    ]);
    assert_eq!(state(&home), "paused");
    // Whoever reads it may be anywhere.
    let dir = home.work().canonicalize().unwrap();
    let approve = format!(
        "marvin pipeline approve design --working-dir {}",
        dir.display()
    );
    of_pipeline(&home, &["status"])
        .expect(0)
        .stdout_has(&[&format!("Waits for your approval of design: {approve}\n")]);
    of_pipeline(&home, &["approve", "tests"])
        .expect(1)
        .errors()
        .assert_has(&["waits for the approval of design", &approve]);
    let until = offline(&home).args(["--until", "1b"]).run().expect(0);
    until
        .stdout_has(&["Next: Go on: marvin --non-interactive --design-first"])
        .stdout_lacks(&["--until"]);
    // A day after the run stopped to wait, from two terminals at once, and from a third.
    let after_a_day = |run: Marvin| run.env("MARVIN_NOW", "2100-01-02T03:04:05Z");
    let both = std::thread::scope(|scope| {
        let approve = || {
            let run = home.marvin().args(["pipeline", "approve", "design"]);
            after_a_day(run.arg("--working-dir").arg(home.work()))
                .run()
                .expect(0)
        };
        let other = scope.spawn(approve);
        [approve(), other.join().unwrap()]
    });
    for done in &both {
        done.stdout_has(&["design (phase 1b_review)", "approved"]);
    }
    of_pipeline(&home, &["approve", "design"])
        .expect(0)
        .stdout_has(&["was approved already"]);
    let record = home.read("work/.marvin/logs/pipeline-approvals.json");
    assert_eq!(record.matches("1b_review").count(), 1, "{record}");
    record.assert_has(&["\"2100-01-02T03:04:05"]);
    // The run goes on: to a model that nobody serves.
    let run = after_a_day(run()).spawn();
    run.wait_stderr("Phase 2a started", std::time::Duration::from_secs(30));
    run.signal(rustix::process::Signal::INT);
    // What stopped it does not stop what is said of it: commits have their ids.
    run.wait()
        .stdout_has(&["Branch: main\n", " Before the pipeline\n"])
        .stdout_lacks(&["- Before the pipeline"]);
}

#[test]
fn going_back_needs_a_phase_that_was_reached() {
    let home = Home::new();
    designed(&home);
    let done = offline(&home).args(["--from", "3"]).run().expect(1);
    done.errors()
        .assert_has(&["has not come to phase 3", "1b_review"]);
    assert_eq!(home.read("work/.marvin/pipeline_state"), "1b_review");
    for (flag, value) in [("--until", "3"), ("--from", "3"), ("--approve", "design")] {
        let done = home.marvin().args([flag, value, "--prompt", "x"]).run();
        done.expect(1)
            .errors()
            .assert_has(&[flag, "--design-first"]);
    }
}
