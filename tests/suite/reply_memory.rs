//! What was said becomes memory exactly once: with two Marvins on one profile, after a kill at any step, and with a model that does not play along.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::run::{Marvin, Running};
use crate::support::server::{Answer, Server};
use crate::support::stages::{last_message, ollama_by_stage, ollama_says, stage_of};
use crate::support::wait::until;
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(60);
const MEMORY: &str = "config/profiles/main/memory";
const LOG: &str = "config/profiles/main/chat_log.json";

/// The words that tests count: each row says one of its own.
fn tokens(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words
        .filter(|word| word.starts_with("row-"))
        .map(str::to_owned)
        .collect()
}

/// A model that repeats in its summary what the entry of the day says, and then each row that it is given, so that a row that is summarised twice is there
/// twice. Answers of `held` stages wait for the latch.
fn model(held: &'static str, latch: &Latch) -> Server {
    let latch = latch.clone();
    ollama_by_stage(move |stage, body| {
        let text = answer(stage, &last_message(body));
        let says = ollama_says(body, &text);
        if stage == held {
            says.head_after(&latch)
        } else {
            says
        }
    })
}

fn answer(stage: &str, message: &str) -> String {
    match stage {
        "router" => "none".to_owned(),
        "planner" => "Reply to the user.".to_owned(),
        "chat" => noted(message),
        "summariser" => {
            let (before, said) = message.split_once("What was said since:").unwrap();
            let all = [tokens(before), tokens(said)].concat();
            format!("SUMMARY: {}\nTOPICS: rows", all.join(" "))
        }
        "graph_extract" => {
            let facts = tokens(message).into_iter();
            facts
                .map(|token| json!({"branch": "USER", "fact": token}))
                .collect::<Value>()
                .to_string()
        }
        _ => "NONE".to_owned(),
    }
}

fn free(held: &'static str) -> Server {
    let open = Latch::new();
    open.open();
    model(held, &open)
}

fn marvin(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gpt-oss:20b")
        .arg("--plain")
        .limit(LIMIT)
        .stdin_open()
}

/// The answer to a line with a row. A new session shows those to earlier lines when it begins.
fn noted(line: &str) -> String {
    format!(
        "Noted: {}.",
        tokens(line).concat().replace("row-", "number ")
    )
}

/// Says a line and waits for its answer.
fn say(running: &mut Running, text: &str) {
    running.write(format!("{text}\n").as_bytes());
    let answer = noted(text);
    until("the answer", || running.stdout().contains(&answer));
}

/// A session that says one line and ends by itself.
fn session(home: &Home, text: &str) {
    let server = free("");
    let mut running = marvin(home, &server).spawn();
    say(&mut running, text);
    running.wait().expect(0);
}

/// Fails unless diary and graph have each of the rows once, and no others.
fn remembered(home: &Home, rows: &[&str], when: &str) {
    let mut expected: Vec<String> = rows.iter().map(|&row| row.to_owned()).collect();
    expected.sort();
    let diary: Value = serde_json::from_str(&home.read(&format!("{MEMORY}/diary.json"))).unwrap();
    let summaries = diary["rows"].as_array().unwrap().iter();
    let summaries = summaries.map(|row| row["summary"].as_str().unwrap());
    let mut told = tokens(&summaries.collect::<Vec<_>>().join(" "));
    told.sort();
    assert_eq!(told, expected, "{when}: {diary}");
    let graph: Value = serde_json::from_str(&home.read(&format!("{MEMORY}/graph.json"))).unwrap();
    let nodes = graph["nodes"].as_array().unwrap().iter();
    let data = nodes.filter_map(|node| node["data"].as_str());
    let mut facts = tokens(&data.collect::<Vec<_>>().join(" "));
    facts.sort();
    assert_eq!(facts, expected, "{when}: {graph}");
}

#[test]
fn a_row_that_two_sessions_have_is_remembered_once() {
    let (home, server) = (Home::new(), free(""));
    let mut one = marvin(&home, &server).spawn();
    say(&mut one, "this is row-one");
    // The second session takes in what the first has not remembered.
    let mut two = marvin(&home, &server).spawn();
    say(&mut two, "this is row-two");
    two.wait().expect(0);
    remembered(&home, &["row-one", "row-two"], "the second has ended");
    say(&mut one, "this is row-three");
    one.wait().expect(0);
    let rows = ["row-one", "row-three", "row-two"];
    remembered(&home, &rows, "the first has ended");
}

#[test]
fn two_sessions_that_write_at_once_write_each_row_once() {
    let (home, latch) = (Home::new(), Latch::new());
    let (slow, quick) = (model("summariser", &latch), free(""));
    let mut one = marvin(&home, &slow).spawn();
    say(&mut one, "this is row-one");
    let mut two = marvin(&home, &quick).spawn();
    say(&mut two, "this is row-two");
    one.close_stdin();
    latch.wait_reached(LIMIT);
    two.wait().expect(0);
    latch.open();
    one.wait().expect(0);
    remembered(&home, &["row-one", "row-two"], "both have ended");
}

#[test]
fn a_row_of_a_session_that_crashed_is_found_between_those_of_another() {
    let (home, server) = (Home::new(), free(""));
    let mut lives = marvin(&home, &server).spawn();
    say(&mut lives, "this is row-one");
    let mut crashes = marvin(&home, &server).spawn();
    say(&mut crashes, "this is row-two");
    until("the log", || {
        fs::read_to_string(home.path().join(LOG)).is_ok_and(|log| log.contains("row-two"))
    });
    say(&mut lives, "this is row-three");
    crashes.signal(Signal::KILL);
    assert!(crashes.ends_within(LIMIT));
    lives.wait().expect(0);
    remembered(&home, &["row-one", "row-three"], "one has ended");
    session(&home, "this is row-four");
    let rows = ["row-four", "row-one", "row-three", "row-two"];
    remembered(&home, &rows, "the next has ended");
}

#[test]
fn a_kill_at_any_step_costs_no_row_and_doubles_none() {
    for stage in [
        "router",
        "planner",
        "chat",
        "summariser",
        "graph_extract",
        "graph_merge",
    ] {
        let (home, latch) = (Home::new(), Latch::new());
        // Something to merge with.
        session(&home, "this is row-zero");
        let server = model(stage, &latch);
        let mut running = marvin(&home, &server).spawn();
        let is_reply = matches!(stage, "router" | "planner" | "chat");
        if is_reply {
            running.write(b"this is row-one\n");
        } else {
            say(&mut running, "this is row-one");
            running.close_stdin();
        }
        latch.wait_reached(LIMIT);
        running.signal(Signal::KILL);
        assert!(running.ends_within(LIMIT));
        session(&home, "this is row-two");
        remembered(&home, &["row-one", "row-two", "row-zero"], stage);
    }
}

/// When the summariser was asked.
fn asked(server: &Server) -> Vec<Instant> {
    let requests = server.requests().into_iter().enumerate();
    let is_summariser = |body: &Value| stage_of(body) == "summariser";
    requests
        .filter(|(_, request)| request.method == "POST" && is_summariser(&request.json()))
        .filter_map(|(number, _)| server.answered(number))
        .collect()
}

#[test]
fn a_summary_that_cannot_be_used_is_asked_for_less_and_less_often() {
    let home = Home::new();
    let settings = json!({"dialogue_window_sec": 1, "diary_check_sec": 1});
    home.write("config/reply.json", settings.to_string());
    let server = ollama_by_stage(|stage, body| {
        let text = match stage {
            "summariser" => "I would rather not.".to_owned(),
            stage => answer(stage, &last_message(body)),
        };
        ollama_says(body, &text)
    });
    let mut running = marvin(&home, &server).spawn();
    say(&mut running, "this is row-one");
    until("three attempts", || asked(&server).len() >= 3);
    let times = asked(&server);
    // A pause may take longer on a busy machine, never shorter.
    for (gap, least) in times.windows(2).zip([0.9, 1.9]) {
        let took = gap[1].duration_since(gap[0]).as_secs_f64();
        assert!(took >= least, "{took} s, not {least} s");
    }
    let done = running.wait().expect(0);
    let said = done.output();
    let line = "This conversation is not remembered yet; the next session will do it.";
    assert_eq!(said.matches(line).count(), 1, "{said}");
    said.assert_has(&["no usable summary"]);
}

#[test]
fn a_model_that_is_down_at_the_end_is_told_and_the_next_session_remembers() {
    let home = Home::new();
    for down in [
        Answer::status(400),
        Answer::status(500),
        Answer::raw("").close(),
    ] {
        let server = ollama_by_stage(move |stage, body| match stage {
            "summariser" => down.clone(),
            stage => ollama_says(body, &answer(stage, &last_message(body))),
        });
        let mut running = marvin(&home, &server).env("MARVIN_RETRIES", "0").spawn();
        say(&mut running, "hello again");
        let done = running.wait().expect(0);
        let said = done.output();
        let line = "This conversation is not remembered yet; the next session will do it.";
        assert_eq!(said.matches(line).count(), 1, "{said}");
    }
    let server = free("");
    let mut running = marvin(&home, &server).env("MARVIN_RETRIES", "0").spawn();
    say(&mut running, "this is row-one");
    drop(server);
    running.wait().expect(0).stderr_has(&["not remembered yet"]);
    assert!(!home.has(&format!("{MEMORY}/diary.json")));
    session(&home, "this is row-two");
    remembered(&home, &["row-one", "row-two"], "the next has ended");
}
