//! Bad input of every kind: a clear error, status 1, the cost line, no data lost.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

fn fails(answer: Answer) -> Done {
    let (home, server) = (Home::new(), Server::with([Exchange::any().answer(answer)]));
    let output = home
        .ask(&server.url("/v1"), "hi")
        .env("MARVIN_RETRIES", "0")
        .run()
        .expect(1);
    output.stderr_has(&["Error: "]).cost();
    output
}

#[test]
fn prompts_that_are_not_text_are_refused() {
    let home = Home::new();
    home.write("latin.txt", b"caf\xe9");
    home.write("binary", b"a\0b");
    for (path, word) in [
        ("work", "is a directory"),
        ("latin.txt", "not UTF-8"),
        ("binary", "binary"),
        ("missing", "no such file"),
    ] {
        let output = home
            .marvin()
            .line("--non-interactive --provider offline --prompt-file")
            .arg(home.path().join(path))
            .run()
            .expect(1);
        output.errors().assert_has_for(&path, &[word]);
    }
    home.marvin()
        .arg("--non-interactive")
        .arg("--prompt")
        .arg(OsString::from_vec(b"caf\xe9".to_vec()))
        .env("WEIRD", OsString::from_vec(vec![0xff]))
        .fails(&["not UTF-8"]);
}

#[test]
fn a_prompt_of_ten_megabytes_is_sent_whole() {
    let home = Home::new();
    let server = Server::always(says("ok"));
    let file = home.write("big.txt", "word ".repeat(2 << 20));
    home.ask(&server.url("/v1"), "")
        .arg("--prompt-file")
        .arg(&file)
        .run()
        .expect(0);
    assert_eq!(
        server.request(0).json()["messages"][1]["content"]
            .as_str()
            .unwrap()
            .len(),
        10 << 20
    );
}

#[test]
fn a_broken_stream_keeps_its_text_and_runs_no_partial_call() {
    let frames = openai::text(&["half of it", "never"]);
    let output = fails(Answer::sse(frames[..2].to_vec()).close());
    assert_eq!(output.text(), "half of it\n");
    let call = openai::Stream::new()
        .call(0, "a", "create_file", "{\"path\":\"x\",\"content\":\"y\"}")
        .frames();
    fails(Answer::sse(call).close());
    fails(
        Answer::sse(frames[..1].to_vec())
            .send(&b"data: {\"choices\":[{\"delta\":{\"content\":\"caf\xc3"[..])
            .close(),
    );
    fails(Answer::sse(frames[..1].to_vec()).reset());
}

#[test]
fn a_prompt_that_is_too_large_is_refused_and_not_cut() {
    let home = Home::new();
    let run = home
        .marvin()
        .args(["--non-interactive", "--provider", "offline"]);
    run.stdin(vec![b'x'; (64 << 20) + 1])
        .fails(&["larger than 64 MiB"]);
}

#[test]
fn an_empty_answer_has_a_reason() {
    let declines = json!({"choices": [{"delta": {"refusal": "I would rather not."}}]});
    for (frames, text) in [
        (
            openai::Stream::new()
                .raw(openai::data(&declines))
                .finish("stop"),
            "declined to answer: \"I would rather not.\"",
        ),
        (
            openai::Stream::new().finish("MALFORMED_FUNCTION_CALL"),
            "answered nothing (MALFORMED_FUNCTION_CALL)",
        ),
    ] {
        let server = Server::with([Exchange::any().answer(Answer::sse(frames.done()))]);
        let output = Home::new().ask(&server.url("/v1"), "hi").run().expect(1);
        assert_eq!(output.text(), "");
        assert!(output.errors().contains(text), "{}", output.errors());
    }
}

#[test]
fn invalid_tool_names_are_not_sent_back() {
    let long = "x".repeat(300);
    let server = Server::answering(move |_, n| {
        Answer::sse(match n {
            0 => openai::Stream::new()
                .call(0, "a", "functions.get_working_dir", "{}")
                .call(1, "b", "näme of a tool", "{}")
                .call(2, "c", &long, "{}")
                .done(),
            _ => openai::text(&["ok"]),
        })
    });
    let output = Home::new().ask(&server.url("/v1"), "hi").run().expect(0);
    assert!(output.text().ends_with("ok\n"), "{}", output.text());
    let sent = server.request(1).json();
    let messages = sent["messages"].as_array().unwrap();
    let names: Vec<&str> = messages
        .iter()
        .filter_map(|message| message["tool_calls"].as_array())
        .flatten()
        .filter_map(|call| call["function"]["name"].as_str())
        .collect();
    assert_eq!(names[..2], ["get_working_dir", "n_me_of_a_tool"]);
    assert_eq!(names[2].len(), 64);
    let answers: Vec<String> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    answers[0].assert_lacks(&["There is no tool"]);
    answers[1].assert_has(&["näme of a tool"]);
}

#[test]
fn malformed_calls_get_results() {
    let many: Vec<_> = (0..500).map(|n| (n, format!("id{}", n / 2))).collect();
    let server = Server::answering(move |_, n| match n {
        0 => Answer::sse(
            openai::Stream::new()
                .call(0, "a", "tree", "null")
                .call(1, "b", "tree", "[]")
                .call(2, "c", "tre", "{}")
                .call(3, "a", "read_file", "nonsense")
                .done(),
        ),
        1 => Answer::sse(
            many.iter()
                .fold(openai::Stream::new(), |stream, (n, id)| {
                    stream.call(*n, id, "get_working_dir", "{}")
                })
                .done(),
        ),
        2 => Answer::sse(openai::call(
            "big",
            "create_file",
            json!({"path": "big.txt", "content": "x".repeat(10 << 20)}),
        )),
        _ => says("ok"),
    });
    let home = Home::new();
    home.ask(&server.url("/v1"), "hi").run().expect(0);
    let results = |n: usize| {
        server.request(n).json()["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|m| m["role"] == "tool")
            .map(|m| m["content"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let first = results(1);
    assert_eq!(first.len(), 4);
    assert!(
        first[2].contains("Did you mean tree?") && first[3].contains("must be a JSON object"),
        "{first:?}"
    );
    assert!(results(2).len() >= 500);
    assert_eq!(
        std::fs::metadata(home.work().join("big.txt"))
            .unwrap()
            .len(),
        10 << 20
    );
}

#[test]
fn corrupt_state_is_set_aside_and_reported() {
    let home = Home::new();
    let server = Server::always(says("ok"));
    home.write("config/usage.json", "{half");
    home.write("config/profiles/main/saved_places.json", "[{");
    home.write("config/profiles/main/chat_log.json", "what");
    home.write("config/profiles/main/preferences.yaml", "a: [");
    let output = home.ask(&server.url("/v1"), "hi").run().expect(0);
    assert_eq!(output.text(), "ok\n");
    assert!(
        output.errors().matches("was moved to").count() >= 3,
        "{}",
        output.errors()
    );
    assert!(
        home.has("config/profiles/main/preferences.yaml"),
        "what a person edits stays"
    );
    home.write("config/profiles/main/preferences.yaml", "- vegan\n");
    home.ask(&server.url("/v1"), "hi")
        .run()
        .expect(0)
        .stderr_has(&["preferences.yaml is not a list of"]);
}
