//! Ctrl-C during a reply: whatever it waits for, the reply ends at once, and the session goes on.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::stages::{last_message, ollama_by_stage, ollama_says};
use crate::support::wait::until;
use crate::support::wire::ollama;

/// How long anything may take that is not measured.
const LIMIT: Duration = Duration::from_secs(60);
/// What a person takes for "at once", and room for a busy machine; whatever stalls here does so until Marvin leaves.
const AT_ONCE: Duration = Duration::from_secs(10);

/// What a reply waits for.
struct Wait {
    name: &'static str,
    model: &'static str,
    plan: &'static str,
    /// The stage that gets no answer.
    stalled: &'static str,
    settings: Value,
}

const fn wait(name: &'static str, plan: &'static str, stalled: &'static str) -> Wait {
    Wait {
        name,
        model: "gemma4:e2b",
        plan,
        stalled,
        settings: Value::Null,
    }
}

const FENCED: &str =
    "```tool_call\n{\"name\": \"read_note\", \"arguments\": {\"path\": \"long.md\"}}\n```";

fn home() -> Home {
    let home = Home::new();
    let long = "The heron was seen at nine by the lake. ".repeat(20);
    home.write("Notes/long.md", &long);
    let day = json!({
        "date": "2026-03-01", "source": "text", "summary": long, "topics": ["heron"],
        "created": "2026-03-01T10:00:00Z", "updated": "2026-03-01T10:00:00Z",
    });
    let diary = json!({"version": 1, "rows": [day]});
    home.write("config/profiles/main/memory/diary.json", diary.to_string());
    home
}

fn server(wait: &Wait) -> Server {
    let (stalled, plan) = (wait.stalled, wait.plan);
    ollama_by_stage(move |stage, body| {
        if stage == stalled {
            return Answer::silence();
        }
        let text = match stage {
            "router" => "read_note, wiki_summary",
            "planner" => plan,
            "extractor" => "{\"keywords\": [\"heron\"]}",
            "chat" => match stalled {
                "half an answer" => {
                    return Answer::stream("application/x-ndjson", [ollama::say("Half of ")])
                        .stall();
                }
                "another attempt" => {
                    return Answer::json(&json!({"error": "too many requests"}))
                        .with_status(429)
                        .header("Retry-After", "20");
                }
                "tool_digest" | "loop_digest" | "a service" => {
                    if last_message(body).starts_with("[Tool result") {
                        "Done."
                    } else {
                        FENCED
                    }
                }
                _ => "Done.",
            },
            "summariser" => "SUMMARY: The user asked for a heron.\nTOPICS: herons",
            _ => "NONE",
        };
        ollama_says(body, text)
    })
}

#[test]
fn a_reply_is_cancelled_at_once_whatever_it_waits_for() {
    let waits = [
        wait("the router", "Reply.", "router"),
        wait("the planner", "", "planner"),
        wait(
            "the memory search",
            "searchMemory topic='heron'\nReply.",
            "extractor",
        ),
        wait(
            "the memory digest",
            "searchMemory topic='heron'\nReply.",
            "memory_digest",
        ),
        wait("the resolver", "read_note path='<it>'\nReply.", "resolver"),
        wait(
            "a planned tool",
            "wiki_summary title='Heron'\nReply.",
            "a service",
        ),
        wait("the chat model", "Reply to the user.", "chat"),
        wait(
            "the rest of an answer",
            "Reply to the user.",
            "half an answer",
        ),
        wait("another attempt", "Reply to the user.", "another attempt"),
        wait(
            "the tool digest",
            "read_note path='long.md'\nReply.",
            "tool_digest",
        ),
        Wait {
            model: "gpt-oss:20b",
            settings: json!({"max_turns": 1}),
            ..wait("the loop digest", "Reply to the user.", "loop_digest")
        },
    ];
    let slow: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = waits
            .iter()
            .map(|wait| scope.spawn(|| cancelled(wait)))
            .collect();
        runs.into_iter()
            .filter_map(|run| run.join().unwrap())
            .collect()
    });
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// Cancels a reply in this wait; says so when it did not end at once.
fn cancelled(wait: &Wait) -> Option<String> {
    let home = home();
    if !wait.settings.is_null() {
        home.write("config/reply.json", wait.settings.to_string());
    }
    let (model, service) = (server(wait), Server::always(Answer::silence()).lenient());
    let mut running = marvin(&home, &model, wait.model)
        .env("MARVIN_URL_WIKIPEDIA", service.url(""))
        .env("MARVIN_CONTACT", "tests@example.org")
        .spawn();
    running.write(b"tell me of the heron in my notes\n");
    match wait.stalled {
        "a service" => service.wait_requests(1, LIMIT),
        "half an answer" => {
            until("the chat model is asked", || {
                stages(&model).contains(&"chat".to_owned())
            });
        }
        "another attempt" => {
            running.wait_stdout("Waiting 20s", LIMIT);
        }
        stage => until(stage, || stages(&model).contains(&stage.to_owned())),
    }
    let since = Instant::now();
    running.signal(Signal::INT);
    let stopped = running.wait_stdout("Stopped.", LIMIT);
    let took = stopped.duration_since(since);
    eprintln!("{}: {} ms", wait.name, took.as_millis());
    // The reply itself has ended: the session goes on without one that hangs, but then there is nothing to tell about it.
    until("the end of the reply", || {
        running.write(b"!why\n");
        let is_told = running.sees_stdout("Cancelled in", Duration::from_millis(200));
        assert!(
            is_told || since.elapsed() < AT_ONCE * 2,
            "{}: it still waits",
            wait.name
        );
        is_told
    });
    // What was said is kept, and the session ends as always.
    running.close_stdin();
    let done = running.wait().expect(0);
    assert!(
        !done.text().contains("Done."),
        "{}: {}",
        wait.name,
        done.text()
    );
    let log = home.read("config/profiles/main/chat_log.json");
    assert!(log.contains("tell me of the heron"), "{}: {log}", wait.name);
    (took > AT_ONCE).then(|| format!("{} took {took:?}", wait.name))
}

fn marvin(home: &Home, server: &Server, model: &str) -> Marvin {
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", model)
        .env("NOTES_DIR", home.path().join("Notes"))
        .arg("--plain")
        .limit(LIMIT)
        .stdin_open()
}

fn stages(server: &Server) -> Vec<String> {
    let requests = server.requests().into_iter();
    let posted = requests.filter(|request| request.method == "POST");
    posted
        .map(|request| crate::support::stages::stage_of(&request.json()))
        .collect()
}

#[test]
fn the_end_of_a_session_waits_no_longer_than_its_limit() {
    let home = Home::new();
    // One call of the summariser may take as long as it likes here; the end of the session may not.
    let settings = json!({"summariser_timeout_sec": 600, "exit_timeout_sec": 2});
    home.write("config/reply.json", settings.to_string());
    let wait = wait("the summariser", "Reply to the user.", "summariser");
    let model = server(&wait);
    let mut running = marvin(&home, &model, wait.model).spawn();
    running.write(b"hello there\n");
    running.wait_stdout("Done.", LIMIT);
    running.close_stdin();
    until("the summariser is asked", || {
        stages(&model).contains(&"summariser".to_owned())
    });
    running.wait().expect(0).stdout_has(&["Not remembered yet"]);
    assert!(!home.has("config/profiles/main/memory/diary.json"));
}
