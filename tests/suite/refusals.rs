//! Refusals of a provider through the real binary: messages, retries, and where no key is sent.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LONG: Duration = Duration::from_secs(20);

fn refusal(status: u16) -> Answer {
    Answer::json(&openai::error("some words", "some_error", None)).with_status(status)
}

/// One run that fails; with the number of requests it made.
fn fails(make: impl Fn() -> Answer + Send + Sync + 'static) -> (Done, usize) {
    fails_after(0, make)
}

/// The same with so many retries.
fn fails_after(retries: u32, make: impl Fn() -> Answer + Send + Sync + 'static) -> (Done, usize) {
    let (home, server) = (Home::new(), Server::always(make()));
    let output = home
        .ask(&server.url("/v1"), "hi")
        .env("MARVIN_RETRIES", retries.to_string())
        .run()
        .expect(1);
    output.cost();
    assert_eq!(output.text(), "");
    output.stderr_lacks(&["test-key"]);
    (output, server.requests().len())
}

#[test]
fn each_status_says_what_it_means_when_no_retry_helps() {
    for (status, text) in [
        (
            400,
            "Error: openai-compat refused the request (400 some_error): some words.",
        ),
        (
            401,
            "Error: openai-compat refused the key (401 some_error): some words. Check OPENAI_COMPAT_API_KEY",
        ),
        (
            403,
            "Error: openai-compat refused access (403 some_error): some words.",
        ),
        (
            404,
            "Error: openai-compat knows no such address (404 some_error): some words. Check OPENAI_COMPAT_URL.",
        ),
        (
            413,
            "Error: This request is larger than openai-compat lets this account send (413 some_error)",
        ),
        (
            500,
            "Error: openai-compat failed (500 some_error): some words.",
        ),
        (
            503,
            "Error: openai-compat failed (503 some_error): some words.",
        ),
        (
            529,
            "Error: openai-compat failed (529 some_error): some words.",
        ),
    ] {
        let (output, requests) = fails(move || refusal(status));
        output.errors().assert_has_for(&status, &[text]);
        assert_eq!(requests, 1, "{status}");
    }
}

#[test]
fn a_rate_limit_is_waited_for_twice_and_no_more() {
    let (output, requests) = fails_after(2, || refusal(429).header("retry-after", "1"));
    let waits = output
        .errors()
        .matches("Rate limited by openai-compat. Waiting 1s...")
        .count();
    assert_eq!((requests, waits), (3, 2), "{}", output.errors());
    output.stderr_has(&["limits requests (429 some_error)"]);
}

#[test]
fn a_long_wait_is_told_and_not_made() {
    let (output, requests) = fails(|| refusal(429).header("retry-after", "121"));
    assert_eq!(requests, 1);
    let told = "It asks for a wait of 121 s; wait, or choose another provider";
    assert!(output.errors().contains(told), "{}", output.errors());
    output.stderr_lacks(&["Waiting"]);
}

#[test]
fn without_a_named_wait_half_a_minute_is_announced_and_can_be_stopped() {
    let (home, server) = (Home::new(), Server::always(refusal(429)));
    let running = home.ask(&server.url("/v1"), "hi").spawn();
    running.wait_stderr("⚠️ Rate limited by openai-compat. Waiting 30s...", LONG);
    running.signal(Signal::INT);
    running.wait().expect(130).cost();
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn no_redirect_is_followed_by_any_wire() {
    type Ask = fn(&Home, &str) -> Marvin;
    let wires: [Ask; 3] = [
        |home, base| home.ask(&format!("{base}/v1"), "hi"),
        |home, base| {
            let run = home
                .marvin()
                .env("ANTHROPIC_API_KEY", "test-key")
                .env("ANTHROPIC_URL", base);
            run.line("--non-interactive --provider anthropic --prompt hi")
        },
        |home, base| {
            let run = home.marvin().env("OLLAMA_URL", base);
            run.line("--non-interactive --provider ollama --prompt hi")
        },
    ];
    for ask in wires {
        for status in [301, 302, 303, 307, 308] {
            let (home, other) = (Home::new(), Server::start());
            let to = other.url("/elsewhere");
            let place = to.clone();
            let server = Server::always(Answer::status(status).header("location", &place));
            let output = ask(&home, &server.url("")).run().expect(1);
            let text = format!("redirects ({status}) to {to}. It was not followed");
            assert!(output.errors().contains(&text), "{}", output.errors());
            assert_eq!((server.requests().len(), other.connections()), (1, 0));
        }
    }
}
