//! Copilot with the real CLI, where `MARVIN_TEST_COPILOT_CLI` names it: against a server of the user's own, and signed in at stand-ins for GitHub's servers.
//! Nothing leaves this machine. Without the variable each test says that it skips, and fails where `MARVIN_REQUIRE_COPILOT_CLI` is 1.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Request, Server};
use crate::support::shared::skip;
use crate::support::wait::until;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(60);

/// The CLI, or nothing, which is said.
fn cli(test: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MARVIN_TEST_COPILOT_CLI") {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "{} is no program", path.display());
        return Some(path);
    }
    let required = std::env::var_os("MARVIN_REQUIRE_COPILOT_CLI").is_some_and(|value| value == "1");
    assert!(!required, "MARVIN_TEST_COPILOT_CLI is not set");
    skip(
        test,
        "MARVIN_TEST_COPILOT_CLI does not name the Copilot CLI (scripts/copilot-cli.sh)",
    );
    None
}

/// Marvin with the real CLI, its state in the test's home and its unpacked program shared by all tests.
fn marvin(home: &Home, cli: &Path) -> Marvin {
    let cache = std::env::temp_dir().join("marvin-copilot-cache");
    fs::create_dir_all(&cache).unwrap();
    home.marvin()
        .env("MARVIN_COPILOT_CLI", cli)
        .env("COPILOT_HOME", home.path().join("copilot"))
        .env("XDG_CACHE_HOME", cache)
        .env("LLM_PROVIDER", "copilot")
        .limit(LIMIT)
}

/// The same with a server of the user's own.
fn own(home: &Home, cli: &Path, server: &Server) -> Marvin {
    marvin(home, cli)
        .env("MARVIN_COPILOT_BASE_URL", server.url("/v1"))
        .env("MARVIN_COPILOT_API_KEY", "own-key")
}

fn one_shot(run: Marvin, prompt: &str) -> Marvin {
    run.args(["--non-interactive", "--prompt", prompt])
}

fn last_role(request: &Request) -> String {
    let messages = request.json()["messages"].clone();
    let last = messages.as_array().unwrap().last().unwrap().clone();
    last["role"].as_str().unwrap().to_owned()
}

/// Processes of the CLI of this test.
fn running(home: &Home) -> Vec<Pid> {
    let mark = home.path().join("copilot").display().to_string();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ours = pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&mark) && line.contains("--headless")
    });
    ours.filter_map(Pid::from_raw).collect()
}

fn all_gone(home: &Home) {
    until("the end of the CLI", || running(home).is_empty());
}

/// What the CLI keeps of sessions.
fn sessions(home: &Home) -> usize {
    let kept = fs::read_dir(home.path().join("copilot/session-state"));
    // Its empty lock files stay.
    let names = kept.into_iter().flatten().flatten();
    names
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .count()
}

#[test]
fn a_question_is_answered_by_the_users_own_server() {
    let Some(cli) = cli("a_question_is_answered_by_the_users_own_server") else {
        return;
    };
    let (home, server) = (
        Home::new(),
        Server::always(Answer::sse(openai::text(&["Hel", "lo."]))),
    );
    let done = one_shot(own(&home, &cli, &server), "hi").run().expect(0);
    assert_eq!(done.text(), "Hello.\n", "{}", done.errors());
    let request = server.request(0);
    assert_eq!(request.header("authorization"), Some("Bearer own-key"));
    let body = request.json();
    assert_eq!(body["model"], "claude-haiku-4.5");
    // Marvin's system prompt and tools, and nothing of the CLI's own.
    let system = body["messages"][0]["content"].to_string();
    system.assert_has(&["Marvin"]);
    system.assert_lacks(&["GitHub Copilot CLI"]);
    let tools: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(
        tools.contains(&"read_file") && !tools.contains(&"bash"),
        "{tools:?}"
    );
    all_gone(&home);
    assert_eq!(sessions(&home), 0);
}

#[test]
fn tools_run_in_marvin_and_long_results_arrive_whole() {
    let Some(cli) = cli("tools_run_in_marvin_and_long_results_arrive_whole") else {
        return;
    };
    let home = Home::new();
    let long = format!(
        "{}\nthe end of the file\n",
        "a line of the file\n".repeat(4_000)
    );
    home.write("work/long.txt", &long);
    let server = Server::answering(|request, _| match last_role(request).as_str() {
        "user" => Answer::sse(openai::calls(&[
            ("a", "get_working_dir", json!({})),
            ("b", "read_file", json!({"path": "no-such-file"})),
            (
                "c",
                "read_file",
                json!({"path": "long.txt", "start_line": 1, "end_line": 3000}),
            ),
            ("d", "no_such_tool", json!({})),
        ])),
        _ => says("Done."),
    });
    let done = one_shot(own(&home, &cli, &server), "look").run().expect(0);
    assert!(done.text().ends_with("Done.\n"), "{}", done.text());
    let body = server.request(1).json();
    let messages = body["messages"].as_array().unwrap();
    let result = |id: &str| {
        let found = messages
            .iter()
            .find(|message| message["tool_call_id"] == id);
        found.unwrap()["content"].as_str().unwrap().to_owned()
    };
    assert!(result("a").contains(&home.work().display().to_string()));
    result("b").assert_has(&["no-such-file"]);
    assert!(
        result("c").len() > 60_000 && result("c").contains("3000"),
        "{}",
        result("c").len()
    );
    result("d").assert_has(&["does not exist"]);
    all_gone(&home);
}

#[test]
fn a_refused_key_is_told_in_the_clis_words() {
    let Some(cli) = cli("a_refused_key_is_told_in_the_clis_words") else {
        return;
    };
    let home = Home::new();
    let server =
        Server::always(Answer::json(&json!({"error": {"message": "bad key"}})).with_status(401));
    let done = one_shot(own(&home, &cli, &server), "hi").run().expect(1);
    let errors = done.errors();
    errors.assert_has(&["Error: copilot: Authentication failed with provider"]);
    errors.assert_lacks(&["own-key"]);
    all_gone(&home);
}

#[test]
fn a_conversation_goes_on_after_the_cli_was_killed() {
    let Some(cli) = cli("a_conversation_goes_on_after_the_cli_was_killed") else {
        return;
    };
    let home = Home::new();
    let server = Server::answering(|_, number| says(&format!("Answer {number}.")));
    let mut running_marvin = own(&home, &cli, &server)
        .arg("--plain")
        .stdin_open()
        .spawn();
    running_marvin.write(b"first\n");
    running_marvin.wait_stdout("Answer 0.", LIMIT);
    running_marvin.write(b"second\n");
    running_marvin.wait_stdout("Answer 1.", LIMIT);
    // The CLI kept the conversation.
    let second = server.request(1).json();
    let roles: Vec<&str> = second["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    for pid in running(&home) {
        let _ = kill_process(pid, Signal::KILL);
    }
    all_gone(&home);
    running_marvin.write(b"third\n");
    running_marvin.wait_stdout("Answer 2.", LIMIT);
    server
        .request(2)
        .text()
        .assert_has(&["User: first\\n\\nAssistant: Answer 0.\\n\\nUser: second"]);
    running_marvin.write(b"quit\n");
    running_marvin.wait().expect(0);
    all_gone(&home);
}

#[test]
fn a_marvin_that_is_killed_takes_the_cli_with_it() {
    let Some(cli) = cli("a_marvin_that_is_killed_takes_the_cli_with_it") else {
        return;
    };
    for signal in [Signal::KILL, Signal::TERM] {
        let home = Home::new();
        let chunk = openai::data(&openai::chunk(json!({"content": "Half"}), None));
        let server = Server::always(Answer::sse([chunk.clone()]).stall()).lenient();
        let marvin = one_shot(own(&home, &cli, &server), "hi").spawn();
        marvin.wait_stdout("Half", LIMIT);
        assert!(!running(&home).is_empty());
        marvin.signal(signal);
        marvin.wait();
        all_gone(&home);
    }
}

/// Stand-ins for the servers that the CLI asks when somebody is signed in.
fn github(request: &Request) -> Answer {
    let model = |id: &str, multiplier: f64| {
        json!({
            "id": id, "name": id, "object": "model", "vendor": "v", "version": "1", "preview": false, "model_picker_enabled": true,
            "capabilities": {"type": "chat", "family": id, "object": "model_capabilities", "tokenizer": "o200k_base",
                "supports": {"streaming": true, "tool_calls": true},
                "limits": {"max_context_window_tokens": 128_000, "max_prompt_tokens": 100_000, "max_output_tokens": 8_000}},
            "policy": {"state": "enabled", "terms": ""},
            "billing": {"is_premium": true, "multiplier": multiplier},
        })
    };
    let path = request.path.split('?').next().unwrap_or_default();
    if path.ends_with("/copilot_internal/user") {
        let quota = json!({"entitlement": 300, "remaining": 270, "percent_remaining": 90.0, "unlimited": false, "overage_count": 0, "overage_permitted": false, "quota_id": "premium_interactions"});
        Answer::json(&json!({
            "login": "fake-user", "access_type_sku": "free_limited_copilot", "copilot_plan": "individual", "chat_enabled": true,
            "analytics_tracking_id": "x", "organization_login_list": [], "organization_list": [],
            "quota_reset_date": "2026-12-01", "quota_snapshots": {"premium_interactions": quota},
        }))
    } else if path.ends_with("/models") {
        Answer::json(
            &json!({"object": "list", "data": [model("claude-haiku-4.5", 0.33), model("gpt-5-mini", 0.0)]}),
        )
    } else if path.ends_with("/chat/completions") {
        match last_role(request).as_str() {
            "user" => Answer::sse(openai::call("a", "get_working_dir", json!({}))),
            _ => says("It is fine."),
        }
    } else {
        Answer::json(&json!({"message": "Not Found"})).with_status(404)
    }
}

/// Marvin with the CLI signed in by a GitHub CLI that has a token.
fn signed_in(home: &Home, cli: &Path, server: &Server) -> Marvin {
    let gh = home.program("bin/gh", "#!/bin/sh\n[ \"$1 $2\" = 'auth token' ] && echo gho_000000000000000000000000000000000000\n");
    marvin(home, cli)
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", gh.parent().unwrap().display()),
        )
        .env("COPILOT_API_URL", server.url(""))
        .env("COPILOT_DEBUG_GITHUB_API_URL", server.url(""))
}

#[test]
fn signed_in_by_the_github_cli_a_whole_turn_with_a_tool_runs() {
    let Some(cli) = cli("signed_in_by_the_github_cli_a_whole_turn_with_a_tool_runs") else {
        return;
    };
    let home = Home::new();
    let server = Server::answering(|request, _| github(request)).lenient();
    let done = one_shot(signed_in(&home, &cli, &server), "where?")
        .run()
        .expect(0);
    assert!(done.text().ends_with("It is fine.\n"), "{}", done.text());
    let errors = done.errors();
    let line = errors
        .lines()
        .last()
        .unwrap()
        .strip_prefix("MARVIN_COST:")
        .unwrap();
    let cost: Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        (&cost["session_cost"], &cost["llm_turns"]),
        (&json!(0.0), &json!(2))
    );
    all_gone(&home);
    // Without a choice Copilot is the first.
    let chosen = signed_in(&home, &cli, &server)
        .without("LLM_PROVIDER")
        .arg("doctor")
        .run()
        .expect(0);
    chosen.text().assert_has(&[
        "copilot would answer now: its CLI is signed in",
        "signed in as fake-user (via gh)",
        "90 % of the plan's allowance left",
    ]);
}

#[test]
fn signed_in_the_models_of_the_plan_are_known() {
    let Some(cli) = cli("signed_in_the_models_of_the_plan_are_known") else {
        return;
    };
    let home = Home::new();
    let server = Server::answering(|request, _| github(request)).lenient();
    let listed = signed_in(&home, &cli, &server)
        .args(["models", "copilot"])
        .run()
        .expect(0);
    listed.stdout_has(&["gpt-5-mini"]);
    let chosen = listed
        .text()
        .lines()
        .find(|line| line.starts_with("* claude-haiku-4.5"))
        .unwrap();
    assert!(
        chosen.contains("128k") && chosen.ends_with("default, chosen, × 0.33"),
        "{chosen}"
    );
    let run = signed_in(&home, &cli, &server).args(["--model", "no-such-model"]);
    one_shot(run, "hi").fails(&["Model \"no-such-model\" is not available.", "gpt-5-mini"]);
    all_gone(&home);
}

#[test]
fn nobody_signed_in_is_told() {
    let Some(cli) = cli("nobody_signed_in_is_told") else {
        return;
    };
    let home = Home::new();
    let run = marvin(&home, &cli).env("PATH", "/nonexistent");
    one_shot(run, "hi").fails(&[
            "copilot: not signed in. Run \"gh auth login\" (or \"copilot login\"), or set COPILOT_GITHUB_TOKEN.",
        ]);
    all_gone(&home);
}
