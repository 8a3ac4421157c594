//! Files in an editor's session: edits as diffs, files that the editor has open or links, folders that it names.

use std::fs;

use serde_json::{Value, json};

use crate::support::editor::{Editor, last_sent, obedient_model, selects};
use crate::support::home::Home;

#[test]
fn edits_have_diffs_of_whole_texts() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    editor.prompt(
        &session,
        r#"call create_file {"path": "a.txt", "content": "one\ntwo\n"}"#,
    );
    editor.prompt(
        &session,
        r#"call apply_patch {"path": "a.txt", "old_str": "two", "new_str": "2"}"#,
    );
    let path = home.work().join("a.txt").display().to_string();
    let updates = editor.updates(&session, "tool_call_update");
    // Before it is asked about, and when it is made.
    for status in ["pending", "completed"] {
        let diffs: Vec<&Value> = (updates.iter())
            .filter(|update| update["status"] == status)
            .map(|update| &update["content"][0])
            .collect();
        assert_eq!(
            diffs,
            [
                &json!({"type": "diff", "path": path, "oldText": null, "newText": "one\ntwo\n"}),
                &json!({"type": "diff", "path": path, "oldText": "one\ntwo\n", "newText": "one\n2\n"}),
            ]
        );
    }
    let calls = editor.updates(&session, "tool_call");
    assert_eq!(calls[1]["kind"], "edit");
    assert_eq!(calls[1]["locations"], json!([{"path": path}]));
    // The model used one id twice; a client must not.
    assert_ne!(calls[0]["toolCallId"], calls[1]["toolCallId"]);
}

#[test]
fn an_edit_is_asked_about_with_its_change() {
    let (home, server) = (Home::new(), obedient_model());
    let (file, note) = ("work/a.txt", "work/.marvin/notes/n.md");
    home.write(file, "one\ntwo\n");
    home.write(note, "one\ntwo\n");
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    editor.answers(|_| Some(Ok(selects("no"))));
    let calls = [
        (
            file,
            r#"apply_patch {"path": "a.txt", "old_str": "two", "new_str": "2"}"#,
        ),
        (
            note,
            r#"file_apply_patch {"path": "n", "patch": "@@\n one\n-two\n+2\n"}"#,
        ),
        (
            note,
            r#"write_note {"path": "n.md", "content": "one\n2\n"}"#,
        ),
    ];
    for (n, (path, call)) in calls.into_iter().enumerate() {
        editor.prompt(&session, &format!("call {call}"));
        let lines = editor.lines();
        let mut questions = lines
            .iter()
            .filter(|line| line["method"] == "session/request_permission");
        let asked = &questions.nth(n).unwrap()["params"]["toolCall"];
        let whole = home.path().join(path).display().to_string();
        let diff =
            json!({"type": "diff", "path": whole, "oldText": "one\ntwo\n", "newText": "one\n2\n"});
        assert_eq!(asked["content"], json!([diff]), "{call}");
        assert_eq!(asked["locations"], json!([{"path": whole}]), "{call}");
        assert_eq!(home.read(path), "one\ntwo\n");
    }
}

#[test]
fn a_session_has_the_further_folders_that_the_editor_names_and_no_others() {
    let (home, server) = (Home::new(), obedient_model());
    let further = home.path().join("further");
    fs::create_dir(&further).unwrap();
    fs::write(further.join("a.txt"), "over there\n").unwrap();
    let mut editor = Editor::begin(&home, &server);
    let wanted = json!({"cwd": home.work(), "mcpServers": [], "additionalDirectories": [further]});
    let with = editor.call("session/new", wanted)["sessionId"].clone();
    let without = editor.open(&home);
    let path = json!({"path": further.join("a.txt")}).to_string();
    for (session, status) in [(with.as_str().unwrap(), "completed"), (&without, "failed")] {
        editor.prompt(session, &format!("call read_file {path}"));
        let ended = editor.updates(session, "tool_call_update").pop().unwrap();
        assert_eq!(ended["status"], status, "{ended}");
    }
}

#[test]
fn files_are_read_and_written_through_an_editor_that_can() {
    let (home, server) = (Home::new(), obedient_model());
    fs::write(home.work().join("a.txt"), "on disk\n").unwrap();
    fs::write(home.work().join("b.txt"), "unknown to the editor\n").unwrap();
    let abilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let session = editor.open(&home);
    editor.answers(|request| {
        let path = request["params"]["path"].as_str().unwrap_or_default();
        Some(match request["method"].as_str().unwrap() {
            "fs/read_text_file" if path.ends_with("/a.txt") => Ok(json!({"content": "unsaved\n"})),
            "fs/read_text_file" => Err(json!({"code": -32002, "message": "no such file"})),
            "fs/write_text_file" if path.ends_with("/no.txt") => {
                Err(json!({"code": -32603, "message": "the disk is full"}))
            }
            "fs/write_text_file" => Ok(json!({})),
            _ => Ok(selects("once")),
        })
    });
    let ended = |editor: &mut Editor, text: &str| {
        editor.prompt(&session, text);
        let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
        ended.to_string()
    };
    let read = ended(&mut editor, r#"call read_file {"path": "a.txt"}"#);
    assert!(read.contains("1. unsaved"), "{read}");
    let read = ended(&mut editor, r#"call read_file {"path": "b.txt"}"#);
    assert!(read.contains("unknown to the editor"), "{read}");
    ended(
        &mut editor,
        r#"call apply_patch {"path": "a.txt", "old_str": "un", "new_str": "now "}"#,
    );
    // What stands there may have changed while somebody was asked: once for the question, once for the edit.
    let reads = |editor: &Editor| {
        let lines = editor.lines().into_iter();
        lines
            .filter(|line| line["method"] == "fs/read_text_file")
            .count()
    };
    assert_eq!(reads(&editor), 4);
    let wrote = editor.line("a write", |line| line["method"] == "fs/write_text_file");
    assert_eq!(wrote["params"]["content"], "now saved\n");
    assert_eq!(
        wrote["params"]["path"],
        home.work().join("a.txt").display().to_string()
    );
    // The editor writes, and nobody else.
    assert_eq!(
        fs::read_to_string(home.work().join("a.txt")).unwrap(),
        "on disk\n"
    );
    let failed = ended(
        &mut editor,
        r#"call create_file {"path": "no.txt", "content": "x"}"#,
    );
    assert!(
        failed.contains("the disk is full") && failed.contains("\"failed\""),
        "{failed}"
    );
    assert!(!home.work().join("no.txt").exists());
    // What must fail is not asked about.
    let asked = |editor: &Editor| {
        let lines = editor.lines().into_iter();
        lines
            .filter(|line| line["method"] == "session/request_permission")
            .count()
    };
    let before = asked(&editor);
    let failed = ended(
        &mut editor,
        r#"call apply_patch {"path": "a.txt", "old_str": "not there", "new_str": "x"}"#,
    );
    assert!(
        failed.contains("old_str") && failed.contains("\"failed\""),
        "{failed}"
    );
    assert_eq!(asked(&editor), before);
    // Where nobody is asked a call reads once.
    let mode = json!({"sessionId": session, "modeId": "edit"});
    editor.call("session/set_mode", mode);
    let before = reads(&editor);
    ended(
        &mut editor,
        r#"call apply_patch {"path": "a.txt", "old_str": "un", "new_str": "now "}"#,
    );
    assert_eq!(reads(&editor), before + 1);
}

#[test]
fn a_file_that_was_never_saved_is_seen() {
    let (home, server) = (Home::new(), obedient_model());
    let abilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let session = editor.open(&home);
    // Editors say in different ways that they do not have a file.
    editor.answers(|request| {
        let path = request["params"]["path"].as_str().unwrap_or_default();
        Some(match request["method"].as_str().unwrap() {
            "fs/read_text_file" if path.ends_with("/new.txt") => Ok(json!({"content": "draft\n"})),
            "fs/read_text_file" if path.ends_with("/empty.txt") => Ok(json!({"content": ""})),
            "fs/read_text_file" => Err(json!({"code": -32603, "message": "ENOENT"})),
            "fs/write_text_file" => Ok(json!({})),
            _ => Ok(selects("once")),
        })
    });
    let over = "*** Begin Patch\n*** Add File: new.txt\n+model\n*** End Patch";
    for (prompt, status, words) in [
        (
            r#"call read_file {"path": "new.txt"}"#,
            "completed",
            "1. draft",
        ),
        (
            r#"call read_file {"path": "empty.txt"}"#,
            "failed",
            "There is no",
        ),
        (
            r#"call read_file {"path": "none.txt"}"#,
            "failed",
            "There is no",
        ),
        (
            &format!("call apply_patch {}", json!({"input": over})),
            "completed",
            "\"oldText\":\"draft",
        ),
    ] {
        editor.prompt(&session, prompt);
        let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
        assert_eq!(ended["status"], status, "{prompt}: {ended}");
        assert!(ended.to_string().contains(words), "{prompt}: {ended}");
    }
}

#[test]
fn a_change_beside_the_working_directory_is_shown_where_it_is() {
    let (home, server) = (Home::new(), obedient_model());
    let further = home.path().join("further");
    fs::create_dir(&further).unwrap();
    fs::write(further.join("same.txt"), "there\n").unwrap();
    fs::write(home.work().join("same.txt"), "here\n").unwrap();
    let mut editor = Editor::begin(&home, &server);
    let wanted = json!({"cwd": home.work(), "mcpServers": [], "additionalDirectories": [further]});
    let session = editor.call("session/new", wanted)["sessionId"].clone();
    let session = session.as_str().unwrap();
    let path = further.join("same.txt").display().to_string();
    let patch =
        format!("*** Begin Patch\n*** Update File: {path}\n@@\n-there\n+THERE\n*** End Patch");
    for (prompt, old, new) in [
        (
            format!(
                "call append_file {}",
                json!({"path": path, "content": "more\n"})
            ),
            "there\n",
            "there\nmore\n",
        ),
        (
            format!("call apply_patch {}", json!({"input": patch})),
            "there\nmore\n",
            "THERE\nmore\n",
        ),
    ] {
        editor.prompt(session, &prompt);
        let wanted = json!({"type": "diff", "path": path, "oldText": old, "newText": new});
        let mut asked = editor.lines().into_iter();
        let asked = asked.rfind(|line| line["method"] == "session/request_permission");
        assert_eq!(asked.unwrap()["params"]["toolCall"]["content"][0], wanted);
        let ended = editor.updates(session, "tool_call_update").pop().unwrap();
        assert_eq!(ended["content"][0], wanted);
    }
    let uri = format!("file://{path}");
    let blocks = json!([
        {"type": "text", "text": "Look at"},
        {"type": "resource_link", "uri": uri, "name": "same.txt"},
    ]);
    let prompt = json!({"sessionId": session, "prompt": blocks});
    editor.call("session/prompt", prompt);
    let sent = last_sent(&server)["messages"].to_string();
    assert!(sent.contains("<file name="), "{sent}");
}

#[test]
fn a_moved_file_goes_through_the_editor_and_is_shown_at_both_places() {
    let (home, server) = (Home::new(), obedient_model());
    fs::write(home.work().join("a.txt"), "one\n").unwrap();
    let abilities = json!({"fs": {"writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let session = editor.open(&home);
    editor.answers(|request| match request["method"] == "fs/write_text_file" {
        true => Some(Ok(json!({}))),
        false => Some(Ok(selects("once"))),
    });
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** End Patch";
    editor.prompt(
        &session,
        &format!("call apply_patch {}", json!({"input": patch})),
    );
    let wrote = editor.line("a write", |line| line["method"] == "fs/write_text_file");
    let path = |name: &str| home.work().join(name).display().to_string();
    assert_eq!(wrote["params"]["path"], path("b.txt"));
    assert!(!home.has("work/a.txt"));
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    assert_eq!(
        ended["content"].as_array().unwrap()[..2],
        [
            json!({"type": "diff", "path": path("b.txt"), "oldText": null, "newText": "two\n"}),
            json!({"type": "diff", "path": path("a.txt"), "oldText": "one\n", "newText": ""}),
        ]
    );
}

#[test]
fn the_change_of_a_long_file_is_a_patch() {
    let (home, server) = (Home::new(), obedient_model());
    let long = "a line of a long file\n".repeat(60_000);
    fs::write(home.work().join("long.txt"), format!("{long}last\n")).unwrap();
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let change = r#"call apply_patch {"path": "long.txt", "old_str": "last", "new_str": "end"}"#;
    editor.prompt(&session, change);
    let asked = editor.line("a question", |line| {
        line["method"] == "session/request_permission"
    });
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    for content in [&asked["params"]["toolCall"]["content"], &ended["content"]] {
        let text = content[0]["content"]["text"].as_str().unwrap_or_default();
        assert!(
            text.contains("@@ -59998,4 +59998,4 @@") && text.contains("-last"),
            "{content}"
        );
    }
}

#[test]
fn a_folder_that_is_given_through_a_link_keeps_the_path_that_the_editor_knows() {
    let (home, server) = (Home::new(), obedient_model());
    fs::write(home.work().join("a.txt"), "one\n").unwrap();
    let link = home.path().join("link");
    std::os::unix::fs::symlink(home.work(), &link).unwrap();
    let known = link.join("a.txt").display().to_string();
    let abilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let opened = editor.call("session/new", json!({"cwd": link, "mcpServers": []}));
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    editor.answers(|request| {
        Some(Ok(match request["method"].as_str().unwrap() {
            "fs/read_text_file" => json!({"content": "one\n"}),
            "fs/write_text_file" => json!({}),
            _ => selects("once"),
        }))
    });
    let edit = r#"call apply_patch {"path": "a.txt", "old_str": "one", "new_str": "1"}"#;
    assert_eq!(editor.prompt(&session, edit), "end_turn");
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        let request = editor.line(method, |line| line["method"] == method);
        assert_eq!(request["params"]["path"], known);
    }
    let question = editor.line("a question", |line| {
        line["method"] == "session/request_permission"
    });
    let call = &question["params"]["toolCall"];
    assert_eq!(call["content"][0]["path"], known, "{call}");
    assert_eq!(call["locations"][0]["path"], known, "{call}");
    let uri = format!("file://{known}");
    let blocks = json!([
        {"type": "text", "text": "Look at"},
        {"type": "resource_link", "uri": uri, "name": "a.txt"},
    ]);
    let prompt = json!({"sessionId": session, "prompt": blocks});
    editor.call("session/prompt", prompt);
    let sent = last_sent(&server)["messages"].to_string();
    assert!(sent.contains("@a.txt"), "{sent}");
    editor.call("session/close", json!({"sessionId": session}));
    for folder in [link, home.work()] {
        let listed = editor.call("session/list", json!({"cwd": folder}));
        assert_eq!(listed["sessions"][0]["sessionId"], session, "{listed}");
    }
}

#[test]
fn files_that_a_prompt_links_or_holds_go_to_the_model() {
    let (home, server) = (Home::new(), obedient_model());
    let path = home.write("work/some notes.txt", "what the file says\n");
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let uri = format!("file://{}", path.display().to_string().replace(' ', "%20"));
    let blocks = json!([
        {"type": "text", "text": "Compare"},
        {"type": "resource_link", "uri": uri, "name": "some notes.txt"},
        {"type": "resource", "resource": {"uri": "untitled:1", "text": "what was never saved"}},
    ]);
    let id = editor.ask(
        "session/prompt",
        json!({"sessionId": session, "prompt": blocks}),
    );
    assert_eq!(editor.answer(id)["result"]["stopReason"], "end_turn");
    let sent = last_sent(&server)["messages"].to_string();
    for words in [
        "Compare",
        "what the file says",
        "what was never saved",
        "untitled:1",
    ] {
        assert!(sent.contains(words), "{words}: {sent}");
    }
    // Shown again it is what the user wrote, with what was embedded by its name.
    editor.call("session/close", json!({"sessionId": session}));
    let place = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    editor.call("session/load", place);
    let said = editor.updates(&session, "user_message_chunk").into_iter();
    let said: Vec<Value> = said.map(|update| update["content"].clone()).collect();
    assert_eq!(
        said,
        [
            json!({"type": "text", "text": "Compare\n@some notes.txt"}),
            json!({"type": "resource_link", "uri": "untitled:1", "name": "untitled:1"}),
        ]
    );
    // It is called by what was typed, while it is answered, when it is shown again, and in the list.
    let told = editor.updates(&session, "session_info_update");
    let listed = editor.call("session/list", json!({}));
    let titles: Vec<&Value> = told
        .iter()
        .chain(listed["sessions"].as_array().unwrap())
        .map(|one| &one["title"])
        .collect();
    assert_eq!(titles, ["Compare"; 3]);
    assert_eq!(told[1]["updatedAt"], listed["sessions"][0]["updatedAt"]);
    // How full the window is, about.
    let usage = editor.updates(&session, "usage_update").pop().unwrap();
    let used = usage["used"].as_u64().unwrap();
    assert!(
        used > 0 && used < usage["size"].as_u64().unwrap(),
        "{usage}"
    );
}
