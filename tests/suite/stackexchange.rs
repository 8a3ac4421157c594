//! Stack Exchange through the real binary: errors by name, pauses, code and links in the text.

use marvin::testing::tools::{SessionContext, ToolContext, ToolPolicy};
use marvin::testing::{Cancel, Env, NullSink};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::samples::tool;
use crate::support::server::{Answer, Server};
use crate::support::words::{TextAssertions, unfenced};

fn said(url: &str, name: &str, args: Value) -> String {
    let output = tool(&Home::new(), &["stackexchange"], url, name, &args)
        .run()
        .expect(0);
    match name {
        "stack_search" => unfenced(output.text()),
        _ => output.text().to_owned(),
    }
}

fn refused(url: &str, name: &str, args: Value) -> String {
    tool(&Home::new(), &["stackexchange"], url, name, &args)
        .run()
        .expect(1)
        .errors()
}

#[test]
fn a_pause_holds_for_its_method_in_this_process() {
    let server = Server::always(Answer::json(
        &json!({"items": [], "backoff": 10, "quota_remaining": 5, "quota_max": 300}),
    ));
    let home = Home::new();
    let env = Env::from([
        ("HOME", home.path().to_str().unwrap()),
        ("MARVIN_URL_STACKEXCHANGE", server.url("").as_str()),
    ]);
    let session = std::sync::Arc::new(SessionContext::new(env, ToolPolicy::default()));
    let ctx = ToolContext::new(session, Cancel::new(), std::sync::Arc::new(NullSink));
    let call = |name: &str, args: Value| {
        let tool = marvin::testing::tools::all()
            .find(|tool| tool.name == name)
            .unwrap();
        (tool.run)(&ctx, args.as_object().unwrap())
    };
    let first = call("stack_search", json!({"query": "a"})).unwrap();
    first.text.assert_has(&["Only 5 requests are left today"]);
    let problem = call("stack_search", json!({"query": "b"})).unwrap_err();
    problem
        .what
        .assert_has(&["asked for a pause of this search"]);
    assert_eq!(server.requests().len(), 1);
    call("stack_answers", json!({"question_id": 1})).unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_request_is_valid_and_its_answer_shown() {
    let server = Server::always(Answer::json(
        &json!({"items": [{"title": "a &amp;lt; b", "question_id": 1, "score": -2}], "has_more": true, "quota_remaining": 9, "quota_max": 300}),
    ));
    let args = json!({"query": "a b", "tagged": "c++; linux", "sort": "votes", "site": "math", "max_results": 1});
    let output = tool(
        &Home::new(),
        &["stackexchange"],
        &server.url(""),
        "stack_search",
        &args,
    )
    .env("STACKEXCHANGE_KEY", "secret-key-2")
    .run()
    .expect(0);
    assert_eq!(
        unfenced(output.text()),
        "Mathematics: 1 question for \"a b\" with the tags c++;linux, there are more:\n\n1. a &lt; b\n   score -2 · id 1\n   https://math.stackexchange.com/q/1\n\nTitles: CC BY-SA, by their authors.\nOnly 9 requests are left today.\n"
    );
    assert_eq!(
        server.request(0).path,
        "/2.3/search/advanced?q=a%20b&site=math&tagged=c%2B%2B%3Blinux&sort=votes&order=desc&pagesize=1&key=secret-key-2"
    );
}

#[test]
fn a_failed_server_is_asked_once_more_and_never_no_results() {
    let server = Server::answering(|_, n| match n {
        0 => Answer::text("text/html", "<html>busy").with_status(503),
        _ => Answer::json(&json!({"items": []})),
    });
    said(&server.url(""), "stack_search", json!({"query": "x"})).assert_has(&["no questions"]);
    for (status, body, expected) in [
        (
            404,
            json!({"error_id": 404, "error_name": "no_method", "error_message": "this method cannot be found"}),
            "this method cannot be found",
        ),
        (
            403,
            json!({"error_id": 403, "error_name": "access_denied", "error_message": "no"}),
            "access_denied",
        ),
        (
            400,
            json!({"error_id": 400, "error_name": "bad_parameter", "error_message": "key"}),
            "cannot use the request: key.",
        ),
        (200, json!({"quota_max": 3}), "cannot be read"),
        (200, json!([]), "cannot be read"),
    ] {
        let server = Server::always(Answer::json(&body).with_status(status));
        refused(&server.url(""), "stack_search", json!({"query": "x"})).assert_has(&[expected]);
    }
    let server = Server::start();
    refused(&server.url(""), "stack_search", json!({"query": " "}));
    refused(
        &server.url(""),
        "stack_search",
        json!({"query": "x".repeat(1 << 16)}),
    );
    refused(
        &server.url(""),
        "stack_search",
        json!({"query": "x", "site": "smth"}),
    );
    refused(&server.url(""), "stack_answers", json!({"question_id": 0}));
}
