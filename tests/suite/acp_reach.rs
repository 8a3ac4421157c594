//! What a session of an editor reaches: the sandbox that the editor chooses, texts that are not saved, and servers by address.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::conversation::{calls, says};
use crate::support::editor::{Editor, last_sent, obedient_model, selects};
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(20);

/// The values of an option.
fn values(options: &Value, id: &str) -> Vec<String> {
    let options = options["configOptions"].as_array().unwrap();
    let option = options.iter().find(|option| option["id"] == id).unwrap();
    let values = option["options"].as_array().unwrap().iter();
    values
        .map(|value| value["value"].as_str().unwrap().to_owned())
        .collect()
}

fn current(options: &Value, id: &str) -> String {
    let options = options["configOptions"].as_array().unwrap();
    let option = options.iter().find(|option| option["id"] == id).unwrap();
    option["currentValue"].as_str().unwrap().to_owned()
}

#[test]
fn the_sandbox_is_an_option_and_opens_the_mode_in_which_nobody_is_asked() {
    let (home, server) = (Home::new(), obedient_model());
    let outside = home.path().join("outside");
    let mut editor = Editor::begin(&home, &server);
    let opened = editor.call("session/new", json!({"cwd": home.work(), "mcpServers": []}));
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let all = ["read-only", "workspace-write", "danger-full-access"];
    assert_eq!(values(&opened, "sandbox"), all);
    assert_eq!(current(&opened, "sandbox"), "danger-full-access");
    assert_eq!(values(&opened, "mode"), ["ask", "edit", "plan"]);
    let set = |editor: &mut Editor, id: &str, value: &str| {
        let params = json!({"sessionId": session, "configId": id, "value": value});
        editor.call("session/set_config_option", params)
    };
    let options = set(&mut editor, "sandbox", "workspace-write");
    assert_eq!(current(&options, "sandbox"), "workspace-write");
    assert_eq!(values(&options, "mode"), ["ask", "edit", "plan", "auto"]);
    set(&mut editor, "mode", "auto");
    editor.answers(|_| panic!("a question"));
    editor.prompt(&session, "run touch inside");
    editor.prompt(&session, &format!("run touch {}", outside.display()));
    assert!(home.has("work/inside") && !outside.exists());
    // Read-only holds the tools that write for the model too.
    set(&mut editor, "sandbox", "read-only");
    editor.prompt(&session, "run touch inside-too");
    let create = |path: &str| format!("call create_file {}", json!({"path": path, "content": "x"}));
    editor.prompt(&session, &create("created"));
    assert!(!home.has("work/inside-too") && !home.has("work/created"));
    // Where nothing holds a command, it is asked about again.
    let options = set(&mut editor, "sandbox", "danger-full-access");
    assert_eq!(current(&options, "mode"), "ask");
    assert_eq!(values(&options, "mode"), ["ask", "edit", "plan"]);
    let told = editor
        .updates(&session, "current_mode_update")
        .pop()
        .unwrap();
    assert_eq!(told["currentModeId"], "ask");
    editor.answers(|_| Some(Ok(selects("no"))));
    editor.prompt(&session, &format!("run touch {}", outside.display()));
    assert!(!outside.exists());
    editor.answers(|_| Some(Ok(selects("once"))));
    editor.prompt(&session, &format!("run touch {}", outside.display()));
    assert!(outside.exists());
    editor.prompt(&session, &create("created"));
    assert!(home.has("work/created"));
}

#[test]
fn no_session_is_held_less_than_its_process() {
    let (home, server) = (Home::new(), obedient_model());
    for (flag, offered) in [
        ("workspace-write", &["read-only", "workspace-write"][..]),
        ("read-only", &["read-only"]),
    ] {
        let marvin = home.marvin().with_model(&server).args(["--sandbox", flag]);
        let mut editor = Editor::begin_with(marvin, json!({}));
        let opened = editor.call("session/new", json!({"cwd": home.work(), "mcpServers": []}));
        assert_eq!(values(&opened, "sandbox"), offered);
        assert_eq!(current(&opened, "sandbox"), flag);
        let params = |value: &str| json!({"sessionId": opened["sessionId"], "configId": "sandbox", "value": value});
        let refused = editor.fails("session/set_config_option", params("danger-full-access"));
        assert_eq!(refused["code"], -32002, "{refused}");
        editor.call("session/set_config_option", params("read-only"));
        editor.close().expect(0);
    }
}

#[test]
fn a_change_is_shown_as_the_editor_has_the_text() {
    let (home, server) = (Home::new(), obedient_model());
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "middle\n".repeat(20));
    fs::write(home.work().join("a.txt"), text("first", "two")).unwrap();
    let abilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let session = editor.open(&home);
    // As many lines as on disk, and around the one that is changed they are the same.
    let unsaved = text("unsaved", "two");
    editor.answers(move |request| {
        Some(Ok(match request["method"].as_str().unwrap() {
            "fs/read_text_file" => json!({"content": unsaved}),
            "fs/write_text_file" => json!({}),
            _ => selects("once"),
        }))
    });
    let edit = r#"call apply_patch {"path": "a.txt", "old_str": "two", "new_str": "2"}"#;
    assert_eq!(editor.prompt(&session, edit), "end_turn");
    let change = json!({
        "type": "diff",
        "path": home.work().join("a.txt").display().to_string(),
        "oldText": text("unsaved", "two"),
        "newText": text("unsaved", "2"),
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

/// A server with a tool whose result has a part for the user alone.
const TELLS_THE_USER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) say '{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}' ;;
  *'"method":"tools/list"'*) say '{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
  *'"method":"tools/call"'*)
    say '{"content":[{"type":"text","text":"Drawn."},{"type":"text","text":"It is on your desk.","annotations":{"audience":["user"]}}]}' ;;
  *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

#[test]
fn what_marvin_says_beside_the_answer_reaches_the_editor() {
    let home = Home::new();
    let was_down = AtomicBool::new(false);
    let server = Server::answering(move |request, _| match request.path.as_str() {
        path if path.ends_with("/models") => Answer::json(&json!({"data": []})),
        _ if !was_down.swap(true, Ordering::Relaxed) => {
            Answer::status(503).header("retry-after-ms", "20")
        }
        _ if request.json().to_string().contains("Drawn.") => says("Look at it."),
        _ => calls("there__look", json!({})),
    })
    .lenient();
    let mut editor = Editor::begin(&home, &server);
    let there =
        json!({"name": "there", "command": "/bin/sh", "args": ["-c", TELLS_THE_USER], "env": []});
    let opened = editor.call(
        "session/new",
        json!({"cwd": home.work(), "mcpServers": [there]}),
    );
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(editor.prompt(&session, "draw it"), "end_turn");
    // What is over soon is no part of the messages.
    let thoughts = editor.updates(&session, "agent_thought_chunk");
    thoughts[0]["content"]["text"]
        .as_str()
        .unwrap()
        .assert_has(&["failed (503). Trying again in"]);
    let said = "look of there to you: It is on your desk.\n\nLook at it.";
    assert_eq!(editor.said(&session), said);
    let messages = editor.updates(&session, "agent_message_chunk");
    assert_ne!(messages[0]["messageId"], messages[1]["messageId"]);
    editor.close().expect(0);
}

#[test]
fn a_command_leaves_the_sandbox_only_when_the_editors_user_says_so() {
    let (home, server) = (Home::new(), obedient_model());
    let marvin = home.marvin().with_model(&server);
    let marvin = marvin.args(["--sandbox", "workspace-write"]);
    let mut editor = Editor::begin_with(marvin.env("MARVIN_SANDBOX_EXCLUDE_TMP", "1"), json!({}));
    let session = editor.open(&home);
    // It is fenced, or asked about.
    editor.answers(|_| panic!("a question"));
    editor.prompt(&session, "run touch inside");
    assert!(home.has("work/inside"));
    let outside = |word: &str| {
        let command = format!("echo {word} >> ../out.txt");
        let args =
            json!({"command": command, "outside_sandbox": true, "reason": "It belongs there."});
        format!("call run_command {args}")
    };
    // That the call may run says nothing about where.
    let is_outside = |request: &Value| {
        request["params"]["toolCall"]["title"]
            .to_string()
            .contains("outside the sandbox")
    };
    editor
        .answers(move |request| Some(Ok(selects(if is_outside(request) { "no" } else { "once" }))));
    editor.prompt(&session, &outside("first"));
    assert!(!home.has("out.txt"));
    editor
        .said(&session)
        .as_str()
        .assert_has(&["The user declined."]);
    editor.answers(|_| Some(Ok(selects("once"))));
    editor.prompt(&session, &outside("second"));
    assert_eq!(home.read("out.txt"), "second\n");
    let asked = editor.lines().into_iter().rfind(is_outside).unwrap();
    let call = &asked["params"]["toolCall"];
    let command = "echo second >> ../out.txt";
    assert_eq!(call["title"], format!("Run outside the sandbox: {command}"));
    assert_eq!(call["rawInput"], json!({"command": command}));
    let texts = [0, 2].map(|n| call["content"][n]["content"]["text"].clone());
    let fenced = [
        format!("```sh\n{command}\n```"),
        "```\nIt belongs there.\n```".to_owned(),
    ];
    assert_eq!(texts, fenced.map(Value::from));
    editor.answers(move |request| match is_outside(request) {
        true => Some(Ok(json!({"outcome": {"outcome": "cancelled"}}))),
        false => Some(Ok(selects("once"))),
    });
    assert_eq!(editor.prompt(&session, &outside("third")), "cancelled");
    assert_eq!(home.read("out.txt"), "second\n");
}
