//! What servers of local models say of a model: its window, whether it sees and whether it takes tools.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::image::png;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::ollama;

fn shown(capabilities: &[&str], length: u64, parameters: &str) -> Answer {
    Answer::json(&json!({
        "parameters": parameters,
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": length},
        "capabilities": capabilities,
    }))
}

fn chat() -> Exchange {
    Exchange::post("/api/chat").answer(Answer::ndjson(ollama::text(&["Here."])))
}

fn ask(home: &Home, server: &Server) -> Marvin {
    home.marvin()
        .args(["--non-interactive", "--provider", "ollama"])
        .args(["--model", "m", "--prompt", "hi"])
        .env("OLLAMA_URL", server.url(""))
}

/// The window that a chat was sent with.
fn window(server: &Server) -> Value {
    let requests = server.requests();
    let chat = requests.iter().find(|request| request.path == "/api/chat");
    chat.unwrap().json()["options"]["num_ctx"].clone()
}

#[test]
fn the_window_is_the_users_or_the_models_and_never_more_than_it_has() {
    for (set, length, parameters, wanted) in [
        (None, 262_144, "", 32_768),
        (None, 8192, "", 8192),
        (None, 262_144, "num_ctx    65536", 65_536),
        (Some("131072"), 262_144, "num_ctx 65536", 131_072),
        (Some("131072"), 40_960, "", 40_960),
        (Some("a lot"), 262_144, "", 32_768),
    ] {
        let server = Server::with([
            Exchange::post("/api/show").answer(shown(&["completion", "tools"], length, parameters)),
            chat(),
        ]);
        let home = Home::new();
        let mut run = ask(&home, &server).args(["--tools", "none"]);
        if let Some(set) = set {
            run = run.env("OLLAMA_CONTEXT", set);
        }
        let done = run.run().expect(0);
        assert_eq!(window(&server), wanted, "{set:?} {length} {parameters}");
        let is_wrong = done.errors().contains("OLLAMA_CONTEXT is \"a lot\"");
        assert_eq!(is_wrong, set == Some("a lot"), "{}", done.errors());
    }
}

#[test]
fn the_file_of_settings_sets_the_window() {
    let (home, server) = (Home::new(), Server::with([chat()]));
    home.write("config/config.yaml", "OLLAMA_CONTEXT: 65536\n");
    ask(&home, &server).run().expect(0);
    assert_eq!(window(&server), 65_536);
}

#[test]
fn a_model_that_sees_nothing_is_sent_no_image() {
    let server = Server::with([Exchange::post("/api/show").answer(shown(
        &["completion", "tools"],
        8192,
        "",
    ))]);
    let home = Home::new();
    home.write("work/one.png", png(64, 48));
    ask(&home, &server)
        .args(["-i", "one.png"])
        .fails(&["m takes no images."]);

    let server = Server::with([
        Exchange::post("/api/show").answer(shown(&["completion", "vision"], 32_768, "")),
        chat(),
    ]);
    ask(&home, &server).args(["-i", "one.png"]).run().expect(0);
}

#[test]
fn a_model_without_tools_is_offered_none_and_the_user_is_told() {
    let server = Server::with([
        Exchange::post("/api/show").answer(shown(&["completion"], 32_768, "")),
        chat(),
    ]);
    let done = ask(&Home::new(), &server).run().expect(0);
    assert_eq!(done.text(), "Here.\n");
    done.stderr_has(&["m takes no tools"]);
    let body = server.request(1).json();
    assert!(body["tools"].as_array().is_none_or(Vec::is_empty), "{body}");
}

#[test]
fn a_server_that_does_not_tell_delays_nothing_for_long() {
    for silent in [
        Answer::silence(),
        Answer::status(500),
        Answer::text("text/html", "<html>"),
    ] {
        let server = Server::with([Exchange::post("/api/show").answer(silent), chat()]);
        let begun = Instant::now();
        let done = ask(&Home::new(), &server).run().expect(0);
        assert_eq!(done.text(), "Here.\n");
        assert!(begun.elapsed() < Duration::from_secs(25));
        assert_eq!(window(&server), 32_768);
    }
}

#[test]
fn other_servers_of_local_models_tell_too() {
    let loaded = json!({"data": [{"id": "own", "type": "llm", "state": "loaded", "max_context_length": 32768, "loaded_context_length": 4096}]});
    let props =
        json!({"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": false}});
    for (provider, exchange) in [
        (
            "lmstudio",
            Exchange::get("/api/v0/models").answer(Answer::json(&loaded)),
        ),
        (
            "llama-server",
            Exchange::get("/props").answer(Answer::json(&props)),
        ),
    ] {
        let home = Home::new();
        home.write("work/one.png", png(64, 48));
        let server = Server::with([exchange]);
        let run = home
            .marvin()
            .args([
                "--non-interactive",
                "--provider",
                provider,
                "--prompt",
                "hi",
            ])
            .env(
                &format!("MARVIN_URL_{}", provider.to_uppercase().replace('-', "_")),
                server.url("/v1"),
            );
        run.args(["-i", "one.png"]).fails(&["takes no images"]);
    }
}
