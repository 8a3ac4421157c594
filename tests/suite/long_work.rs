//! Long work in small windows: whatever was said before, the next request fits, and nobody has to give a command for that.

use std::fs;

use serde_json::{Value, json};

use crate::support::conversation::messages;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// The window of a model of Ollama.
const WINDOW: usize = 32_768;

/// About so many bytes of lines that differ.
fn page(bytes: usize) -> String {
    let lines = (0..).map(|n| format!("{n:05} the heron {:x} waits in the reeds\n", n * 7_919));
    let mut text = String::new();
    for line in lines {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&line);
    }
    text
}

fn says(text: &str) -> Answer {
    Answer::ndjson([format!(
        "{}\n",
        json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"})
    )])
}

fn runs(commands: &[&str]) -> Answer {
    let calls: Vec<Value> = commands
        .iter()
        .map(
            |command| json!({"function": {"name": "run_command", "arguments": {"command": command}}}),
        )
        .collect();
    Answer::ndjson([format!(
        "{}\n",
        json!({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": true, "done_reason": "stop"})
    )])
}

fn once(home: &Home, server: &Server, prompt: &str) -> Marvin {
    home.marvin()
        .args(["--non-interactive", "--provider", "ollama"])
        .args(["--prompt", prompt])
        .env("OLLAMA_URL", server.url(""))
}

fn chat(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .args(["--plain", "--provider", "ollama"])
        .env("OLLAMA_URL", server.url(""))
        .env("MARVIN_REPLY_FLOW", "off")
}

fn content(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// Every request is one that a window of `window` holds, and begins with the user.
fn fits(server: &Server, window: usize) {
    for (n, request) in server.requests().iter().enumerate() {
        let tokens = request.text().len() / 4;
        assert!(tokens < window, "request {n} has about {tokens} tokens");
        let messages = messages(server, n);
        let first = messages.iter().find(|message| message["role"] != "system");
        assert_eq!(first.unwrap()["role"], "user", "request {n}");
    }
}

/// The files that marks in `text` name.
fn named_files(text: &str) -> Vec<String> {
    let parts = text.split("whole is in ").skip(1);
    parts
        .filter_map(|part| part.split_once(".jsonl"))
        .map(|(path, _)| format!("{path}.jsonl"))
        .collect()
}

#[test]
fn two_large_results_in_three_rounds_fit_a_small_window() {
    let home = Home::new();
    home.write("work/page.txt", page(16_000));
    let server = Server::answering(|_, n| match n {
        0..3 => runs(&["cat page.txt", "cat page.txt # again"]),
        _ => says("Done."),
    });
    let run = once(&home, &server, "read it three times").run().expect(0);
    assert!(run.text().ends_with("Done.\n"), "{}", run.errors());
    fits(&server, WINDOW);
    for n in 1..4 {
        let messages = messages(&server, n);
        assert_eq!(content(&messages[1]), "read it three times");
        assert_eq!(messages.last().unwrap()["role"], "tool", "request {n}");
    }
}

#[test]
fn results_of_a_round_share_the_room_and_the_small_ones_stay_whole() {
    let home = Home::new();
    home.write("work/page.txt", page(16_000));
    let server = Server::answering(|_, n| match n {
        0 => runs(&[
            "cat page.txt",
            "echo short",
            "cat page.txt # 2",
            "cat page.txt # 3",
            "cat page.txt # 4",
        ]),
        _ => says("Done."),
    });
    once(&home, &server, "read")
        .env("MARVIN_TOOL_SEARCH", "off")
        .run()
        .expect(0);
    fits(&server, WINDOW);
    let messages = messages(&server, 1);
    let results: Vec<&str> = messages[messages.len() - 5..].iter().map(content).collect();
    results[1].assert_has(&["short"]);
    results[1].assert_lacks(&["[Cut"]);
    for result in [results[0], results[2], results[4]] {
        assert!(result.starts_with("00000 the heron"), "{result}");
        let files = named_files(result);
        assert_eq!(files.len(), 1, "{result}");
        let whole = home.read(&format!("work/{}", files[0]));
        assert!(whole.contains("00340 the heron"), "{files:?}");
    }
    let (one, other) = (results[0].len(), results[2].len());
    assert!(
        one > 8_000 && one.abs_diff(other) < 1_000,
        "{one} and {other}"
    );
}

#[test]
fn after_an_answer_larger_than_the_window_the_talk_goes_on() {
    let home = Home::new();
    let long = page(400_000);
    let server = Server::answering(move |_, n| match n {
        0 => says(&long),
        n => says(&format!("Answer {n}.")),
    });
    chat(&home, &server)
        .stdin("write all of it\ngo on\nand now?\n")
        .prints(&["Answer 1.", "Answer 2."]);
    let last = messages(&server, 1);
    let sizes: usize = last.iter().map(|message| content(message).len()).sum();
    assert!(sizes < 4 * WINDOW, "{sizes} bytes");
    assert_eq!(content(&last[1]), "write all of it");
    assert_eq!(content(last.last().unwrap()), "go on");
    let answer = last.iter().find(|message| message["role"] == "assistant");
    let answer = content(answer.expect("the last answer stays, shortened"));
    assert!(answer.starts_with("00000 the heron"), "{answer}");
    let files = named_files(answer);
    home.read(&format!("work/{}", files[0]))
        .assert_has(&["09000 the heron"]);
    fits_from(&server, 1);
}

fn fits_from(server: &Server, from: usize) {
    for request in server.requests().iter().skip(from) {
        let tokens = request.text().len() / 4;
        assert!(tokens < WINDOW, "about {tokens} tokens");
    }
}

#[test]
fn a_message_that_alone_exceeds_the_window_is_refused_and_the_talk_goes_on() {
    let home = Home::new();
    let server = Server::answering(|_, n| says(&format!("Answer {n}.")));
    let paste = page(400_000).replace('\n', " ");
    let run = chat(&home, &server)
        .stdin(format!("remember the heron\n{paste}\nare you there?\n"))
        .run();
    let shown = run.output();
    shown.assert_has(&["was not sent"]);
    shown.assert_lacks(&["/compact"]);
    assert!(run.text().contains("Answer 1."), "{shown}");
    let last = messages(&server, 1);
    let said: Vec<&str> = last[1..].iter().map(content).collect();
    assert_eq!(said, ["remember the heron", "Answer 0.", "are you there?"]);
    let log = home.read("config/profiles/main/chat_log.json");
    assert!(!log.contains("the heron 1eef waits"), "it is in the log");
    home.marvin()
        .args(["sessions"])
        .run()
        .stdout_has(&["remember the heron"]);
}

#[test]
fn a_prompt_that_alone_exceeds_the_window_is_an_error_of_a_run() {
    let home = Home::new();
    let server = Server::always(says("No."));
    home.write("work/prompt.txt", page(400_000));
    let run = home
        .marvin()
        .args(["--non-interactive", "--provider", "ollama"])
        .args(["--prompt", "what is this?", "--stdin"])
        .stdin(page(400_000))
        .env("OLLAMA_URL", server.url(""))
        .run()
        .expect(1);
    run.stderr_has(&["was not sent", "32,768"]);
    assert!(server.requests().is_empty());
}

#[test]
fn compacting_on_command_shortens_a_short_talk_that_is_too_large() {
    let home = Home::new();
    let long = page(200_000);
    let server = Server::answering(move |_, n| match n {
        0 => says(&long),
        _ => says("Fine."),
    });
    let run = chat(&home, &server)
        .stdin("write\n/compact\nand?\n")
        .run()
        .expect(0);
    run.output().assert_has(&["Compacted"]);
    run.stdout_has(&["Fine."]);
    fits_from(&server, 1);
}

#[test]
fn a_provider_that_finds_the_conversation_too_long_gets_a_shorter_one() {
    let home = Home::new();
    home.write("work/page.txt", page(16_000));
    let server = Server::answering(|request, n| {
        let error = "This model's maximum context length is 12000 tokens. However, your messages resulted in 13456 tokens.";
        match n {
            0..3 => Answer::sse(openai::call(
                &format!("c{n}"),
                "run_command",
                json!({"command": "cat page.txt"}),
            )),
            _ if request.text().len() > 40_000 => Answer::json(&openai::error(
                error,
                "invalid_request_error",
                Some("context_length_exceeded"),
            ))
            .with_status(400),
            _ => Answer::sse(openai::text(&["Done."])),
        }
    });
    let run = home
        .ask(&server.url("/v1"), "read it")
        .args(["--tools", "shell"])
        .run()
        .expect(0);
    assert!(run.text().ends_with("Done.\n"), "{}", run.errors());
    run.stderr_has(&["Context compacted"]);
    assert_eq!(server.requests().len(), 5);
    assert_eq!(content(&messages(&server, 4)[1]), "read it");
}

#[test]
fn a_provider_that_stays_with_its_no_is_asked_twice_at_most() {
    let home = Home::new();
    let server = Server::always(
        Answer::json(&openai::error(
            "prompt is too long",
            "invalid_request_error",
            Some("context_length_exceeded"),
        ))
        .with_status(400),
    );
    home.ask(&server.url("/v1"), "hi").run().expect(1);
    assert!(server.requests().len() <= 2);
}

#[test]
fn a_resumed_talk_that_is_too_large_recovers_by_itself() {
    let home = Home::new();
    let long = page(300_000);
    let server = Server::answering(move |_, n| match n {
        0 => Answer::sse(openai::text(&[&long])),
        _ => says("Here."),
    });
    home.chat(&server)
        .stdin("write it\n")
        .prints(&["the heron"]);
    let run = chat(&home, &server)
        .args(["-c"])
        .stdin("and now?\n")
        .run()
        .expect(0);
    assert!(run.text().contains("Here."), "{}", run.errors());
    fits_from(&server, 1);
    let logs = fs::read_dir(home.work().join(".marvin/logs")).unwrap();
    assert!(logs.count() >= 1);
}
