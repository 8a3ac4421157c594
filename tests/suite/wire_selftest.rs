//! The bodies built by the wire constructors have the intended shapes.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::shared::shared;
use crate::support::wire::{ollama, openai};

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
