//! What one request shares with the one before is the same bytes, so that providers read it from their cache: all rounds of a turn over every wire.

use std::fs;

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::server::{Answer, Request, Server};
use crate::support::wire::{anthropic, ollama, openai, responses};
use crate::support::words::TextAssertions;

/// The most rounds of calls that a turn may have: the request after them is the last one.
const ROUNDS: usize = 50;

/// A wire, and a round over it that calls or answers.
struct Spoken {
    provider: &'static str,
    model: &'static str,
    /// What the user chose.
    wire: Option<&'static str>,
    /// Path of the base.
    base: &'static str,
    /// Name of the member with the conversation.
    conversation: &'static str,
    /// How the last request says that no tool may be called, where its tools stay.
    forbids: Option<&'static str>,
    answer: fn(usize) -> Answer,
}

fn id(n: usize) -> String {
    format!("call_{n}")
}

/// A file that the model writes in each round, and that is part of the system prompt of a new session.
fn args(n: usize) -> Value {
    json!({"path": "AGENTS.md", "content": format!("Version {n}.\n")})
}

fn completion(n: usize) -> Answer {
    Answer::sse(match n {
        ROUNDS.. => openai::text(&["Done."]),
        _ => openai::Stream::new()
            .call(0, &id(n), "append_file", &args(n).to_string())
            .end(),
    })
}

/// Chat completions, on which the wires below are told apart.
const COMPLETIONS: Spoken = Spoken {
    provider: "openai-compat",
    model: "gpt-5.5",
    wire: None,
    base: "/v1",
    conversation: "messages",
    forbids: None,
    answer: completion,
};

const WIRES: [Spoken; 8] = [
    Spoken {
        provider: "openrouter",
        model: "anthropic/claude-sonnet-5.5",
        ..COMPLETIONS
    },
    Spoken {
        provider: "openrouter",
        model: "qwen/qwen3.8-27b",
        ..COMPLETIONS
    },
    Spoken {
        provider: "openrouter",
        model: "google/gemini-3.8-flash",
        ..COMPLETIONS
    },
    COMPLETIONS,
    Spoken {
        provider: "openai",
        wire: Some("completions"),
        forbids: Some(r#","tool_choice":"none""#),
        ..COMPLETIONS
    },
    Spoken {
        provider: "openai",
        conversation: "input",
        forbids: Some(r#","tool_choice":"none""#),
        answer: |n| {
            Answer::sse(match n {
                ROUNDS.. => responses::text(&["Done."]),
                _ => responses::Stream::new()
                    .reasoning("Hm.", "c2VjcmV0")
                    .call(&id(n), "append_file", &args(n).to_string(), 8)
                    .end(),
            })
        },
        ..COMPLETIONS
    },
    Spoken {
        provider: "anthropic",
        base: "",
        forbids: Some(r#","tool_choice":{"type":"none"}"#),
        answer: |n| {
            Answer::sse(match n {
                ROUNDS.. => anthropic::text(&["Done."]),
                _ => anthropic::calls(&[(&id(n), "append_file", args(n))]),
            })
        },
        ..COMPLETIONS
    },
    Spoken {
        provider: "ollama",
        base: "",
        answer: |n| {
            Answer::ndjson(match n {
                ROUNDS.. => ollama::text(&["Done."]),
                _ => ollama::calls(&[("append_file", args(n))]),
            })
        },
        ..COMPLETIONS
    },
];

/// The request without the cache breakpoints, which move with the conversation.
fn cacheable(request: &Request) -> String {
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    request.text().replace(mark, "")
}

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before() {
    for wire in &WIRES {
        let home = Home::new();
        home.write("work/AGENTS.md", "Version 0.\n");
        let answer = wire.answer;
        let server = Server::answering(move |_, n| answer(n));
        let id = wire.provider.to_uppercase().replace('-', "_");
        let choice = wire.wire.map(|wire| (format!("{id}_WIRE"), wire));
        let marvin = home.marvin();
        choice
            .iter()
            .fold(marvin, |marvin, (name, wire)| marvin.env(name, wire))
            .with_provider(wire.provider, server.url(wire.base), wire.model)
            .env("MARVIN_TOOL_SEARCH", "off")
            .arg("--non-interactive")
            .args(["--prompt", "write the specification", "--working-dir"])
            .arg(home.work())
            .run()
            .expect(0);
        let requests = server.requests();
        assert_eq!(requests.len(), ROUNDS + 1, "{}", wire.provider);
        let mut texts: Vec<String> = requests.iter().map(cacheable).collect();
        let last = texts.pop().unwrap();
        last.assert_has(&["The rounds of tool calls"]);
        // The last request differs in what forbids calls, or in the tools that it lacks.
        texts.push(match wire.forbids {
            Some(words) => {
                let (before, after) = last.split_once(words).expect(&last);
                format!("{before}{after}")
            }
            None => {
                last.assert_lacks(&["\"tools\":["]);
                let before = texts.last().unwrap();
                let tools = before.rfind(",\"tools\":[").expect(before);
                format!(
                    "{}{}",
                    last.strip_suffix('}').expect(&last),
                    &before[tools..]
                )
            }
        });
        for (n, pair) in texts.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let (head, tail) = split(before, wire.conversation);
            assert!(
                after.starts_with(head),
                "{}: round {n} begins otherwise:\n{}",
                wire.provider,
                difference(head, after)
            );
            assert!(after.ends_with(tail), "{}: round {n}", wire.provider);
        }
    }
}

/// A body up to the end of its conversation, and what follows.
fn split<'a>(body: &'a str, conversation: &str) -> (&'a str, &'a str) {
    let start = body.find(&format!("\"{conversation}\":[")).expect(body) + conversation.len() + 4;
    let mut depth = 1;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in body.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return body.split_at(at);
        }
    }
    panic!("the conversation has no end: {body}");
}

fn difference(before: &str, after: &str) -> String {
    let same = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let part = |text: &str| {
        let from = same.saturating_sub(80);
        String::from_utf8_lossy(
            text.as_bytes()
                .get(from..(same + 120).min(text.len()))
                .unwrap_or_default(),
        )
        .into_owned()
    };
    format!("before: {}\nafter:  {}", part(before), part(after))
}

#[test]
fn a_new_day_or_job_is_told_at_the_end_of_the_conversation() {
    let home = Home::new();
    let server = Server::always(says("Yes."));
    let output = home
        .chat(&server)
        .stdin("one\n!sleep 30 &\ntwo\n!stop\nthree\n")
        .run();
    let requests: Vec<Value> = server.requests().iter().map(Request::json).collect();
    assert_eq!(requests.len(), 3, "{}{}", output.text(), output.errors());
    let system = |n: usize| requests[n]["messages"][0]["content"].clone();
    assert_eq!((system(1), system(2)), (system(0), system(0)));
    let told = |n: usize, text: &str| requests[n]["messages"].to_string().contains(text);
    assert!(
        told(1, "Background jobs now:\\nsleep 30"),
        "{}",
        requests[1]["messages"]
    );
}

#[test]
fn places_and_history_are_read_only_for_a_new_system_prompt() {
    let home = Home::new();
    let dir = home.config().join("profiles/main");
    let places = dir.join("saved_places.json");
    let written = places.clone();
    let server = Server::answering(move |_, n| {
        match n {
            0 => fs::write(&written, "[{").unwrap(),
            1 => fs::write(dir.join("preferences.yaml"), "budget: free\n").unwrap(),
            _ => {}
        }
        let left = fs::read_to_string(&written).unwrap_or_default();
        Answer::sse(openai::text(&[if left == "[{" { "left" } else { "moved" }]))
    });
    let output = home.chat(&server).stdin("one\ntwo\nthree\n").run();
    let text = output.text();
    assert_eq!(text.matches("left").count(), 2, "{text}{}", output.errors());
    assert_eq!(text.matches("moved\n").count(), 1, "{text}");
    assert!(!places.exists());
    server.requests()[2].json()["messages"][0]["content"]
        .to_string()
        .assert_has(&["budget: free"]);
}
