//! Sessions of an editor: shown again, gone on with, listed, closed and deleted; and the same ones as those of the command line.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::editor::{Editor, last_sent, obedient_model};
use crate::support::home::Home;
use crate::support::server::Server;
use crate::support::words::TextAssertions;

fn begun(home: &Home, server: &Server, texts: &[&str]) -> String {
    let mut editor = Editor::begin(home, server);
    let session = editor.open(home);
    for text in texts {
        assert_eq!(editor.prompt(&session, text), "end_turn");
    }
    editor.close().expect(0);
    session
}

fn place(home: &Home, session: &str) -> Value {
    json!({"sessionId": session, "cwd": home.work(), "mcpServers": []})
}

#[test]
fn what_was_said_is_shown_again_and_goes_on() {
    let (home, server) = (Home::new(), obedient_model());
    let create = r#"call create_file {"path": "a.txt", "content": "one\n"}"#;
    let session = begun(&home, &server, &["hello", create]);
    let mut editor = Editor::begin(&home, &server);
    let answer = editor.call("session/load", place(&home, &session));
    assert_eq!(answer["modes"]["currentModeId"], "ask");
    assert!(answer["sessionId"].is_null());
    let texts = |kind: &str| -> Vec<Value> {
        let updates = editor.updates(&session, kind).into_iter();
        updates
            .map(|update| update["content"]["text"].clone())
            .collect()
    };
    assert_eq!(texts("user_message_chunk"), ["hello", create]);
    assert_eq!(texts("agent_message_chunk")[0], "Answer to hello");
    let call = &editor.updates(&session, "tool_call")[0];
    assert_eq!(call["status"], "completed");
    assert_eq!(call["content"][0]["newText"], "one\n");
    assert_eq!(editor.prompt(&session, "more"), "end_turn");
    let last = last_sent(&server).to_string();
    assert!(
        last.contains("Answer to hello") && last.contains("more"),
        "{last}"
    );
    editor.close().expect(0);
    // Without showing it.
    let mut editor = Editor::begin(&home, &server);
    editor.call("session/resume", place(&home, &session));
    assert!(editor.updates(&session, "user_message_chunk").is_empty());
    assert_eq!(editor.prompt(&session, "again"), "end_turn");
    let last = last_sent(&server).to_string();
    assert!(last.contains("Answer to more"), "{last}");
}

#[test]
fn what_the_model_thought_is_shown_again_before_what_it_said() {
    let (home, server) = (Home::new(), obedient_model());
    let session = begun(&home, &server, &["hello", "ponder"]);
    let mut editor = Editor::begin(&home, &server);
    editor.call("session/load", place(&home, &session));
    let thoughts = editor.updates(&session, "agent_thought_chunk");
    assert_eq!(thoughts.len(), 1, "{thoughts:?}");
    assert_eq!(thoughts[0]["content"]["text"], "Let me see.");
    let said = editor.updates(&session, "agent_message_chunk");
    assert_eq!(said[1]["content"]["text"], "Pondered.");
    assert_eq!(thoughts[0]["messageId"], said[1]["messageId"]);
    // It is for the client alone.
    editor.prompt(&session, "more");
    let sent = last_sent(&server).to_string();
    assert!(!sent.contains("Let me see."), "{sent}");
}

#[test]
fn the_command_line_goes_on_with_them_and_they_with_it() {
    let (home, server) = (Home::new(), obedient_model());
    let session = begun(&home, &server, &["hello"]);
    let done = home.marvin().with_model(&server);
    let done = done.line("--non-interactive --resume").arg(&session);
    done.line("--prompt more").run().expect(0);
    let last = last_sent(&server).to_string();
    assert!(last.contains("Answer to hello"), "{last}");
    let mut editor = Editor::begin(&home, &server);
    editor.call("session/load", place(&home, &session));
    assert!(editor.said(&session).ends_with("Answer to more"));
    // Another process has it now.
    let mut other = Editor::begin(&home, &server);
    let error = other.fails("session/load", place(&home, &session));
    assert_eq!(error["code"], -32603);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("another Marvin"),
        "{error}"
    );
}

#[test]
fn a_session_belongs_to_its_folder_and_can_be_opened_twice_here_only_when_idle() {
    let (home, server) = (Home::new(), obedient_model());
    let session = begun(&home, &server, &["hello"]);
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut editor = Editor::begin(&home, &server);
    let other = json!({"sessionId": session, "cwd": elsewhere, "mcpServers": []});
    let error = editor.fails("session/load", other);
    assert_eq!(
        (&error["code"], &error["data"]["field"]),
        (&json!(-32602), &json!("cwd"))
    );
    editor.call("session/load", place(&home, &session));
    let id = editor.prompts(&session, "slow");
    editor.line("a piece", |line| {
        line["params"]["update"]["content"]["text"] == "slow"
    });
    assert_eq!(
        editor.fails("session/load", place(&home, &session))["code"],
        -32603
    );
    editor.notify("session/cancel", json!({"sessionId": session}));
    editor.answer(id);
    editor.call("session/load", place(&home, &session));
    assert_eq!(editor.prompt(&session, "more"), "end_turn");
    // One of which nothing is written yet is here all the same, in its own folder.
    let fresh = editor.open(&home);
    let other = json!({"sessionId": fresh, "cwd": elsewhere, "mcpServers": []});
    assert_eq!(editor.fails("session/resume", other)["code"], -32602);
    editor.call("session/load", place(&home, &fresh));
    editor.call("session/resume", place(&home, &fresh));
    assert_eq!(editor.prompt(&fresh, "hello"), "end_turn");
    editor.call("session/close", json!({"sessionId": fresh}));
    editor.call("session/load", place(&home, &fresh));
}

#[test]
fn sessions_are_listed_closed_and_deleted() {
    let (home, server) = (Home::new(), obedient_model());
    let one = begun(&home, &server, &["the first one"]);
    let two = begun(&home, &server, &["the second one"]);
    let mut editor = Editor::begin(&home, &server);
    let listed = editor.call("session/list", json!({"cwd": home.work()}));
    let rows: Vec<(&str, &str)> = (listed["sessions"].as_array().unwrap().iter())
        .map(|row| {
            (
                row["sessionId"].as_str().unwrap(),
                row["title"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (two.as_str(), "the second one"),
            (one.as_str(), "the first one")
        ]
    );
    let error = editor.fails("session/list", json!({"cwd": "work"}));
    assert_eq!(
        (&error["code"], &error["data"]["field"]),
        (&json!(-32602), &json!("cwd"))
    );
    let nowhere = editor.call("session/list", json!({"cwd": "/nowhere"}));
    assert_eq!(nowhere, json!({"sessions": []}));
    assert_eq!(
        editor.fails("session/list", json!({"cursor": "x"}))["code"],
        -32602
    );
    editor.call("session/load", place(&home, &one));
    let id = editor.prompts(&one, "slow");
    editor.line("a piece", |line| {
        line["params"]["update"]["content"]["text"] == "slow"
    });
    // An open one is closed first.
    editor.call("session/delete", json!({"sessionId": one}));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    let blocks = json!([{"type": "text", "text": "x"}]);
    let prompt = json!({"sessionId": one, "prompt": blocks});
    assert_eq!(editor.fails("session/prompt", prompt)["code"], -32002);
    editor.call("session/delete", json!({"sessionId": one}));
    editor.call("session/delete", json!({"sessionId": "never was"}));
    editor.call("session/load", place(&home, &two));
    editor.call("session/close", json!({"sessionId": two}));
    assert_eq!(
        editor.fails("session/close", json!({"sessionId": two}))["code"],
        -32002
    );
    let listed = editor.call("session/list", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(
        editor.fails("session/load", place(&home, &one))["code"],
        -32002
    );
}

#[test]
fn long_lists_come_in_pages() {
    let (home, server) = (Home::new(), obedient_model());
    let first = begun(&home, &server, &["hello"]);
    let dir = find(&home.config(), &first);
    let text = fs::read_to_string(dir.join(format!("{first}.jsonl"))).unwrap();
    for n in 0..119 {
        let id = format!("00000000-0000-4000-8000-{n:012}");
        fs::write(dir.join(format!("{id}.jsonl")), text.replace(&first, &id)).unwrap();
    }
    let mut editor = Editor::begin(&home, &server);
    let mut ids = Vec::new();
    let mut cursor = Value::Null;
    for expected in [50, 50, 20] {
        let page = editor.call("session/list", json!({"cursor": cursor}));
        let rows = page["sessions"].as_array().unwrap();
        assert_eq!(rows.len(), expected);
        ids.extend(rows.iter().map(|row| row["sessionId"].to_string()));
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 120);
    // A page goes on where the one before ended, whatever became of its last session.
    let page = editor.call("session/list", json!({}));
    let rows = page["sessions"].as_array().unwrap();
    let last = rows[49]["sessionId"].as_str().unwrap();
    editor.call("session/delete", json!({"sessionId": last}));
    let next = editor.call("session/list", json!({"cursor": page["nextCursor"]}));
    let next = next["sessions"].as_array().unwrap();
    assert_eq!(next.len(), 50);
    assert!(next.iter().all(|row| !rows.contains(row)));
    // Those that another program removes or adds meanwhile.
    let gone = next[0]["sessionId"].as_str().unwrap();
    fs::remove_file(dir.join(format!("{gone}.jsonl"))).unwrap();
    let again = editor.call("session/list", json!({"cursor": page["nextCursor"]}));
    let again = again["sessions"].as_array().unwrap();
    assert_eq!((again.len(), &again[0]), (50, &next[1]));
    let new = begun(&home, &server, &["another"]);
    let page = editor.call("session/list", json!({}));
    assert_eq!(page["sessions"][0]["sessionId"], new);
}

/// The folder with the file of a session.
fn find(dir: &Path, session: &str) -> std::path::PathBuf {
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        if folder.join(format!("{session}.jsonl")).exists() {
            return folder;
        }
        let entries = fs::read_dir(&folder).unwrap().flatten();
        folders.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path.is_dir()),
        );
    }
    panic!("no file of {session}");
}

#[test]
fn an_exchange_is_taken_back_and_all_of_it_is_left_behind() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    editor.prompt(&session, "first words");
    editor.prompt(&session, "second words");
    assert_eq!(editor.prompt(&session, "/undo"), "end_turn");
    editor
        .said(&session)
        .assert_has(&["Taken back: second words"]);
    editor.prompt(&session, "third words");
    let sent = last_sent(&server)["messages"].to_string();
    sent.assert_has(&["first words", "third words"]);
    sent.assert_lacks(&["second words"]);

    // What was said before is taken back in a session that is opened again, too.
    editor.call("session/close", json!({"sessionId": session}));
    let again = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    editor.call("session/resume", again.clone());
    editor.prompt(&session, "/undo");
    editor.prompt(&session, "fourth words");
    let sent = last_sent(&server)["messages"].to_string();
    sent.assert_has(&["first words", "fourth words"]);
    sent.assert_lacks(&["third words"]);

    editor.prompt(&session, "/clear");
    editor.prompt(&session, "fifth words");
    let sent = last_sent(&server)["messages"].to_string();
    sent.assert_lacks(&["first words", "fourth words"]);
    editor.call("session/close", json!({"sessionId": session}));
    editor.call("session/resume", again);
    editor.prompt(&session, "sixth words");
    let sent = last_sent(&server)["messages"].to_string();
    sent.assert_has(&["fifth words"]);
    sent.assert_lacks(&["first words"]);
}
