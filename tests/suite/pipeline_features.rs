//! Features, with the real binary: one after the other in a repository, continued by name, and followed, approved, reported and merged by it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::pipeline_run::{is_installed, pipeline, unprompted};
use crate::support::engineer::{self, PYTHON, Role};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::server::{Answer, Server};
use crate::support::wait::until_within;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(90);

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
    repo.file("notes.txt", "of the user\n")
        .file(".gitignore", "__pycache__/\n")
        .commit("first");
    repo
}

/// The folder of the worktree `name`.
fn worktree(home: &Home, name: &str) -> std::path::PathBuf {
    let above = home.path().join(".local/share/marvin/worktrees");
    let repository = fs::read_dir(above).unwrap().next().unwrap().unwrap();
    repository.path().join(name).join("words")
}

/// A model that builds the program, and the whole prompts of the writers of specifications.
fn server() -> (Server, Arc<engineer::Asked>, Arc<Mutex<Vec<String>>>) {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&prompts);
    let (server, asked) = engineer::server_with(&PYTHON, move |request, role, step| {
        if role == Role::SpecWriter && step == 0 {
            seen.lock().unwrap().push(request.json().to_string());
        }
        None
    });
    (server, asked, prompts)
}

#[test]
fn a_killed_feature_goes_on_by_its_name_and_the_next_one_reads_its_documents() {
    if !is_installed("python3") {
        return;
    }
    let home = Home::new();
    let (server, asked, prompts) = server();
    let repo = project(&home);
    let dir = repo.path();
    let mut run = pipeline(&home, &server, dir)
        .args(["--feature", "count"])
        .spawn();
    until_within(LONG, "the design is being written", || {
        asked.begun(Role::DesignWriter) > 0
    });
    run.signal(Signal::KILL);
    assert!(run.ends_within(LONG));
    said(&home, dir, &["status", "--feature", "count"])
        .assert_has(&["Dead: its process is gone", "Feature: 001-count\n"]);
    said(
        &home,
        dir,
        &["plan", "--feature", "count", "--provider", "ollama"],
    )
    .assert_has(&[
        "Task: A program that counts the words of a file.",
        "specification and user experience: done\n  1a_review  review of both: done\n",
    ]);
    // Another task under its name would mix two programs.
    let other = unprompted(&home, &server, dir)
        .args(["--feature", "count", "--prompt", "Something else"])
        .run()
        .expect(1);
    other.stderr_has(&[
        "The feature 001-count is for another task",
        "--feature NAME",
    ]);
    // In the folder itself it would begin again, under another number.
    for elsewhere in [&["--in-place"][..], &["--branch", "own"]] {
        let again = unprompted(&home, &server, dir)
            .args(["--feature", "count"])
            .args(elsewhere.iter().copied())
            .run()
            .expect(1);
        again.stderr_has(&[
            "The feature 001-count was begun in a worktree",
            "The same command without --in-place and --branch goes on there.",
        ]);
    }
    // By its name alone it goes on, with the task that it was begun with.
    let done = unprompted(&home, &server, dir)
        .args(["--feature", "count"])
        .run()
        .expect(0);
    let tree = worktree(&home, "001-count");
    done.stderr_has(&[&format!("Goes on in {}", tree.display())]);
    done.stdout_has(&[
        "Branch: marvin/001-count\n",
        "specs/001-count/spec.md",
        "marvin pipeline merge 001-count",
    ]);
    assert_eq!(
        asked.begun(Role::SpecWriter),
        1,
        "what is done is not done again"
    );
    let state = fs::read_to_string(tree.join("specs/001-count/pipeline_state")).unwrap();
    assert_eq!(state, "5");
    assert!(
        !tree.join(".marvin/spec.md").exists() && !tree.join(".marvin/pipeline_state").exists()
    );
    said(&home, dir, &["report", "--feature", "count"])
        .assert_has(&["A program that counts the words of a file."]);
    let report: Value = serde_json::from_str(&said(
        &home,
        dir,
        &["report", "--feature", "count", "--json"],
    ))
    .unwrap();
    assert!(report["done"].as_bool().unwrap(), "{report}");
    assert!(
        !report["findings"].as_array().unwrap().is_empty(),
        "{report}"
    );
    said(&home, dir, &["merge", "count"]).assert_has(&["marvin/001-count", "is in main now"]);
    let tests = repo.read("specs/001-count/tests.md");
    tests.assert_has(&["- `test_program.py`\n", "- `test_wordcount.py`\n"]);
    tests.assert_lacks(&["spec.md", "wordcount.py`\n- `wordcount"]);
    // It is known in the folder itself from now on, and nothing is left to do.
    said(&home, dir, &["status"]).assert_has(&["Done.", "Feature: 001-count\n"]);
    let requests = asked.requests();
    let again = unprompted(&home, &server, dir).args(["--feature", "count"]);
    again.run().expect(0).stdout_has(&["The pipeline is done"]);
    assert_eq!(asked.requests(), requests);
    // The next one.
    let next = unprompted(&home, &server, dir)
        .args(["--feature", "lines", "--prompt", "Count lines, too."])
        .args(["--until", "1a"])
        .run()
        .expect(0);
    // The user reads in their own folder, where the document is not.
    let document = worktree(&home, "002-lines").join("specs/002-lines/spec.md");
    next.stdout_has(&[&format!("Read: {}", document.display()), "--feature lines"]);
    let prompts = prompts.lock().unwrap();
    assert_eq!(prompts.len(), 2);
    prompts[0].assert_lacks(&["Upstream documents"]);
    prompts[1].assert_has(&[
        "## Upstream documents",
        "specs/001-count/spec.md\\nspecs/001-count/ux.md\\nspecs/001-count/design.md\\nspecs/001-count/tests.md",
        "specification of the task to `specs/002-lines/spec.md`",
    ]);
    said(&home, dir, &["worktrees"]).assert_has(&["002-lines: stopped\n  branch marvin/002-lines"]);
    said(&home, dir, &["worktrees", "--remove", "lines", "--force"]).assert_has(&["002-lines"]);
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
    let (server, _, _) = server();
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
        "marvin pipeline approve spec --feature one --working-dir",
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
