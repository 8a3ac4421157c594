//! The end of a reply: a cut-off reply is answered or makes the run fail, and nothing is dropped silently.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai::{self, Stream};
use crate::support::wire::{anthropic, ollama, responses};
use crate::support::words::TextAssertions;
use WireName::{Anthropic, Completions, Ollama, Responses};

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
        _ => says("Done in pieces."),
    });
    let home = Home::new();
    home.ask(&server.url("/v1"), "hi")
        .run()
        .expect(0)
        .stderr_has(&["limit of tokens"]);
    let sent = messages(&server.request(1).json());
    let last = sent.last().unwrap();
    assert_eq!(
        (&last["role"], &last["tool_call_id"]),
        (&json!("tool"), &json!("a"))
    );
    last["content"]
        .as_str()
        .unwrap()
        .assert_has(&["cut", "smaller pieces"]);
    let call = &sent[sent.len() - 2]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "create_file");
    let kept: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert!(kept.to_string().contains("It begins"), "{kept}");
    assert!(!home.path().join("work/long.txt").exists());
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
    last["content"]
        .as_str()
        .unwrap()
        .assert_has_for(&last, &["no tool name"]);
    let name = &sent[sent.len() - 2]["tool_calls"][0]["function"]["name"];
    assert_eq!(name, "unnamed");
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

/// The four wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WireName {
    Completions,
    Responses,
    Anthropic,
    Ollama,
}

const ALL: [WireName; 4] = [Completions, Responses, Anthropic, Ollama];
const BEGINS: &str = "It begins";

/// A question to the server over a wire.
fn over(wire: WireName, home: &Home, server: &Server) -> Marvin {
    let (provider, id) = match wire {
        Completions => ("openai-compat", "OPENAI_COMPAT"),
        Responses => ("openai", "OPENAI"),
        Anthropic => ("anthropic", "ANTHROPIC"),
        Ollama => ("ollama", "OLLAMA"),
    };
    let base = server.url(if wire == Ollama { "" } else { "/v1" });
    home.marvin()
        .env(&format!("MARVIN_URL_{id}"), base)
        .env(&format!("{id}_API_KEY"), "test-key")
        .args(["--non-interactive", "--provider", provider])
        .args(["--tools", "none"])
}

/// A reply with this text and finish reason, in the format of the wire.
fn ended(wire: WireName, text: &str, reason: &str) -> Answer {
    match wire {
        Completions => Answer::sse(Stream::new().text(&[text]).finish(reason).done()),
        Responses => {
            let stream = responses::Stream::new();
            let stream = if text.is_empty() {
                stream
            } else {
                stream.text(&[text])
            };
            Answer::sse(match reason {
                "completed" => stream.end(),
                reason => stream.end_as("incomplete", json!({"reason": reason})),
            })
        }
        Anthropic => {
            let stream = anthropic::Stream::new().text(&[text]);
            Answer::sse(stream.stop(reason, 5).done())
        }
        Ollama => Answer::ndjson([ollama::say(text), ollama::done(reason)]),
    }
}

/// A reply that asks for a tool, which costs a million tokens.
fn asks_for_a_tool(wire: WireName) -> Answer {
    let call = ("get_working_dir", json!({}));
    match wire {
        Completions => Answer::sse(
            Stream::new()
                .text(&[BEGINS])
                .call(0, "", call.0, "{}")
                .finish("tool_calls")
                .usage(1_000_000, 1)
                .done(),
        ),
        Responses => Answer::sse(
            responses::Stream::new()
                .usage(json!({"input_tokens": 1_000_000, "output_tokens": 1}))
                .text(&[BEGINS])
                .call("", call.0, "{}", 2)
                .end(),
        ),
        Anthropic => Answer::sse(
            anthropic::Stream::new()
                .text(&[BEGINS])
                .call("", call.0, "{}", 2)
                .event(json!({
                    "type": "message_delta", "delta": {"stop_reason": "tool_use"},
                    "usage": {"input_tokens": 1_000_000, "output_tokens": 1},
                }))
                .done(),
        ),
        Ollama => Answer::ndjson([
            ollama::say(BEGINS),
            ollama::call(call.0, &call.1),
            ollama::done("stop"),
        ]),
    }
}

/// A reply that breaks off, or that the server ends with an error.
fn broken(wire: WireName, error: Option<&str>) -> Answer {
    match wire {
        Completions => {
            let stream = Stream::new().text(&[BEGINS]);
            Answer::sse(match error {
                Some(words) => stream.error(words).frames(),
                None => stream.frames(),
            })
        }
        Responses => {
            let stream = responses::Stream::new().text(&[BEGINS]);
            let failed = |words| json!({"error": {"type": "server_error", "message": words}});
            Answer::sse(match error {
                Some(words) => stream.event("error", failed(words)).frames(),
                None => stream.frames(),
            })
        }
        Anthropic => {
            let stream = anthropic::Stream::new().text(&[BEGINS]);
            Answer::sse(match error {
                Some(words) => stream.error("overloaded_error", words).frames(),
                None => stream.frames(),
            })
        }
        Ollama => Answer::ndjson(match error {
            Some(words) => vec![ollama::say(BEGINS), ollama::error(words)],
            None => vec![ollama::say(BEGINS)],
        }),
    }
}

fn declined(wire: WireName) -> Answer {
    match wire {
        Completions => Answer::sse(
            Stream::new()
                .text(&[BEGINS])
                .delta(json!({"refusal": "I won't."}))
                .finish("stop")
                .done(),
        ),
        Responses => Answer::sse(
            responses::Stream::new()
                .text(&[BEGINS])
                .done(json!({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}))
                .end(),
        ),
        _ => ended(wire, BEGINS, "refusal"),
    }
}

/// A reply whose only call is cut off.
fn cut_off(wire: WireName) -> Answer {
    let half = "{\"path\":\"long.txt\",\"content\":\"It beg";
    match wire {
        Completions => cut_call(),
        Responses => Answer::sse(
            responses::Stream::new()
                .call("a", "create_file", half, 8)
                .end_as("incomplete", json!({"reason": "max_output_tokens"})),
        ),
        _ => Answer::sse(
            anthropic::Stream::new()
                .call("a", "create_file", half, 8)
                .stop("max_tokens", 5)
                .done(),
        ),
    }
}

/// The table of the manual: exit status and words of the error line.
fn table_of_ends(home: &Home) -> Vec<(i32, String)> {
    let page = home
        .marvin()
        .arg("man")
        .run()
        .expect(0)
        .text()
        .replace("\\-", "-");
    let (_, table) = page.split_once(".SH EXIT STATUS\n").unwrap();
    let (table, _) = table.split_once(".SH ").unwrap();
    let rows = table.split(".TP\n.B ").skip(1);
    rows.map(|row| {
        let (status, text) = row.split_once('\n').unwrap();
        let words = text.split('"').nth(1).unwrap_or_default();
        (status.parse().unwrap(), words.to_owned())
    })
    .collect()
}

/// Runs one ending over one wire: the row of the manual's table that contains `words` must match exit status and error line, and the text that was
/// received must be on standard output.
fn try_end(
    table: &[(i32, String)],
    wire: WireName,
    words: &str,
    text: &str,
    args: &[&str],
    answer: impl Fn(WireName) -> Answer + Send + Sync + 'static,
) {
    let home = Home::new();
    let server = Server::always(answer(wire)).lenient();
    let (status, _) = table.iter().find(|row| row.1 == words).unwrap();
    let run = over(wire, &home, &server).args(args.iter().copied());
    let output = if args.contains(&"--prompt-file") {
        run.run()
    } else {
        run.args(["--prompt", "hi"]).run()
    };
    let seen = format!("{wire:?} {words:?} {}: {}", output.text(), output.errors());
    assert_eq!(output.code(), Some(*status), "{seen}");
    assert!(output.text().starts_with(text), "{seen}");
    let errors = output.errors();
    let lines: Vec<&str> = errors
        .lines()
        .filter(|line| line.starts_with("Error: "))
        .collect();
    assert_eq!(lines.len(), usize::from(*status != 0), "{seen}");
    let line = lines.first().copied().unwrap_or_default();
    assert!(line.contains(words), "{seen}");
    assert_eq!(
        server.requests().is_empty(),
        words == "was not sent",
        "{seen}"
    );
    let others = table
        .iter()
        .filter(|row| !row.1.is_empty() && row.1 != words);
    for (_, other) in others {
        assert!(!line.contains(other), "{other:?} in {seen}");
    }
}

#[test]
fn every_end_has_its_status_and_its_words_on_every_wire() {
    let table = table_of_ends(&Home::new());
    let ends = [
        (
            "",
            [
                ("stop", Completions),
                ("completed", Responses),
                ("end_turn", Anthropic),
                ("stop", Ollama),
            ]
            .to_vec(),
        ),
        ("", vec![("odd_word", Completions), ("odd_word", Ollama)]),
        (
            "limit of tokens and is cut",
            [
                ("length", Completions),
                ("max_output_tokens", Responses),
                ("max_tokens", Anthropic),
                ("length", Ollama),
            ]
            .to_vec(),
        ),
        (
            "fill its context window",
            vec![("model_context_window_exceeded", Anthropic)],
        ),
        (
            "content filter",
            vec![
                ("content_filter", Completions),
                ("content_filter", Responses),
            ],
        ),
        (
            "before its end",
            vec![
                ("insufficient_system_resource", Completions),
                ("steered", Responses),
                ("pause_turn", Anthropic),
            ],
        ),
        ("only loaded", vec![("load", Ollama)]),
    ];
    let mut tried = BTreeSet::new();
    for (words, reasons) in ends {
        for (reason, wire) in reasons {
            tried.insert(words);
            try_end(&table, wire, words, BEGINS, &[], move |wire| {
                ended(wire, BEGINS, reason)
            });
        }
    }
    for wire in ALL {
        let stop = match wire {
            Completions | Ollama => "stop",
            Responses => "completed",
            Anthropic => "end_turn",
        };
        tried.extend(["answered nothing", "still asks for tools"]);
        try_end(&table, wire, "answered nothing", "", &[], move |wire| {
            ended(wire, "", stop)
        });
        try_end(
            &table,
            wire,
            "still asks for tools",
            BEGINS,
            &[],
            asks_for_a_tool,
        );
    }
    let place = Home::new();
    let long = place.write("long.txt", "word ".repeat(20_000));
    for wire in [Completions, Responses, Anthropic] {
        tried.extend([
            "declined to answer",
            "times in a row",
            "cost limit",
            "was not sent",
        ]);
        try_end(&table, wire, "declined to answer", BEGINS, &[], declined);
        try_end(&table, wire, "times in a row", "", &[], cut_off);
        try_end(
            &table,
            wire,
            "cost limit",
            BEGINS,
            &["--max-cost", "0.000001"],
            asks_for_a_tool,
        );
        tried.insert("limit of requests");
        let one = ["--max-turns", "1"];
        try_end(
            &table,
            wire,
            "limit of requests",
            BEGINS,
            &one,
            asks_for_a_tool,
        );
        let args = [
            "--model",
            "gpt-3.5-turbo",
            "--prompt-file",
            long.to_str().unwrap(),
        ];
        try_end(&table, wire, "was not sent", "", &args, |_| {
            Answer::status(500)
        });
    }
    let named: BTreeSet<&str> = table.iter().map(|row| row.1.as_str()).collect();
    assert_eq!(tried, named);
}

#[test]
fn a_broken_reply_is_a_failure_that_keeps_its_text_on_every_wire() {
    for wire in ALL {
        for error in [None, Some("The machine is on fire")] {
            let server = Server::always(broken(wire, error));
            let home = Home::new();
            let output = over(wire, &home, &server)
                .args(["--prompt", "hi"])
                .run()
                .expect(1);
            assert_eq!(output.text(), "It begins\n", "{wire:?}");
            let words = error.unwrap_or("broke off");
            output.errors().assert_has_for(&wire, &[words]);
            assert_eq!(server.requests().len(), 1, "{wire:?} {error:?}");
        }
    }
}

/// What a conversation of two messages sends second, and its log.
fn second_request(answer: impl Fn() -> Answer + Send + Sync + 'static) -> (Vec<Value>, String) {
    let home = Home::new();
    let server = Server::answering(move |_, n| match n {
        0 => answer(),
        _ => says("Well."),
    });
    let chat = home.chat(&server).stdin("hi\nagain\n");
    chat.run();
    let log = home.read("config/profiles/main/chat_log.json");
    (messages(&server.request(1).json()), log)
}

#[test]
fn what_came_before_an_early_end_stays_in_the_conversation_and_in_the_log() {
    for (reason, mark) in [
        ("length", "[incomplete]"),
        ("content_filter", "[ended by a content filter]"),
        ("abort", ""),
    ] {
        let (sent, log) = second_request(move || ended(Completions, BEGINS, reason));
        let said = json!({"role": "assistant", "content": BEGINS});
        assert!(sent.contains(&said), "{reason}: {sent:?}");
        let logged = format!("{BEGINS}{}", if mark.is_empty() { "" } else { "\\n\\n" });
        assert!(log.contains(&format!("{logged}{mark}")), "{reason}: {log}");
    }
    let (sent, log) = second_request(|| broken(Completions, None));
    assert!(sent.contains(&json!({"role": "assistant", "content": BEGINS})));
    log.assert_has(&[&format!("{BEGINS}\\n\\n[cut by a failure]")]);
}

#[test]
fn a_refusal_goes_back_as_what_the_model_said() {
    let only = || {
        let stream = Stream::new().delta(json!({"refusal": "I won't."}));
        Answer::sse(stream.finish("stop").done())
    };
    let (sent, log) = second_request(only);
    let said = json!({"role": "assistant", "content": "I won't."});
    assert!(sent.contains(&said), "{sent:?}");
    log.assert_has(&["I won't.\\n\\n[refused by the model]"]);
    let (sent, log) = second_request(|| declined(Completions));
    log.assert_has(&["[refused by the model]"]);
    log.assert_lacks(&["[cut"]);
    let said = json!({"role": "assistant", "content": "It begins\n\nI won't."});
    assert!(sent.contains(&said), "{sent:?}");
}

/// Runs a prompt of about `tokens` with a model; the status, the error text, and how many requests were sent.
fn ask_long(model: &str, tokens: usize, tools: &str) -> (Option<i32>, String, usize) {
    let home = Home::new();
    let long = home.write("long.txt", "word ".repeat(tokens));
    let server = Server::always(says("ok")).lenient();
    let output = home
        .marvin()
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .args(["--non-interactive", "--provider", "openai-compat"])
        .args(["--model", model, "--tools", tools])
        .args(["--prompt-file", long.to_str().unwrap()])
        .run();
    (output.code(), output.errors(), server.requests().len())
}

#[test]
fn a_request_that_cannot_fit_is_not_sent_and_says_what_to_do() {
    let (status, errors, sent) = ask_long("gpt-3.5-turbo", 14_000, "all");
    assert_eq!((status, sent), (Some(1), 0), "{errors}");
    errors.assert_has(&[
        "more than the 16,000 that gpt-3.5-turbo takes",
        "tool schemas are about",
        "offer fewer tools with --tools GROUP",
        "--model NAME",
    ]);
    // The same prompt fits without the tools; the window of another model is unknown.
    let (status, errors, sent) = ask_long("gpt-3.5-turbo", 13_000, "none");
    assert_eq!((status, sent), (Some(0), 1), "{errors}");
    let (status, errors, sent) = ask_long("gpt-3.5-turbo", 20_000, "none");
    assert_eq!((status, sent), (Some(1), 0), "{errors}");
    errors.assert_lacks(&["--tools"]);
    let (status, errors, sent) = ask_long("test-model", 20_000, "all");
    assert_eq!((status, sent), (Some(0), 1), "{errors}");
}
