//! Agents: children that a model launches, and what a child may do before it has a ticket of its own.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::repo::Repo;
use crate::support::run::Done;
use crate::support::server::{Answer, Request, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// The tool results of a request by call id.
pub(super) fn results(request: &Request) -> Vec<(String, String)> {
    let body = request.json();
    let messages = body["messages"].as_array().unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| (word(&message["tool_call_id"]), word(&message["content"])))
        .collect()
}

/// The result of one call in the latest request that has it.
pub(super) fn result(server: &Server, id: &str) -> String {
    let found = server.requests().iter().rev().find_map(|request| {
        let mut results = results(request).into_iter();
        results.find(|(call, _)| call == id).map(|(_, text)| text)
    });
    found.unwrap_or_else(|| panic!("no result for {id}"))
}

/// Names of the tools that a request offers.
fn offered(request: &Request) -> Vec<String> {
    let body = request.json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

pub(super) fn ticket(home: &Home, id: &str, status: &str, deps: &str) {
    let text = format!(
        "---\nid: {id}\nstatus: {status}\ndeps: [{deps}]\nlinks: []\ncreated: 2026-01-01T00:00:00Z\ntype: task\npriority: 2\n---\n# {id}\n"
    );
    home.write(&format!("work/.tickets/{id}.md"), text);
}

/// Plays rounds of calls, then a word.
fn playing(rounds: Vec<Vec<(&'static str, &'static str, Value)>>) -> Server {
    Server::answering(move |_, n| {
        Answer::sse(match rounds.get(n) {
            Some(calls) => openai::calls(calls),
            None => openai::text(&["Done."]),
        })
    })
}

fn in_project(home: &Home, server: &Server, vars: &[(&str, &str)]) -> Done {
    let mut run = home.ask(&server.url("/v1"), "go");
    for (name, value) in vars {
        run = run.env(name, value);
    }
    run.arg("--working-dir").arg(home.work()).run()
}

/// A project with a commit and an open ticket, job-1.
fn with_job() -> Home {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n").commit("First");
    ticket(&home, "job-1", "open", "");
    home
}

/// A model that makes one call as `p1` and is done, and the child that the call starts, which says a word.
fn launching(args: Value) -> Server {
    Server::answering(move |request, _| {
        let first = results(request).is_empty();
        Answer::sse(match (is_worker(request), first) {
            (true, _) => openai::text(&["Made a.txt."]),
            (false, true) => openai::call("p1", "launch_agent", args.clone()),
            (false, false) => openai::text(&["Launched."]),
        })
    })
}

const CHILD: [(&str, &str); 2] = [("MARVIN_TICKET", "top-1"), ("MARVIN_DEPTH", "1")];

#[test]
fn a_child_with_a_ticket_writes_only_after_it_has_created_one() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n").commit("First");
    ticket(&home, "top-1", "open", "");
    let file = json!({"path": "a.txt", "content": "a"});
    let server = playing(vec![
        vec![
            ("a1", "create_file", file.clone()),
            ("a2", "run_command", json!({"command": "touch b.txt"})),
            ("a3", "git_commit", json!({"message": "Nothing"})),
            (
                "a4",
                "git_checkout",
                json!({"target": "x", "create_branch": true}),
            ),
            ("a5", "read_file", json!({"path": "README.md"})),
        ],
        vec![("b1", "tk", json!({"args": "create \"Make a\" -t task"}))],
        vec![
            (
                "c1",
                "tk",
                json!({"args": "create \"Make a\" --parent nobody"}),
            ),
            ("c2", "create_file", file.clone()),
        ],
        vec![("d1", "tk", json!({"args": "create \"Make a\" -t task"}))],
        vec![
            ("e1", "create_file", file),
            ("e2", "run_command", json!({"command": "tk ls"})),
            (
                "e3",
                "create_file",
                json!({"path": ".tickets/x.md", "content": "x"}),
            ),
            (
                "e4",
                "run_command",
                json!({"command": "touch b.txt; git checkout -q -b elsewhere"}),
            ),
            ("e5", "git_commit", json!({"message": "Add a and b"})),
            (
                "f1",
                "git_checkout",
                json!({"target": "more", "create_branch": true}),
            ),
            ("f2", "git_checkout", json!({"target": "HEAD~0"})),
            (
                "e6",
                "run_command",
                json!({"command": "git checkout -q main"}),
            ),
            ("e7", "git_commit", json!({"message": "Add a and b"})),
        ],
    ]);
    let child = [CHILD[0], CHILD[1], ("MARVIN_BRANCH", "main")];
    in_project(&home, &server, &child).expect(0);
    for id in ["a1", "a2", "a3", "a4", "c2"] {
        let text = result(&server, id);
        let waits = text.contains("has not created a ticket") && text.contains("--parent top-1");
        assert!(waits, "{id}: {text}");
    }
    result(&server, "a5").assert_has(&["# Here"]);
    result(&server, "b1").assert_has(&["acceptance criteria"]);
    result(&server, "c1").assert_has(&["not found"]);
    let made = result(&server, "d1");
    home.read(&format!("work/.tickets/{}.md", made.trim()))
        .assert_has(&["parent: top-1"]);
    result(&server, "e1").assert_has(&["Created a.txt"]);
    result(&server, "e2").assert_has(&["Use the ticket tools"]);
    result(&server, "e3").assert_has(&["ticket tools"]);
    assert!(home.has("work/b.txt"));
    result(&server, "e5").assert_has(&[
        "\"elsewhere\" is checked out now",
        "git_checkout, target \"main\"",
    ]);
    for id in ["f1", "f2"] {
        result(&server, id).assert_has(&["on the branch \"main\", and on no other"]);
    }
    repo.git(&["log", "-1", "--format=%B", "main"])
        .assert_has(&[&format!("Ticket: {}\nTicket: top-1", made.trim())]);
}

#[test]
fn create_ticket_counts_at_the_gate_and_one_that_fails_does_not_open_it() {
    let home = Home::new();
    ticket(&home, "top-1", "open", "");
    ticket(&home, "other-2", "open", "");
    let file = |path: &str| json!({"path": path, "content": "x"});
    let server = playing(vec![
        vec![
            (
                "a1",
                "create_ticket",
                json!({"title": "T", "parent": "other-2"}),
            ),
            ("a2", "create_file", file("a.txt")),
        ],
        vec![
            (
                "b1",
                "create_ticket",
                json!({"title": "T", "parent": "other-2"}),
            ),
            ("b2", "create_file", file("a.txt")),
        ],
        vec![
            ("c1", "create_ticket", json!({"title": "T"})),
            ("c2", "create_file", file("b.txt")),
        ],
    ]);
    // A child has tk alone, unless its caller gives it more.
    let vars = [CHILD[0], CHILD[1], ("MARVIN_TOOLS", "sub-agent,tickets")];
    in_project(&home, &server, &vars).expect(0);
    result(&server, "a1").assert_has(&["acceptance criteria"]);
    result(&server, "b1").assert_has(&["Use --parent top-1"]);
    result(&server, "c1").assert_has(&["parent: top-1"]);
    assert!(!home.has("work/a.txt") && home.has("work/b.txt"));
    // A process that may write only named files needs no ticket.
    let server = playing(vec![vec![
        ("c1", "create_file", file("c.txt")),
        ("c2", "create_file", file("d.txt")),
    ]]);
    let vars = [CHILD[0], CHILD[1], ("MARVIN_WRITABLE_FILES", "c.txt")];
    in_project(&home, &server, &vars).expect(0);
    assert!(home.has("work/c.txt") && !home.has("work/d.txt"));
}

#[test]
fn a_read_only_child_reads_tickets_with_tk_and_changes_none() {
    let home = Home::new();
    ticket(&home, "top-1", "open", "");
    let before = home.read("work/.tickets/top-1.md");
    let calls = [
        ("r1", "ls"),
        ("r2", "show top-1"),
        ("r3", "dep tree top-1"),
        ("w1", "create \"T\" -t task"),
        ("w2", "super close top-1"),
        ("w3", "add-note top-1 x"),
        ("w4", "dep top-1 top-1"),
        ("w5", "edit top-1"),
    ];
    let round = calls.map(|(id, args)| (id, "tk", json!({"args": args})));
    let mut round = round.to_vec();
    round.push(("o1", "ticket_show", json!({"ticket_id": "top-1"})));
    let server = playing(vec![round]);
    let vars = [("MARVIN_READONLY", "1"), ("MARVIN_DEPTH", "1")];
    in_project(&home, &server, &vars).expect(0);
    for (id, _) in &calls[..3] {
        result(&server, id).assert_has(&["top-1"]);
    }
    for (id, _) in &calls[3..] {
        result(&server, id).assert_has(&["reads tickets, and changes none"]);
    }
    result(&server, "o1").assert_has(&["a sub-agent has only the tools"]);
    let tools = offered(&server.request(0));
    let own = tools.iter().filter(|tool| tool.contains("ticket"));
    assert_eq!(own.count(), 0, "{tools:?}");
    assert_eq!(home.read("work/.tickets/top-1.md"), before);
    let files = fs::read_dir(home.work().join(".tickets")).unwrap();
    assert_eq!(files.count(), 1);
}

#[test]
fn research_agents_of_a_round_work_side_by_side_and_can_look_things_up() {
    let home = Home::new();
    let all_here = Latch::new();
    let arrived = AtomicUsize::new(0);
    let at = all_here.clone();
    let server = Server::answering(move |request, _| {
        if is_researcher(request) {
            // Nobody is answered before all eight have asked.
            if arrived.fetch_add(1, Ordering::SeqCst) == 7 {
                at.open();
            }
            let found = Answer::sse(openai::text(&["It is 42."]));
            return found.head_after(&at);
        }
        Answer::sse(match results(request).is_empty() {
            true => {
                let ids = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"];
                let call = |id| {
                    let query = json!({"query": format!("What is the answer of {id}?")});
                    (id, "launch_research_agent", query)
                };
                openai::calls(&ids.map(call))
            }
            false => openai::text(&["Found."]),
        })
    });
    in_project(&home, &server, &[]).expect(0);
    for id in ["p1", "p4", "p8"] {
        assert_eq!(result(&server, id), "It is 42.");
    }
    let requests = server.requests();
    let child = requests.iter().find(|request| is_researcher(request));
    let tools = offered(child.unwrap());
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    for name in
        "read_file code_grep tk web_search browse_web wiki_search stack_search github_search"
            .split_ascii_whitespace()
    {
        assert!(has(name), "{name}: {tools:?}");
    }
    for name in [
        "create_file",
        "run_command",
        "github_clone",
        "download_file",
        "update_preferences",
        "create_ticket",
    ] {
        assert!(!has(name), "{name}");
    }
}

/// Whether a request comes from the child that does the work.
fn is_worker(request: &Request) -> bool {
    request
        .text()
        .contains("another agent gives you the task above")
}

fn is_researcher(request: &Request) -> bool {
    request
        .text()
        .contains("finds something out for another agent")
}

#[test]
fn a_research_agent_reads_only_and_its_cost_is_the_parents() {
    let home = Home::new();
    home.write("work/notes.txt", "The answer is 42.\n");
    let server = Server::answering(|request, _| {
        let first = results(request).is_empty();
        Answer::sse(match (is_researcher(request), first) {
            (true, true) => openai::calls(&[
                ("r1", "read_file", json!({"path": "notes.txt"})),
                (
                    "r2",
                    "create_file",
                    json!({"path": "x.txt", "content": "x"}),
                ),
            ]),
            (true, false) => openai::text(&["It is 42 (notes.txt:1)."]),
            (false, true) => openai::call(
                "p1",
                "launch_research_agent",
                json!({"query": "What is the answer?"}),
            ),
            (false, false) => openai::text(&["Found."]),
        })
    });
    let done = in_project(&home, &server, &[]).expect(0);
    assert_eq!(result(&server, "p1"), "It is 42 (notes.txt:1).");
    result(&server, "r1").assert_has(&["42"]);
    result(&server, "r2").assert_has(&["MARVIN_READONLY"]);
    assert!(!home.has("work/x.txt"));
    let requests = server.requests();
    let child = requests
        .iter()
        .find(|request| is_researcher(request))
        .unwrap();
    let tools = offered(child);
    assert!(tools.contains(&"read_file".to_owned()) && !tools.contains(&"run_command".to_owned()));
    child.text().assert_has(&["What is the answer?"]);
    assert_eq!(done.cost().llm_turns, 4);
}

#[test]
fn a_launched_agent_works_for_its_ticket_which_is_started_before_and_closed_after() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n").commit("First");
    ticket(&home, "job-1", "open", "");
    let file = home.work().join(".tickets/job-1.md");
    let seen = Arc::new(Mutex::new(String::new()));
    let status = Arc::clone(&seen);
    let server = Server::answering(move |request, _| {
        let results = results(request).len();
        if !is_worker(request) {
            return Answer::sse(match results {
                0 => openai::call(
                    "p1",
                    "launch_agent",
                    json!({"ticket_id": "job", "prompt": "Make a.txt."}),
                ),
                _ => openai::text(&["Launched."]),
            });
        }
        *status.lock().unwrap() = fs::read_to_string(&file).unwrap();
        let create = json!({"args": "create \"Make a.txt\" -t task --parent job-1"});
        Answer::sse(match results {
            0 | 1 => openai::call(["w0", "w1"][results], "tk", create),
            2 => openai::call(
                "w2",
                "create_file",
                json!({"path": "a.txt", "content": "a"}),
            ),
            3 => openai::call("w3", "git_commit", json!({"message": "Add a.txt"})),
            _ => openai::text(&["Made a.txt."]),
        })
    });
    let done = in_project(&home, &server, &[]).expect(0);
    let told = result(&server, "p1");
    assert!(
        told.starts_with("Ticket: job-1\nTier: codex (openai-compat, test-model)\nPhases: 3\n")
            && told.ends_with("Made a.txt."),
        "{told}"
    );
    seen.lock().unwrap().assert_has(&["status: in_progress"]);
    home.read("work/.tickets/job-1.md")
        .assert_has(&["status: closed"]);
    assert!(home.has("work/a.txt"));
    repo.git(&["log", "-1", "--format=%B"])
        .assert_has(&["Ticket: job-1"]);
    assert_eq!(done.cost().llm_turns, 7);
}

#[test]
fn without_a_conversation_an_agent_for_the_background_runs_in_the_foreground() {
    let home = with_job();
    let server =
        launching(json!({"ticket_id": "job-1", "prompt": "Make a.txt.", "background": true}));
    in_project(&home, &server, &[]).expect(0);
    let told = result(&server, "p1");
    assert!(
        told.starts_with("There is no conversation") && told.ends_with("Made a.txt."),
        "{told}"
    );
    home.read("work/.tickets/job-1.md")
        .assert_has(&["status: closed"]);
}

#[test]
fn an_agent_is_launched_only_for_a_ticket_that_can_be_worked_on() {
    let home = Home::new();
    ticket(&home, "a-1", "open", "");
    ticket(&home, "b-2", "open", "a-1");
    ticket(&home, "c-3", "closed", "");
    let launch = |id: &str| json!({"ticket_id": id, "prompt": "Do it."});
    let rounds = vec![vec![
        ("l1", "launch_agent", launch("b-2")),
        ("l2", "launch_agent", launch("c-3")),
        ("l3", "launch_agent", launch("nobody")),
        (
            "l4",
            "launch_agent",
            json!({"ticket_id": "a-1", "prompt": "Do it.", "tdd": true}),
        ),
        (
            "l5",
            "launch_agent",
            json!({"ticket_id": "a-1", "prompt": " "}),
        ),
    ]];
    let server = playing(rounds);
    in_project(&home, &server, &[]).expect(0);
    for (id, words) in [
        ("l1", "waits for a-1"),
        ("l2", "is closed"),
        ("l3", "not found"),
        ("l4", "needs a design document"),
        ("l5", "prompt is empty"),
    ] {
        result(&server, id).assert_has(&[words]);
    }
    home.read("work/.tickets/a-1.md")
        .assert_has(&["status: open"]);
    // Too deep, read-only, or without a model.
    let deep = playing(vec![vec![
        ("d1", "launch_agent", launch("a-1")),
        ("d2", "launch_research_agent", json!({"query": "Why?"})),
    ]]);
    in_project(&home, &deep, &[("MARVIN_DEPTH", "5")]).expect(0);
    for id in ["d1", "d2"] {
        result(&deep, id).assert_has(&["5 levels below the first Marvin"]);
    }
    home.read("work/.tickets/a-1.md")
        .assert_has(&["status: open"]);
    let tool = home
        .marvin()
        .args(["tool", "launch_agent", "ticket_id=a-1", "prompt=x"]);
    tool.fails(&["need a language model"]);
}

#[test]
fn a_child_at_the_last_depth_starts_no_further_one() {
    let home = with_job();
    let server = Server::answering(|request, _| {
        let first = results(request).is_empty();
        Answer::sse(match (is_worker(request), first) {
            (true, true) => openai::call("w1", "launch_research_agent", json!({"query": "Why?"})),
            (true, false) => openai::text(&["Nobody to ask."]),
            (false, true) => openai::call(
                "p1",
                "launch_agent",
                json!({"ticket_id": "job-1", "prompt": "Find out why."}),
            ),
            (false, false) => openai::text(&["Done."]),
        })
    });
    in_project(&home, &server, &[("MARVIN_DEPTH", "4")]).expect(0);
    result(&server, "w1").assert_has(&["5 levels below the first Marvin"]);
    assert!(result(&server, "p1").ends_with("Nobody to ask."));
}

#[test]
fn writers_of_one_round_run_one_after_the_other_in_order() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("README.md", "# Here\n").commit("First");
    let file = |path: &str| json!({"path": path, "content": "x\n"});
    let commit = |message: &str| json!({"message": message, "add_all": true});
    let server = playing(vec![vec![
        ("a1", "create_file", file("a.txt")),
        ("a2", "git_commit", commit("Add a")),
        ("b1", "create_file", file("b.txt")),
        ("b2", "git_commit", commit("Add b")),
    ]]);
    in_project(&home, &server, &[]).expect(0);
    let log = repo.git(&["log", "-2", "--reverse", "--format=%s", "--name-only"]);
    let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        ["Add a", "a.txt", "Add b", "b.txt"],
        "{}",
        result(&server, "b2")
    );
    assert!(!home.has("work/.git/index.lock"));
}

#[test]
fn an_agent_without_a_shell_is_not_told_to_run_the_tests() {
    for (tools, is_told) in [
        ("agents,files,coding,git,shell,tickets", true),
        ("agents,files,coding,git,tickets", false),
    ] {
        let home = with_job();
        let server = launching(json!({"ticket_id": "job-1", "prompt": "Make a.txt."}));
        in_project(&home, &server, &[("MARVIN_TOOLS", tools)]).expect(0);
        let requests = server.requests();
        let child = requests.iter().find(|request| is_worker(request)).unwrap();
        let told = child
            .text()
            .contains("Run the project's tests before you stop");
        assert_eq!(told, is_told, "{tools}");
    }
}
