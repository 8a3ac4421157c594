//! The end of a reply: a cut-off reply is answered or makes the run fail, and nothing is dropped silently.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai::{self, Stream};

/// A reply whose only call is cut by the limit of tokens.
fn cut_call() -> Answer {
    Answer::sse(
        Stream::new()
            .call(
                0,
                "a",
                "create_file",
                "{\"path\":\"long.txt\",\"content\":\"It begins",
            )
            .finish("length")
            .done(),
    )
}

fn messages(request: &Value) -> Vec<Value> {
    request["messages"].as_array().unwrap().clone()
}

#[test]
fn a_call_cut_by_the_token_limit_gets_a_result() {
    let server = Server::answering(|_, n| match n {
        0 => cut_call(),
        _ => Answer::sse(openai::text(&["Done in pieces."])),
    });
    let home = Home::new();
    let output = home.ask(&server.url("/v1"), "hi").run().expect(0);
    assert!(
        output.errors().contains("limit of tokens"),
        "{}",
        output.errors()
    );
    let sent = messages(&server.request(1).json());
    let last = sent.last().unwrap();
    assert_eq!(
        (&last["role"], &last["tool_call_id"]),
        (&json!("tool"), &json!("a"))
    );
    let expected = last["content"].as_str().unwrap();
    assert!(
        expected.contains("cut") && expected.contains("smaller pieces"),
        "{expected}"
    );
    let call = &sent[sent.len() - 2]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "create_file");
    let kept: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert!(kept.to_string().contains("It begins"), "{kept}");
    assert!(!home.path().join("work/long.txt").exists());
}

#[test]
fn repeatedly_cut_calls_fail_the_run() {
    let server = Server::answering(|_, _| cut_call());
    let output = Home::new().ask(&server.url("/v1"), "hi").run().expect(1);
    assert!(
        output.errors().contains("3 times in a row"),
        "{}",
        output.errors()
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn an_answer_that_is_cut_filtered_or_empty_is_a_failure() {
    for (stream, text) in [
        (
            Stream::new().text(&["It beg"]).finish("length"),
            "limit of tokens",
        ),
        (
            Stream::new().text(&["It beg"]).finish("content_filter"),
            "content filter",
        ),
        (Stream::new().finish("stop"), "answered nothing"),
    ] {
        let server = Server::with([Exchange::any().answer(Answer::sse(stream.done()))]);
        let output = Home::new().ask(&server.url("/v1"), "hi").run().expect(1);
        assert!(output.errors().contains(text), "{}", output.errors());
        assert!(
            output.text().is_empty() || output.text() == "It beg\n",
            "{}",
            output.text()
        );
    }
}

#[test]
fn a_call_without_a_name_is_answered() {
    let server = Server::answering(|_, n| {
        Answer::sse(match n {
            0 => Stream::new().call(0, "a", "", "{}").done(),
            _ => openai::text(&["ok"]),
        })
    });
    Home::new().ask(&server.url("/v1"), "hi").run().expect(0);
    let sent = messages(&server.request(1).json());
    let last = sent.last().unwrap();
    assert_eq!(last["tool_call_id"], "a");
    assert!(
        last["content"].as_str().unwrap().contains("no tool name"),
        "{last}"
    );
    let name = &sent[sent.len() - 2]["tool_calls"][0]["function"]["name"];
    assert_eq!(name, "unnamed");
}

#[test]
fn a_split_character_keeps_the_text_before_it() {
    let piece = |json: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{json}\"}}}}]}}}}]}}\n\n"
        )
    };
    let server = Server::answering(move |_, n| {
        Answer::sse(match n {
            0 => Stream::new()
                .call(
                    0,
                    "a",
                    "create_file",
                    "{\"path\":\"face.txt\",\"content\":\"so far ",
                )
                .raw(piece("\\ud83d"))
                .raw(piece("\\ude00.\\\"}"))
                .done(),
            _ => openai::text(&["ok"]),
        })
    });
    let home = Home::new();
    home.ask(&server.url("/v1"), "hi").run().expect(0);
    let text = std::fs::read_to_string(home.path().join("work/face.txt")).unwrap();
    assert_eq!(text, "so far \u{1f600}.");
}

#[test]
fn a_refused_key_quotes_the_provider() {
    let text =
        "You have insufficient permissions for this operation. Missing scopes: model.request.";
    let answer = Answer::json(&openai::error(text, "invalid_request_error", None));
    let server = Server::with([Exchange::any().answer(answer.with_status(401))]);
    let output = Home::new().ask(&server.url("/v1"), "hi").run().expect(1);
    let errors = output.errors();
    assert!(
        errors.contains("Missing scopes: model.request")
            && errors.contains("OPENAI_COMPAT_API_KEY"),
        "{errors}"
    );
}

#[test]
fn an_old_text_found_verbatim_is_not_unescaped() {
    let call = |id, old: &str, new: &str| {
        Stream::new()
            .call(
                0,
                id,
                "apply_patch",
                &json!({"path": "a.js", "old_str": old, "new_str": new}).to_string(),
            )
            .done()
    };
    let server = Server::answering(move |_, n| {
        Answer::sse(match n {
            0 => call("a", r"x = '\u003c'", r"x = '\u003c\u003c'"),
            1 => call("b", r"if (a \u003c b)", r"if (a \u003e b \u0026\u0026 c)"),
            _ => openai::text(&["ok"]),
        })
    });
    let home = Home::new();
    home.write("work/a.js", "x = '\\u003c';\nif (a < b) {}\n");
    home.ask(&server.url("/v1"), "hi").run().expect(0);
    let text = std::fs::read_to_string(home.path().join("work/a.js")).unwrap();
    assert_eq!(text, "x = '\\u003c\\u003c';\nif (a > b && c) {}\n");
}
