//! Providers found by the variables that other programs use, second names of providers, and names of models with a slip in them.

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::refused;
use crate::support::wire::{anthropic, ollama, responses};
use crate::support::words::TextAssertions;

const KEY: &str = "sk-0123456789abcdef";

fn ask(home: &Home, provider: &str) -> Marvin {
    home.marvin()
        .args(["--non-interactive", "--provider", provider])
        .args(["--prompt", "hi"])
}

#[test]
fn a_gateway_that_other_programs_use_gets_the_prompt_and_its_key() {
    let home = Home::new();
    let server = Server::with([
        Exchange::post("/gw/v1/responses").answer(Answer::sse(responses::text(&["Here."])))
    ]);
    let done = ask(&home, "openai")
        .env("OPENAI_BASE_URL", server.url("/gw/v1/"))
        .env("OPENAI_API_KEY", KEY)
        .run()
        .expect(0);
    assert_eq!(done.text(), "Here.\n");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(
        server.request(0).header("authorization"),
        Some(bearer.as_str())
    );

    let server = Server::with([
        Exchange::post("/gw/v1/messages").answer(Answer::sse(anthropic::text(&["Here."])))
    ]);
    let done = ask(&home, "Claude")
        .env("ANTHROPIC_BASE_URL", server.url("/gw"))
        .env("ANTHROPIC_AUTH_TOKEN", "token-of-the-gateway")
        .env("ANTHROPIC_API_KEY", KEY)
        .run()
        .expect(0);
    assert_eq!(done.text(), "Here.\n");
    let request = server.request(0);
    assert_eq!(
        request.header("authorization"),
        Some("Bearer token-of-the-gateway")
    );
    assert_eq!(
        request.header("x-api-key"),
        None,
        "the maker's key stays here"
    );

    let server =
        Server::with([Exchange::post("/v1beta/openai/chat/completions").answer(says("Here."))]);
    let done = ask(&home, "google")
        .env("GOOGLE_GEMINI_BASE_URL", server.url("/"))
        .env("GOOGLE_API_KEY", KEY)
        .run()
        .expect(0);
    assert_eq!(done.text(), "Here.\n");
    assert_eq!(
        server.request(0).header("authorization"),
        Some(bearer.as_str())
    );

    let server = Server::start();
    let port = server.address().port();
    for host in [
        format!("127.0.0.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!(":{port}"),
    ] {
        let answer = Answer::ndjson(ollama::text(&["Here."]));
        server.expect(Exchange::post("/api/chat").answer(answer));
        let done = ask(&home, "ollama")
            .env("OLLAMA_HOST", host)
            .run()
            .expect(0);
        assert_eq!(done.text(), "Here.\n");
    }
}

#[test]
fn marvins_own_address_wins_and_the_file_of_settings_has_the_others() {
    let (home, server) = (Home::new(), Server::start());
    let answer = || Answer::sse(responses::text(&["Here."]));
    server.expect(Exchange::post("/own/responses").answer(answer()));
    let done = ask(&home, "openai")
        .env("MARVIN_URL_OPENAI", server.url("/own"))
        .env("OPENAI_BASE_URL", format!("http://{}/v1", refused()))
        .env("OPENAI_API_KEY", KEY)
        .run();
    done.expect(0);
    server.expect(Exchange::post("/file/responses").answer(answer()));
    home.write(
        "config/config.yaml",
        format!(
            "OPENAI_BASE_URL: {}\nGOOGLE_API_KEY: {KEY}\n",
            server.url("/file")
        ),
    );
    ask(&home, "openai")
        .env("OPENAI_API_KEY", KEY)
        .run()
        .expect(0)
        .stderr_has(&["GOOGLE_API_KEY is a key; keys are not read from there"]);
}

#[test]
fn an_address_that_is_none_is_refused_and_nothing_goes_to_the_public_service() {
    let home = Home::new();
    for address in ["gateway.example/v1", "htp://gateway.example", "http://"] {
        let done = ask(&home, "openai")
            .env("OPENAI_BASE_URL", address)
            .env("OPENAI_API_KEY", KEY)
            .run()
            .expect(1);
        let errors = done.errors();
        assert!(errors.contains("OPENAI_BASE_URL"), "{address}: {errors}");
        assert!(!errors.contains("api.openai.com"), "{address}: {errors}");
    }
}

#[test]
fn services_and_help_name_the_variables_of_other_programs() {
    let home = Home::new();
    let run = home.marvin().args(["services", "--json"]);
    let done = run
        .env("OPENAI_BASE_URL", "http://me:secret@gw.example/v1")
        .env("GOOGLE_API_KEY", KEY)
        .run()
        .expect(0);
    assert!(!done.text().contains("secret") && !done.text().contains(KEY));
    let rows: Vec<Value> = serde_json::from_str(done.text()).unwrap();
    let row = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(row("openai")["base"], "http://gw.example/v1");
    assert_eq!(row("openai")["set_by"], "OPENAI_BASE_URL");
    assert_eq!(row("openai")["override_variable"], "MARVIN_URL_OPENAI");
    assert_eq!(row("groq")["set_by"], Value::Null);
    assert_eq!(row("gemini")["key_variable"], "GOOGLE_API_KEY");
    assert_eq!(row("gemini")["key_set"], true);
    let page = home.marvin().arg("man").run().expect(0);
    page.text().assert_has(&[
        "OLLAMA_HOST",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_AUTH_TOKEN",
        "OLLAMA_CONTEXT",
    ]);
}

#[test]
fn a_slip_in_a_models_name_is_answered_with_the_nearest() {
    let home = Home::new();
    for (provider, model, near) in [
        ("openai", "gpt-6.1-tera", "Did you mean \"gpt-6.1-terra\"?"),
        (
            "anthropic",
            "claude-sonet-5-5",
            "Did you mean \"claude-sonnet-5-5\"?",
        ),
    ] {
        let server = Server::answering(|_, _| {
            let error = json!({"error": {"type": "not_found_error", "message": "model not found", "code": "model_not_found"}});
            Answer::json(&error).with_status(404)
        });
        let done = ask(&home, provider)
            .args(["--model", model])
            .env(
                &format!("MARVIN_URL_{}", provider.to_uppercase()),
                server.url("/v1"),
            )
            .env(&format!("{}_API_KEY", provider.to_uppercase()), KEY)
            .run()
            .expect(1);
        assert!(done.errors().contains(near), "{}", done.errors());
    }
}

#[test]
fn a_slip_in_the_name_of_a_local_model_is_answered_with_what_is_there() {
    let server = Server::with([
        Exchange::post("/api/chat")
            .answer(Answer::json(&json!({"error": "model 'qwen3:8' not found"})).with_status(404)),
        Exchange::get("/api/tags").answer(Answer::json(
            &json!({"models": [{"name": "qwen3:8b"}, {"name": "llava"}]}),
        )),
    ]);
    let done = ask(&Home::new(), "ollama")
        .args(["--model", "qwen3:8"])
        .env("OLLAMA_URL", server.url(""))
        .run()
        .expect(1);
    done.stderr_has(&["Did you mean \"qwen3:8b\"?"]);
}

#[test]
fn a_new_model_in_a_conversation_with_a_slip_in_its_name_is_doubted_at_once() {
    let home = Home::new();
    let done = home
        .marvin()
        .args(["--plain", "--provider", "openai"])
        .env("OPENAI_URL", format!("http://{}/v1", refused()))
        .env("OPENAI_API_KEY", KEY)
        .stdin("/model gpt-6.1-tera\n/model kimi\n")
        .run();
    done.output()
        .assert_has(&["Did you mean \"gpt-6.1-terra\"?", "moonshot needs a key"]);
}
