//! Features, with the real binary: one beside the other, followed and approved by name. `pipeline_worktrees` has one from its beginning to its merge.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use super::pipeline_run::pipeline;
use crate::support::engineer::{self, PYTHON, Role};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::server::Answer;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// `marvin pipeline …` in `dir`.
fn said(home: &Home, dir: &Path, words: &[&str]) -> String {
    let run = home.marvin().dir(dir).arg("pipeline");
    let run = run.args(words.iter().copied());
    run.run().expect(0).text().to_owned()
}

fn refused(home: &Home, dir: &Path, words: &[&str]) -> String {
    let run = home.marvin().dir(dir).args(words.iter().copied());
    run.run().expect(1).errors().to_owned()
}

fn project(home: &Home) -> Repo {
    let repo = Repo::at(&home.path().join("words"));
    repo.file("notes.txt", "of the user\n").commit("first");
    repo
}

/// The folder of the worktree `name`.
fn worktree(home: &Home, name: &str) -> std::path::PathBuf {
    let above = home.path().join(".local/share/marvin/worktrees");
    let repository = fs::read_dir(above).unwrap().next().unwrap().unwrap();
    repository.path().join(name).join("words")
}

#[test]
fn a_feature_reads_what_another_one_has_written_before_it_is_merged() {
    let home = Home::new();
    let copy = ".marvin/logs/002-second/upstream/specs/001-first/spec.md";
    let read = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&read);
    let (server, _) = engineer::server_with(&PYTHON, move |request, role, step| {
        let body = request.json().to_string();
        let is_second = role == Role::SpecWriter && body.contains("to `specs/002-second/spec.md`");
        match (is_second, step) {
            (true, 0) => Some(Answer::sse(openai::call(
                "",
                "read_file",
                json!({"path": copy}),
            ))),
            (true, 1) => {
                *seen.lock().unwrap() = body;
                Some(Answer::sse(openai::call(
                    "",
                    "create_file",
                    json!({"path": "specs/002-second/spec.md", "content": "A line.\n".repeat(200)}),
                )))
            }
            _ => None,
        }
    });
    let repo = project(&home);
    for name in ["first", "second"] {
        pipeline(&home, &server, repo.path())
            .args(["--feature", name, "--until", "1a"])
            .run()
            .expect(0);
    }
    let read = read.lock().unwrap();
    read.assert_has(&[copy, "The program counts words. It says so"]);
    // A copy is in no commit.
    let tree = worktree(&home, "002-second");
    let listed = repo.git(&["ls-tree", "-r", "--name-only", "marvin/002-second"]);
    listed.assert_has(&["specs/002-second/spec.md"]);
    listed.assert_lacks(&["001-first"]);
    assert!(tree.join(copy).is_file());
}

#[test]
fn features_in_one_folder_take_turns_and_wait_for_approval_by_name() {
    let home = Home::new();
    let (server, _) = engineer::server(&PYTHON);
    let dir = home.path().join("words");
    fs::create_dir(&dir).unwrap();
    let run = |name: &str, words: &[&str]| {
        pipeline(&home, &server, &dir)
            .args(["--in-place", "--feature", name])
            .args(words.iter().copied())
            .run()
            .expect(0)
    };
    let waits = run("one", &["--approve", "spec"]);
    waits.stdout_has(&[
        "specs/001-one/spec.md",
        "marvin pipeline approve spec --feature 001-one --working-dir",
    ]);
    run("two", &["--until", "1a"]);
    for (name, state) in [("one", "1a_review"), ("two", "1a")] {
        let number = if name == "one" { "001" } else { "002" };
        let file = dir.join(format!("specs/{number}-{name}/pipeline_state"));
        assert_eq!(fs::read_to_string(file).unwrap(), state);
        said(&home, &dir, &["status", "--feature", name]).assert_has(&[
            "Paused.",
            &format!("Feature: {number}-{name}\n"),
            &format!("Recorded as done: {state}\n"),
        ]);
        let log = said(&home, &dir, &["log", "1a", "--feature", name]);
        log.assert_has(&[&format!(".marvin/logs/{number}-{name}/spec-writer-")]);
    }
    said(&home, &dir, &["approve", "--feature", "one"])
        .assert_has(&["spec (phase 1a_review) is approved"]);
    let problem = refused(&home, &dir, &["pipeline", "approve", "--feature", "two"]);
    problem.assert_has(&["No run waits for an approval here"]);
    let both = said(&home, &dir, &["status"]);
    both.assert_has(&["Feature: 001-one\n", "Feature: 002-two\n"]);
    run("one", &["--approve", "spec", "--until", "1b"]);
    // Going back is for one feature.
    run("one", &["--from", "1b", "--until", "1b"]).stderr_has(&["Done again from phase 1b on"]);
    let state = fs::read_to_string(dir.join("specs/002-two/pipeline_state")).unwrap();
    assert_eq!(state, "1a");
}

#[test]
fn of_several_features_the_one_that_is_not_done_is_meant() {
    let home = Home::new();
    let repo = project(&home);
    let event = |words: String| format!("{{\"ts\":\"2026-11-22T12:00:00Z\",{words}}}\n");
    let feature = |name: &str, state: &str, finished: bool| {
        let of_log = |file: &str| format!(".marvin/logs/{name}/{file}");
        repo.file(&format!("specs/{name}/pipeline_state"), state);
        repo.file(
            &format!("specs/{name}/pipeline_task"),
            format!("Task {name}\n"),
        );
        let record = json!({"task": format!("Task {name}"), "ticket": "w-1", "finished": finished});
        repo.file(&of_log("pipeline.json"), record.to_string());
        let started = json!({"kind": "run_started", "task": format!("Task {name}"), "ticket": "w-1", "tiers": [], "phases": [], "resumed": false});
        let ended = match finished {
            true => json!({"kind": "run_ended", "done": true, "words": "Every phase is done."}),
            false => json!({"kind": "run_paused", "phase": "1b_review", "words": "It waits."}),
        };
        let events =
            [started, ended].map(|one| event(one.to_string().trim_matches(['{', '}']).to_owned()));
        repo.file(&of_log("pipeline-events.jsonl"), events.concat());
    };
    feature("001-one", "5", true);
    feature("002-two", "1b_review", false);
    feature("003-three", "5", true);
    let waits = json!({"waiting": "1b_review", "approved": []}).to_string();
    repo.file(".marvin/logs/002-two/pipeline-approvals.json", &waits);
    let dir = repo.path();
    let status = said(&home, dir, &["status"]);
    assert!(
        status.starts_with("Paused.") && status.contains("\nDone."),
        "{status}"
    );
    let approve = format!(
        "marvin pipeline approve design --feature 002-two --working-dir {}",
        dir.display()
    );
    status.assert_has(&[&approve, "Feature: 003-three"]);
    status.assert_lacks(&["001-one"]);
    said(&home, dir, &["report"]).assert_has(&["Task: Task 002-two"]);
    // Of two that wait neither is meant, and each has its command.
    repo.file(".marvin/logs/003-three/pipeline-approvals.json", &waits);
    let several = home.marvin().dir(dir).args(["pipeline", "approve"]).run();
    several.expect(1).stderr_has(&[&approve, "003-three"]);
    fs::remove_file(dir.join(".marvin/logs/003-three/pipeline-approvals.json")).unwrap();
    said(&home, dir, &["approve"]).assert_has(&[
        "design (phase 1b_review) is approved",
        "for: Task 002-two. Run",
    ]);
    // One that runs is what `status` means, and not what waits.
    repo.file(".marvin/logs/002-two/pipeline-approvals.json", &waits);
    repo.file(".marvin/logs/pipeline.lock", "4242424   \n");
    let lock = fs::File::open(dir.join(".marvin/logs/pipeline.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    said(&home, dir, &["status"]).assert_has(&["Running, process 4242424."]);
    said(&home, dir, &["approve"]).assert_has(&["design (phase 1b_review) is approved"]);
    drop(lock);
    // When all are done the newest is meant; another task is of none of them.
    feature("002-two", "5", true);
    feature("003-three", "5", true);
    said(&home, dir, &["report"]).assert_has(&["Task: Task 003-three"]);
    fs::remove_dir_all(dir.join(".marvin/logs")).unwrap();
    said(&home, dir, &["status"]).assert_has(&[
        "Task: Task 003-three",
        "Note: The run's own records are not here",
    ]);
    said(&home, dir, &["report"])
        .assert_has(&["Task: Task 003-three", "End: Every phase is done."]);
    let plan = |task: &str| {
        let run = home.marvin().dir(dir).args([
            "pipeline",
            "plan",
            "--prompt",
            task,
            "--provider",
            "openai",
        ]);
        run.env("OPENAI_API_KEY", "k")
            .run()
            .expect(0)
            .text()
            .to_owned()
    };
    plan("Task 003-three").assert_has(&["specification and user experience: done"]);
    plan("A game").assert_lacks(&["done"]);
}

#[test]
fn a_name_that_is_none_is_refused_with_what_is_allowed() {
    let home = Home::new();
    let repo = project(&home);
    let dir = repo.path().to_str().unwrap();
    for name in ["user login", "../x", "größe", "-x", "", "a/b"] {
        let flag = format!("--feature={name}");
        let run = [
            "--design-first",
            "--working-dir",
            dir,
            &flag,
            "--prompt",
            "x",
        ];
        refused(&home, repo.path(), &run)
            .assert_has(&["letters (a to z), digits and hyphens between them"]);
        refused(&home, repo.path(), &["pipeline", "status", &flag])
            .assert_has(&["cannot be the name of a feature"]);
    }
    refused(
        &home,
        repo.path(),
        &["--feature", "x", "--non-interactive", "hello"],
    )
    .assert_has(&["--feature is only for the pipeline"]);
    refused(
        &home,
        repo.path(),
        &["pipeline", "report", "--feature", "login"],
    )
    .assert_has(&["There is no feature login", "No feature was begun here"]);
    let unnamed = [
        "--design-first",
        "--provider",
        "ollama",
        "--working-dir",
        dir,
        "--feature",
        "login",
    ];
    refused(&home, repo.path(), &unnamed).assert_has(&["There is no feature login", "--prompt"]);
    assert!(!repo.path().join("specs").exists() && !repo.path().join(".marvin").exists());
}
