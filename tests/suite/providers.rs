//! The wire formats through the real binary: requests, stored state and messages.

use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

fn ask(home: &Home, provider: &str, vars: &[(&str, &str)]) -> Marvin {
    let run = home.marvin().args([
        "--non-interactive",
        "--provider",
        provider,
        "--prompt",
        "hi",
    ]);
    vars.iter()
        .fold(run, |run, (name, value)| run.env(name, *value))
}

#[test]
fn ollama_gets_its_window_and_a_server_without_its_path_is_asked_in_openais_way() {
    let home = Home::new();
    let server = Server::always(Answer::ndjson([
        "{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n",
        "{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":2}\n",
    ]));
    let output = ask(&home, "ollama", &[("OLLAMA_URL", &server.url(""))])
        .run()
        .expect(0);
    assert_eq!(output.text(), "Hi\n");
    let request = server.request(0);
    assert!(request.path.ends_with("/api/chat") && request.json()["options"]["num_ctx"] == 32768);
    let other = Server::answering(|request, _| {
        if request.path.ends_with("/api/chat") {
            Answer::text("text/plain", "404 page not found").with_status(404)
        } else {
            says("Hello")
        }
    });
    let output = ask(&home, "ollama", &[("OLLAMA_URL", &other.url(""))])
        .run()
        .expect(0);
    assert_eq!(output.text(), "Hello\n");
    assert!(other.request(1).path.ends_with("/v1/chat/completions"));
}

#[test]
fn geminis_signature_goes_back_with_its_call() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        if n > 0 {
            return says("ok");
        }
        let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "tree", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "c2ln"}}});
        Answer::sse(vec![
            openai::data(&openai::chunk(
                json!({"tool_calls": [call]}),
                Some("tool_calls"),
            )),
            "data: [DONE]\n\n".to_owned(),
        ])
    });
    ask(
        &home,
        "gemini",
        &[
            ("GEMINI_API_KEY", "k"),
            ("GEMINI_URL", &server.url("/v1beta/openai")),
        ],
    )
    .run()
    .expect(0);
    let body = server.request(1).json();
    assert_eq!(
        body["messages"][2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "c2ln"
    );
}

#[test]
fn silence_has_a_limit_before_and_inside_a_reply() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        if n == 0 {
            Answer::silence()
        } else {
            Answer::sse(openai::text(&["half"])[..2].to_vec()).stall()
        }
    });
    let run = || {
        home.ask(&server.url("/v1"), "hi")
            .env("MARVIN_FIRST_BYTE_TIMEOUT", "1")
            .env("MARVIN_IDLE_TIMEOUT", "1")
            .run()
            .expect(1)
    };
    run().stderr_has(&["sent nothing for 1 s"]);
    let output = run();
    assert!(
        output.text() == "half\n" && output.errors().contains("fell silent in mid-reply for 1 s"),
        "{}",
        output.errors()
    );
}
