//! What stands in the way of a run of the pipeline in its middle: a full disk, a provider that is down, a model that does not exist.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, prlimit};
use serde_json::json;

use super::children::is_alive;
use super::pipeline_run::{is_installed, pipeline};
use crate::support::conversation::says;
use crate::support::cost::Cost;
use crate::support::engineer::{self, Asked, PYTHON, Project, Role};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wait::until_within;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(90);

/// Waits until a child of this role has begun.
fn wait_begun(asked: &Asked, role: Role) {
    until_within(LONG, &format!("{role:?} begins"), || asked.begun(role) > 0);
}

/// The run ended early, says why, how to go on, and what it has cost.
fn stopped(done: &Done, words: &[&str]) -> Cost {
    let errors = done.errors();
    assert_eq!(done.code(), Some(1), "{errors}");
    for word in words {
        assert!(errors.contains(word), "{word:?} is not in {errors}");
    }
    errors.assert_has(&["Run the same command again to continue"]);
    Cost::last_line(&errors)
}

/// Starts `run` again and ends it as soon as it has come to `role`.
fn comes_to(run: Marvin, asked: &Asked, role: Role) {
    let mut run = run.spawn();
    wait_begun(asked, role);
    run.signal(Signal::TERM);
    assert!(run.ends_within(LONG));
}

#[test]
fn a_full_disk_stops_the_run_with_words_and_loses_nothing() {
    let home = Home::new();
    let full = Latch::new();
    let (at, gate) = (full.clone(), AtomicBool::new(false));
    let (server, asked) = engineer::server_with(&PYTHON, move |_, role, step| {
        // The first writer of the user experience waits until the disk is full, and says that it could not.
        let waits = role == Role::UxWriter && step == 0 && !gate.swap(true, Ordering::SeqCst);
        waits.then(|| says("I could not.").head_after(&at))
    });
    let run = pipeline(&home, &server, &home.work()).spawn();
    full.wait_reached(LONG);
    let spec = home.read("work/.marvin/spec.md");
    let before = home.read("work/.marvin/logs/pipeline.json");
    // No file of the run, or of what it starts from now on, may be longer than this.
    let limit = Rlimit {
        current: Some(64),
        maximum: None,
    };
    prlimit(Some(run.pid()), Resource::Fsize, limit).unwrap();
    full.open();
    let cost = stopped(&run.wait(), &["file too large"]);
    assert!(cost.llm_turns > 0, "what was spent is told");
    // What was written before is as it was.
    assert_eq!(home.read("work/.marvin/spec.md"), spec);
    assert_eq!(home.read("work/.marvin/logs/pipeline.json"), before);
    assert!(!home.has("work/.marvin/pipeline_state"));
    comes_to(
        pipeline(&home, &server, &home.work()),
        &asked,
        Role::DesignWriter,
    );
    assert_eq!(
        asked.begun(Role::SpecWriter),
        1,
        "what is done is not done again"
    );
}

#[test]
fn a_provider_that_is_down_ends_the_run_and_one_that_is_back_continues_it() {
    let home = Home::new();
    let is_down = Arc::new(AtomicBool::new(true));
    let down = Arc::clone(&is_down);
    let (server, asked) = engineer::server_with(&PYTHON, move |_, role, _| {
        let fails = role == Role::UxWriter && down.load(Ordering::SeqCst);
        let error = json!({"error": {"message": "The engine is overloaded."}});
        fails.then(|| Answer::json(&error).with_status(503))
    });
    let run = || {
        pipeline(&home, &server, &home.work())
            .env("MARVIN_RETRIES", "0")
            .env("MARVIN_PROVIDER_PATIENCE", "0")
            .env("MARVIN_PROVIDER_PAUSE", "0")
    };
    let done = run().run();
    stopped(
        &done,
        &[
            "ux-writer",
            "in 4 attempts",
            "The engine is overloaded",
            "Its log: ",
        ],
    );
    assert!(!home.has("work/.marvin/ux.md"));
    assert_eq!(
        asked.begun(Role::UxWriter),
        4,
        "no attempt fails without a request"
    );
    is_down.store(false, Ordering::SeqCst);
    comes_to(run(), &asked, Role::DesignWriter);
    assert_eq!(
        asked.begun(Role::SpecWriter),
        1,
        "what is done is not done again"
    );
}

/// How many children were started.
fn children(home: &Home) -> usize {
    let logs = std::fs::read_dir(home.work().join(".marvin/logs")).unwrap();
    let names = logs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".log")).count()
}

#[test]
fn a_model_that_does_not_exist_is_told_at_once() {
    let home = Home::new();
    let server = Server::answering(|_, _| {
        let error = json!({"error": {"message": "The model `test-model` does not exist", "code": "model_not_found"}});
        Answer::json(&error).with_status(404)
    });
    let done = pipeline(&home, &server, &home.work()).run();
    stopped(
        &done,
        &["spec-writer", "in 1 attempt", "has no model test-model"],
    );
    assert_eq!((server.requests().len(), children(&home)), (1, 1));
}

#[test]
fn a_provider_without_its_key_is_told_at_once() {
    let home = Home::new();
    let server = Server::always(Answer::status(500)).lenient();
    let run = pipeline(&home, &server, &home.work());
    let done = run.args(["--model", "plan_gen=groq:some-model"]).run();
    stopped(
        &done,
        &[
            "spec-writer",
            "in 1 attempt",
            "groq needs a key",
            "GROQ_API_KEY",
        ],
    );
    assert_eq!((server.requests().len(), children(&home)), (0, 1));
}

#[test]
fn a_run_at_the_last_depth_is_refused_before_anything_is_made() {
    let home = Home::new();
    let server = Server::always(Answer::status(500)).lenient();
    let run = pipeline(&home, &server, &home.work()).env("MARVIN_DEPTH", "5");
    run.fails(&["5 levels below the first Marvin"]);
    assert!(!home.has("work/.git") && !home.has("work/.tickets"));
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_push_server_that_fails_does_not_disturb_the_run() {
    let home = Home::new();
    let (server, asked) = engineer::server(&PYTHON);
    let ntfy = Server::always(Answer::status(500)).lenient();
    let repo = Repo::at(&home.work());
    repo.file("notes.txt", "of the user\n").commit("First");
    let run = pipeline(&home, &server, &home.work()).args(["--ntfy", "a-topic"]);
    let done = run
        .env("MARVIN_URL_NTFY", ntfy.url(""))
        .args(["--max-cost", "0.0001"])
        .run();
    let errors = done.errors();
    errors.assert_has(&["higher --max-cost"]);
    errors.assert_lacks(&["ntfy"]);
    assert!(asked.begun(Role::SpecWriter) == 1 && !ntfy.requests().is_empty());
    for request in ntfy.requests() {
        request.text().assert_lacks(&["words", "file"]);
    }
}

/// A test that starts a daemon, which leaves its group and its session and ignores every polite request to end.
static DAEMON: Project = Project {
    tests: &[
        (".gitignore", "__pycache__/\npids\n"),
        (
            "test_daemon.py",
            "import subprocess\nimport time\nimport unittest\n\n\nclass DaemonTest(unittest.TestCase):\n    def test_it(self):\n        loop = 'trap \"\" TERM INT HUP; echo $$ >> pids; while :; do sleep 1; done'\n        no = subprocess.DEVNULL\n        subprocess.Popen(['sh', '-c', loop], start_new_session=True, stdin=no, stdout=no, stderr=no)\n        while not open('pids', 'a+').tell():\n            time.sleep(0.01)\n        self.fail('There is no program yet.')\n",
        ),
    ],
    whole: &[],
    first: &[],
    corrected: &[],
    tries: ["", ""],
};

#[test]
fn a_daemon_that_the_projects_tests_start_ends_with_them() {
    if !is_installed("python3") {
        return;
    }
    let home = Home::new();
    let (server, _) = engineer::server(&DAEMON);
    pipeline(&home, &server, &home.work())
        .args(["--until", "2a"])
        .run()
        .expect(0);
    let pids = home.read("work/pids");
    assert!(!pids.is_empty());
    for pid in pids.lines() {
        assert!(!is_alive(pid), "{pid}");
    }
}
