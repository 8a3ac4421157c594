//! What comes of the results of configured servers: images for models that see, long texts in files, words for the user alone, and what a schema announces.

use std::fs;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::conversation::{calls, last_sent, playing, says};
use crate::support::home::Home;
use crate::support::image::png;
use crate::support::run::Done;
use crate::support::server::Server;
use crate::support::words::TextAssertions;

/// A server with a handshake and one tool, whose result is in the file `$1`.
const SERVER: &str = r#"#!/bin/sh
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) say '{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}' ;;
  *'"method":"tools/list"'*) say '{"tools":[{"name":"shot","description":"Looks.","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{"readOnlyHint":true}}]}' ;;
  *'"method":"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":' "$id"; tr -d '\n' < "$1"; printf '}\n' ;;
  *'"id":'*'"method":'*|*'"method":'*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

/// A run whose model calls the tool once, which returns `result`; and what the model was sent.
fn run(
    home: &Home,
    (provider, model): (&str, &str),
    flags: &[&str],
    result: &Value,
) -> (Done, Server) {
    let program = home.program("bin/server", SERVER);
    let file = home.write("result.json", result.to_string());
    home.write(
        "config/mcp.json",
        json!({"mcpServers": {"cam": {"command": program, "args": [file]}}}).to_string(),
    );
    let server = playing([calls("cam__shot", json!({})), says("Done.")]);
    let done = home
        .marvin()
        .with_provider(provider, server.url("/v1"), model)
        .args(["--non-interactive", "--prompt", "look"])
        .args(flags.to_vec())
        .run();
    (done.expect(0), server)
}

#[test]
fn an_image_of_a_result_reaches_models_that_see_and_no_file() {
    let image = STANDARD.encode(png(64, 48));
    let result = json!({"content": [
        {"type": "text", "text": "The screen:"},
        {"type": "image", "mimeType": "image/png", "data": image},
    ], "structuredContent": {"n": 1}});
    let home = Home::new();
    let lines = ["--output-format", "stream-json"];
    let (done, server) = run(&home, ("gemini", "gemini-2.5-flash"), &lines, &result);
    let sent = server.request(1).json()["messages"].clone();
    let sent = sent.as_array().unwrap();
    let url = format!("data:image/png;base64,{image}");
    assert_eq!(sent[sent.len() - 1]["content"][1]["image_url"]["url"], url);
    let text = sent[sent.len() - 2]["content"].to_string();
    text.as_str().assert_has(&["The screen:", "[image, "]);
    // A program that reads the events gets it in the form of its other images.
    let lines = done.text();
    let line = lines.lines().find(|line| line.contains("tool_result"));
    let line: Value = serde_json::from_str(line.unwrap()).unwrap();
    let content = &line["message"]["content"][0]["content"];
    assert_eq!(content[1]["source"]["data"], image);
    let kept = home.path().join("config");
    let grep = |args: &[&str]| {
        let found = Command::new("grep").args(args).arg(&kept).output();
        String::from_utf8_lossy(&found.unwrap().stdout).into_owned()
    };
    assert_ne!(grep(&["-rl", "The screen:"]), "");
    assert_eq!(grep(&["-rl", &image]), "");
    // A model that does not see gets the words.
    let (_done, server) = run(&home, ("openai-compat", "test-model"), &[], &result);
    last_sent(&server, 1).assert_has(&["The screen:", "[image, "]);
    assert!(!server.request(1).text().contains(&image));
}

#[test]
fn the_whole_of_a_long_result_is_in_a_file_that_the_model_may_read() {
    let text = format!("begin {} end", "word ".repeat(20_000));
    let result =
        json!({"content": [{"type": "text", "text": text}], "structuredContent": {"n": 1}});
    let home = Home::new();
    let (_done, server) = run(&home, ("openai-compat", "test-model"), &[], &result);
    let sent = last_sent(&server, 1);
    assert!(sent.len() < 31_000, "{}", sent.len());
    let (_, path) = sent.split_once("the full text is in ").expect("a path");
    let (path, _) = path.split_once(" …]").expect("its end");
    assert!(path.contains("/work/.marvin/logs/cam__shot-"), "{path}");
    let kept = fs::read_to_string(path).unwrap();
    assert!(kept.starts_with(&text) && kept.len() < text.len() + 20);
}

#[test]
fn words_for_the_user_alone_are_shown_and_a_missing_structure_is_noticed_once() {
    let result = json!({"content": [
        {"type": "text", "text": "Your code is 7.", "annotations": {"audience": ["user"]}},
        {"type": "text", "text": "Paired.", "annotations": {"audience": ["assistant"]}},
    ]});
    let home = Home::new();
    let (done, server) = run(&home, ("openai-compat", "test-model"), &[], &result);
    done.errors().as_str().assert_has(&[
        "shot of cam to you: Your code is 7.",
        "shot of cam does not return what it announces: there is no structured result.",
    ]);
    let sent = last_sent(&server, 1);
    sent.as_str().assert_has(&["Paired."]);
    sent.as_str().assert_lacks(&["Your code"]);
}
