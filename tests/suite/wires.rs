//! The bodies of `fixtures/wires` through the real binary: over a socket, in small pieces, from every provider of the table.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::server::{Answer, Server};
use crate::support::wire::{anthropic, ollama, openai, responses};
use crate::support::words::TextAssertions;

/// Bytes of a piece: small enough to cut lines, characters and line breaks.
const PIECE: usize = 11;

/// A body and the expected result.
struct Case {
    wire: String,
    name: String,
    body: PathBuf,
    expected: Value,
}

impl Case {
    fn text(&self, key: &str) -> &str {
        self.expected[key].as_str().unwrap_or_default()
    }

    fn provider(&self) -> &str {
        match self.text("provider") {
            "" if self.wire == "openai" => "openai-compat",
            "" if self.wire == "responses" => "openai",
            "" => &self.wire,
            named => named,
        }
    }

    fn answer(&self) -> Answer {
        let media_type = match self.body.extension().and_then(|end| end.to_str()) {
            Some("sse") => "text/event-stream",
            Some("ndjson") => "application/x-ndjson",
            Some("json") => "application/json",
            Some("html") => "text/html",
            _ => "text/plain",
        };
        let body = fs::read(&self.body).unwrap();
        let status = self.expected["status"].as_u64().unwrap_or(200);
        let pieces: Vec<Vec<u8>> = body.chunks(PIECE).map(<[u8]>::to_vec).collect();
        Answer::stream(media_type, pieces).with_status(u16::try_from(status).unwrap())
    }

    /// Runs a prompt with the case as the first answer and, if it calls tools, a short text as the second.
    fn play(&self) -> (Done, Server) {
        let answers = [self.answer(), last_word(&self.wire)];
        let calls = !self.calls().is_empty();
        let server =
            Server::answering(move |_, n| answers[usize::from(calls && n > 0)].clone()).lenient();
        let home = Home::new();
        home.write("work/a.txt", "a\n");
        let base = match self.wire.as_str() {
            "openai" | "responses" => server.url("/v1"),
            _ => server.url(""),
        };
        let id = self.provider().to_uppercase().replace('-', "_");
        let output = home
            .marvin()
            .with_provider(self.provider(), base, "test-model")
            .env(&format!("{id}_WIRE"), self.words_for_wire())
            .args(["--non-interactive", "--prompt", "hi"])
            .run();
        (output, server)
    }

    fn words_for_wire(&self) -> &str {
        match self.wire.as_str() {
            "openai" => "completions",
            "responses" => "responses",
            _ => "",
        }
    }

    fn calls(&self) -> &[Value] {
        self.expected["tool_calls"]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }
}

fn last_word(wire: &str) -> Answer {
    match wire {
        "anthropic" => Answer::sse(anthropic::text(&["Finished."])),
        "ollama" => Answer::ndjson(ollama::text(&["Finished."])),
        "responses" => Answer::sse(responses::text(&["Finished."])),
        _ => Answer::sse(openai::text(&["Finished."])),
    }
}

fn cases(wire: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wires");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join(wire)).unwrap() {
        let dir = entry.unwrap().path();
        let text = fs::read(dir.join("expected.json")).unwrap();
        let body = ["sse", "ndjson", "json", "html", "txt"]
            .iter()
            .map(|end| dir.join(format!("body.{end}")))
            .find(|path| path.exists());
        found.push(Case {
            wire: wire.to_owned(),
            name: dir.file_name().unwrap().display().to_string(),
            body: body.unwrap_or_else(|| panic!("no body in {}", dir.display())),
            expected: serde_json::from_slice(&text).unwrap(),
        });
    }
    found
}

/// Plays the cases that end without a retry: whole replies, and permanent failures.
fn all(wire: &str) {
    let (mut texts, mut rounds, mut failures) = (0, 0, 0);
    for case in cases(wire) {
        let name = format!("{wire}/{}", case.name);
        let is_whole =
            case.text("outcome") == "complete" && ["done", "unsaid"].contains(&case.text("finish"));
        if is_whole && !case.calls().is_empty() {
            let (result, server) = case.play();
            let result = result.expect(0);
            let output = result.text();
            assert!(
                output.contains(case.text("text")) && output.ends_with("Finished.\n"),
                "{name}: {output}"
            );
            let second = server.request(1).json();
            let second = format!("{}{}", second["messages"], second["input"]);
            for call in case.calls() {
                for key in ["id", "name"] {
                    let value = call[key].as_str().unwrap_or_default();
                    assert!(second.contains(value), "{name}: no {value} in {second}");
                }
            }
            rounds += 1;
        } else if is_whole && !case.text("text").is_empty() {
            let result = case.play().0.expect(0);
            assert_eq!(
                result.text().trim_end(),
                case.text("text").trim_end(),
                "{name}"
            );
            texts += 1;
        } else if ["auth", "quota", "too-large", "refused", "protocol"].contains(&case.text("why"))
        {
            let result = case.play().0.expect(1);
            let message = case.expected["error"]["message"].as_str();
            for text in [message.unwrap_or_default(), case.text("says")] {
                let text = text.trim_end_matches('.');
                result.errors().assert_has_for(&name, &[text]);
            }
            failures += 1;
        }
    }
    assert!(
        texts >= 3 && rounds >= 3 && failures >= 3,
        "{texts} texts, {rounds} rounds, {failures} failures"
    );
}

#[test]
fn every_reply_in_anthropics_dialect_arrives() {
    all("anthropic");
}

#[test]
fn every_reply_in_ollamas_dialect_arrives() {
    all("ollama");
}

#[test]
fn every_reply_in_the_dialect_of_chat_completions_arrives() {
    all("openai");
}

#[test]
fn every_reply_in_the_dialect_of_responses_arrives() {
    all("responses");
}
