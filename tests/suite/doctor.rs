//! `marvin doctor` and `marvin services`: what there is, what is missing, and what to do about it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::models::{KEY, list};
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::refused;
use crate::support::words::TextAssertions;

#[test]
fn services_and_doctor_are_read_by_programs_too() {
    let home = Home::new();
    let services: Vec<Value> = serde_json::from_str(
        home.marvin()
            .env("GROQ_API_KEY", "sk-secret-value")
            .env("MARVIN_URL_NOMINATIM", "http://127.0.0.1:9")
            .args(["services", "--json"])
            .run()
            .expect(0)
            .text(),
    )
    .unwrap();
    let service = |id: &str| {
        services
            .iter()
            .find(|row| row["id"] == id)
            .unwrap_or_else(|| panic!("no {id}"))
    };
    assert_eq!(service("groq")["key_set"], true);
    assert_eq!(service("openai")["key_set"], false);
    assert_eq!(service("openai")["override_variable"], "MARVIN_URL_OPENAI");
    assert_eq!(service("nominatim")["base"], "http://127.0.0.1:9");
    for row in &services {
        for key in [
            "id",
            "base",
            "override_variable",
            "key_variable",
            "key_set",
            "tools",
        ] {
            assert!(row.get(key).is_some(), "{key} missing in {row}");
        }
    }
    let served = json!({"data": [{"id": "openai/gpt-oss-120b"}]});
    let models = Server::always(Answer::json(&served));
    let output = home
        .marvin()
        .env("GROQ_API_KEY", "sk-secret-value")
        .env("GROQ_URL", models.url("/v1"))
        .args(["doctor", "--json"])
        .run()
        .expect(0);
    output.stdout_lacks(&["sk-secret-value"]);
    let findings: Vec<Value> = serde_json::from_str(output.text()).unwrap();
    let finding = |area: &str, name: &str| {
        findings
            .iter()
            .find(|row| row["area"] == area && row["name"] == name)
            .unwrap_or_else(|| panic!("no {area} {name}"))
    };
    assert_eq!(finding("provider", "groq")["ok"], true);
    assert_eq!(finding("program", "git")["ok"], true);
    finding("program", "git")["state"]
        .as_str()
        .unwrap()
        .assert_has(&["git version"]);
    assert_eq!(finding("folder", "settings")["ok"], true);
    for row in &findings {
        let advised = row["ok"] == true || !row["advice"].as_str().unwrap().is_empty();
        assert!(advised, "no advice: {row}");
    }
    // Nothing available: no programs, no writable folder.
    home.marvin()
        .env("PATH", "/nowhere")
        .env("MARVIN_CONFIG_DIR", "/proc/nowhere")
        .args(["doctor"])
        .prints(&["Install the package git.", "MARVIN_CONFIG_DIR"]);
}

#[test]
fn doctor_lists_every_service_without_a_request() {
    let home = Home::new();
    let server = Server::start();
    home.write(".ssh/RAWG_API_KEY", "from-a-file");
    let ids: Vec<String> = marvin::testing::services::SERVICES
        .iter()
        .map(|service| service.id.to_owned())
        .collect();
    let run = ids.iter().fold(home.marvin(), |run, id| {
        run.env(&marvin::testing::services::variable(id), server.url(""))
    });
    let output = run.args(["doctor", "--json"]).run().expect(0);
    assert!(server.requests().is_empty());
    let findings: Vec<Value> = serde_json::from_str(output.text()).unwrap();
    let told: Vec<&Value> = findings
        .iter()
        .filter(|row| row["area"] == "service")
        .collect();
    let names: Vec<&str> = told
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ids);
    for row in &told {
        let state = row["state"].as_str().unwrap();
        let expected = format!(
            "{} (by {})",
            server.url(""),
            marvin::testing::services::variable(row["name"].as_str().unwrap())
        );
        assert!(state.starts_with(&expected), "{state}");
    }
    let text = home
        .marvin()
        .without("MARVIN_CONTACT")
        .arg("doctor")
        .run()
        .expect(0);
    for line in [
        "ok  service    open-meteo                 https://api.open-meteo.com (default)\n",
        "ok  service    rawg                       https://api.rawg.io (default), RAWG_API_KEY set\n",
        "--  service    omdb                       https://www.omdbapi.com (default), OMDB_API_KEY not set, ",
    ] {
        assert!(text.text().contains(line), "no {line:?} in {}", text.text());
    }
    text.stdout_has(&["contact not set  → Its public server"]);
    // A contact of the profile counts.
    home.write(
        "config/profiles/main/preferences.yaml",
        "contact: me@example.org\n",
    );
    home.marvin()
        .arg("doctor")
        .run()
        .expect(0)
        .stdout_lacks(&["contact not set"]);
}

#[test]
fn services_name_the_tools_that_use_them() {
    let text = Home::new().marvin().arg("services").run().expect(0);
    let line = |id: &str| {
        let own = |line: &&str| line.split_whitespace().next() == Some(id);
        text.text()
            .lines()
            .find(own)
            .unwrap_or_else(|| panic!("no {id}"))
    };
    assert!(
        line("omdb").ends_with("  search_movies, get_movie_details"),
        "{}",
        line("omdb")
    );
    assert!(line("github").ends_with("  github_clone"));
    assert!(line("ntfy").ends_with("  ntfy_publish, ntfy_list"));
    assert!(
        line("openai").ends_with("OPENAI_API_KEY not set"),
        "{}",
        line("openai")
    );
}

/// The finding of `marvin doctor` about a provider: whether there is nothing to do, and its words.
fn doctor_about(run: Marvin, area: &str, name: &str) -> (bool, String) {
    let done = run
        .args(["doctor", "--json"])
        .env("MARVIN_NOW", "2026-11-22T12:00:00+00:00[UTC]")
        .run()
        .expect(0);
    assert!(!done.text().contains(KEY));
    let findings: Vec<Value> = serde_json::from_str(done.text()).unwrap();
    let mut findings = findings.iter();
    let found = findings.find(|found| found["area"] == area && found["name"] == name);
    let found = found.expect("a finding");
    let word = |key: &str| found[key].as_str().unwrap().to_owned();
    (
        found["ok"].as_bool().unwrap(),
        format!("{} → {}", word("state"), word("advice")),
    )
}

#[test]
fn doctor_asks_each_provider_with_a_key_whether_key_and_model_are_good() {
    let home = Home::new();
    let refusal = json!({"error": {"message": format!("Incorrect API key: {KEY}"), "code": "invalid_api_key"}});
    let server = Server::answering(move |request, _| match request.path.as_str() {
        "/good/models" => list("openai"),
        "/refused/models" => Answer::json(&refusal).with_status(401),
        "/slow/models" => Answer::silence(),
        _ => Answer::status(404),
    });
    let asked = |path: &str, model: &str| {
        home.marvin()
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", server.url(path))
            .env("OPENAI_MODEL", model)
    };
    let about = |path: &str, model: &str| doctor_about(asked(path, model), "provider", "openai");
    let (ok, words) = about("/good", "gpt-6.1-terra");
    assert!(
        ok && words.contains("OPENAI_API_KEY set, at http")
            && words.contains("answers with 4 models"),
        "{words}"
    );
    let (ok, words) = about("/good", "gpt-6.1-tera");
    assert!(
        !ok && words.contains("gpt-6.1-tera is not among the 4 models of openai")
            && words.contains("Did you mean \"gpt-6.1-terra\"? Set OPENAI_MODEL"),
        "{words}"
    );
    let (ok, words) = doctor_about(asked("/good", "gpt-6.1-tera"), "choice", "model");
    assert!(
        !ok && words.contains("Did you mean \"gpt-6.1-terra\"?"),
        "{words}"
    );
    let (ok, words) = about("/refused", "gpt-6.1-terra");
    assert!(
        !ok && words.contains("openai refused the key (401")
            && words.ends_with("Check OPENAI_API_KEY."),
        "{words}"
    );
    let (ok, words) = about("/other", "gpt-6.1-terra");
    assert!(ok && words.contains("gives no list of models"), "{words}");
    let begun = Instant::now();
    let (ok, words) = about("/slow", "gpt-6.1-terra");
    assert!(
        !ok && words.contains("not reached: ") && words.contains("OPENAI_BASE_URL"),
        "{words}"
    );
    assert!(begun.elapsed() < Duration::from_secs(30));
    let run = home.marvin().env("OPENAI_API_KEY", KEY);
    let run = run.env("OPENAI_BASE_URL", format!("http://{}/v1", refused()));
    let (ok, words) = doctor_about(run, "provider", "openai");
    assert!(!ok && words.contains("not reached: "), "{words}");
}

#[test]
fn doctor_tells_of_a_model_that_has_ended_at_a_provider_that_is_not_chosen() {
    let home = Home::new();
    let run = home.marvin().env("GROQ_MODEL", "llama-3.3-70b-versatile");
    let (ok, words) = doctor_about(run, "provider", "groq");
    assert!(
        !ok && words.contains("llama-3.3-70b-versatile ended on 2026-08-16")
            && words.contains("Set GROQ_MODEL=openai/gpt-oss-120b"),
        "{words}"
    );
}

#[test]
fn doctor_tells_what_a_local_model_takes() {
    let server = Server::with([
        Exchange::get("/api/tags")
            .any_times()
            .by(|_, _| list("ollama")),
        Exchange::post("/api/show").any_times().by(|_, _| {
            let info = json!({"llama.context_length": 131_072});
            Answer::json(&json!({"model_info": info, "capabilities": ["completion", "vision"]}))
        }),
    ]);
    let home = Home::new();
    let run = home.marvin().env("LLM_PROVIDER", "ollama");
    let run = run
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "our-own");
    let (ok, words) = doctor_about(run, "choice", "model");
    assert!(
        !ok && words
            .contains("window 32,768 tokens of 131,072 (OLLAMA_CONTEXT sets it), no tools, images"),
        "{words}"
    );
}

#[test]
fn doctor_warns_of_a_model_that_has_ended_or_ends_soon() {
    let home = Home::new();
    let server = Server::always(Answer::status(404));
    for (model, ok, wanted) in [
        (
            "gpt-6.1-terra",
            true,
            "gpt-6.1-terra, as OPENAI_MODEL says → ",
        ),
        (
            "gpt-4",
            false,
            "gpt-4 ended on 2026-10-23 → Set OPENAI_MODEL=gpt-6-luna; marvin models openai lists what it serves.",
        ),
        (
            "gpt-5-2025-08-07",
            false,
            "gpt-5-2025-08-07 ends on 2026-12-11 → Set OPENAI_MODEL=gpt-6.1-sol; ",
        ),
        ("gpt-5.1", true, "gpt-5.1 ends on 2027-04-01 → "),
    ] {
        let run = home
            .marvin()
            .env("OPENAI_API_KEY", "k")
            .env("OPENAI_BASE_URL", server.url("/v1"))
            .env("OPENAI_MODEL", model);
        let (found, words) = doctor_about(run, "choice", "model");
        assert!(found == ok && words.starts_with(wanted), "{words}");
    }
}

#[test]
fn doctor_asks_a_server_of_this_machine_whether_it_has_the_model() {
    let server = Server::always(list("ollama"));
    let home = Home::new();
    let doctor = |model: &str| {
        let run = home.marvin().env("LLM_PROVIDER", "ollama");
        let run = run.env("OLLAMA_URL", server.url(""));
        doctor_about(run.env("OLLAMA_MODEL", model), "choice", "model")
    };
    assert_eq!(
        doctor("qwen3-coder:30b"),
        (true, "qwen3-coder:30b, as OLLAMA_MODEL says → ".to_owned())
    );
    assert_eq!(
        doctor("our-own"),
        (true, "our-own, as OLLAMA_MODEL says → ".to_owned())
    );
    assert_eq!(
        doctor("nobody:7b"),
        (false, "nobody:7b is not among the 2 models of ollama → ollama pull nobody:7b, or set OLLAMA_MODEL.".to_owned())
    );
}
