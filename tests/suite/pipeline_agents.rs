//! `launch_agent` with the phases of the pipeline: a model has a ticket done by documents, tests and reviews.

use std::time::Duration;

use serde_json::{Value, json};

use super::agents::{result, ticket};
use super::pipeline_run::{is_installed, with_tool_chains};
use crate::support::engineer::{self, PYTHON, Role};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::Done;
use crate::support::server::{Answer, Request};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const TASK: &str = "A program that counts the words of a file.";

/// A project with a ticket, committed.
fn project() -> (Home, Repo) {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("notes.txt", "of the user\n").commit("First");
    ticket(&home, "job-1", "open", "");
    (home, repo)
}

/// A model that launches an agent with these switches, and then does whatever the phases ask it to.
fn launched(
    home: &Home,
    switches: &'static [&'static str],
) -> (
    Done,
    crate::support::server::Server,
    std::sync::Arc<engineer::Asked>,
) {
    let parent = move |_: &Request, role: Role, step: usize| {
        if role != Role::Other {
            return None;
        }
        let mut args = json!({"ticket_id": "job-1", "prompt": TASK});
        for switch in switches {
            args[*switch] = Value::Bool(true);
        }
        Some(Answer::sse(match step {
            0 => openai::call("p1", "launch_agent", args),
            _ => openai::text(&["Launched."]),
        }))
    };
    let (server, asked) = engineer::server_with(&PYTHON, parent);
    let run = home.ask(&server.url("/v1"), "have it done");
    let run = run.arg("--working-dir").arg(home.work());
    let done = with_tool_chains(run).limit(Duration::from_secs(240)).run();
    (done, server, asked)
}

#[test]
fn an_agent_with_design_first_designs_reviews_and_builds() {
    let (home, repo) = project();
    let (done, server, asked) = launched(&home, &["design_first"]);
    let done = done.expect(0);
    let told = result(&server, "p1");
    assert!(told.starts_with("Ticket: job-1\nTier: codex ("), "{told}");
    for phase in ["1a", "1a_review", "1b", "1b_review", "3"] {
        told.assert_has_for(&phase, &[&format!("\n{phase}: done in ")]);
    }
    for phase in ["2a", "2b", "4a", "5"] {
        assert!(!told.contains(&format!("\n{phase}: ")), "{phase}: {told}");
    }
    assert_eq!(home.read("work/.marvin/pipeline_state"), "3");
    for (role, times) in [
        (Role::SpecWriter, 1),
        (Role::FirstReviewer, 12),
        (Role::Implementer, 1),
        (Role::FunctionalTests, 0),
        (Role::Debugger, 0),
    ] {
        assert_eq!(asked.begun(role), times, "{role:?}");
    }
    assert!(home.has("work/wordcount.py"));
    home.read("work/.tickets/job-1.md")
        .assert_has(&["status: closed"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(done.cost().llm_turns, asked.requests() as u64);
}

#[test]
fn an_agent_with_tdd_starts_from_the_design_and_ends_with_green_tests() {
    if !is_installed("python3") {
        return;
    }
    let (home, repo) = project();
    let design = "One module with one function, and a program around it.\n".repeat(30);
    home.write("work/.marvin/design.md", &design);
    let (done, server, asked) = launched(&home, &["tdd"]);
    let done = done.expect(0);
    let told = result(&server, "p1");
    for phase in ["2a", "2b", "3", "4a", "4b", "5"] {
        told.assert_has_for(&phase, &[&format!("\n{phase}: done in ")]);
    }
    told.assert_has(&["\n4c: skipped."]);
    for (role, times) in [
        (Role::SpecWriter, 0),
        (Role::DesignWriter, 0),
        (Role::FirstReviewer, 0),
        (Role::FunctionalTests, 1),
        (Role::IntegrationTests, 1),
        (Role::Implementer, 1),
        (Role::Debugger, 1),
        (Role::QualityTester, 2),
    ] {
        assert_eq!(asked.begun(role), times, "{role:?}");
    }
    assert_eq!(home.read("work/.marvin/pipeline_state"), "5");
    assert_eq!(home.read("work/.marvin/design.md"), design);
    home.read("work/.tickets/job-1.md")
        .assert_has(&["status: closed"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(done.cost().llm_turns, asked.requests() as u64);
}
