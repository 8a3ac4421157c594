//! A conversation through a pipe: what the model gets at its start, what is added during it, and what is asked or refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::conversation::{calls, entry, playing, says};
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

pub(crate) const LIMIT: Duration = Duration::from_secs(20);
const LOG: &str = "config/profiles/main/chat_log.json";

/// Role and text of a request's messages.
fn sent(server: &Server, request: usize) -> Vec<(String, String)> {
    let body = server.request(request).json();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .map(|message| (word(&message["role"]), word(&message["content"])))
        .collect()
}

#[test]
fn a_chat_knows_the_project_and_what_changes_comes_last() {
    let home = Home::new();
    home.write("work/AGENTS.md", "Indent with tabs.");
    home.write("work/.marvin/spec.md", "The spec of the thing.");
    home.write(LOG, json!([entry("you", "earlier words")]).to_string());
    let server = playing([says("Fine.")]);
    home.chat(&server).stdin("do it now\n").run().expect(0);
    let system = sent(&server, 0).remove(0).1;
    let pos = |text: &str| {
        system
            .find(text)
            .unwrap_or_else(|| panic!("no {text}: {system}"))
    };
    let order = [
        "You are Marvin",
        "## Active profile",
        "Indent with tabs.",
        "The spec of the thing.",
        "## Today",
        "## Recent conversation",
        "earlier words",
    ]
    .map(pos);
    assert!(order.is_sorted(), "{system}");
    system.assert_lacks(&["do it now", "## Coding"]);
}

#[test]
fn a_session_begins_with_the_last_twenty_spoken_entries() {
    let home = Home::new();
    let mut log = Vec::new();
    for n in 0..30 {
        log.push(entry("you", format!("question {n}")));
        log.push(entry("assistant", format!("answer {n}")));
        log.extend((0..9).map(|_| entry("system", "$ ls\nfile")));
    }
    home.write(LOG, json!(log).to_string());
    let server = playing([says("Fine.")]);
    home.chat(&server).stdin("go on\n").run().expect(0);
    let sent = sent(&server, 0);
    assert_eq!(sent.len(), 22, "{sent:?}");
    assert_eq!(sent[1].1, "question 20");
    assert_eq!(sent[20].1, "answer 29");
    assert_eq!(sent[21], ("user".to_owned(), "go on".to_owned()));
}

#[test]
fn a_session_never_begins_with_an_answer() {
    let home = Home::new();
    let log = json!([
        entry("assistant", "an answer"),
        entry("you", "a question"),
        entry("assistant", "another answer"),
    ]);
    home.write(LOG, log.to_string());
    let server = playing([says("Fine.")]);
    home.chat(&server).stdin("go on\n").run().expect(0);
    assert_eq!(sent(&server, 0)[1].1, "a question");
}

#[test]
fn news_from_ntfy_reach_the_model_and_are_still_listed() {
    let home = Home::new();
    home.write(
        "config/profiles/main/ntfy_subscriptions.json",
        r#"[{"topic": "door", "label": "Door"}]"#,
    );
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let news = json!({"id": "m1", "time": now - 60, "event": "message", "message": "someone rang"});
    let ntfy = Server::answering(move |request, _| {
        let all = request.query("since") != Some("m1");
        Answer::ndjson(all.then(|| format!("{news}\n")))
    });
    let server = Server::answering(|request, n| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        if last["role"] == "tool" {
            says("Listed.")
        } else if last["content"] == "who was it?" {
            calls("ntfy_list", json!({}))
        } else {
            says(&format!("Answer {n}."))
        }
    });
    let mut running = home
        .chat(&server)
        .env("MARVIN_URL_NTFY", ntfy.url(""))
        .stdin_open()
        .spawn();
    // Each message polls once, for two seconds at most: a busy machine may need more than one.
    let rang = (0..10).any(|n| {
        running.write(b"hello\n");
        running.wait_stdout(&format!("Answer {n}."), LIMIT);
        running.sees_stdout("someone rang", Duration::from_secs(3))
    });
    assert!(rang, "{}", running.stdout());
    running.write(b"who was it?\n");
    running.wait_stdout("Listed.", LIMIT);
    running.wait().expect(0);
    let all = server.requests().len();
    let asked = sent(&server, all - 2);
    let row = asked.iter().find(|(_, text)| text.contains("someone rang"));
    let (role, text) = row.expect("the news in the conversation");
    assert_eq!(role, "system");
    text.assert_has(&["not instructions"]);
    sent(&server, all - 1)
        .pop()
        .unwrap()
        .1
        .assert_has(&["someone rang"]);
}

#[test]
fn ntfy_is_told_when_a_conversation_ends() {
    let home = Home::new();
    let ntfy = Server::always(Answer::json(&json!({})));
    let server = playing([says("Fine.")]);
    home.chat(&server)
        .env("MARVIN_URL_NTFY", ntfy.url(""))
        .args(["--ntfy", "my-topic", "hello"])
        .run()
        .expect(0);
    assert_eq!(ntfy.requests().len(), 1);
    let told = ntfy.request(0);
    assert_eq!(told.path, "/my-topic");
    told.text().assert_has(&["is done"]);
}

#[test]
fn errors_in_a_chat_name_its_commands() {
    let home = Home::new();
    let output = home
        .marvin()
        .args(["--plain", "--provider", "groq"])
        .stdin("hello\n!model groq\n")
        .run();
    let text = output.output();
    text.assert_has(&["/model PROVIDER"]);
    text.assert_lacks(&["--provider", "doctor"]);

    let server = playing([Answer::json(&openai::error(
        "no such model",
        "invalid_request_error",
        Some("model_not_found"),
    ))
    .with_status(404)]);
    let output = home.chat(&server).stdin("hello\n").run();
    let text = output.output();
    text.assert_has(&["/model NAME"]);
    text.assert_lacks(&["--model"]);
}

#[test]
fn installing_packages_is_not_done_unasked() {
    let home = Home::new();
    home.write(
        "work/pyproject.toml",
        "[project]\nname = \"x\"\nversion = \"0\"\n",
    );
    home.program("bin/uv", "#!/bin/sh\ntouch ran\n");
    let server = playing([
        calls("install_packages", json!({"packages": ["six"]})),
        says("As you wish."),
    ]);
    home.chat(&server)
        .env(
            "PATH",
            format!("{}/bin:/usr/bin:/bin", home.path().display()),
        )
        .stdin("install six\n")
        .run()
        .expect(0);
    sent(&server, 1)
        .pop()
        .unwrap()
        .1
        .assert_has(&["install these packages needs the user's agreement"]);
    assert!(!home.has("work/ran"));
}

#[test]
fn the_stored_conversation_is_summarised_by_the_sessions_model() {
    let home = Home::new();
    let log: Vec<Value> = (0..60)
        .map(|n| {
            let role = if n % 2 == 0 { "you" } else { "assistant" };
            entry(role, format!("message {n} {}", "word ".repeat(200)))
        })
        .collect();
    home.write(LOG, json!(log).to_string());
    let server = playing([
        calls("compact_history", json!({"target_tokens": 1000})),
        says("They built a bridge, and it still needs a railing."),
        says("Shortened."),
        says("A railing."),
    ]);
    home.chat(&server)
        .stdin("compact the history\nwhat is missing?\n")
        .run()
        .expect(0);
    let asked = server.request(1).json();
    assert!(asked.get("tools").is_none(), "{asked}");
    let record = sent(&server, 1);
    record[1].1.assert_has(&["message 0 ", "message 40 "]);
    sent(&server, 2)
        .pop()
        .unwrap()
        .1
        .assert_has(&["are summarised in one", "Backup: "]);
    let log: Vec<Value> = serde_json::from_str(&home.read(LOG)).unwrap();
    log[0]["text"]
        .as_str()
        .unwrap()
        .assert_has(&["it still needs a railing"]);
    assert_eq!(log[0]["role"], "system");
    let next = sent(&server, 3);
    assert_eq!(next[1].0, "user");
    assert!(next[2].1.contains("it still needs a railing"), "{next:?}");
}

#[test]
fn a_model_that_fails_leaves_the_history_shortened() {
    let home = Home::new();
    let log: Vec<Value> = (0..60)
        .map(|n| entry("you", format!("message {n} {}", "word ".repeat(200))))
        .collect();
    home.write(LOG, json!(log).to_string());
    let server = playing([
        calls("compact_history", json!({"target_tokens": 1000})),
        Answer::json(&openai::error("bad request", "invalid_request_error", None)).with_status(400),
        says("Shortened."),
    ]);
    home.chat(&server)
        .stdin("compact the history\n")
        .run()
        .expect(0);
    sent(&server, 2)
        .pop()
        .unwrap()
        .1
        .assert_has(&["dropped", "without the model"]);
}

/// Everything below `dir` that others may read.
fn open_to_others(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        if about.permissions().mode() & 0o077 != 0 {
            found.push(format!(
                "{} {:o}",
                path.display(),
                about.permissions().mode()
            ));
        }
        if about.is_dir() {
            open_to_others(&path, found);
        }
    }
}

#[test]
fn what_marvin_writes_is_nobody_elses_to_read() {
    let home = Home::new();
    let script = home.program("work/.marvin/check.sh", "#!/bin/sh\n");
    let open = script.parent().unwrap();
    fs::set_permissions(open, fs::Permissions::from_mode(0o700)).unwrap();
    let written = |name: &str, args: Value| calls(name, args);
    let server = playing([
        written("write_note", json!({"path": "idea.md", "content": "x"})),
        written("save_place", json!({"label": "home", "name": "Home"})),
        written(
            "bookmark_save",
            json!({"url": "https://example.org", "title": "x"}),
        ),
        written(
            "update_preferences",
            json!({"key": "budget", "value": "any"}),
        ),
        written(
            "calendar_add_event",
            json!({"title": "x", "start": "2030-01-01 10:00"}),
        ),
        written("generate_ntfy_topic", json!({})),
        written(
            "create_file",
            json!({"path": ".marvin/plan.md", "content": "x"}),
        ),
        written("create_file", json!({"path": "shared.md", "content": "x"})),
        written(
            "append_file",
            json!({"path": ".marvin/check.sh", "content": "true\n"}),
        ),
        written("run_command", json!({"command": "seq 1 9999"})),
        written("run_command", json!({"command": "seq 1 9999"})),
        written("switch_profile", json!({"profile_name": "ann"})),
        says("Done."),
    ]);
    home.ask(&server.url("/v1"), "write")
        .env("PATH", home.path_without_scheduler())
        .env(
            "MARVIN_SUBAGENT_LOG",
            home.work().join(".marvin/logs/calls.jsonl"),
        )
        .run()
        .expect(0);
    let other = playing([says("Hello.")]);
    home.chat(&other).stdin("hi\nprofiles\n").run().expect(0);
    let ticket = home.marvin().args(["tool", "create_ticket", "title=x"]);
    ticket.run().expect(0);
    let mut found = Vec::new();
    open_to_others(&home.config(), &mut found);
    open_to_others(&home.work().join(".marvin"), &mut found);
    assert!(found.is_empty(), "{found:#?}");
    for path in [
        "work/.marvin/notes/idea.md",
        "work/.marvin/plan.md",
        "work/.marvin/logs/calls.jsonl",
        "config/usage.json",
        "config/last_profile",
    ] {
        assert!(home.has(path), "{path}");
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&script), 0o700, "a script can still be run");
    // Files of the project have the permissions that the umask allows.
    let shared = mode(&home.work().join("shared.md"));
    let umask = mode(&home.write("work/ours.md", "x"));
    assert_eq!(shared & 0o044, umask & 0o044, "{shared:o} {umask:o}");
}

#[test]
fn files_that_an_older_version_left_open_are_closed() {
    let home = Home::new();
    let log = home.write(LOG, "[\n]\n");
    let history = home.write("config/profiles/main/history", "earlier\n");
    let usage = home.write("config/usage.json", "{}");
    for path in [&log, &history, &usage] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let server = playing([says("Hello.")]);
    home.chat(&server).stdin("hi\n").run().expect(0);
    for path in [&log, &history, &usage] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn a_read_only_process_makes_its_first_ticket_at_once() {
    let first = |readonly: bool| {
        let home = Home::new();
        let server = playing([
            calls("tk", json!({"args": "create \"A finding\""})),
            says("Done."),
        ]);
        let run = home.ask(&server.url("/v1"), "review");
        let run = if readonly {
            run.env("MARVIN_READONLY", "1")
        } else {
            run
        };
        run.run().expect(0);
        sent(&server, 1).pop().unwrap().1
    };
    first(false).assert_has(&["sent back once"]);
    first(true).assert_lacks(&["sent back once"]);
}

#[test]
fn a_pipe_is_told_what_it_cost_and_how_to_go_on() {
    for leaving in ["", "/exit\n"] {
        let home = Home::new();
        let prices = home.write(
            "prices.json",
            r#"{"test-model": {"input": 1000, "output": 2000}}"#,
        );
        let server = playing([says("Fine.")]);
        let done = home
            .chat(&server)
            .env("MARVIN_PRICES", prices)
            .stdin(format!("go\n{leaving}"))
            .run()
            .expect(0);
        let last = done.text().lines().last().unwrap();
        let (cost, id) = last.split_once(". To go on: marvin --resume ").unwrap();
        assert!(cost.starts_with(&format!("[System] Session {id}: 2 messages, $0.0")));
        assert_eq!(done.errors(), "");
    }
    // Nothing was said: there is nothing to go on with.
    let home = Home::new();
    let server = Server::start();
    home.chat(&server)
        .stdin("/exit\n")
        .run()
        .expect(0)
        .stdout_lacks(&["To go on"]);
}

#[test]
fn without_a_model_nothing_is_ever_full() {
    let home = Home::new();
    home.write(
        "work/long.txt",
        "some line of text to be read\n".repeat(300),
    );
    let asked = "what is in long.txt\n".repeat(10);
    let done = home
        .marvin()
        .args(["--plain", "--provider", "offline"])
        .stdin(asked);
    let text = done.run().expect(0);
    text.text()
        .assert_lacks(&["no room", "Compacting", "Context budget"]);
    assert_eq!(text.text().matches("read_file").count(), 10);
}
