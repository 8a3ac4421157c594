//! The bodies built by the wire constructors have the intended shapes.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::shared::shared;
use crate::support::wire::{anthropic, ollama, openai, pieces};

fn payloads(frames: &[String]) -> Vec<Value> {
    let lines = frames.iter().flat_map(|f| f.lines());
    lines
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn openai_chunks_join_to_the_arguments() {
    let frames = openai::Stream::new()
        .text(&["One ", "moment."])
        .call_in_pieces(0, "call_a", "read_file", r#"{"path":"ä.txt"}"#, 3)
        .call(1, "call_b", "tree", "{}")
        .end();
    assert_eq!(frames.last().unwrap(), "data: [DONE]\n\n");
    let chunks = payloads(&frames);
    let joined = |index: u64| -> String {
        let calls = chunks.iter().flat_map(|c| c["choices"].as_array().unwrap());
        calls
            .flat_map(|c| c["delta"]["tool_calls"].as_array().into_iter().flatten())
            .filter(|c| c["index"] == index)
            .map(|c| c["function"]["arguments"].as_str().unwrap())
            .collect()
    };
    assert_eq!(joined(0), r#"{"path":"ä.txt"}"#);
    assert_eq!(joined(1), "{}");
    let finish: Vec<_> = chunks
        .iter()
        .filter_map(|c| c["choices"][0]["finish_reason"].as_str())
        .collect();
    assert_eq!(finish, ["tool_calls"]);
    let usage = chunks.last().unwrap();
    assert_eq!(
        (
            usage["choices"].clone(),
            usage["usage"]["total_tokens"].clone()
        ),
        (json!([]), json!(15))
    );
}

#[test]
fn anthropic_blocks_are_numbered_and_closed() {
    let frames = anthropic::Stream::new()
        .thinking(&["hm"], "c2ln")
        .ping()
        .call("toolu_a", "tree", r#"{"path":"src"}"#, 4)
        .end();
    let events = payloads(&frames);
    let kinds: Vec<_> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"message_start"));
    assert_eq!(kinds.last(), Some(&"message_stop"));
    let count = |kind| kinds.iter().filter(|k| **k == kind).count();
    assert_eq!(
        (
            count("content_block_start"),
            count("content_block_stop"),
            count("ping")
        ),
        (2, 2, 1)
    );
    let json: String = events
        .iter()
        .filter_map(|e| e["delta"]["partial_json"].as_str())
        .collect();
    assert_eq!(json, r#"{"path":"src"}"#);
    assert!(
        frames
            .iter()
            .zip(&kinds)
            .all(|(f, k)| f.starts_with(&format!("event: {k}\n")))
    );
}

#[test]
fn ollama_lines_are_objects_and_the_last_is_done() {
    for lines in [
        ollama::text(&["a", "b"]),
        ollama::calls(&[("tree", json!({"path": "."}))]),
        ollama::calls_in_last(&[("tree", json!({}))]),
    ] {
        let values: Vec<Value> = lines
            .iter()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        let done: Vec<_> = values
            .iter()
            .map(|v| v["done"].as_bool().unwrap())
            .collect();
        assert!(done.iter().rev().skip(1).all(|d| !d) && done.last() == Some(&true));
    }
}

#[test]
fn shapes_have_the_keys_of_the_fixtures() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wires");
    let body = |path: &str| std::fs::read_to_string(fixtures.join(path)).unwrap();
    same_keys(
        &body("openai/one-call/body.sse"),
        &body("ollama/one-call/body.ndjson"),
    );
}

#[test]
fn shapes_have_the_keys_of_real_recordings() {
    let Some(shared) = shared("wire_selftest::shapes_have_the_keys_of_real_recordings") else {
        return;
    };
    let body = |path: &str| std::fs::read_to_string(shared.join("recordings").join(path)).unwrap();
    same_keys(
        &body("openai/one-tool-in-pieces-gpt-4o-mini.sse"),
        &body("ollama/ndjson-one-tool-whole-qwen3-4b.ndjson"),
    );
}

fn same_keys(chunks: &str, lines: &str) {
    let real = payloads(&[chunks.to_owned()]);
    let ours = payloads(&openai::call("call_a", "tree", json!({})));
    for key in keys(&ours[0]) {
        assert!(keys(&real[0]).contains(&key), "no {key} in a real chunk");
    }
    let real: Vec<Value> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let last: Value = serde_json::from_str(&ollama::done("stop")).unwrap();
    for key in keys(&last) {
        assert!(
            keys(real.last().unwrap()).contains(&key),
            "no {key} in a real last line"
        );
    }
}

#[test]
fn chunks_never_split_a_character() {
    assert_eq!(pieces("aäb€c", 2), ["aä", "b€", "c"]);
    assert!(pieces("", 2).is_empty());
}
