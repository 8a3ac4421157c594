//! The requests of the plain loop, to the byte: nothing beside it, such as the reply flow, may change them.

use std::path::Path;

use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::snapshot;
use crate::support::wire::{ollama, openai};

const LOG: &str = "config/profiles/main/chat_log.json";

fn home() -> Home {
    let home = Home::new();
    home.write("Notes/list.md", "Bread and tea.\n");
    home.write("work/AGENTS.md", "Indent with tabs.\n");
    let entry = |role: &str, text: &str| json!({"role": role, "text": text, "time": "14:30"});
    let log = json!([
        entry("you", "earlier words"),
        entry("assistant", "an earlier answer")
    ]);
    home.write(LOG, log.to_string());
    home
}

fn marvin(home: &Home) -> Marvin {
    home.marvin()
        .env("MARVIN_NOW", "2026-03-14T09:26:00+00:00[UTC]")
        .env("TZ", "UTC")
        .args(["--tools", "notes,bookmarks"])
}

/// Two rounds and a second message in the OpenAI dialect.
fn compat() -> Server {
    Server::with([
        Exchange::post("/chat/completions").answer(Answer::sse(openai::call(
            "call_1",
            "read_note",
            json!({"path": "list.md"}),
        ))),
        Exchange::post("/chat/completions").answer(says("Bread.")),
        Exchange::post("/chat/completions")
            .any_times()
            .by(|_, _| says("Tea.")),
    ])
}

/// The same in Ollama's own.
fn own() -> Server {
    Server::with([
        Exchange::post("/api/chat").answer(Answer::ndjson(ollama::calls(&[(
            "read_note",
            json!({"path": "list.md"}),
        )]))),
        Exchange::post("/api/chat").answer(Answer::ndjson(ollama::text(&["Bread."]))),
        Exchange::post("/api/chat")
            .any_times()
            .by(|_, _| Answer::ndjson(ollama::text(&["Tea."]))),
    ])
}

fn with_compat(marvin: Marvin, server: &Server) -> Marvin {
    marvin
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .args(["--provider", "openai-compat", "--model", "big-70b"])
}

fn with_own(marvin: Marvin, server: &Server) -> Marvin {
    marvin
        .env("OLLAMA_URL", server.url(""))
        .args(["--provider", "ollama", "--model", "tiny:1b"])
}

/// The requests with what differs from run to run replaced.
fn same(name: &str, home: &Home, server: &Server) {
    let mut text = String::new();
    let home = home.path().display().to_string();
    for request in server.requests() {
        text.push_str(&format!("{} {}\n", request.method, request.path));
        for (name, value) in &request.headers {
            let varies = ["host", "content-length", "user-agent"];
            if !varies.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                text.push_str(&format!("{name}: {value}\n"));
            }
        }
        text.push_str(&format!("\n{}\n\n", request.text().replace(&home, "HOME")));
    }
    // The key is made of the folder's name, which is another one each time.
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\"marvin-") {
        out.push_str(before);
        out.push_str("\"marvin-KEY");
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out.push_str(rest);
    let ids = without_random_ids(&out);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/plain_loop");
    snapshot::same_file(&folder.join(format!("{name}.txt")), &ids);
}

/// Ids that Marvin gives to calls without one are random.
fn without_random_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\"call_") {
        out.push_str(before);
        let id: String = after
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        rest = after.get(id.len()..).unwrap_or_default();
        out.push_str(if id == "1" { "\"call_1" } else { "\"call_ID" });
    }
    out.push_str(rest);
    out
}

#[test]
fn a_non_interactive_run_sends_what_it_always_sent() {
    for (name, coding) in [("non-interactive", false), ("coding", true)] {
        let (home, server) = (home(), compat());
        let mut run = with_compat(marvin(&home), &server)
            .line("--non-interactive --prompt 'what is on the list'");
        if coding {
            home.write("work/list.md", "Milk.\n");
            home.write("work/Notes/list.md", "Milk.\n");
            run = run.arg("--working-dir").arg(home.work());
        }
        run.run().expect(0);
        same(name, &home, &server);
    }
}

#[test]
fn a_non_interactive_run_on_ollama_sends_what_it_always_sent() {
    let (home, server) = (home(), own());
    with_own(marvin(&home), &server)
        .args(["--non-interactive", "--prompt", "what is on the list"])
        .run()
        .expect(0);
    same("non-interactive-ollama", &home, &server);
}

#[test]
fn a_conversation_with_a_large_model_sends_what_it_always_sent() {
    let (home, server) = (home(), compat());
    with_compat(marvin(&home), &server)
        .arg("--plain")
        .stdin("what is on the list\nand to drink\n!code\nand now\n!code\nand then\n")
        .run()
        .expect(0);
    same("conversation", &home, &server);
}

#[test]
fn a_conversation_on_ollama_without_the_flow_sends_what_it_always_sent() {
    let (home, server) = (home(), own());
    with_own(marvin(&home), &server)
        .env("MARVIN_REPLY_FLOW", "off")
        .arg("--plain")
        .stdin("what is on the list\nand to drink\n!code\nand now\n")
        .run()
        .expect(0);
    same("conversation-ollama", &home, &server);
}
