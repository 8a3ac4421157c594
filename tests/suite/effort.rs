//! The reasoning effort through the real binary: what chooses it, what is sent, and what a wrong word gets.

use serde_json::Value;

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::stages::{StageAnswer, StageServer};
use crate::support::wire::responses;
use crate::support::words::TextAssertions;

fn answering() -> Server {
    Server::always(Answer::sse(responses::text(&["Hello."])))
}

fn marvin(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .env("MARVIN_URL_OPENAI", server.url("/v1"))
        .env("OPENAI_API_KEY", "test-key")
        .args(["--provider", "openai", "--model", "gpt-5.1"])
}

fn efforts(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let effort = |json: Value| {
        json["reasoning"]["effort"]
            .as_str()
            .unwrap_or("-")
            .to_owned()
    };
    requests
        .iter()
        .map(|request| effort(request.json()))
        .collect()
}

#[test]
fn the_flag_beats_the_environment_which_beats_the_file_which_beats_the_mode() {
    let home = Home::new();
    let server = answering();
    let ask = || marvin(&home, &server).args(["--non-interactive", "--prompt", "hi"]);
    ask().run().expect(0);
    home.write("config/config.yaml", "MARVIN_EFFORT: low\n");
    ask().run().expect(0);
    ask().env("MARVIN_EFFORT", "medium").run().expect(0);
    let flag = ask()
        .env("MARVIN_EFFORT", "medium")
        .args(["--effort", "HIGH"]);
    flag.run().expect(0);
    assert_eq!(efforts(&server), ["high", "low", "medium", "high"]);
}

#[test]
fn a_wrong_effort_is_refused_with_the_nearest_before_anything_is_sent() {
    let home = Home::new();
    let server = answering().lenient();
    let ask = || marvin(&home, &server).args(["--non-interactive", "--prompt", "hi"]);
    for run in [
        ask().args(["--effort", "hihg"]),
        ask().env("MARVIN_EFFORT", "hihg"),
    ] {
        run.fails(&[
            "no effort \"hihg\"",
            "Did you mean \"high\"?",
            "none, low, medium, high, xhigh, max",
        ]);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_conversation_changes_it_from_the_next_message_on() {
    let home = Home::new();
    let server = answering();
    let lines =
        "!effort\nhi\n!effort medium\n!effort\nagain\n!effort mediun\nonce more\n!code\nlast\n";
    let run = marvin(&home, &server).args(["--plain"]).stdin(lines).run();
    let text = run.output();
    text.assert_has(&[
        "Effort: low, as always outside coding mode.",
        "Effort: medium, from the next message on.",
        "Effort: medium.",
        "Did you mean \"medium\"?",
    ]);
    assert_eq!(efforts(&server), ["low", "medium", "medium", "medium"]);
}

#[test]
fn the_reply_flow_thinks_as_chosen_in_the_answer_and_quickly_before_it() {
    let home = Home::new();
    let script = |answer: &str| {
        [
            ("router", "none"),
            ("planner", "Reply to the user."),
            ("chat", answer),
        ]
        .map(|(stage, text)| StageAnswer::text(stage, text))
    };
    let server = StageServer::start([script("One."), script("Two.")].concat());
    home.marvin()
        .env("MARVIN_URL_OPENAI", server.url("/v1"))
        .env("OPENAI_API_KEY", "test-key")
        .env("OPENAI_WIRE", "completions")
        .env("MARVIN_REPLY_FLOW", "on")
        .env("MARVIN_REPLY_MEMORY_ENABLED", "false")
        .line("--provider openai --model gpt-5.1 --effort high --plain")
        .stdin("hello there\n!effort medium\nand another question\n")
        .prints(&["Two."]);
    let calls = server.calls();
    let efforts: Vec<String> = calls
        .iter()
        .map(|call| {
            let effort = call.body["reasoning_effort"].as_str().unwrap_or("-");
            format!("{} {effort}", call.stage)
        })
        .collect();
    assert_eq!(
        efforts,
        [
            "router low",
            "planner low",
            "chat high",
            "router low",
            "planner low",
            "chat medium"
        ]
    );
}

#[test]
fn a_model_that_is_told_none_says_so_when_asked() {
    let home = Home::new();
    let server = answering();
    let run = marvin(&home, &server)
        .args(["--model", "gpt-4o", "--plain"])
        .stdin("!effort\nhi\n!effort\n")
        .run();
    run.output()
        .assert_has(&["Effort: as the model's maker set it up."]);
}
