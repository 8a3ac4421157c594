//! Rounds of tool calls: how many a turn has, and that what was done in them is never lost.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

fn chat(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .args(["--plain", "--provider", "openai-compat"])
        .args(["--model", "test-model"])
}

/// Looks around so often, then says that it is done.
fn looks(times: usize) -> Server {
    Server::answering(move |_, n| match n < times {
        true => Answer::sse(openai::call(&format!("c{n}"), "tree", json!({"path": "."}))),
        false => Answer::sse(openai::text(&["Done."])),
    })
}

fn messages(server: &Server, request: usize) -> Vec<Value> {
    let body = server.request(request).json();
    body["messages"].as_array().unwrap().clone()
}

fn results(server: &Server, request: usize) -> usize {
    let all = messages(server, request);
    all.iter().filter(|one| one["role"] == "tool").count()
}

#[test]
fn a_chat_in_a_repository_has_fifty_rounds() {
    let home = Home::new();
    Repo::at(&home.work());
    let server = looks(13);
    let run = chat(&home, &server).stdin("look around\n").run().expect(0);
    assert!(run.text().contains("Done."), "{}", run.errors());
    assert_eq!(results(&server, 13), 13);
    assert!(messages(&server, 13).last().unwrap()["role"] == "tool");
    let last = messages(&server, 13);
    let last = last.last().unwrap()["content"].as_str().unwrap();
    assert!(!last.contains("are used up"), "{last}");
}

#[test]
fn a_chat_elsewhere_has_ten_and_a_pipe_is_not_asked_for_more() {
    let home = Home::new();
    let server = looks(10);
    let run = chat(&home, &server).stdin("look around\n").run().expect(0);
    assert!(run.text().contains("Done."), "{}", run.errors());
    let last = messages(&server, 10);
    let last = last.last().unwrap()["content"].as_str().unwrap();
    assert!(last.contains("are used up"), "{last}");
}

#[test]
fn a_turn_of_many_rounds_is_whole_in_the_next_one() {
    let home = Home::new();
    Repo::at(&home.work());
    let server = Server::answering(move |_, n| match n {
        0..49 => Answer::sse(openai::calls(&[
            (&format!("a{n}"), "tree", json!({"path": "."})),
            (&format!("b{n}"), "tree", json!({"path": "."})),
        ])),
        49 => Answer::sse(openai::text(&["That was all."])),
        _ => Answer::sse(openai::text(&["Indeed."])),
    });
    chat(&home, &server)
        .stdin("remember the heron\nso?\n")
        .run()
        .expect(0);
    let last = messages(&server, 50);
    assert_eq!(last[1]["content"], "remember the heron");
    assert_eq!(results(&server, 50), 98);
}

#[test]
fn what_was_done_before_a_failure_is_there_for_the_next_message() {
    let home = Home::new();
    let server = Server::answering(move |_, n| match n {
        0..3 => Answer::sse(openai::call(&format!("c{n}"), "tree", json!({"path": "."}))),
        3 => Answer::json(&openai::error(
            "No such thing.",
            "invalid_request_error",
            None,
        ))
        .with_status(400),
        _ => Answer::sse(openai::text(&["Done."])),
    });
    chat(&home, &server).stdin("look around\ngo on\n").run();
    assert_eq!(results(&server, 4), 3);
    let server = looks(0);
    chat(&home, &server)
        .args(["-c"])
        .stdin("and?\n")
        .run()
        .expect(0);
    assert_eq!(results(&server, 0), 3);
}
