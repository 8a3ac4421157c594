//! Agents in the background of a conversation: looked into, answered and stopped by the user, and told of to the model.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::confirm::LIVE;
use crate::stage::{begin, command, last_sent, log, plain_command, quit, says, started, until};
use crate::support::engineer;
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

/// How many agents run for the project, each in a worktree of its own.
fn children(home: &Home) -> usize {
    let dir = home.path().to_str().unwrap().to_owned();
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
            role == "system" && text.starts_with("Agent 1 is done") && text.contains("Made b.txt.")
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

/// A model that launches an agent for `job-N` when it is told "do N"; the agent runs `command` and commits, and `held` says which of its answers waits.
fn writing(
    command: impl Fn(&str) -> String + Send + Sync + 'static,
    held: impl Fn(&str, usize) -> Option<Latch> + Send + Sync + 'static,
) -> Server {
    Server::answering(move |request, _| {
        let (role, text) = last(request);
        if !is_worker(request) {
            let Some(number) = text.strip_prefix("do ").filter(|_| role == "user") else {
                return says("It is under way.");
            };
            let job = json!({"ticket_id": format!("job-{number}"), "prompt": format!("Write {number} down."), "background": true});
            return Answer::sse(openai::call(number, "launch_agent", job));
        }
        let number = if request.text().contains("Write 1 down.") { "1" } else { "2" };
        let body = request.json();
        let messages = body["messages"].as_array().unwrap().iter();
        let step = messages.filter(|message| message["role"] == "tool").count();
        let answer = engineer::part(number, step, &command(number));
        match held(number, step) {
            Some(latch) => answer.head_after(&latch),
            None => answer,
        }
    })
    .lenient()
}

fn worktrees(home: &Home, args: &[&str]) -> String {
    let run = home.marvin().dir(&home.work());
    let run = run.args(["pipeline", "worktrees"]).args(args);
    run.run().expect(0).text().to_owned()
}

#[test]
fn agents_in_the_background_leave_what_the_user_edits_alone_and_are_merged_at_their_end() {
    let home = project();
    let repo = Repo::at(&home.work());
    let (one, two) = (Latch::new(), Latch::new());
    let held = [one.clone(), two.clone()];
    let server = writing(
        |number| match number {
            "1" => "echo 1 > made.txt".to_owned(),
            _ => "echo 2 >> README.md".to_owned(),
        },
        move |number, step| (step == 4).then(|| held[usize::from(number == "2")].clone()),
    );
    repo.file("draft.txt", "before\n");
    let ticket = home
        .read("work/.tickets/job-1.md")
        .replace("job-1", "job-2");
    home.write("work/.tickets/job-2.md", ticket);
    let pty = Pty::spawn(&in_project(&home, command(&home, &server)), (160, 50));
    pty.wait_text("test-model");
    for number in [1, 2] {
        pty.enter(&format!("do {number}"), LIVE);
        pty.send("y");
        pty.wait_text(&format!("agent {number}: "));
    }
    until("both have done their work", || {
        // Not `--all`, which fails on a worktree that is just being added.
        let log = repo.git(&["log", "--branches", "--format=%s"]);
        log.contains("Part 1") && log.contains("Part 2")
    });
    // The model was told what the agents do not see.
    let told = server
        .requests()
        .iter()
        .map(Request::text)
        .collect::<String>();
    told.assert_has(&["a worktree of its own", "  draft.txt"]);
    repo.file("README.md", "# Mine\n");
    one.open();
    pty.wait_text("Agent 1 is done");
    pty.wait_text("is in main now");
    assert_eq!(repo.read("made.txt"), "1\n");
    two.open();
    pty.wait_text("Agent 2 is done");
    pty.wait_text("Its work is not in your branch");
    pty.wait_text("To bring it in: marvin pipeline merge agent-job-2 --all");
    // Nothing of theirs was touched or committed.
    assert_eq!(repo.read("README.md"), "# Mine\n");
    assert_eq!(
        repo.git(&["status", "--porcelain"]),
        "M README.md\n?? .tickets/\n?? draft.txt"
    );
    let committed = repo.git(&["log", "--name-only", "--format=%s"]);
    committed.assert_has(&["made.txt"]);
    committed.assert_lacks(&["draft.txt", "Part 2"]);
    let left = worktrees(&home, &[]);
    left.assert_has(&["agent-job-2: finished"]);
    left.assert_lacks(&["agent-job-1"]);
    for (number, status) in [("1", "closed"), ("2", "in_progress")] {
        home.read(&format!("work/.tickets/job-{number}.md"))
            .assert_has(&[&format!("status: {status}")]);
    }
    quit(pty, &home);
}

#[test]
fn what_a_killed_conversation_left_of_an_agent_is_found_and_removed_by_name() {
    let home = project();
    let never = Latch::new();
    let held = never.clone();
    let server = writing(
        |number| format!("echo {number} > made.txt"),
        move |_, step| (step == 3).then(|| held.clone()),
    );
    let mut pty = Pty::spawn(&in_project(&home, plain_command(&home, &server)), (100, 30));
    pty.wait_text("You: ");
    pty.enter("do 1", "Agreed? ");
    pty.enter("y", "It is under way.");
    until("it runs and has written", || {
        let told = worktrees(&home, &[]);
        told.contains("agent-job-1: running") && told.contains("1 file not committed")
    });
    pty.signal(Signal::KILL);
    pty.wait();
    never.open();
    until("its process is gone", || {
        worktrees(&home, &[]).contains("agent-job-1: stopped")
    });
    assert!(!home.has("work/made.txt"));
    worktrees(&home, &["--remove", "agent-job-1", "--force"])
        .assert_has(&["Removed the worktree agent-job-1."]);
    worktrees(&home, &[]).assert_has(&["No run and no review has a worktree"]);
}
