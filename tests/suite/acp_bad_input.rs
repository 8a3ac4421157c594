//! What an editor may get wrong, by chance or on purpose: each is an error of its own, and the connection goes on.

use std::fs;

use serde_json::{Value, json};

use crate::support::editor::{Editor, last_sent, obedient_model, selects};
use crate::support::home::Home;
use crate::support::server::{Answer, Server};

#[test]
fn lines_that_are_no_requests_get_their_errors() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::start(home.marvin().with_model(&server));
    let deep = "[".repeat(200_000);
    for (line, code, id) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":1,", -32700, Value::Null),
        ("hello", -32700, Value::Null),
        ("{\"id\":\"a\0b\"}", -32700, Value::Null),
        (deep.as_str(), -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]",
            -32600,
            Value::Null,
        ),
        ("7", -32600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":55}", -32600, json!(55)),
        (
            "{\"id\":{\"a\":1},\"method\":\"initialize\"}",
            -32600,
            Value::Null,
        ),
        (
            "{\"id\":\"x\",\"method\":\"session/new\",\"params\":{}}",
            -32600,
            json!("x"),
        ),
        (
            "{\"id\":null,\"method\":\"session/list\"}",
            -32600,
            Value::Null,
        ),
        ("{\"id\":6,\"method\":\"_private/thing\"}", -32600, json!(6)),
        (
            "{\"id\":7,\"method\":\"initialize\",\"params\":[1]}",
            -32602,
            json!(7),
        ),
    ] {
        let answer = answer_to_next(&mut editor, line);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], id, "{answer}");
    }
    let params = json!({"protocolVersion": 0, "clientInfo": {"name": "\u{fffd}"}});
    assert_eq!(editor.call("initialize", params)["protocolVersion"], 1);
    let again = editor.fails("initialize", json!({"protocolVersion": 1}));
    assert_eq!(again["code"], -32600);
    assert_eq!(editor.fails("_private/thing", json!({}))["code"], -32601);
    // Notifications are never answered, whatever they are.
    editor.notify("session/unknown", json!({}));
    editor.notify("session/cancel", json!({"sessionId": "none"}));
    editor.notify("session/cancel", json!(7));
    editor.notify("$/cancel_request", json!({"requestId": {}}));
    editor.send(&json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    editor.send(&json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": ""}}));
    let session = editor.open(&home);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
    let stray = editor
        .lines()
        .into_iter()
        .filter(|line| line["id"] == 77 || line["id"] == "x");
    assert_eq!(
        stray.filter(|line| line["error"]["code"] != -32600).count(),
        0
    );
    editor.close().expect(0);
}

/// The next answer after a line.
fn answer_to_next(editor: &mut Editor, line: &str) -> Value {
    let before = editor.lines().len();
    editor.write(&format!("{line}\n"));
    crate::support::wait::found("an answer", || editor.lines().get(before).cloned())
}

#[test]
fn parameters_that_are_wrong_are_named() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let file = home.write("work/file", "x").display().to_string();
    let text = json!([{"type": "text", "text": "x"}]);
    for (method, params, code, field) in [
        ("session/new", json!({}), -32602, "cwd"),
        ("session/new", json!({"cwd": 7}), -32602, "cwd"),
        (
            "session/new",
            json!({"cwd": "relative/path"}),
            -32602,
            "cwd",
        ),
        ("session/new", json!({"cwd": "../up"}), -32602, "cwd"),
        (
            "session/new",
            json!({"cwd": "/nothing/there"}),
            -32602,
            "cwd",
        ),
        ("session/new", json!({"cwd": file}), -32602, "cwd"),
        (
            "session/new",
            json!({"cwd": home.work(), "mcpServers": {}}),
            -32602,
            "mcpServers",
        ),
        (
            "session/new",
            json!({"cwd": home.work(), "mcpServers": [{"name": "a", "command": "a", "args": "x"}]}),
            -32602,
            "mcpServers",
        ),
        (
            "session/new",
            json!({"cwd": home.work(), "mcpServers": [{"name": "a", "command": "a", "env": {"A": "b"}}]}),
            -32602,
            "mcpServers",
        ),
        (
            "session/new",
            json!({"cwd": home.work(), "mcpServers": [{"name": "a", "type": "http", "url": "http://127.0.0.1:1", "headers": [{"name": "A"}]}]}),
            -32602,
            "mcpServers",
        ),
        ("session/list", json!({"cursor": session}), -32602, "cursor"),
        (
            "session/new",
            json!({"cwd": home.work(), "additionalDirectories": ["relative"]}),
            -32602,
            "additionalDirectories",
        ),
        (
            "session/load",
            json!({"cwd": home.work()}),
            -32602,
            "sessionId",
        ),
        (
            "session/load",
            json!({"cwd": home.work(), "sessionId": "../../etc"}),
            -32002,
            "",
        ),
        (
            "session/prompt",
            json!({"prompt": text}),
            -32602,
            "sessionId",
        ),
        (
            "session/prompt",
            json!({"sessionId": "none", "prompt": text}),
            -32002,
            "",
        ),
        (
            "session/prompt",
            json!({"sessionId": session}),
            -32602,
            "prompt",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": "hi"}),
            -32602,
            "prompt",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": []}),
            -32602,
            "prompt",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{}]}),
            -32602,
            "prompt",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]}),
            -32602,
            "prompt",
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
            -32602,
            "prompt",
        ),
        (
            "session/set_mode",
            json!({"sessionId": session}),
            -32602,
            "modeId",
        ),
        (
            "session/set_mode",
            json!({"sessionId": session, "modeId": "yolo"}),
            -32002,
            "",
        ),
        (
            "authenticate",
            json!({"methodId": "magic"}),
            -32602,
            "methodId",
        ),
    ] {
        let error = editor.fails(method, params.clone());
        assert_eq!(error["code"], code, "{method} {params}: {error}");
        let named = error["data"]["field"].as_str().unwrap_or_default();
        assert_eq!(named, field, "{method} {params}: {error}");
    }
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
}

#[test]
fn a_question_that_is_answered_with_nothing_is_over() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    editor.answers(|_| None);
    for mut answer in [json!({"jsonrpc": "2.0"}), json!({"error": null})] {
        let session = editor.open(&home);
        let prompt = editor.prompts(&session, "run echo hi");
        let question = editor.line("a question", |line| {
            line["method"] == "session/request_permission" && line["params"]["sessionId"] == session
        });
        answer["id"] = question["id"].clone();
        editor.send(&answer);
        let ended = editor.answer(prompt);
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
        let call = editor.updates(&session, "tool_call_update").pop().unwrap();
        assert_eq!(call["status"], "failed", "{call}");
        let words = call.to_string();
        assert!(words.contains("neither a result nor an error"), "{words}");
    }
    // An answer gets none.
    let errors = editor.lines().into_iter();
    assert_eq!(errors.filter(|line| line["error"].is_object()).count(), 0);
    editor.close().expect(0);
}

#[test]
fn a_line_that_is_too_long_is_an_error_and_the_next_is_read() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let long = format!("{{\"id\":1,\"method\":\"{}\"}}", "x".repeat(65 << 20));
    let answer = answer_to_next(&mut editor, &long);
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    let session = editor.open(&home);
    assert_eq!(editor.prompt(&session, "hello"), "end_turn");
}

#[test]
fn two_prompts_at_once_are_answered_one_after_the_other() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let session = editor.open(&home);
    let ids: Vec<u64> = (0..5)
        .map(|n| editor.prompts(&session, &format!("number {n}")))
        .collect();
    for id in &ids {
        assert_eq!(editor.answer(*id)["result"]["stopReason"], "end_turn");
    }
    let said = editor.said(&session);
    assert_eq!(
        said,
        "Answer to number 0Answer to number 1Answer to number 2Answer to number 3Answer to number 4"
    );
    // More than may wait.
    editor.prompts(&session, "slow");
    editor.line("a piece", |line| {
        line["params"]["update"]["content"]["text"] == "slow"
    });
    for _ in 0..100 {
        editor.prompts(&session, "wait");
    }
    let id = editor.prompts(&session, "one too many");
    assert_eq!(editor.answer(id)["error"]["code"], -32603);
    editor.close().expect(0);
}

#[test]
fn paths_outside_stay_outside_whatever_the_editor_offers() {
    let (home, server) = (Home::new(), obedient_model());
    fs::write(home.path().join("secret.txt"), "secret\n").unwrap();
    let abilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::begin_with(home.marvin().with_model(&server), abilities);
    let session = editor.open(&home);
    editor.answers(|request| {
        assert_eq!(request["method"], "session/request_permission", "{request}");
        Some(Ok(selects("once")))
    });
    for call in [
        r#"call read_file {"path": "../secret.txt"}"#,
        r#"call create_file {"path": "../new.txt", "content": "x"}"#,
        r#"call apply_patch {"path": ".git/config", "old_str": "a", "new_str": "b"}"#,
    ] {
        editor.prompt(&session, call);
        let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
        assert_eq!(ended["status"], "failed", "{call}: {ended}");
    }
    let blocks = json!([{"type": "resource_link", "uri": format!("file://{}/secret.txt", home.path().display()), "name": "secret"}]);
    let id = editor.ask(
        "session/prompt",
        json!({"sessionId": session, "prompt": blocks}),
    );
    editor.answer(id);
    let last = last_sent(&server)["messages"].to_string();
    assert!(!last.contains("secret\\n"), "{last}");
}

#[test]
fn images_are_offered_unless_the_model_is_known_to_take_none() {
    let home = Home::new();
    for (provider, model, takes) in [
        ("ollama", "llava:7b", true),
        ("ollama", "gemma3:4b", true),
        ("openai", "o3-mini", false),
    ] {
        let marvin = home
            .marvin()
            .with_provider(provider, "http://127.0.0.1:1", model);
        let mut editor = Editor::start(marvin);
        let answer = editor.call("initialize", json!({"protocolVersion": 1}));
        let abilities = &answer["agentCapabilities"]["promptCapabilities"];
        assert_eq!(abilities["image"], takes, "{model}");
        editor.close().expect(0);
    }
}

#[test]
fn without_a_model_the_way_to_one_is_told() {
    let home = Home::new();
    let mut editor = Editor::start(home.marvin());
    let params = json!({"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": true}}});
    let answer = editor.call("initialize", params);
    let has_model = answer["authMethods"] == json!([]);
    if has_model {
        // A server of local models runs on this machine.
        return;
    }
    assert_eq!(answer["authMethods"][0]["args"], json!(["--setup"]));
    let error = editor.fails("session/new", json!({"cwd": home.work(), "mcpServers": []}));
    assert_eq!(error["code"], -32000);
    let words = error["data"]["message"].as_str().unwrap();
    assert!(words.contains("marvin acp --setup"), "{words}");
    let ways = |error: &Value| error["data"]["authMethods"].to_string();
    assert!(ways(&error).contains("terminal"), "{error}");
    editor.close().expect(0);
    // It is offered to clients alone that can go that way.
    let mut editor = Editor::begin_with(home.marvin(), json!({}));
    let error = editor.fails("session/new", json!({"cwd": home.work(), "mcpServers": []}));
    assert!(!ways(&error).contains("terminal"), "{error}");
    editor.close().expect(0);
}

#[test]
fn the_set_up_ends_well_only_once_the_model_works() {
    let home = Home::new();
    let refusing = Server::answering(|_, _| Answer::status(401)).lenient();
    for (server, status) in [(obedient_model(), 0), (refusing, 1)] {
        let marvin = home.marvin().with_model(&server);
        marvin.line("acp --setup").run().expect(status);
    }
}

#[test]
fn servers_of_the_editor_are_named_and_flags_of_other_runs_are_refused() {
    let (home, server) = (Home::new(), obedient_model());
    let mut editor = Editor::begin(&home, &server);
    let servers =
        json!([{"name": "github", "command": "/nonexistent/server", "args": [], "env": []}]);
    let opened = editor.call(
        "session/new",
        json!({"cwd": home.work(), "mcpServers": servers}),
    );
    let session = opened["sessionId"].as_str().unwrap();
    editor.prompt(session, "hello");
    let said = editor.said(session);
    assert!(
        said.starts_with("The MCP server github is not connected"),
        "{said}"
    );
    for flags in [
        "acp --non-interactive",
        "acp --prompt x",
        "--plain acp",
        "acp words",
    ] {
        let done = home.marvin().line(flags).run().expect(1);
        assert!(done.errors().starts_with("Error: "), "{}", done.errors());
        if flags.starts_with("acp") {
            done.stderr_has(&["MARVIN_COST:"]);
        }
    }
}
