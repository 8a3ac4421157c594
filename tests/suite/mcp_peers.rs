//! What others have written for the Model Context Protocol is let at `marvin mcp serve`, where `MARVIN_TEST_MCP_PEERS` names the folder of
//! `scripts/mcp-peers.sh`. Without it each test says that it skips, and fails where `MARVIN_REQUIRE_MCP_PEERS` is 1.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::shared::skip;

const LIMIT: Duration = Duration::from_secs(120);

/// The folder of the peers, or nothing, which is said.
pub(super) fn peers(test: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MARVIN_TEST_MCP_PEERS") {
        return Some(PathBuf::from(path));
    }
    let required = std::env::var_os("MARVIN_REQUIRE_MCP_PEERS").is_some_and(|value| value == "1");
    assert!(!required, "MARVIN_TEST_MCP_PEERS is not set");
    skip(
        test,
        "MARVIN_TEST_MCP_PEERS does not name the peers (scripts/mcp-peers.sh)",
    );
    None
}

/// The scenarios of the conformance suite that are about any server; the others ask for the tools and prompts of its example.
const SCENARIOS: [(&str, &[&str]); 2] = [
    (
        "2026-07-28",
        &[
            "tools-list",
            "resources-list",
            "prompts-list",
            "sep-2164-resource-not-found",
            "caching",
            "dns-rebinding-protection",
            "server-sse-multiple-streams",
            "input-required-result-unsupported-methods",
            "http-header-validation",
        ],
    ),
    (
        "2025-11-25",
        &[
            "server-initialize",
            "ping",
            "logging-set-level",
            "tools-list",
            "resources-list",
            "prompts-list",
            "dns-rebinding-protection",
            "server-session-lifecycle",
        ],
    ),
];

#[test]
fn the_conformance_suite_finds_what_it_asks_of_any_server() {
    let Some(peers) = peers("mcp_peers::the_conformance_suite_finds_what_it_asks_of_any_server")
    else {
        return;
    };
    conforms(&peers, &["mcp", "serve", "--http", "0"], &SCENARIOS);
}

/// Lets the suite at the server that Marvin is with these words.
fn conforms(peers: &Path, words: &[&str], revisions: &[(&str, &[&str])]) {
    let home = Home::new();
    let server = home.marvin().args(words).limit(LIMIT).spawn();
    server.wait_stderr("/mcp\n", LIMIT);
    let told = server.stderr();
    let address = told
        .trim()
        .strip_prefix("listening on ")
        .unwrap()
        .to_owned();
    for (revision, scenarios) in revisions {
        let suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
        let done = Marvin::new(&peers.join("node_modules/.bin/node"))
            .arg(peers.join(suite))
            .args(["server", "--url", &address, "--requirements", revision])
            .dir(&home.path())
            .limit(LIMIT)
            .run();
        let said = done.output();
        for scenario in *scenarios {
            assert!(
                said.contains(&format!("✓ {scenario}: ")),
                "{revision} {scenario}\n{said}"
            );
        }
    }
    server.signal(Signal::TERM);
    server.wait_open().expect(143);
}

/// Of the fixture, which has the tools and prompts of the suite's example, all that a server has to pass; and what is asked of it though the suite does not
/// score it.
const FIXTURE_SCENARIOS: [(&str, &[&str]); 2] = [
    (
        "2026-07-28",
        &[
            "server-stateless",
            "completion-complete",
            "tools-list",
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-error",
            "tools-call-with-progress",
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "sep-2164-resource-not-found",
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
            "caching",
            "dns-rebinding-protection",
            "server-sse-multiple-streams",
            "input-required-result-basic-elicitation",
            "input-required-result-basic-sampling",
            "input-required-result-basic-list-roots",
            "input-required-result-request-state",
            "input-required-result-multiple-input-requests",
            "input-required-result-multi-round",
            "input-required-result-missing-input-response",
            "input-required-result-non-tool-request",
            "input-required-result-result-type",
            "input-required-result-unsupported-methods",
            "input-required-result-tampered-state",
            "input-required-result-capability-check",
            "input-required-result-ignore-extra-params",
            "input-required-result-validate-input",
            "json-schema-2020-12",
            "http-header-validation",
            "http-custom-header-server-validation",
        ],
    ),
    (
        "2025-11-25",
        &[
            "server-initialize",
            "ping",
            "logging-set-level",
            "completion-complete",
            "tools-list",
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-with-logging",
            "tools-call-error",
            "tools-call-with-progress",
            "tools-call-sampling",
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
            "server-sse-multiple-streams",
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
            "dns-rebinding-protection",
            "json-schema-2020-12",
        ],
    ),
];

#[test]
fn the_conformance_suite_finds_all_that_it_asks_of_a_server_at_the_fixture() {
    let test = "mcp_peers::the_conformance_suite_finds_all_that_it_asks_of_a_server_at_the_fixture";
    if let Some(peers) = peers(test) {
        conforms(
            &peers,
            &["debug", "mcp-fixture", "--http", "0"],
            &FIXTURE_SCENARIOS,
        );
    }
}

#[test]
fn the_command_line_of_the_inspector_uses_the_server() {
    let test = "mcp_peers::the_command_line_of_the_inspector_uses_the_server";
    let Some(peers) = peers(test) else {
        return;
    };
    let home = Home::new();
    home.write("work/a.txt", "hello there\n");
    let folder = home.work().display().to_string();
    let ask = |words: &[&str]| -> Value {
        let serve = ["mcp", "serve", "--working-dir", &folder];
        let done = Marvin::new(&peers.join("node_modules/.bin/node"))
            .arg(peers.join("node_modules/@modelcontextprotocol/inspector/cli/build/cli.js"))
            .args(["--cli", env!("CARGO_BIN_EXE_marvin")])
            .args(serve)
            .args([
                "-e",
                &format!("MARVIN_CONFIG_DIR={}", home.config().display()),
            ])
            .args(["-e", &format!("HOME={}", home.path().display())])
            .arg("--method")
            .args(words.to_vec())
            .env("HOME", home.path())
            .dir(&home.path())
            .limit(LIMIT)
            .run()
            .expect(0);
        serde_json::from_str(done.text()).unwrap()
    };
    let tools = ask(&["tools/list"]);
    let tools = tools["tools"].as_array().unwrap();
    let read = tools
        .iter()
        .find(|tool| tool["name"] == "read_file")
        .unwrap();
    assert_eq!(read["annotations"]["readOnlyHint"], true);
    let call = |words: &[&str]| ask(&[&["tools/call", "--tool-name"], words].concat());
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let done = call(&["read_file", "--tool-arg", "path=a.txt"]);
    assert!(text(&done).contains("hello there"), "{done}");
    let wrong = call(&["read_file", "--tool-arg", "path=none.txt"]);
    assert_eq!(wrong["isError"], true);
    call(&[
        "write_note",
        "--tool-arg",
        "path=a.md",
        "--tool-arg",
        "content=milk",
    ]);
    let resources = ask(&["resources/list"]);
    assert_eq!(resources["resources"][0]["uri"], "note:///a.md");
    let note = ask(&["resources/read", "--uri", "note:///a.md"]);
    assert_eq!(note["contents"][0]["text"], "milk\n");
    assert!(ask(&["prompts/list"])["prompts"].is_array());
    assert!(ask(&["resources/templates/list"])["resourceTemplates"].is_array());
}

#[test]
fn the_python_sdk_uses_the_server_in_both_eras() {
    let Some(peers) = peers("mcp_peers::the_python_sdk_uses_the_server_in_both_eras") else {
        return;
    };
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let home = Home::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp_client.py");
        let folder = home.work().display().to_string();
        let done = Marvin::new(&peers.join("python/bin/python"))
            .arg(script)
            .args([
                mode,
                env!("CARGO_BIN_EXE_marvin"),
                "mcp",
                "serve",
                "--working-dir",
                &folder,
            ])
            .env("HOME", home.path())
            .env("MARVIN_CONFIG_DIR", home.config())
            .dir(&home.path())
            .limit(LIMIT)
            .run()
            .expect(0);
        let got: Value = serde_json::from_str(done.text()).unwrap();
        assert_eq!(
            (&got["version"], &got["server"]),
            (&version.into(), &"marvin".into())
        );
        assert_eq!(
            (&got["hints"], &got["wrong"], &got["note"][0]),
            (&true.into(), &true.into(), &false.into())
        );
        assert_eq!(got["progress"], serde_json::json!([[1.0, "one"]]));
        assert_eq!(
            (&got["resources"][0], &got["read"]),
            (&"note:///sdk.md".into(), &"hello\n".into())
        );
    }
}
