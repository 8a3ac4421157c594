//! Copilot from the outside: the built binary with a peer in place of the CLI, and another provider beside it.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::copilot_peer;
use crate::support::editor::Editor;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::stages::{ollama_by_stage, ollama_says};
use crate::support::wait::{side_by_side, until};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

/// Not a test of its own: the process that plays a script.
#[test]
fn peer() {
    copilot_peer::play_if_peer();
}

const LIMIT: Duration = Duration::from_secs(20);
const SILENT: &str = "{\"expect\":\"session.send\"}\n{\"result\":{}}\n{\"event\":\"user.message\",\"data\":{}}\n{\"event\":\"assistant.message_delta\",\"data\":{\"deltaContent\":\"Half\"}}\n{\"hang\":true}\n";

fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/copilot/");
    std::fs::read_to_string(format!("{folder}{name}.jsonl")).expect(name)
}

fn folder(home: &Home) -> PathBuf {
    home.path().join("cli")
}

/// Marvin with a peer that plays `script`, in the non-interactive mode.
fn marvin(home: &Home, script: &str) -> Marvin {
    let cli = copilot_peer::install(&folder(home), script, "copilot::peer");
    home.marvin().env("MARVIN_COPILOT_CLI", cli)
}

fn ask(home: &Home, script: &str) -> Marvin {
    marvin(home, script).line("--non-interactive --provider copilot --prompt hi")
}

fn answering() -> String {
    fixture("begin") + &fixture("answer")
}

fn calls(home: &Home, method: &str) -> Vec<Value> {
    let all = copilot_peer::calls(&folder(home)).into_iter();
    let fitting = all.filter(|call| call["method"] == method);
    fitting.map(|call| call["params"].clone()).collect()
}

/// Waits until no peer is alive.
fn all_gone(home: &Home) {
    until("the end of the CLI", || {
        copilot_peer::running(&folder(home)).is_empty()
    });
}

#[test]
fn one_question_is_answered_counted_without_dollars_and_leaves_nothing_behind() {
    let home = Home::new();
    let done = ask(&home, &answering()).run().expect(0);
    assert_eq!(done.text(), "It is fine.\n");
    let errors = done.errors();
    let line = errors.lines().last().unwrap();
    let cost: Value = serde_json::from_str(line.strip_prefix("MARVIN_COST:").unwrap()).unwrap();
    assert_eq!(
        (&cost["session_cost"], &cost["ai_credits"]),
        (&json!(0.0), &json!(0.25))
    );
    assert_eq!(
        (&cost["input_tokens"], &cost["cached_tokens"]),
        (&json!(120), &json!(100))
    );
    assert_eq!(cost["estimated"], false);
    let usage: Value = serde_json::from_str(&home.read("config/usage.json")).unwrap();
    assert_eq!(
        (&usage["total_cost"], &usage["total_ai_credits"]),
        (&json!(0.0), &json!(0.25))
    );
    assert_eq!(usage["total_provider_tokens"]["copilot"]["input"], 120);
    // The session is removed, so that the CLI's folder does not fill up.
    let session = &calls(&home, "session.create")[0]["sessionId"];
    assert_eq!(&calls(&home, "session.delete")[0]["sessionId"], session);
    assert_eq!(calls(&home, "runtime.shutdown").len(), 1);
    all_gone(&home);
    let told = home
        .marvin()
        .args(["tool", "get_usage", "period=lifetime"])
        .run()
        .expect(0);
    assert!(
        told.text().contains("0.25 AI credits") && !told.text().contains('$'),
        "{}",
        told.text()
    );
}

#[test]
fn a_tool_runs_here_and_its_result_goes_to_the_cli() {
    let home = Home::new();
    home.write("work/a.txt", "alpha");
    let script = fixture("begin") + &fixture("tools").replace("git_status", "get_working_dir");
    let done = ask(&home, &script).run().expect(0);
    done.stdout_starts_with("Let me look.\n");
    assert!(done.text().ends_with("Two files.\n"), "{}", done.text());
    let results = calls(&home, "session.tools.handlePendingToolCall");
    let result = results
        .iter()
        .find(|result| result["requestId"] == "r3")
        .unwrap();
    let text = result["result"]["textResultForLlm"].as_str().unwrap();
    assert!(text.contains(&home.work().display().to_string()), "{text}");
    let made = &calls(&home, "session.create")[0];
    assert!(made["tools"].as_array().unwrap().len() > 50);
    assert_eq!(
        (&made["model"], &made["clientName"]),
        (&json!("claude-haiku-4.5"), &json!("marvin"))
    );
}

#[test]
fn the_model_and_a_server_of_the_users_own_are_settings() {
    let home = Home::new();
    // Nobody asks for a login then.
    let begin = fixture("begin");
    let lines: Vec<&str> = begin.lines().collect();
    let script = [&lines[..2], &lines[4..]].concat().join("\n") + "\n" + &fixture("answer");
    let run = ask(&home, &script)
        .env("MARVIN_CHAT_MODEL", "gpt-5-mini")
        .env("MARVIN_COPILOT_BASE_URL", "http://127.0.0.1:9/v1/")
        .env("MARVIN_COPILOT_API_KEY", "own-key");
    assert_eq!(run.run().expect(0).text(), "It is fine.\n");
    let made = &calls(&home, "session.create")[0];
    assert_eq!(made["model"], "gpt-5-mini");
    let server = json!({"type": "openai", "wireApi": "completions", "baseUrl": "http://127.0.0.1:9/v1", "apiKey": "own-key"});
    assert_eq!(made["provider"], server);
    assert!(calls(&home, "auth.getStatus").is_empty());
}

#[test]
fn a_folder_that_cannot_be_written_is_named_when_the_cli_hangs_and_ends() {
    let home = Home::new();
    let run = ask(&home, "{\"sleep\":50}\n{\"exit\":1}\n");
    let done = run.env("COPILOT_HOME", "/proc/nowhere").run().expect(1);
    done.stderr_has(&["/proc/nowhere is not writable: set COPILOT_HOME and XDG_CACHE_HOME"]);
}

#[test]
fn the_cli_does_not_outlive_a_marvin_that_is_killed_or_terminated() {
    side_by_side([Signal::KILL, Signal::TERM, Signal::INT], |signal| {
        let home = Home::new();
        let running = ask(&home, &(fixture("begin") + SILENT)).spawn();
        running.wait_stdout("Half", LIMIT);
        assert_eq!(copilot_peer::running(&folder(&home)).len(), 1);
        running.signal(signal);
        running.wait();
        all_gone(&home);
    });
}

#[test]
fn copilot_is_the_first_choice_where_it_is_signed_in_and_is_asked_once_a_day() {
    let home = Home::new();
    let script = answering();
    let cli = copilot_peer::install(&folder(&home), &script, "copilot::peer");
    let one_shot = |day: u8| {
        home.marvin()
            .env("MARVIN_COPILOT_CLI", &cli)
            .env("MARVIN_NOW", format!("2026-11-{day}T12:00:00+00:00[UTC]"))
            .args(["--non-interactive", "--prompt", "hi"])
    };
    for (day, asked) in [(20, 2), (20, 3), (22, 5)] {
        assert_eq!(one_shot(day).run().expect(0).text(), "It is fine.\n");
        assert_eq!(calls(&home, "connect").len(), asked);
    }
    all_gone(&home);
}

#[test]
fn an_editor_is_told_how_to_sign_in_where_the_cli_is_signed_out() {
    let home = Home::new();
    let script = fixture("begin").replace("\"isAuthenticated\":true", "\"isAuthenticated\":false");
    let cli = copilot_peer::install(&folder(&home), &script, "copilot::peer");
    let marvin = home.marvin().env("MARVIN_COPILOT_CLI", &cli);
    // Nothing listens there, whatever runs on this machine.
    let mut editor = Editor::start(marvin.env("OLLAMA_URL", "http://127.0.0.1:9"));
    let answer = editor.call("initialize", json!({"protocolVersion": 1}));
    assert_eq!(answer["authMethods"][0]["id"], "copilot", "{answer}");
    let error = editor.fails("authenticate", json!({"methodId": "copilot"}));
    assert_eq!(error["code"], -32000);
    error["message"]
        .as_str()
        .unwrap()
        .assert_has(&["gh auth login"]);
    editor.close().expect(0);
}

#[test]
fn without_a_login_the_next_provider_is_chosen() {
    let home = Home::new();
    let server = Server::always(Answer::sse(openai::text(&["Hello"])));
    let script = fixture("begin").replace("\"isAuthenticated\":true", "\"isAuthenticated\":false");
    let cli = copilot_peer::install(&folder(&home), &script, "copilot::peer");
    for _ in 0..2 {
        let done = home
            .marvin()
            .env("MARVIN_COPILOT_CLI", &cli)
            .env("OPENAI_COMPAT_URL", server.url("/v1"))
            .env("OPENAI_COMPAT_API_KEY", "k")
            .args(["--non-interactive", "--prompt", "hi"])
            .run()
            .expect(0);
        assert_eq!(done.text(), "Hello\n");
    }
    assert_eq!(calls(&home, "connect").len(), 1);
    assert!(calls(&home, "session.create").is_empty());
}

#[test]
fn doctor_tells_cli_login_and_the_reason_of_the_choice() {
    let home = Home::new();
    let script = fixture("begin")
        + "{\"expect\":\"account.getQuota\"}\n{\"result\":{\"quotaSnapshots\":{\"premium_interactions\":{\"remainingPercentage\":90}}}}\n";
    // The quota comes before a session would.
    let script = script.replace("{\"expect\":\"session.create\"}\n{\"result\":{\"sessionId\":\"given\"}}\n{\"event\":\"session.start\",\"data\":{}}\n", "");
    let done = marvin(&home, &script).arg("doctor").run().expect(0);
    let text = done.text();
    let line = |wanted: &str| {
        text.lines()
            .any(|line| line.starts_with("ok") && line.ends_with(wanted))
    };
    assert!(
        line("copilot would answer now: its CLI is signed in"),
        "{text}"
    );
    assert!(line("claude-haiku-4.5, the default"), "{text}");
    assert!(
        line(
            "cli/copilot 1.0.0, signed in as octocat (via gh), model claude-haiku-4.5, 90 % of the plan's allowance left"
        ),
        "{text}"
    );
    let without = home.marvin().arg("doctor").run().expect(0);
    let wanted =
        "the Copilot CLI is not installed  → npm install -g @github/copilot, then gh auth login";
    assert!(without.text().contains(wanted), "{}", without.text());
    all_gone(&home);
}

#[test]
fn its_models_are_listed() {
    let home = Home::new();
    let list = json!({"models": [
        {"id": "gpt-5-mini", "capabilities": {"limits": {"max_context_window_tokens": 128_000, "max_output_tokens": 8000}}, "billing": {"multiplier": 0}},
        {"id": "claude-haiku-4.5", "billing": {"multiplier": 0.33}},
    ]});
    let begin = fixture("begin");
    let lines: Vec<&str> = begin.lines().take(4).collect();
    let script = format!(
        "{}\n{{\"expect\":\"models.list\"}}\n{{\"result\":{list}}}\n",
        lines.join("\n")
    );
    let done = marvin(&home, &script)
        .args(["models", "copilot"])
        .run()
        .expect(0);
    let text = done.text();
    text.assert_has(&["gpt-5-mini"]);
    let chosen = text
        .lines()
        .find(|line| line.starts_with("* claude-haiku-4.5"))
        .unwrap();
    assert!(chosen.ends_with("default, chosen, × 0.33"), "{text}");
    text.assert_lacks(&["US dollars"]);
    all_gone(&home);
}

/// A server that fails, and Marvin with a peer that answers.
fn falling_back(home: &Home, server: &Server, script: &str) -> Marvin {
    marvin(home, script)
        .with_model(server)
        .env("MARVIN_RETRIES", "0")
        .line("--non-interactive --prompt hi")
}

fn boom() -> Answer {
    Answer::json(&json!({"error": {"message": "boom"}})).with_status(500)
}

fn failing() -> Server {
    Server::always(boom())
}

#[test]
fn copilot_answers_when_another_provider_fails_and_one_line_says_so() {
    let (home, server) = (Home::new(), failing());
    let done = falling_back(&home, &server, &answering()).run().expect(0);
    assert_eq!(done.text(), "It is fine.\n");
    let errors = done.errors();
    let lines: Vec<&str> = errors
        .lines()
        .filter(|line| line.contains("falling back"))
        .collect();
    assert_eq!(lines.len(), 1, "{errors}");
    assert!(lines[0].starts_with("⚠️ openai-compat error: "), "{errors}");
    assert!(
        lines[0].ends_with(" — falling back to Copilot SDK"),
        "{errors}"
    );
    all_gone(&home);
}

#[test]
fn text_that_leaves_a_local_provider_is_announced() {
    let (home, server) = (Home::new(), failing());
    let done = marvin(&home, &answering())
        .env("OLLAMA_URL", server.url(""))
        // Copilot takes over after the last of them.
        .env("MARVIN_RETRIES", "1")
        .line("--non-interactive --provider ollama --prompt hi")
        .run()
        .expect(0);
    let errors = done.errors();
    let wanted = "falling back to Copilot SDK; the conversation now leaves this machine and goes to GitHub\n";
    assert!(errors.contains(wanted), "{errors}");
}

#[test]
fn a_server_here_that_wants_no_key_is_local_too() {
    let (home, server) = (Home::new(), failing());
    let done = falling_back(&home, &server, &answering())
        .without("OPENAI_COMPAT_API_KEY")
        .run()
        .expect(0);
    let announced = "the conversation now leaves this machine and goes to GitHub\n";
    assert!(done.errors().contains(announced), "{}", done.errors());
}

#[test]
fn the_first_error_stays_when_there_is_no_copilot_or_nobody_wants_it() {
    let (home, server) = (Home::new(), failing());
    let signed_out =
        fixture("begin").replace("\"isAuthenticated\":true", "\"isAuthenticated\":false");
    let runs = [
        (
            falling_back(&home, &server, &answering()).env("MARVIN_NO_FALLBACK", "1"),
            0,
        ),
        (
            falling_back(&home, &server, &answering()).env("MARVIN_COPILOT_CLI", "/nonexistent"),
            0,
        ),
        (falling_back(&home, &server, &signed_out), 1),
    ];
    for (run, started) in runs {
        let before = calls(&home, "connect").len();
        let errors = run.run().expect(1).errors();
        errors.assert_has(&["boom"]);
        errors.assert_lacks(&["opilot"]);
        assert_eq!(calls(&home, "connect").len() - before, started);
    }
    all_gone(&home);
}

#[test]
fn two_failures_are_told_the_first_one_first() {
    let (home, server) = (Home::new(), failing());
    let script = fixture("begin") + &fixture("error");
    let errors = falling_back(&home, &server, &script)
        .run()
        .expect(1)
        .errors();
    let first = errors
        .find("\nError: openai-compat")
        .unwrap_or_else(|| panic!("{errors}"));
    let second = errors.find("Copilot failed too: copilot: The upstream model is down");
    assert!(second.is_some_and(|second| second > first), "{errors}");
}

#[test]
fn nothing_falls_back_once_text_was_shown_or_something_changed() {
    let home = Home::new();
    let shown = Server::answering(|_, _| {
        let half = openai::chunk(json!({"content": "Half an ans"}), None);
        Answer::sse([openai::data(&half)]).reset()
    });
    falling_back(&home, &shown, &answering())
        .run()
        .expect(1)
        .stderr_lacks(&["falling back"]);
    let wrote = Server::answering(|_, number| match number {
        0 => Answer::sse(openai::call(
            "c",
            "create_file",
            json!({"path": "a.txt", "content": "a"}),
        )),
        _ => boom(),
    });
    falling_back(&home, &wrote, &answering())
        .run()
        .expect(1)
        .stderr_lacks(&["falling back"]);
    assert!(home.has("work/a.txt"));
    assert!(calls(&home, "connect").is_empty());
}

#[test]
fn pro_sends_one_message_to_copilot_with_the_conversation_before_it() {
    let home = Home::new();
    let server = Server::always(Answer::sse(openai::text(&["Hello from here"])));
    let run = marvin(&home, &answering())
        .with_model(&server)
        .arg("--plain")
        .stdin("hi\n!pro what is better?\nthanks\nusage\nquit\n");
    let done = run.run().expect(0);
    let text = done.text();
    text.assert_has(&["It is fine."]);
    let prompt = calls(&home, "session.send")[0]["prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    prompt.assert_has(&["User: hi\n\nAssistant: Hello from here\n</conversation>"]);
    assert!(prompt.ends_with("\n\nwhat is better?"), "{prompt}");
    // The message after it goes where the others go, and knows of it.
    server
        .request(1)
        .text()
        .assert_has(&["It is fine.", "thanks"]);
    text.assert_has(&[
        "0.25 AI credits",
        "Copilot: 90 % of the plan's allowance is left.",
    ]);
    all_gone(&home);
}

/// A chat with the reply flow and a local model that fails; the other stages answer.
fn flow(home: &Home, server: &Server, script: &str) -> Marvin {
    marvin(home, script)
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .env("MARVIN_RETRIES", "0")
        .env("MARVIN_REPLY_LOCATION_ENABLED", "false")
        .args(["--plain", "--provider", "ollama"])
        .stdin("hi\nquit\n")
}

fn failing_chat() -> Server {
    ollama_by_stage(|stage, body| match stage {
        "chat" => boom(),
        "router" => ollama_says(body, "none"),
        "planner" => ollama_says(body, "Reply to the user."),
        _ => ollama_says(body, "NONE"),
    })
}

#[test]
fn what_is_said_to_a_local_model_of_the_flow_stays_here_unless_the_user_allows_it() {
    let (home, server) = (Home::new(), failing_chat());
    let done = flow(&home, &server, &answering()).run().expect(0);
    let text = done.text().to_owned() + &done.errors();
    text.assert_has(&["boom"]);
    text.assert_lacks(&["It is fine."]);
    assert!(calls(&home, "connect").is_empty());
    let allowed = flow(&home, &server, &answering()).env("MARVIN_REPLY_CLOUD_FALLBACK", "true");
    let done = allowed.run().expect(0);
    let text = done.text().to_owned() + &done.errors();
    text.assert_has(&["It is fine."]);
    let announced =
        "falling back to Copilot SDK; the conversation now leaves this machine and goes to GitHub";
    assert_eq!(text.matches(announced).count(), 1, "{text}");
    let sent = calls(&home, "session.send");
    assert_eq!(sent.len(), 1, "only the answer: {sent:?}");
    assert!(
        sent[0]["prompt"].as_str().unwrap().ends_with("hi"),
        "{sent:?}"
    );
    all_gone(&home);
}

#[test]
fn a_successor_of_the_flow_calls_tools_in_one_session() {
    let (home, server) = (Home::new(), failing_chat());
    let script = fixture("begin") + &fixture("tools").replace("git_status", "get_working_dir");
    let done = flow(&home, &server, &script)
        .env("OLLAMA_MODEL", "qwen3:32b")
        .env("MARVIN_REPLY_CLOUD_FALLBACK", "true")
        .run()
        .expect(0);
    done.output().assert_has(&["Two files."]);
    assert_eq!(calls(&home, "session.create").len(), 1);
    assert_eq!(calls(&home, "session.tools.handlePendingToolCall").len(), 2);
    all_gone(&home);
}
