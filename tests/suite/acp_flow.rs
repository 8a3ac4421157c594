//! Editors with coding mode off: the reply flow answers, tells its plan, and remembers. Runs of programs never take it.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::acp_sdk::assert_fit;
use crate::json_events::user;
use crate::support::editor::Editor;
use crate::support::home::Home;
use crate::support::image::png;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::stages::{
    StageAnswer, StageServer, content, last_message, ollama_by_stage, ollama_says, stage_of,
};
use crate::support::wait::until;
use crate::support::words::TextAssertions;

const DIARY: &str = "config/profiles/main/memory/diary.json";
const CHAT_LOG: &str = "config/profiles/main/chat_log.json";

fn with_ollama(home: &Home, url: String) -> Marvin {
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", url)
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .env("NOTES_DIR", home.path().join("Notes"))
        // A script that has no answer left fails at once.
        .env("MARVIN_RETRIES", "0")
}

/// An editor with a session whose coding mode is off.
fn conversation(home: &Home, url: String) -> (Editor, String) {
    let mut editor = Editor::begin_with(with_ollama(home, url), json!({}));
    let session = editor.open(home);
    toggle_coding(&mut editor, &session, "Coding mode is off.");
    (editor, session)
}

fn toggle_coding(editor: &mut Editor, session: &str, words: &str) {
    assert_eq!(editor.prompt(session, "/code"), "end_turn");
    editor.said(session).assert_has(&[words]);
}

/// The calls of a reply that needs nothing.
fn reply(text: &str) -> Vec<StageAnswer> {
    vec![
        StageAnswer::text("router", "none"),
        StageAnswer::text("planner", "Reply to the user."),
        StageAnswer::text("chat", text),
    ]
}

/// The content and the status of every entry, update by update.
fn plans(editor: &Editor, session: &str) -> Vec<Vec<(String, String)>> {
    let updates = editor.updates(session, "plan").into_iter();
    let entry = |entry: &Value| {
        assert_eq!(entry["priority"], "medium");
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        (text("content"), text("status"))
    };
    updates
        .map(|update| {
            let entries = update["entries"].as_array().unwrap();
            entries.iter().map(entry).collect()
        })
        .collect()
}

fn statuses(plan: &[(String, String)]) -> Vec<&str> {
    plan.iter().map(|(_, status)| status.as_str()).collect()
}

fn chats(server: &StageServer) -> Vec<String> {
    let calls = server.calls().into_iter();
    let chats = calls.filter(|call| call.stage == "chat");
    chats.map(|call| call.body.to_string()).collect()
}

#[test]
fn a_reply_of_several_steps_is_told_as_a_plan_and_shown_again() {
    let home = Home::new();
    home.write("Notes/heron.md", "It was grey.");
    let server = StageServer::start([
        StageAnswer::text("router", "read_note"),
        StageAnswer::text(
            "planner",
            "searchMemory topic='birds'\nread_note path='heron.md'\nReply with password=swordfish99.",
        ),
        StageAnswer::text("extractor", "{\"keywords\": [\"heron\"]}"),
        // What is no answer is not shown.
        StageAnswer::text("chat", "```tool_call\n{\"name\": \"read_note\", \"arg"),
        StageAnswer::text("chat", "A grey heron."),
    ]);
    let (mut editor, session) = conversation(&home, server.url(""));
    assert_eq!(
        editor.prompt(&session, "which colour has the heron in my notes"),
        "end_turn"
    );
    let plans = plans(&editor, &session);
    let steps: Vec<&str> = plans[0].iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(
        steps,
        [
            "read_note path='heron.md'",
            "Reply with password=[REDACTED]"
        ]
    );
    let told: Vec<Vec<&str>> = plans.iter().map(|plan| statuses(plan)).collect();
    assert_eq!(
        told,
        [
            ["in_progress", "pending"],
            ["completed", "in_progress"],
            ["completed", "completed"],
        ]
    );
    assert!(editor.said(&session).ends_with("A grey heron."));
    editor
        .said(&session)
        .assert_lacks(&["tool_call", "read_note"]);
    let calls = editor.updates(&session, "tool_call");
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["kind"], "read");
    let ended = editor.updates(&session, "tool_call_update").pop().unwrap();
    assert_eq!(ended["status"], "completed");
    assert!(!editor.updates(&session, "usage_update").is_empty());
    let title = &editor.updates(&session, "session_info_update")[0]["title"];
    assert_eq!(title, "which colour has the heron in my notes");
    assert_eq!(editor.prompt(&session, "/why"), "end_turn");
    editor
        .said(&session)
        .assert_has(&["planner", "Tools run: read_note"]);
    assert_fit("a_reply_of_several_steps", &editor.lines());
    editor.close().expect(0);
    home.read(CHAT_LOG)
        .assert_has(&["which colour has the heron", "A grey heron."]);

    let mut editor = Editor::begin_with(with_ollama(&home, server.url("")), json!({}));
    let place = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    editor.call("session/load", place);
    let shown = editor.updates(&session, "user_message_chunk");
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(editor.said(&session), "A grey heron.");
    toggle_coding(&mut editor, &session, "Coding mode is off.");
    reply("Ten.").into_iter().for_each(|said| server.then(said));
    assert_eq!(editor.prompt(&session, "how many"), "end_turn");
    // What was said in the session goes on, once.
    let last = chats(&server).pop().unwrap();
    assert_eq!(last.matches("A grey heron.").count(), 1, "{last}");
}

#[test]
fn a_cancel_ends_the_reply_and_leaves_the_plan_as_far_as_it_came() {
    let home = Home::new();
    home.write("Notes/heron.md", "It was grey.");
    let server = ollama_by_stage(|stage, body| match stage {
        "router" => ollama_says(body, "read_note"),
        "planner" => ollama_says(body, "read_note path='heron.md'\nReply to the user."),
        "chat" if last_message(body).contains("again") => ollama_says(body, "Again."),
        _ => Answer::silence(),
    });
    let (mut editor, session) = conversation(&home, server.url(""));
    let id = editor.prompts(&session, "read of the heron");
    until("the chat model is asked", || {
        stages(&server).contains(&"chat".to_owned())
    });
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    let last = plans(&editor, &session).pop().unwrap();
    assert_eq!(statuses(&last), ["completed", "pending"]);
    editor.prompt(&session, "/why");
    editor.said(&session).assert_has(&["Cancelled in"]);
}

#[test]
fn the_plan_of_a_turn_that_hangs_is_told_to_have_stopped_before_the_answer() {
    let home = Home::new();
    // It leaves its session and keeps the output open.
    let command = json!({"command": "setsid sleep 3 & echo begun; wait; sleep 3"});
    let call = json!({"name": "run_command", "arguments": command});
    let server = StageServer::start([
        StageAnswer::text("router", "run_command"),
        StageAnswer::text("planner", "run_command command='x'\nReply to the user."),
        StageAnswer::text("chat", &format!("```tool_call\n{call}\n```")),
    ]);
    let marvin = with_ollama(&home, server.url("")).line("--sandbox danger-full-access");
    let mut editor = Editor::begin_with(marvin, json!({}));
    let session = editor.open(&home);
    toggle_coding(&mut editor, &session, "Coding mode is off.");
    let id = editor.prompts(&session, "wait");
    editor.line("output", |line| {
        line["params"]["update"]["content"][0]["content"]["text"] == "begun"
    });
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.answer(id)["result"]["stopReason"], "cancelled");
    let told = plans(&editor, &session);
    assert_eq!(statuses(&told[0]), ["in_progress", "pending"]);
    assert_eq!(statuses(told.last().unwrap()), ["pending", "pending"]);
}

fn stages(server: &Server) -> Vec<String> {
    let requests = server.requests().into_iter();
    let posted = requests.filter(|request| request.path.ends_with("/api/chat"));
    posted.map(|request| stage_of(&request.json())).collect()
}

#[test]
fn coding_mode_takes_the_plain_loop_and_leaves_what_was_said_as_it_was() {
    let home = Home::new();
    let script = [
        reply("Hello Ada."),
        vec![StageAnswer::text("chat", "Built.")],
        reply("You are Ada."),
        reply("Nobody knows."),
    ];
    let server = StageServer::start(script.concat());
    let (mut editor, session) = conversation(&home, server.url(""));
    editor.prompt(&session, "I am called Ada");
    toggle_coding(&mut editor, &session, "Coding mode, in ");
    editor.prompt(&session, "build it");
    assert_eq!(server.stages(), ["router", "planner", "chat", "chat"]);
    toggle_coding(&mut editor, &session, "Coding mode is off.");
    editor.prompt(&session, "who am I");
    let sent = chats(&server);
    // The plain loop knows what the flow has answered, and the flow only its own conversation.
    sent[1].assert_has(&["Hello Ada."]);
    sent[2].assert_has(&["Hello Ada."]);
    sent[2].assert_lacks(&["build it", "Built."]);
    editor
        .said(&session)
        .assert_has(&["Hello Ada.", "Built.", "You are Ada."]);
    let log = home.read(CHAT_LOG);
    log.assert_has(&["I am called Ada", "who am I"]);
    log.assert_lacks(&["build it"]);
    // An exchange is taken back everywhere, and all of them are left behind.
    editor.prompt(&session, "/undo");
    editor.said(&session).assert_has(&["Taken back: who am I"]);
    home.read(CHAT_LOG).assert_lacks(&["who am I"]);
    editor.prompt(&session, "/clear");
    editor.prompt(&session, "and who are they");
    let last = chats(&server).pop().unwrap();
    last.assert_lacks(&["Ada"]);
}

#[test]
fn what_was_linked_goes_to_the_model_and_only_what_was_typed_is_logged() {
    let home = Home::new();
    home.write("work/birds.txt", "The heron is grey.");
    let server = StageServer::start([reply("Grey."), reply("Who knows.")].concat());
    let (mut editor, session) = conversation(&home, server.url(""));
    let link = format!("file://{}", home.work().join("birds.txt").display());
    let prompt = |blocks: Value| json!({"sessionId": session, "prompt": blocks});
    let blocks = json!([
        {"type": "text", "text": "which colour "},
        {"type": "resource_link", "uri": link, "name": "birds.txt"},
    ]);
    editor.call("session/prompt", prompt(blocks));
    chats(&server)[0].assert_has(&["The heron is grey."]);
    let log = home.read(CHAT_LOG);
    log.assert_has(&["which colour"]);
    log.assert_lacks(&["The heron is grey."]);
    editor.prompt(&session, "/undo");
    editor.prompt(&session, "and now");
    chats(&server)[1].assert_lacks(&["which colour", "The heron is grey."]);
    home.read(CHAT_LOG).assert_lacks(&["which colour"]);
    let image =
        json!({"type": "image", "data": STANDARD.encode(png(8, 8)), "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "look"});
    let error = editor.fails("session/prompt", prompt(json!([text, image])));
    error.to_string().assert_has(&["text only, no images"]);
    editor.call("session/close", json!({"sessionId": session}));
    let place = json!({"sessionId": session, "cwd": home.work(), "mcpServers": []});
    editor.call("session/load", place);
    let shown = editor.updates(&session, "user_message_chunk");
    assert_eq!(shown.len(), 1, "{shown:?}");
}

fn summary(text: &str) -> Vec<StageAnswer> {
    let summary = format!("SUMMARY: {text}\nTOPICS: one, two, three");
    vec![
        StageAnswer::text("summariser", &summary),
        StageAnswer::text("graph_extract", "[]"),
    ]
}

#[test]
fn what_was_said_is_remembered_after_a_silence_and_when_the_session_is_closed() {
    let home = Home::new();
    let quick = json!({"dialogue_window_sec": 1, "diary_check_sec": 1});
    home.write("config/reply.json", quick.to_string());
    let server = StageServer::start([reply("Noted."), summary("The user likes rain.")].concat());
    let (mut editor, session) = conversation(&home, server.url(""));
    editor.prompt(&session, "I like rain");
    let diary = home.path().join(DIARY);
    let has = |words: &str| fs::read_to_string(&diary).is_ok_and(|text| text.contains(words));
    until("the diary", || has("likes rain"));
    editor.close().expect(0);

    fs::remove_file(home.path().join("config/reply.json")).unwrap();
    let server = StageServer::start([reply("Noted."), summary("The user likes snow.")].concat());
    let (mut editor, session) = conversation(&home, server.url(""));
    editor.prompt(&session, "I like snow");
    editor.call("session/close", json!({"sessionId": session}));
    until("the diary", || has("likes snow"));
    editor.close().expect(0);
}

#[test]
fn memory_that_is_cut_off_by_the_end_is_written_by_the_next_session() {
    let home = Home::new();
    let stalled = ollama_by_stage(|stage, body| match stage {
        "summariser" => Answer::silence(),
        "router" => ollama_says(body, "none"),
        "planner" => ollama_says(body, "Reply to the user."),
        _ => ollama_says(body, "Noted."),
    });
    let (mut editor, session) = conversation(&home, stalled.url(""));
    editor.prompt(&session, "I have a heron");
    // The answer to this does not wait for the memory.
    editor.call("session/close", json!({"sessionId": session}));
    until("the summariser", || {
        stages(&stalled).contains(&"summariser".to_owned())
    });
    editor.close().expect(0);
    assert!(!home.has(DIARY));

    let server = StageServer::start([reply("Yes."), summary("The user has a heron.")].concat());
    let (mut editor, session) = conversation(&home, server.url(""));
    editor.prompt(&session, "is it raining");
    let asked = chats(&server)[0].clone();
    asked.assert_lacks(&["heron"]);
    editor.call("session/close", json!({"sessionId": session}));
    until("the diary", || home.has(DIARY));
    let calls = server.calls().into_iter();
    let mut summarised = calls.filter(|call| call.stage == "summariser");
    let messages = summarised.next().unwrap().body["messages"].clone();
    let told = content(messages.as_array().unwrap().last().unwrap());
    told.assert_has(&["I have a heron", "is it raining"]);
    editor.running().signal(Signal::TERM);
    editor.close().expect(143);
}

#[test]
fn runs_of_programs_never_take_the_flow() {
    let home = Home::new();
    let said = || StageAnswer::text("chat", "Plain.");
    let server = StageServer::start([said(), said()]);
    let marvin = || with_ollama(&home, server.url("")).env("MARVIN_REPLY_FLOW", "on");
    let run = marvin().args(["--non-interactive", "--prompt", "hello"]);
    run.run().expect(0).stdout_has(&["Plain."]);
    let door = marvin().line("--input-format stream-json --output-format stream-json");
    let done = door.stdin(user("hello")).run().expect(0);
    done.stdout_has(&["Plain."]);
    assert_eq!(server.stages(), ["chat", "chat"]);
    assert!(!home.has(CHAT_LOG) && !home.has(DIARY));
}
