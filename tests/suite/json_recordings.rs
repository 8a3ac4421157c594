//! What calling programs write, cut at every byte: the exchange of fixtures/events, and recorded ones of the official SDKs where they are beside the checkout.

use std::fs;
use std::io::{BufRead, Read};
use std::path::Path;
use std::time::Duration;

use marvin::testing::caller_lines::{NextLine, next_line, object};
use serde_json::{Map, Value, json};

use super::json_events::{control, driven, lines, user};
use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::shared::shared;
use crate::support::wire::openai;

const LIMIT: Duration = Duration::from_secs(30);

/// What a program wrote, with its name.
fn exchanges(test: &str) -> Vec<(String, Vec<u8>)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/events/caller.jsonl");
    let mut all = vec![("caller.jsonl".to_owned(), fs::read(own).unwrap())];
    let Some(shared) = shared(test) else {
        return all;
    };
    let mut files: Vec<_> = fs::read_dir(shared.join("events"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let mut bytes = Vec::new();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if let Some(line) = line.get("to_agent") {
                bytes.extend_from_slice(format!("{line}\n").as_bytes());
            }
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        all.push((name, bytes));
    }
    assert!(all.len() > 1, "no recordings in ../shared/events");
    all
}

/// The objects that are read.
fn objects(mut input: impl BufRead) -> Vec<Map<String, Value>> {
    let mut all = Vec::new();
    loop {
        match next_line(&mut input, 1 << 20).unwrap() {
            NextLine::Line(line) if line.is_empty() => {}
            NextLine::Line(line) => all.push(object(&line).unwrap()),
            NextLine::TooLong => panic!("too long"),
            NextLine::End => return all,
        }
    }
}

#[test]
fn lines_are_the_same_wherever_they_are_cut() {
    for (name, bytes) in exchanges("lines_are_the_same_wherever_they_are_cut") {
        let whole = objects(&*bytes);
        assert!(whole.len() >= 2, "{name}");
        for at in 0..=bytes.len() {
            let (first, rest) = bytes.split_at(at);
            assert_eq!(objects(first.chain(rest)), whole, "{name} at {at}");
        }
    }
}

#[test]
fn a_run_that_is_driven_as_recorded_ends_with_a_result_for_each_message() {
    let server = Server::always(says("Yes."));
    let test = "a_run_that_is_driven_as_recorded_ends_with_a_result_for_each_message";
    for (name, bytes) in exchanges(test) {
        let messages = objects(&*bytes);
        let messages = messages.iter().filter(|line| line["type"] == "user");
        let count = messages.count();
        for part in [0, 1, 2] {
            let home = Home::new();
            let mut running = driven(&home, &server).limit(LIMIT).spawn();
            // In the middle of a line.
            let (first, rest) = bytes.split_at(bytes.len() * part / 3 + part);
            running.write(first);
            running.write(rest);
            let done = running.wait();
            let all = lines(&done);
            let results = all.iter().filter(|line| line["type"] == "result");
            assert_eq!(results.count(), count, "{name}: {all:?}");
            assert_eq!(all.last().unwrap()["type"], "result", "{name}");
        }
    }
}

/// Bytes that a run may take at its peak for each byte of an answer: the conversation, the text of the turn and the session's file have it, each once or twice.
const TIMES_THE_ANSWER: u64 = 6;

#[test]
fn a_long_answer_and_many_messages_take_memory_for_themselves_alone() {
    let measured = |server: &Server, messages: usize, words: &str| {
        let home = Home::new();
        let mut running = driven(&home, server)
            .line("--include-partial-messages")
            .spawn();
        running.write(&user("hi"));
        running.wait_stdout("content_block_delta", LIMIT);
        for _ in 0..messages {
            running.write(&user(words));
        }
        running.write(&control(
            "end",
            json!({"subtype": "interrupt", "cancel_queued": true}),
        ));
        running.wait_stdout("\"request_id\":\"end\"", LIMIT);
        running.wait_measured().1
    };
    let stalling = Server::answering(|_, _| {
        Answer::sse([openai::data(&openai::chunk(
            json!({"content": "Slow"}),
            None,
        ))])
        .stall()
    })
    .lenient();
    let few = measured(&stalling, 1, "x");
    let many = measured(&stalling, 1_001, &"word ".repeat(200));
    assert!(many < few + (16 << 20), "{few} {many}");
    let piece = "word ".repeat(200);
    let answered = |pieces: usize| {
        let pieces: Vec<&str> = vec![&piece; pieces];
        let server = Server::always(Answer::sse(openai::text(&pieces)));
        let home = Home::new();
        let mut running = driven(&home, &server)
            .line("--include-partial-messages")
            .spawn();
        running.write(&user("hi"));
        running.wait_measured().1
    };
    let (short, long) = (answered(1), answered(4_000));
    let size = 4_000 * piece.len() as u64;
    assert!(
        long < short + TIMES_THE_ANSWER * size,
        "{short} {long} for {size}"
    );
}
