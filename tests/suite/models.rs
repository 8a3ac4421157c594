//! `marvin models`: the providers' own lists, asked live, and what takes their place.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use marvin::testing::llm::parse_list;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::refused;
use crate::support::words::TextAssertions;

pub(crate) const KEY: &str = "sk-0123456789abcdef";

/// Our own list of this name, in the form of its provider.
fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/models");
    fs::read(folder.join(format!("{name}.json"))).expect(name)
}

pub(crate) fn list(name: &str) -> Answer {
    Answer::text("application/json", fixture(name))
}

/// `marvin models PROVIDER` on the day of the table, with the address `base`.
fn models(home: &Home, provider: &str, base: &str) -> Marvin {
    let name = provider.to_uppercase().replace('-', "_");
    home.marvin()
        .args(["models", provider])
        .env(&format!("{name}_URL"), base)
        .env(&format!("{name}_API_KEY"), KEY)
        .env("MARVIN_NOW", "2026-11-22T12:00:00+00:00[UTC]")
}

/// The line of the list about `model`, its blanks single.
fn line(text: &str, model: &str) -> String {
    let found = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.iter().take(2).any(|word| *word == model));
    found
        .unwrap_or_else(|| panic!("no {model} in:\n{text}"))
        .join(" ")
}

#[test]
fn the_list_of_a_provider_names_windows_prices_and_ends() {
    let (home, server) = (
        Home::new(),
        Server::with([Exchange::get("/v1/models").answer(list("openai"))]),
    );
    let done = models(&home, "openai", &server.url("/v1")).run().expect(0);
    let text = done.text();
    assert_eq!(
        line(text, "gpt-6.1-terra"),
        "* gpt-6.1-terra 1,050k 1 / 0.05 / 5 + default, chosen"
    );
    assert_eq!(
        line(text, "gpt-5"),
        "gpt-5 400k 1.25 / 0.125 / 10 ends on 2026-12-11, use gpt-6.1-sol"
    );
    assert_eq!(
        line(text, "gpt-5.1-2025-11-13"),
        "gpt-5.1-2025-11-13 400k 1.25 / 0.125 / 10 ends on 2027-04-01, use gpt-6.1-terra"
    );
    assert_eq!(
        line(text, "ft:gpt-6-luna:our-house::a1b2c3"),
        "ft:gpt-6-luna:our-house::a1b2c3 ? ?"
    );
    text.assert_has(&["No longer served: ", "gpt-4 (use gpt-6-luna)"]);
    assert_eq!(
        server.request(0).header("authorization"),
        Some("Bearer sk-0123456789abcdef")
    );
    assert_eq!(done.errors(), "");
}

#[test]
fn a_chosen_model_that_is_not_served_is_told_with_its_successor() {
    let (home, server) = (
        Home::new(),
        Server::with([Exchange::get("/v1/models").answer(list("openai"))]),
    );
    let done = models(&home, "openai", &server.url("/v1/chat/completions"))
        .env("OPENAI_MODEL", "gpt-4.1-nano")
        .run()
        .expect(0);
    assert_eq!(
        line(done.text(), "gpt-4.1-nano"),
        "* gpt-4.1-nano 1,047k 0.1 / 0.025 / 0.4 chosen, not in the list, ended on 2026-10-23, use gpt-6-luna"
    );
}

#[test]
fn the_pages_of_a_list_are_followed() {
    let server = Server::with([
        Exchange::get("/v1/models").answer(list("anthropic-first")),
        Exchange::get("/v1/models").answer(list("anthropic-last")),
    ]);
    let home = Home::new();
    let done = models(&home, "anthropic", &server.url(""))
        .arg("--json")
        .run()
        .expect(0);
    let report: Value = serde_json::from_str(done.text()).unwrap();
    let ids: Vec<&str> = report["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "claude-haiku-5-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-5-5"
        ]
    );
    let old = &report["models"][1];
    assert_eq!(
        (
            &old["ends"],
            &old["ended"],
            &old["successor"],
            &old["window"]
        ),
        (
            &json!("2026-11-30"),
            &json!(false),
            &json!("claude-sonnet-5-5"),
            &json!(200_000)
        )
    );
    assert_eq!(report["models"][2]["price"]["cache_write_1h"], 4.0);
    assert_eq!(
        (&report["source"], &report["provider"]),
        (&json!("provider"), &json!("anthropic"))
    );
    assert_eq!(server.request(0).header("x-api-key"), Some(KEY));
    assert_eq!(server.request(0).query("after_id"), None);
    assert_eq!(
        server.request(1).query("after_id"),
        Some("claude-sonnet-4-5-20250929")
    );
}

#[test]
fn models_that_are_not_for_chat_come_last_and_say_so() {
    let others = [
        "dall-e-3",
        "gpt-image-2",
        "gpt-realtime-2",
        "omni-moderation-latest",
        "text-embedding-3-large",
        "tts-1-hd",
        "whisper-1",
    ];
    let names = others.iter().chain(&["gpt-6-luna", "o3"]);
    let entries: Vec<Value> = names.map(|id| json!({"id": id})).collect();
    let play = move |_: &_, _| Answer::json(&json!({"data": entries}));
    let server = Server::answering(play);
    let home = Home::new();
    let done = models(&home, "openai", &server.url("/v1")).run().expect(0);
    let text = done.text();
    for name in others {
        assert!(line(text, name).ends_with(" not for chat"), "{text}");
    }
    assert!(!line(text, "o3").contains("chat"), "{text}");
    let at = |name: &str| text.find(&format!("  {name} ")).expect(name);
    assert!(
        at("gpt-6-luna") < at("o3") && at("o3") < at("dall-e-3"),
        "{text}"
    );
    let json = models(&home, "openai", &server.url("/v1"))
        .arg("--json")
        .run();
    let report: Value = serde_json::from_str(json.expect(0).text()).unwrap();
    let for_chat = report["models"].as_array().unwrap().iter();
    let for_chat: Vec<&str> = for_chat
        .filter(|model| model["chat"] == true)
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert_eq!(for_chat, ["gpt-6-luna", "gpt-6.1-terra", "o3"]);
}

#[test]
fn the_files_of_the_user_come_first() {
    let (home, server) = (Home::new(), Server::always(list("openai")));
    let prices = home.write(
        "prices.json",
        r#"{"gpt-5": {"input": 7, "output": 8, "cache_read": 0.5}}"#,
    );
    let known = home.write(
        "models.json",
        r#"{"openai": {"models": {"ft:gpt-6-luna:our-house::a1b2c3": {"limit": {"context": 1050000}, "cost": {"input": 0.2, "output": 1}, "status": "deprecated"}}}}"#,
    );
    let text = models(&home, "openai", &server.url("/v1"))
        .env("MARVIN_PRICES", prices)
        .env("MARVIN_MODELS", known)
        .run()
        .expect(0)
        .text()
        .to_owned();
    assert!(line(&text, "gpt-5").contains(" 7 / 0.5 / 8 "), "{text}");
    assert_eq!(
        line(&text, "ft:gpt-6-luna:our-house::a1b2c3"),
        "ft:gpt-6-luna:our-house::a1b2c3 1,050k 0.2 / 0.2 / 1 is deprecated"
    );
    let broken = home.write(
        "broken.json",
        r#"{"openai": {"models": {"m": {"cost": 3}}}}"#,
    );
    let done = models(&home, "openai", &server.url("/v1"))
        .env("MARVIN_MODELS", broken)
        .run()
        .expect(0);
    done.stderr_has(&["MARVIN_MODELS: \"m\" of \"openai\" cannot be read"]);
    assert!(
        line(done.text(), "gpt-5").contains(" 1.25 / "),
        "the table speaks"
    );
}

#[test]
fn without_the_network_the_table_speaks_and_says_so() {
    let home = Home::new();
    let done = models(&home, "gemini", &format!("http://{}/v1", refused()))
        .run()
        .expect(0);
    done.stdout_starts_with("Models of gemini, from Marvin's table of 2026-11-22")
        .stderr_has(&["cannot be reached"]);
    assert_eq!(
        line(done.text(), "gemini-3.1-pro-preview"),
        "* gemini-3.1-pro-preview 1,048k 2 / 0.2 / 12 + default, chosen"
    );
    done.stdout_has(&[
        "gemini-3.8-flash",
        "No longer served: gemini-3-pro-preview (use gemini-3.1-pro-preview)",
    ]);

    let json = models(&home, "gemini", &format!("http://{}/v1", refused()))
        .arg("--json")
        .run()
        .expect(0);
    let report: Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!(
        (&report["source"], &report["table_date"]),
        (&json!("table"), &json!("2026-11-22"))
    );
    report["problem"]["what"]
        .as_str()
        .unwrap()
        .assert_has(&["cannot be reached"]);

    // Of a server of one's own the table knows nothing.
    let done = models(&home, "ollama", &format!("http://{}", refused()))
        .run()
        .expect(1);
    assert!(
        done.errors().contains("cannot be reached") && done.text().is_empty(),
        "{}",
        done.errors()
    );
}

#[test]
fn a_refused_key_is_an_error_and_is_not_shown() {
    let server = Server::always(Answer::json(&json!({"error": {"message": "Incorrect API key provided: sk-0123456789abcdef", "type": "invalid_request_error", "code": "invalid_api_key"}})).with_status(401));
    let done = models(&Home::new(), "openai", &server.url("/v1"))
        .run()
        .expect(1);
    let errors = done.errors();
    errors.assert_has(&[
        "openai refused the key (401 invalid_api_key)",
        "Check OPENAI_API_KEY",
    ]);
    assert!(!errors.contains(KEY) && done.text().is_empty(), "{errors}");
}

#[test]
fn without_a_key_the_table_speaks_and_says_so() {
    let home = Home::new();
    for provider in ["anthropic", "Claude"] {
        let done = home.marvin().args(["models", provider]).run().expect(0);
        let (text, errors) = (done.text(), done.errors());
        assert!(
            text.starts_with("Models of anthropic, from Marvin's table of 2026-11-"),
            "{text}"
        );
        line(text, "claude-sonnet-5-5").assert_has_for(&text, &["default, chosen"]);
        errors.assert_has(&["was not asked for its models, because ANTHROPIC_API_KEY is not set"]);
    }
    let done = home.marvin().args(["models", "groq", "--json"]).run();
    let report: Value = serde_json::from_str(done.expect(0).text()).unwrap();
    assert_eq!(report["source"], "table");
    report["problem"]["what"]
        .as_str()
        .unwrap()
        .assert_has(&["GROQ_API_KEY"]);
}

#[test]
fn a_file_of_models_or_prices_that_cannot_be_read_is_named_everywhere() {
    let server = Server::always(says("Hello"));
    let home = Home::new();
    let gone = home.path().join("gone.json");
    for variable in ["MARVIN_MODELS", "MARVIN_PRICES"] {
        let done = home
            .ask(&server.url("/v1"), "hi")
            .env(variable, &gone)
            .run()
            .expect(0);
        assert_eq!(done.text(), "Hello\n");
        let errors = done.errors();
        let warning = format!("Warning: Cannot read {variable} (");
        assert_eq!(errors.matches(&warning).count(), 1, "{errors}");
        errors.assert_has(&["It is not used."]);
        let run = home.marvin().args(["doctor", "--json"]);
        let found = run.env(variable, &gone).run().expect(0);
        let findings: Vec<Value> = serde_json::from_str(found.text()).unwrap();
        let found = findings.iter().find(|found| found["name"] == variable);
        let found = found.expect("a finding about the file");
        assert!(found["ok"] == false && found["advice"] != "", "{found}");
    }
    // What is spent is counted by the prices.
    home.ask(&server.url("/v1"), "hi")
        .args(["--max-cost", "1"])
        .env("MARVIN_PRICES", &gone)
        .fails(&["--max-cost needs it"]);
}

#[test]
fn what_cannot_be_asked_is_said_before_a_request() {
    let home = Home::new();
    for (words, wanted) in [
        (&["antropic"][..], "Did you mean \"anthropic\"?"),
        (&["offline"][..], "No provider of language models is set up"),
        (&["openai", "groq"][..], "takes the name of one provider"),
        (&["--jsn"][..], "takes the name of one provider"),
    ] {
        let done = home.marvin().arg("models").args(words).run().expect(1);
        done.errors().assert_has_for(&words, &[wanted]);
    }
}

#[test]
fn a_signal_ends_the_waiting_at_once() {
    let server = Server::always(Answer::silence());
    let running = models(&Home::new(), "openai", &server.url("/v1")).spawn();
    server.wait_requests(1, Duration::from_secs(20));
    let begun = Instant::now();
    running.signal(Signal::INT);
    running.wait().expect(130);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_answer_of_a_model_that_ends_soon_comes_with_a_warning() {
    let server = Server::always(says("Hello"));
    let home = Home::new();
    for (model, warned) in [("gpt-5", true), ("gpt-5.1", false)] {
        let done = home
            .marvin()
            .args([
                "--non-interactive",
                "--provider",
                "openai",
                "--model",
                model,
                "--prompt",
                "hi",
            ])
            .env("OPENAI_URL", server.url("/v1/chat/completions"))
            .env("OPENAI_API_KEY", KEY)
            .env("MARVIN_NOW", "2026-11-22T12:00:00+00:00[UTC]")
            .run()
            .expect(0);
        assert_eq!(done.text(), "Hello\n");
        let warning =
            "Warning: \"gpt-5\" ends on 2026-12-11 at openai; its successor is \"gpt-6.1-sol\".";
        assert_eq!(done.errors().contains(warning), warned, "{}", done.errors());
    }
}

#[test]
fn a_list_that_is_cut_anywhere_is_a_problem() {
    for name in [
        "openai",
        "anthropic-first",
        "mistral",
        "openrouter",
        "together",
        "ollama",
    ] {
        let whole = fixture(name);
        let whole = whole.trim_ascii_end();
        assert!(!parse_list(name, whole).unwrap().models.is_empty());
        for cut in 0..whole.len() {
            let line = parse_list(name, &whole[..cut]).unwrap_err().one_line();
            assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
