//! Sessions of the reply flow: what becomes memory and when, crashes, two at once, and what stays off the disk.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::downloads::files;
use crate::support::home::Home;
use crate::support::run::{Marvin, Running};
use crate::support::stages::{StageAnswer, StageServer, content};
use crate::support::wait::{side_by_side, until};
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(30);
const MEMORY: &str = "config/profiles/main/memory";

fn marvin(home: &Home, server: &StageServer) -> Marvin {
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gpt-oss:20b")
        // A script that has no answer left fails at once.
        .env("MARVIN_RETRIES", "0")
        .arg("--plain")
        .stdin_open()
}

/// The calls of a reply that needs nothing.
fn reply(text: &str) -> Vec<StageAnswer> {
    vec![
        StageAnswer::text("router", "none"),
        StageAnswer::text("planner", "Reply to the user."),
        StageAnswer::text("chat", text),
    ]
}

fn summary(text: &str) -> Vec<StageAnswer> {
    let summary = format!("SUMMARY: {text}\nTOPICS: one, two, three");
    vec![
        StageAnswer::text("summariser", &summary),
        StageAnswer::text("graph_extract", "[]"),
    ]
}

fn say(running: &mut Running, text: &str, answer: &str) {
    running.write(format!("{text}\n").as_bytes());
    running.wait_stdout(answer, LIMIT);
}

/// What the summariser was asked, one text a call.
fn summaries(server: &StageServer) -> Vec<String> {
    let calls = server.calls().into_iter();
    calls
        .filter(|call| call.stage == "summariser")
        .map(|call| {
            let messages = call.body["messages"].as_array().cloned();
            messages
                .unwrap_or_default()
                .last()
                .map(content)
                .unwrap_or_default()
        })
        .collect()
}

#[test]
fn a_silence_is_enough_to_remember() {
    let home = Home::new();
    home.write(
        "config/reply.json",
        json!({"dialogue_window_sec": 1, "diary_check_sec": 1}).to_string(),
    );
    let server = StageServer::start([reply("Noted."), summary("The user likes rain.")].concat());
    let mut running = marvin(&home, &server).spawn();
    say(&mut running, "I like rain", "Noted.");
    let diary = home.path().join(MEMORY).join("diary.json");
    until("the diary", || {
        fs::read_to_string(&diary).is_ok_and(|diary| diary.contains("likes rain"))
    });
    running.wait().expect(0);
    assert_eq!(summaries(&server).len(), 1, "nothing was left for the end");
}

#[test]
fn another_profile_does_not_see_what_was_said_in_this_one() {
    let home = Home::new();
    let script = [
        reply("Noted."),
        summary("The user is called Ada."),
        reply("Who knows."),
    ]
    .concat();
    let server = StageServer::start(script);
    let mut running = marvin(&home, &server).spawn();
    say(&mut running, "I am called Ada", "Noted.");
    say(&mut running, "!profile winter", "Profile winter");
    say(&mut running, "who am I", "Who knows.");
    running.wait().expect(0);
    home.read(&format!("{MEMORY}/diary.json"))
        .assert_has(&["called Ada"]);
    let chats: Vec<Value> = server
        .calls()
        .into_iter()
        .filter(|call| call.stage == "chat")
        .map(|call| call.body)
        .collect();
    assert!(!chats[1].to_string().contains("Ada"), "{}", chats[1]);
}

#[test]
fn a_signal_at_the_end_keeps_what_was_said_for_the_next_time_and_decides_the_exit_status() {
    side_by_side(
        [(Signal::INT, 0), (Signal::TERM, 143), (Signal::HUP, 129)],
        |(signal, status)| {
            let home = Home::new();
            let mut slow = summary("Too late.");
            slow[0].delay = Duration::from_secs(2);
            let server = StageServer::start([reply("Noted."), slow].concat());
            let mut running = marvin(&home, &server).spawn();
            say(&mut running, "I have a heron", "Noted.");
            running.close_stdin();
            running.wait_stdout("Remembering this conversation", LIMIT);
            until("the summariser", || !summaries(&server).is_empty());
            running.signal(signal);
            let done = running.wait().expect(status);
            assert!(done.took() < Duration::from_secs(60));
            assert!(!home.has(&format!("{MEMORY}/diary.json")));
        },
    );
}

#[test]
fn what_only_the_conversation_holds_can_be_forgotten() {
    let home = Home::new();
    let server = StageServer::start([reply("Noted."), reply("No.")].concat());
    let mut running = marvin(&home, &server).spawn();
    say(&mut running, "my kayak is red", "Noted.");
    say(
        &mut running,
        "!memory forget kayak",
        "/memory forget kayak --yes takes it out of this conversation.",
    );
    say(
        &mut running,
        "!memory forget kayak --yes",
        "There was nothing",
    );
    say(&mut running, "what colour is it", "No.");
    say(
        &mut running,
        "!memory forget zebra",
        "There is nothing to erase.",
    );
    running.signal(Signal::KILL);
    assert!(running.ends_within(LIMIT));
    let calls = server.calls();
    calls
        .last()
        .map(|call| call.body.to_string())
        .unwrap()
        .assert_lacks(&["kayak"]);
}

#[test]
fn the_model_sees_what_a_command_printed_without_its_secrets() {
    let home = Home::new();
    let server = StageServer::start([reply("A marsupial."), reply("Again.")].concat());
    let mut running = marvin(&home, &server).spawn();
    // Taken apart, so that the command itself does not say it.
    say(
        &mut running,
        "!echo WOMB''AT88 password=swordfish99",
        "WOMBAT88",
    );
    say(&mut running, "what was that output", "A marsupial.");
    say(&mut running, "and its colour", "Again.");
    running.signal(Signal::KILL);
    assert!(running.ends_within(LIMIT));
    let chats: Vec<Value> = server
        .calls()
        .into_iter()
        .filter(|call| call.stage == "chat")
        .map(|call| call.body)
        .collect();
    assert_eq!(chats.len(), 2);
    for body in &chats {
        let messages = body["messages"].as_array().unwrap();
        let roles = messages.iter().map(|message| message["role"].as_str());
        assert_eq!(roles.filter(|role| *role == Some("system")).count(), 1);
        let with_output = messages.iter().map(content);
        let with_output: Vec<String> = with_output
            .filter(|text| text.contains("WOMBAT88 password=[REDACTED]"))
            .collect();
        assert_eq!(with_output.len(), 1, "{body}");
        assert!(with_output[0].ends_with("what was that output"), "{body}");
    }
    for file in files(&home.path()) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains("swordfish99"), "{}", file.display());
    }
    server.bodies().concat().assert_lacks(&["swordfish99"]);
}

#[test]
fn nothing_of_the_flow_is_written_before_a_message_takes_it() {
    let home = Home::new();
    let server = StageServer::start([]);
    marvin(&home, &server)
        .stdin("!flow\n!why\n!help\n")
        .run()
        .expect(0);
    assert!(!home.has(MEMORY));
    let server = StageServer::start([StageAnswer::text("chat", "Plain.")]);
    let run = home
        .marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""));
    run.args(["--non-interactive", "--prompt", "hello"])
        .run()
        .expect(0);
    assert!(!home.has(MEMORY));
}

#[test]
fn doctor_and_the_command_say_whether_the_flow_answers_and_why() {
    let home = Home::new();
    let server = StageServer::start([]);
    let doctor = |flow: &str| {
        let run = marvin_without_mode(&home, &server).env("MARVIN_REPLY_FLOW", flow);
        let out = run.arg("doctor").run().expect(0);
        let line = out.text().lines().find(|line| line.contains("reply flow"));
        line.unwrap_or_default().to_owned()
    };
    for (flow, want) in [
        ("auto", "on: it answers for every model on ollama"),
        ("off", "off: it was switched off"),
    ] {
        let line = doctor(flow);
        assert!(line.starts_with("ok ") && line.contains(want), "{line}");
    }
    let wrong = doctor("maybe");
    assert!(
        wrong.starts_with("-- ") && wrong.contains("MARVIN_REPLY_FLOW"),
        "{wrong}"
    );
    let run = marvin_without_mode(&home, &server).arg("--plain");
    let said = run
        .stdin("!flow\n!flow off\n!flow sideways\n!why\n")
        .run()
        .expect(0);
    said.text().assert_has(&[
        "The reply flow is on: it answers for every model on ollama.",
        "The reply flow is off: it was switched off",
        "\"sideways\" is not a mode of the reply flow.",
        "There is no reply of the reply flow to explain yet.",
    ]);
}

fn marvin_without_mode(home: &Home, server: &StageServer) -> Marvin {
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gpt-oss:20b")
}
