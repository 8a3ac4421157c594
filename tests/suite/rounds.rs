//! Rounds of tool calls: how many a turn has, and that what was done in them is never lost.

use serde_json::json;

use crate::support::conversation::{messages, says};
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// Looks around so often, then says that it is done.
fn looks(times: usize) -> Server {
    Server::answering(move |_, n| match n < times {
        true => Answer::sse(openai::call(&format!("c{n}"), "tree", json!({"path": "."}))),
        false => says("Done."),
    })
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
    let run = home.chat(&server).stdin("look around\n").run().expect(0);
    assert!(run.text().contains("Done."), "{}", run.errors());
    assert_eq!(results(&server, 13), 13);
    assert!(messages(&server, 13).last().unwrap()["role"] == "tool");
    let last = messages(&server, 13);
    last.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .assert_lacks(&["are used up"]);
}

#[test]
fn a_chat_elsewhere_has_ten_and_a_pipe_is_not_asked_for_more() {
    let home = Home::new();
    let server = looks(10);
    let run = home.chat(&server).stdin("look around\n").run().expect(0);
    assert!(run.text().contains("Done."), "{}", run.errors());
    let last = messages(&server, 10);
    last.last().unwrap()["content"]
        .as_str()
        .unwrap()
        .assert_has(&["are used up"]);
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
        49 => says("That was all."),
        _ => says("Indeed."),
    });
    home.chat(&server)
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
        _ => says("Done."),
    });
    home.chat(&server).stdin("look around\ngo on\n").run();
    assert_eq!(results(&server, 4), 3);
    let server = looks(0);
    home.chat(&server)
        .args(["-c"])
        .stdin("and?\n")
        .run()
        .expect(0);
    assert_eq!(results(&server, 0), 3);
}
