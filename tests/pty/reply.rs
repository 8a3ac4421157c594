//! The reply flow on a terminal: what is shown while a reply is made, and how the session ends.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::stage::{LIMIT, find, rows};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Server};
use crate::support::stages::stage_of;
use crate::support::wire::ollama;
use crate::support::words::TextAssertions;

fn whole(text: &str) -> Answer {
    Answer::json(&json!({
        "model": "m", "message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 10, "eval_count": 5,
    }))
}

/// A small model on Ollama. The chat answer stops at the gate after its first half; the summary waits at the other.
fn model(draft: &Latch, summary: &Latch) -> Server {
    let (draft, summary) = (draft.clone(), summary.clone());
    Server::answering(move |request, _| {
        if request.method != "POST" || !request.path.ends_with("/api/chat") {
            return Answer::status(404);
        }
        let body = request.json();
        match stage_of(&body).as_str() {
            "router" => whole("none"),
            "planner" => whole("Reply to the user."),
            "chat" if body["stream"] == true => {
                Answer::stream("application/x-ndjson", [ollama::say("Yes, unless ")])
                    .pause(&draft)
                    .send(ollama::say("it does not rain."))
                    .send(ollama::done("stop"))
            }
            "chat" => whole("Yes, unless it does not rain.").head_after(&draft),
            "summariser" => {
                whole("SUMMARY: The user asked about coats.\nTOPICS: coats, rain, weather")
                    .head_after(&summary)
            }
            _ => whole("[]"),
        }
    })
    .lenient()
}

fn start(home: &Home, server: &Server, plain: bool, size: (u16, u16)) -> Pty {
    let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), home);
    command.env("OLLAMA_URL", server.url("")).args([
        "--provider",
        "ollama",
        "--model",
        "gemma4:e2b",
    ]);
    if plain {
        command.arg("--plain");
    }
    let pty = Pty::spawn(&command, size);
    pty.wait_text(if plain { "You:" } else { "gemma4" });
    pty
}

#[test]
fn the_draft_is_dim_and_gives_way_to_the_answer() {
    for size in [(80, 24), (40, 12)] {
        let (home, draft, summary) = (Home::new(), Latch::new(), Latch::new());
        summary.open();
        let server = model(&draft, &summary);
        let mut pty = start(&home, &server, false, size);
        pty.enter("Do I need a coat?", "Yes, unless");
        pty.wait_text("🗺️ Plan: 1 step(s)");
        let (row, column) = pty.with(|screen| find(screen, "Yes, unless")).unwrap();
        let is_dim =
            |screen: &vt100::Screen| screen.cell(row, column).is_some_and(vt100::Cell::dim);
        assert!(pty.with(is_dim), "{}", pty.screen());
        pty.with(|screen| {
            for line in rows(screen) {
                assert!(line.chars().count() <= usize::from(size.0), "{line}");
            }
        });
        draft.open();
        pty.wait_text("it does not rain.");
        pty.wait_gone("Plan:");
        let (row, column) = pty.with(|screen| find(screen, "Yes, unless")).unwrap();
        let is_dim =
            |screen: &vt100::Screen| screen.cell(row, column).is_some_and(vt100::Cell::dim);
        assert!(!pty.with(is_dim), "{}", pty.screen());
        pty.control('q');
        assert_eq!(pty.wait().code(), Some(0));
        home.read("config/profiles/main/memory/diary.json")
            .assert_has(&["asked about coats"]);
    }
}

#[test]
fn a_reply_is_cancelled_at_once_and_leaves_no_draft() {
    let (home, draft, summary) = (Home::new(), Latch::new(), Latch::new());
    summary.open();
    let server = model(&draft, &summary);
    let mut pty = start(&home, &server, false, (80, 24));
    pty.enter("Do I need a coat?", "Yes, unless");
    let since = Instant::now();
    pty.send("\x1b");
    pty.wait_text("stopped");
    assert!(since.elapsed() < Duration::from_secs(20));
    pty.screen().assert_lacks(&["Yes, unless"]);
    pty.control('q');
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn the_end_of_a_session_waits_for_its_memory_until_a_key_skips_it() {
    // In lines Ctrl-C comes as a signal.
    for (plain, leave, skip) in [(false, 'q', "\x1b"), (false, 'q', "\x03"), (true, 'd', "")] {
        let (home, draft, summary) = (Home::new(), Latch::new(), Latch::new());
        draft.open();
        let server = model(&draft, &summary);
        let mut pty = start(&home, &server, plain, (80, 24));
        pty.enter("Do I need a coat?", "it does not rain.");
        pty.control(leave);
        pty.wait_text("Remembering this conversation");
        summary.wait_reached(LIMIT);
        let since = Instant::now();
        match plain {
            true => pty.signal(Signal::INT),
            false => pty.send(skip),
        }
        assert_eq!(pty.wait().code(), Some(0));
        assert!(since.elapsed() < Duration::from_secs(20));
        assert!(!home.has("config/profiles/main/memory/diary.json"));
        // What was not remembered is in the log, from which the next session remembers it.
        home.read("config/profiles/main/chat_log.json")
            .assert_has(&["Do I need a coat?", "\"at\""]);
    }
}

#[test]
fn a_memory_is_erased_only_after_a_yes() {
    for (answer, erased) in [
        ("n\r", false),
        ("\r", false),
        ("nay\r", false),
        ("\x04", false),
        ("\x03", false),
        ("Y\r", true),
        ("yes\r", true),
    ] {
        let home = Home::new();
        let row = json!({"date": "2026-03-01", "source": "text", "summary": "The kayak is red.", "topics": ["boats"]});
        let diary = "config/profiles/main/memory/diary.json";
        home.write(diary, json!({"version": 1, "rows": [row]}).to_string());
        let mut pty = Pty::marvin(&home, &["memory", "forget", "kayak"], (80, 24));
        pty.wait_text("Erase this? [y/N]");
        home.read(diary).assert_has(&["kayak"]);
        pty.send(answer);
        let is_interrupted = answer == "\x03";
        if !is_interrupted {
            pty.wait_text(if erased {
                "Erased: 1 diary entry."
            } else {
                "Nothing was erased."
            });
        }
        let is_success = pty.wait().code() == Some(0);
        assert_eq!(is_success, !is_interrupted, "{answer:?}: {}", pty.screen());
        assert_eq!(home.read(diary).contains("kayak"), !erased, "{answer:?}");
    }
}
