//! Errors inside a stream of status 200: temporary errors of the server are retried while nothing was shown, all others never.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wait::side_by_side;
use crate::support::wire::{anthropic, openai, responses};

fn ask(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .with_provider("openai", server.url("/v1"), "gpt-5.1")
        .args(["--non-interactive", "--prompt", "hi"])
}

/// A stream that fails before any text.
fn fails(code: &str, message: &str) -> Answer {
    let error = json!({"error": {"type": code, "code": code, "message": message}});
    let stream = responses::Stream::new().reasoning("Hm.", "c2VjcmV0");
    Answer::sse(stream.event("error", error).frames())
}

/// Fails so often, then answers.
fn recovers_after(failures: usize, code: &'static str) -> Server {
    Server::answering(move |_, n| {
        if n < failures {
            fails(code, "An error occurred. Please try again in 28ms.")
        } else {
            Answer::sse(responses::text(&["Hello."]))
        }
    })
}

#[test]
fn an_error_that_passes_is_waited_for_and_the_request_is_sent_again() {
    for (code, words) in [
        ("server_error", "openai failed. Trying again in 1s"),
        ("rate_limit_exceeded", "Rate limited by openai. Waiting 1s"),
        ("too_many_requests", "Rate limited by openai. Waiting 1s"),
    ] {
        let (home, server) = (Home::new(), recovers_after(2, code));
        let output = ask(&home, &server).run().expect(0);
        assert_eq!(output.text(), "Hello.\n", "{code}");
        let errors = output.errors();
        assert_eq!(errors.matches(words).count(), 2, "{code}: {errors}");
        assert_eq!(errors.contains("Rate limited"), code != "server_error");
        assert_eq!(server.requests().len(), 3, "{code}");
    }
}

#[test]
fn it_is_tried_again_twice_at_most() {
    let (home, server) = (Home::new(), recovers_after(9, "server_error"));
    ask(&home, &server).fails(&["Error: openai failed"]);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn what_no_wait_cures_is_not_tried_again() {
    for code in
        "insufficient_quota credit_balance_exhausted context_length_exceeded invalid_prompt \
        data_residency_mismatch bio_policy misalignment_policy_violation usage_not_included \
        some_new_code"
            .split_ascii_whitespace()
    {
        let home = Home::new();
        let server = Server::always(fails(code, "No. Please try again in 1ms."));
        ask(&home, &server).run().expect(1);
        assert_eq!(server.requests().len(), 1, "{code}");
    }
}

#[test]
fn the_other_wires_try_again_too() {
    let words = "Overloaded, please retry in 10ms";
    let server = Server::answering(move |_, n| {
        Answer::sse(match n {
            0 => openai::Stream::new().error(words).frames(),
            _ => openai::text(&["Hello."]),
        })
    });
    let output = Home::new().ask(&server.url("/v1"), "hi").run().expect(0);
    assert_eq!(output.text(), "Hello.\n");
    let server = Server::answering(move |_, n| {
        Answer::sse(match n {
            0 => anthropic::Stream::new()
                .error("overloaded_error", words)
                .frames(),
            _ => anthropic::text(&["Hello."]),
        })
    });
    let run = Home::new()
        .marvin()
        .with_provider("anthropic", server.url("/v1"), "test-model")
        .line("--non-interactive --prompt hi")
        .run();
    assert_eq!(run.expect(0).text(), "Hello.\n");
}

/// A server that is down for a moment, in each way: a status, a connection that is reset, one that is closed.
fn down(way: usize) -> Answer {
    match way {
        0 => Answer::status(503).header("retry-after-ms", "20"),
        1 => Answer::status(529).header("retry-after-ms", "20"),
        2 => Answer::raw(Vec::new()).reset(),
        _ => Answer::raw(Vec::new()).close(),
    }
}

#[test]
fn a_server_that_is_down_for_a_moment_is_asked_again_at_the_start_and_between_rounds() {
    side_by_side(
        (0..4).flat_map(|way| [(way, 0), (way, 2)]),
        |(way, fails_at)| {
            let home = Home::new();
            let server = Server::answering(move |_, n| match n {
                n if n == fails_at => down(way),
                n if n < 2 + usize::from(fails_at == 0) => Answer::sse(
                    openai::Stream::new()
                        .text(&["Look."])
                        .call(
                            0,
                            &format!("c{n}"),
                            "create_file",
                            &json!({"path": format!("{n}.txt"), "content": "x"}).to_string(),
                        )
                        .end(),
                ),
                _ => says("Hello."),
            });
            let run = home.ask(&server.url("/v1"), "hi").run().expect(0);
            assert!(run.text().ends_with("Hello.\n"), "{way}: {}", run.errors());
            assert_eq!(server.requests().len(), 4, "{way} at {fails_at}");
            let errors = run.errors();
            // A connection that was idle may have been closed meanwhile, so the request is sent again at once.
            let waits = usize::from(way < 2 || fails_at == 0);
            let said = errors.matches("Trying again in").count();
            assert_eq!(said, waits, "{way} at {fails_at}: {errors}");
        },
    );
}

#[test]
fn an_error_status_is_tried_again_twice_and_then_told() {
    let home = Home::new();
    let server = Server::always(down(0));
    home.ask(&server.url("/v1"), "hi").fails(&["failed (503)"]);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_server_that_does_not_run_is_waited_for_and_the_wait_can_be_cancelled() {
    let home = Home::new();
    let run = home.ask("http://127.0.0.1:1/v1", "hi").spawn();
    let limit = Duration::from_secs(20);
    run.wait_stderr("connection refused. Trying again in 2s", limit);
    run.signal(Signal::INT);
    run.wait().expect(130);
}
