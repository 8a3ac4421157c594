//! Permission modes and rules, from the command line to the call and to what a command starts.

use serde_json::{Value, json};

use crate::support::conversation::{calls, last_sent, messages, playing, says};
use crate::support::home::Home;
use crate::support::server::Server;
use crate::support::words::TextAssertions;

fn command(text: &str) -> Value {
    json!({"command": text, "timeout": 20})
}

/// The result of one call in a run with these flags.
fn result(home: &Home, flags: &[&str], name: &str, args: Value) -> String {
    let server = playing([calls(name, args), says("Done.")]);
    home.ask(&server.url("/v1"), "go on")
        .args(flags)
        .run()
        .expect(0);
    last_sent(&server, 1)
}

#[test]
fn a_mode_refuses_what_no_rule_allows_and_says_how_to_allow_it() {
    let flags = [
        "--permission-mode",
        "dontAsk",
        "--allowed-tools",
        "run_command(touch:*)",
    ];
    let home = Home::new();
    let told = result(&home, &flags, "run_command", command("touch allowed"));
    assert!(home.has("work/allowed"), "{told}");
    let told = result(&home, &flags, "run_command", command("touch a; touch b"));
    told.assert_has(&[
        "run_command was not run",
        "dontAsk",
        "--allowed-tools",
        "--permission-mode",
    ]);
    let told = result(
        &home,
        &flags,
        "create_file",
        json!({"path": "docs/a.md", "content": "x"}),
    );
    told.assert_has(&["--allowed-tools 'create_file(docs/a.md)'"]);
    assert!(!home.has("work/a") && !home.has("work/docs"));
    // What it says works.
    let flags = [
        "--permission-mode=dontAsk",
        "--allowedTools=create_file(docs/a.md)",
    ];
    result(
        &home,
        &flags,
        "create_file",
        json!({"path": "docs/a.md", "content": "x"}),
    );
    assert!(home.has("work/docs/a.md"));
}

#[test]
fn without_flags_and_with_the_mode_that_skips_everything_runs() {
    for flags in [
        &[][..],
        &["--permission-mode", "bypassPermissions"],
        &["--dangerously-skip-permissions"],
        &[
            "--allow-dangerously-skip-permissions",
            "--allowedTools",
            "",
            "--disallowed-tools=",
        ],
    ] {
        let home = Home::new();
        result(&home, flags, "run_command", command("touch a; touch b"));
        assert!(home.has("work/b"), "{flags:?}");
    }
}

#[test]
fn a_disallowed_tool_is_not_offered_and_not_run() {
    let home = Home::new();
    let server = playing([calls("run_command", command("touch a")), says("Done.")]);
    home.ask(&server.url("/v1"), "go on")
        .args(["--disallowedTools", "Bash,git_*", "--allowed-tools", "Bash"])
        .args(["--disallowed-tools", "create_file(docs/**)"])
        .run()
        .expect(0);
    let request = server.request(0).json();
    let offered = request["tools"].as_array().unwrap().iter();
    let offered: Vec<&str> = offered
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(
        !offered
            .iter()
            .any(|name| *name == "run_command" || name.starts_with("git_"))
    );
    assert!(offered.contains(&"create_file"));
    last_sent(&server, 1).assert_has(&["the rule Bash of --disallowed-tools"]);
    assert!(!home.has("work/a"));
}

#[test]
fn a_model_in_plan_mode_is_told_to_plan() {
    let home = Home::new();
    let server = playing([
        calls("create_file", json!({"path": "a", "content": "x"})),
        says("The plan."),
    ]);
    home.ask(&server.url("/v1"), "go on")
        .args(["--permission-mode", "plan"])
        .run()
        .expect(0);
    let system = messages(&server, 0).remove(0)["content"].to_string();
    system.assert_has(&["You are in plan mode"]);
    last_sent(&server, 1).assert_has(&["in permission mode plan"]);
    assert!(!home.has("work/a"));
}

#[test]
fn wrong_rules_and_modes_end_the_run_before_anything_is_asked() {
    for (flags, words) in [
        (
            &["--allowed-tools", "raed_file"][..],
            "Did you mean \"read_file\"?",
        ),
        (
            &["--disallowed-tools", "run_command(rm"],
            "not closed at character 12",
        ),
        (&["--permission-mode", "yolo"], "Modes: bypassPermissions"),
        (&["--permission-mode", "auto"], "is not built"),
        (&["--permission-mode"], "--permission-mode needs a value"),
        (&["--allowed-tools", "-x"], "There is no tool \"-x\""),
        (&["--allowed-tools=-x"], "There is no tool \"-x\""),
    ] {
        let home = Home::new();
        let server = Server::with([]);
        let done = home
            .ask(&server.url("/v1"), "go on")
            .args(flags)
            .run()
            .expect(1);
        done.errors().assert_has(&[words]);
    }
}

#[test]
fn what_a_command_starts_has_the_same_rules() {
    let marvin = env!("CARGO_BIN_EXE_marvin");
    let create = "tool create_file path=a content=x";
    for (flags, words) in [
        (
            &["--disallowed-tools", "create_file"][..],
            "the rule create_file of --disallowed-tools",
        ),
        (
            &[
                "--permission-mode",
                "default",
                "--allowed-tools",
                "run_command",
            ],
            "in permission mode default",
        ),
    ] {
        let home = Home::new();
        let told = result(
            &home,
            flags,
            "run_command",
            command(&format!("'{marvin}' {create}")),
        );
        told.assert_has(&[words]);
        assert!(!home.has("work/a"), "{told}");
        // A weaker mode is refused, and taking the variables away is what only a sandbox prevents.
        let asked = format!(
            "'{marvin}' --permission-mode bypassPermissions --non-interactive --provider offline --prompt x"
        );
        let told = result(&home, flags, "run_command", command(&asked));
        if flags.contains(&"default") {
            told.assert_has(&["more than the Marvin that started it"]);
        }
    }
    let home = Home::new();
    result(
        &home,
        &["--disallowed-tools", "web_search"],
        "run_command",
        command(&format!("'{marvin}' {create}")),
    );
    assert!(home.has("work/a"));
}

#[test]
fn variables_say_the_same_as_the_flags() {
    let home = Home::new();
    let server = playing([calls("run_command", command("touch a")), says("Done.")]);
    home.ask(&server.url("/v1"), "go on")
        .env("MARVIN_PERMISSION_MODE", "dontAsk")
        .env("MARVIN_ALLOWED_TOOLS", "Bash(ls:*)")
        .run()
        .expect(0);
    last_sent(&server, 1).assert_has(&["in permission mode dontAsk"]);
    assert!(!home.has("work/a"));
}
