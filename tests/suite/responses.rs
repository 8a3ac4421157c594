//! The Responses wire through the real binary: what is sent, which wire is chosen, and how each ending is reported.

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::responses::{self, Stream};
use crate::support::wire::{openai, responses::error};
use crate::support::words::TextAssertions;

fn ask(home: &Home, provider: &str, server: &Server) -> Marvin {
    ask_model(home, provider, "gpt-5.5", server)
}

fn ask_model(home: &Home, provider: &str, model: &str, server: &Server) -> Marvin {
    let id = provider.to_uppercase().replace('-', "_");
    home.marvin()
        .env(&format!("MARVIN_URL_{id}"), server.url("/v1"))
        .env(&format!("{id}_API_KEY"), "test-key")
        .args([
            "--non-interactive",
            "--provider",
            provider,
            "--model",
            model,
        ])
        .args(["--prompt", "hi"])
}

fn kinds(request: &Value) -> Vec<&str> {
    let items = request["input"].as_array().unwrap();
    items
        .iter()
        .filter_map(|item| item["type"].as_str())
        .collect()
}

#[test]
fn reasoning_and_phases_go_back_with_the_results_of_the_calls() {
    let home = Home::new();
    let server = Server::answering(|_, n| {
        Answer::sse(match n {
            0 => Stream::new()
                .reasoning("Hm.", "c2VjcmV0")
                .message(&["I ", "look."], Some("commentary"))
                .call("call_1", "get_working_dir", "{}", 1)
                .call("call_2", "get_working_dir", "{}", 8)
                .end(),
            _ => Stream::new()
                .message(&["There."], Some("final_answer"))
                .end(),
        })
    });
    let done = ask(&home, "openai", &server)
        .env("MARVIN_TOOL_SEARCH", "off")
        .run()
        .expect(0);
    assert!(done.text().ends_with("There.\n"), "{}", done.text());
    let first = server.request(0);
    assert!(first.path.ends_with("/v1/responses"), "{}", first.path);
    let (first, second) = (first.json(), server.request(1).json());
    assert_eq!(
        (&first["store"], &first["stream"], &first["include"]),
        (
            &json!(false),
            &json!(true),
            &json!(["reasoning.encrypted_content"])
        )
    );
    assert_eq!(first["tools"][0]["strict"], false);
    first["instructions"]
        .as_str()
        .unwrap()
        .assert_has(&["Marvin"]);
    assert_eq!(
        kinds(&second),
        [
            "message",
            "reasoning",
            "message",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output"
        ]
    );
    assert_eq!(second["input"][1]["encrypted_content"], "c2VjcmV0");
    assert_eq!(second["input"][2]["phase"], "commentary");
    assert_eq!(second["input"][5]["call_id"], "call_1");
    for part in ["instructions", "tools", "prompt_cache_key", "reasoning"] {
        assert_eq!(first[part], second[part], "{part}");
    }
}

#[test]
fn a_server_without_the_address_is_asked_over_chat_completions_once_and_from_then_on() {
    for (status, body) in [
        (404, "404 page not found"),
        (405, "{\"detail\":\"Method Not Allowed\"}"),
        (501, ""),
    ] {
        let home = Home::new();
        let server = Server::answering(move |request, n| {
            if request.path.ends_with("/responses") {
                return Answer::text("text/plain", body).with_status(status);
            }
            Answer::sse(match n {
                1 => openai::Stream::new()
                    .call(0, "a", "get_working_dir", "{}")
                    .end(),
                _ => openai::text(&["Hello"]),
            })
        });
        let done = ask(&home, "openai", &server).run().expect(0);
        assert!(done.text().ends_with("Hello\n"), "{}", done.text());
        let paths: Vec<String> = (0..3).map(|n| server.request(n).path).collect();
        assert_eq!(
            paths,
            [
                "/v1/responses",
                "/v1/chat/completions",
                "/v1/chat/completions"
            ]
        );
    }
}

#[test]
fn the_wire_that_the_user_names_is_spoken_and_nothing_else() {
    let home = Home::new();
    let server = Server::answering(|request, _| {
        if request.path.ends_with("/responses") {
            Answer::text("text/plain", "404 page not found").with_status(404)
        } else {
            says("Hello")
        }
    });
    let named = |wire: &str| ask(&home, "openai", &server).env("OPENAI_WIRE", wire);
    assert_eq!(named("completions").run().expect(0).text(), "Hello\n");
    assert!(server.request(0).path.ends_with("/chat/completions"));
    named("responses").fails(&["knows no such address"]);
    named("chat").fails(&["OPENAI_WIRE is \"chat\"", "responses or completions"]);
    assert_eq!(
        server.requests().len(),
        2,
        "nothing was sent for a wrong word"
    );
}

#[test]
fn a_model_that_needs_the_other_wire_is_asked_over_it() {
    let home = Home::new();
    let refusal = "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
    let server = Server::answering(move |request, _| {
        if request.path.ends_with("/responses") {
            Answer::sse(responses::text(&["Hello"]))
        } else {
            Answer::json(&json!({"error": {"message": refusal, "type": "invalid_request_error", "param": "reasoning_effort", "code": null}})).with_status(400)
        }
    });
    assert_eq!(
        ask(&home, "openai-compat", &server).run().expect(0).text(),
        "Hello\n"
    );
    ask(&home, "openai-compat", &server)
        .env("OPENAI_COMPAT_WIRE", "completions")
        .fails(&["Set OPENAI_COMPAT_WIRE=responses."]);
}

#[test]
fn a_model_that_is_served_only_over_responses_is_asked_over_it_at_once() {
    const COMPLETIONS: &str = "/v1/chat/completions";
    const RESPONSES: &str = "/v1/responses";
    let file =
        json!({"openai-compat": {"models": {"our-own": {"provider": {"shape": "responses"}}}}});
    for (provider, model, wire, knows, paths) in [
        ("openai-compat", "gpt-5-pro", None, true, &[RESPONSES][..]),
        ("openai-compat", "our-own", None, true, &[RESPONSES]),
        ("openai-compat", "gpt-5.5", None, true, &[COMPLETIONS]),
        (
            "openai-compat",
            "gpt-5-pro",
            Some("completions"),
            true,
            &[COMPLETIONS],
        ),
        (
            "openai-compat",
            "gpt-5-pro",
            None,
            false,
            &[RESPONSES, COMPLETIONS],
        ),
        // OpenRouter serves every model over chat completions.
        ("openrouter", "openai/gpt-5-pro", None, true, &[COMPLETIONS]),
    ] {
        let home = Home::new();
        let known = home.write("models.json", file.to_string());
        let server = Server::answering(move |request, _| {
            if request.path.ends_with(COMPLETIONS) {
                says("Hello")
            } else if knows {
                Answer::sse(responses::text(&["Hello"]))
            } else {
                Answer::text("text/plain", "404 page not found").with_status(404)
            }
        });
        let asked = ask_model(&home, provider, model, &server).env("MARVIN_MODELS", known);
        let asked = wire
            .into_iter()
            .fold(asked, |asked, wire| asked.env("OPENAI_COMPAT_WIRE", wire));
        assert_eq!(asked.run().expect(0).text(), "Hello\n");
        let requests = server.requests();
        let seen: Vec<&str> = requests
            .iter()
            .map(|request| request.path.as_str())
            .collect();
        assert_eq!(seen, paths, "{provider} {model} {wire:?}");
    }
}

#[test]
fn an_unknown_model_is_no_reason_to_ask_elsewhere() {
    let home = Home::new();
    let server = Server::always(
        Answer::json(&error(
            "model_not_found",
            "The model `gpt-5.5` does not exist.",
        ))
        .with_status(404),
    );
    ask(&home, "openai", &server).fails(&["has no model gpt-5.5"]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn summaries_that_are_refused_are_left_out_from_then_on() {
    let home = Home::new();
    let server = Server::answering(|request, n| {
        if request.json()["reasoning"]["summary"] == "auto" {
            let words = "Your organization must be verified to generate reasoning summaries.";
            return Answer::json(&json!({"error": {"message": words, "type": "invalid_request_error", "param": "reasoning.summary", "code": "unsupported_value"}})).with_status(400);
        }
        Answer::sse(match n {
            1 => responses::calls(&[("a", "get_working_dir", json!({}))]),
            _ => responses::text(&["Hello"]),
        })
    });
    let done = ask(&home, "openai", &server).run().expect(0);
    assert!(done.text().ends_with("Hello\n"));
    let summaries: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| request.json()["reasoning"]["summary"].clone())
        .collect();
    assert_eq!(summaries, [json!("auto"), Value::Null, Value::Null]);
}
