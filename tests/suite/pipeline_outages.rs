//! A provider that cannot answer for a while: the run waits for it, says so, and goes on with the same model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::pipeline_run::pipeline;
use crate::support::engineer::{self, PYTHON, Role};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::tcp::Reserved;
use crate::support::wait::side_by_side;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(60);

/// A run whose children do not wait themselves, and that does not wait after one that failed.
fn impatient_children(home: &Home, server: &Server) -> Marvin {
    pipeline(home, server, &home.work())
        .env("MARVIN_RETRIES", "0")
        .env("MARVIN_PROVIDER_PAUSE", "0")
}

/// What a run says while the writer of the user experience fails four times with `failure`, which is more often than there are attempts with its model.
fn through(failure: Answer) -> (Home, String) {
    let home = Home::new();
    let failures = Arc::new(AtomicUsize::new(0));
    let (server, asked) = engineer::server_with(&PYTHON, move |request, role, _| {
        assert_eq!(request.json()["model"], "test-model");
        let fails = role == Role::UxWriter && failures.fetch_add(1, Ordering::SeqCst) < 4;
        fails.then(|| failure.clone())
    });
    let run = impatient_children(&home, &server)
        .args(["--model", "fallback=another-model"])
        .spawn();
    run.wait_stderr("Phase 1a done", LONG);
    run.signal(Signal::TERM);
    let errors = run.wait().errors();
    assert_eq!(asked.begun(Role::SpecWriter), 1);
    assert_eq!(asked.begun(Role::UxWriter), 5);
    errors.assert_lacks(&["attempt 2", "another-model, attempt"]);
    (home, errors)
}

#[test]
fn a_server_that_fails_for_a_while_takes_no_attempt() {
    let error = json!({"error": {"message": "The engine is overloaded."}});
    side_by_side([503, 529], |status| {
        let failure = Answer::json(&error)
            .with_status(status)
            .header("retry-after-ms", "120");
        let (_home, errors) = through(failure);
        let waits = "Child ux-writer waits 1 s for openai-compat, which cannot answer now";
        assert_eq!(errors.matches(waits).count(), 4, "{errors}");
    });
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_it_says() {
    let error = json!({"error": {"message": "Rate limit reached.", "type": "rate_limit_exceeded"}});
    let failure = Answer::json(&error)
        .with_status(429)
        .header("retry-after-ms", "1100");
    let (_home, errors) = through(failure);
    let waits = "Child ux-writer waits 2 s for openai-compat";
    assert_eq!(errors.matches(waits).count(), 4, "{errors}");
}

#[test]
fn a_server_that_falls_silent_takes_no_attempt() {
    let home = Home::new();
    let silences = Arc::new(AtomicUsize::new(0));
    let never = Latch::new();
    let (server, asked) = engineer::server_with(&PYTHON, move |_, role, _| {
        let is_silent = role == Role::SpecWriter && silences.fetch_add(1, Ordering::SeqCst) < 2;
        is_silent.then(|| Answer::json(&json!({})).head_after(&never))
    });
    let run = impatient_children(&home, &server)
        .env("MARVIN_FIRST_BYTE_TIMEOUT", "1")
        .env("MARVIN_PROVIDER_PAUSE", "1")
        .spawn();
    run.wait_stderr("Phase 1a done", LONG);
    run.signal(Signal::TERM);
    let errors = run.wait().errors();
    let waits = "for openai-compat, which cannot answer now";
    assert_eq!(errors.matches(waits).count(), 2, "{errors}");
    errors.assert_lacks(&["attempt 2"]);
    assert_eq!(asked.begun(Role::SpecWriter), 3);
}

#[test]
fn a_child_that_had_begun_goes_on_with_what_was_said() {
    let home = Home::new();
    let failures = Arc::new(AtomicUsize::new(0));
    let (server, asked) = engineer::server_with(&PYTHON, move |_, role, step| {
        let error = json!({"error": {"message": "The engine is overloaded."}});
        let failure = Answer::json(&error)
            .with_status(503)
            .header("retry-after-ms", "120");
        let fails = role == Role::SpecWriter && step > 0;
        (fails && failures.fetch_add(1, Ordering::SeqCst) < 3).then_some(failure)
    });
    let run = impatient_children(&home, &server).spawn();
    run.wait_stderr("Phase 1a done", LONG);
    run.signal(Signal::TERM);
    let errors = run.wait().errors();
    let waits = "Child spec-writer waits 1 s for openai-compat, which cannot answer now";
    assert_eq!(errors.matches(waits).count(), 3, "{errors}");
    errors.assert_lacks(&["attempt 2", "MARVIN_WAIT"]);
    assert_eq!(asked.begun(Role::SpecWriter), 1);
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let home = Home::new();
    let (server, asked) = engineer::server(&PYTHON);
    let reserved = Reserved::new(([127, 0, 0, 1], 0).into()).unwrap();
    let url = format!("http://127.0.0.1:{}/v1", reserved.port());
    let run = || {
        impatient_children(&home, &server)
            .env("OPENAI_COMPAT_URL", &url)
            .env("MARVIN_PROVIDER_PAUSE", "1")
    };
    let mut first = run().spawn();
    first.wait_stderr("Child spec-writer waits 1 s for openai-compat", LONG);
    // Who is stopped meanwhile does not wait.
    first.signal(Signal::TERM);
    assert!(first.ends_within(LONG));
    assert_eq!(server.requests().len(), 0);
    let again = run().spawn();
    again.wait_stderr("Child spec-writer waits 1 s for openai-compat", LONG);
    reserved.open(server.address());
    again.wait_stderr("Phase 1a done", LONG);
    again.signal(Signal::TERM);
    again.wait().errors().assert_lacks(&["attempt 2"]);
    assert_eq!(asked.begun(Role::SpecWriter), 1);
}

#[test]
fn patience_ends() {
    let home = Home::new();
    let (server, asked) = engineer::server_with(&PYTHON, |_, role, _| {
        let error = json!({"error": {"message": "The engine is overloaded."}});
        let failure = || {
            Answer::json(&error)
                .with_status(503)
                .header("retry-after-ms", "400")
        };
        (role == Role::SpecWriter).then(failure)
    });
    let done = impatient_children(&home, &server)
        .env("MARVIN_PROVIDER_PATIENCE", "1")
        .run();
    // Two pauses fit; then nobody is paid for another try.
    done.expect(1).stderr_has(&[
        "spec-writer could not do its work, because openai-compat",
        "no more is waited for it",
    ]);
    assert_eq!(asked.begun(Role::SpecWriter), 3);
}
