//! What a session of an editor reaches: texts that are not saved, and servers by address.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::support::editor::{Editor, last_sent, obedient_model, selects};
use crate::support::home::Home;

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_change_is_shown_as_the_editor_has_the_text() {
    let (home, server) = (Home::new(), obedient_model());
    fs::write(home.work().join("a.txt"), "first\nmiddle\ntwo\n").unwrap();
    let abilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let session = editor.open(&home);
    // As many lines as on disk, and the one that is changed is the same.
    editor.answers(|request| {
        Some(Ok(match request["method"].as_str().unwrap() {
            "fs/read_text_file" => json!({"content": "unsaved\nmiddle\ntwo\n"}),
            "fs/write_text_file" => json!({}),
            _ => selects("once"),
        }))
    });
    let edit = r#"call apply_patch {"path": "a.txt", "old_str": "two", "new_str": "2"}"#;
    assert_eq!(editor.prompt(&session, edit), "end_turn");
    let change = json!({
        "type": "diff",
        "path": home.work().join("a.txt").display().to_string(),
        "oldText": "unsaved\nmiddle\ntwo\n",
        "newText": "unsaved\nmiddle\n2\n",
    });
    let question = editor.line("a question", |line| {
        line["method"] == "session/request_permission"
    });
    assert_eq!(question["params"]["toolCall"]["content"], json!([change]));
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    assert_eq!(ended["content"][0], change);
}

#[test]
fn a_server_is_reached_by_its_address() {
    let (home, server) = (Home::new(), obedient_model());
    let served = Home::new();
    served.write("work/heron.txt", "At nine.");
    let folder = served.work().display().to_string();
    let words = ["mcp", "serve", "--http", "0", "--working-dir", &folder];
    let listening = served.marvin().args(words).limit(LIMIT).spawn();
    listening.wait_stderr("/mcp\n", LIMIT);
    let told = listening.stderr();
    let url = told.trim().strip_prefix("listening on ").unwrap();
    let mut editor = Editor::start(home.marvin().with_model(&server));
    let begun = editor.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(
        begun["agentCapabilities"]["mcpCapabilities"],
        json!({"http": true, "sse": false})
    );
    let servers = json!([{"type": "http", "name": "there", "url": url, "headers": []}]);
    let opened = editor.call(
        "session/new",
        json!({"cwd": home.work(), "mcpServers": servers}),
    );
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    editor.prompt(&session, r#"call there__read_file {"path": "heron.txt"}"#);
    let sent = last_sent(&server)["messages"].to_string();
    assert!(sent.contains("At nine."), "{sent}");
    editor.close().expect(0);
}
