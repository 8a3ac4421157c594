//! What a session of an editor reaches: texts that are not saved.

use std::fs;

use serde_json::json;

use crate::support::editor::{Editor, obedient_model, selects};
use crate::support::home::Home;

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
