//! Agents in the background of a conversation: looked into, answered and stopped by the user, and told of to the model.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::confirm::LIVE;
use crate::stage::{begin, command, last_sent, log, plain_command, quit, says, started, until};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::repo::Repo;
use crate::support::server::{Answer, Request, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// A project with an open ticket.
fn project() -> Home {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n").commit("First");
    let head = "---\nid: job-1\nstatus: open\ndeps: []\nlinks: []\ncreated: 2026-01-01T00:00:00Z\ntype: task\npriority: 2\n---\n";
    home.write("work/.tickets/job-1.md", format!("{head}# A file\n"));
    home
}

fn is_worker(request: &Request) -> bool {
    request
        .text()
        .contains("another agent gives you the task above")
}

/// Role and text of the last message.
fn last(request: &Request) -> (String, String) {
    let body = request.json();
    let message = body["messages"].as_array().unwrap().last().unwrap().clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (word(&message["role"]), word(&message["content"]))
}

/// A model that launches an agent in the background when it is told to do it; `work` answers the agent's requests.
fn server(work: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Server {
    Server::answering(move |request, _| {
        if is_worker(request) {
            return work(request);
        }
        let (role, text) = last(request);
        match (role.as_str(), text.as_str()) {
            ("tool", _) => says("It is under way."),
            (_, "do it") => Answer::sse(openai::call(
                "p1",
                "launch_agent",
                json!({"ticket_id": "job", "prompt": "Make a file.", "background": true}),
            )),
            (_, "how is it?") => begin("Let me").stall(),
            (_, text) => says(&format!("Heard: {text}")),
        }
    })
}

fn in_project(home: &Home, mut command: Command) -> Command {
    command.arg("--working-dir").arg(home.work());
    command
}

/// How many agents run in the project.
fn children(home: &Home) -> usize {
    let dir = home.work().to_str().unwrap().to_owned();
    let is_agent = |entry: std::io::Result<fs::DirEntry>| {
        let line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        (line.contains("--prompt-file") && line.contains(&dir)).then_some(())
    };
    fs::read_dir("/proc").unwrap().filter_map(is_agent).count()
}

/// The full screen, with an agent under way.
fn launched(home: &Home, server: &Server) -> Pty {
    let pty = started(&in_project(home, command(home, server)));
    pty.enter("do it", "Launch an agent");
    pty.wait_text(LIVE);
    pty.send("y");
    pty.wait_text("It is under way.");
    pty
}

#[test]
fn an_agent_in_the_background_is_answered_looked_into_and_told_of() {
    let home = project();
    let latch = Latch::new();
    let hold = latch.clone();
    let server = server(
        move |request| match request.text().contains("call it b.txt") {
            false => says("QUESTIONS_FOR_PARENT:\n1. Which name?\n"),
            true => says("Made b.txt.").head_after(&hold),
        },
    );
    let pty = launched(&home, &server);
    pty.wait_text("⚙ agent 1: asks you");
    pty.wait_text("1. Which name?");
    pty.enter("/agents 2", "No agent 2 runs.");
    pty.enter("/agents 1 call it b.txt", "Agent 1 has your answer.");
    pty.wait_text("⚙ agent 1: thinking");
    pty.enter("/agents", "/stop N stops it");
    pty.screen().assert_has(&["thinking  Make a file."]);
    pty.enter("/agents 1", "--- output ---");
    // The model goes on meanwhile.
    pty.enter("are you there?", "Heard: are you there?");
    latch.open();
    pty.wait_text("Agent 1 is done, after");
    pty.wait_text("Made b.txt.");
    pty.wait_gone("⚙");
    until("its end in the log", || {
        let is_end = |(role, text): &(String, String)| {
            role == "system" && text.starts_with("Agent 1 is done") && text.ends_with("Made b.txt.")
        };
        log(&home).iter().any(is_end)
    });
    pty.enter("and now?", "Heard: and now?");
    let last = server.requests().len() - 1;
    assert_eq!(last_sent(&server, last), "and now?");
    let told = server.request(last).text();
    told.assert_has(&[
        "An agent that worked in the background has ended",
        "Made b.txt.",
    ]);
    home.read("work/.tickets/job-1.md")
        .assert_has(&["status: closed"]);
    quit(pty, &home);
}

#[test]
fn esc_leaves_an_agent_alone_and_stop_ends_it() {
    let home = project();
    let server = server(|_| Answer::silence()).lenient();
    let pty = launched(&home, &server);
    until("the agent asks the model", || {
        server.requests().iter().any(is_worker)
    });
    assert!(children(&home) > 0);
    pty.enter("how is it?", "Let me");
    pty.send("\x1b");
    pty.wait_text("stopped");
    pty.wait_text("⚙ agent 1: thinking");
    assert!(children(&home) > 0);
    pty.enter("/stop 1", "Agent 1 was stopped");
    pty.wait_gone("⚙");
    until("its process is gone", || children(&home) == 0);
    quit(pty, &home);
}

#[test]
fn leaving_ends_an_agent_and_says_so() {
    let home = project();
    let server = server(|_| Answer::silence()).lenient();
    let mut pty = Pty::spawn(&in_project(&home, plain_command(&home, &server)), (100, 30));
    pty.wait_text("You: ");
    pty.enter("do it", "Agreed? ");
    pty.enter("y", "It is under way.");
    until("the agent asks the model", || {
        server.requests().iter().any(is_worker)
    });
    pty.enter("/agents", "/stop N stops it");
    pty.send("exit\r");
    assert_eq!(pty.wait().code(), Some(0));
    pty.wait_text("1 agent that ran in the background was stopped.");
    until("its process is gone", || children(&home) == 0);
}
