//! What others have written for the Model Context Protocol is let at `marvin mcp serve`, where `MARVIN_TEST_MCP_PEERS` names the folder of `scripts/mcp-peers.sh`. Without it each test
//! says that it skips, and fails where `MARVIN_REQUIRE_MCP_PEERS` is 1.

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
    let home = Home::new();
    let server = home
        .marvin()
        .args(["mcp", "serve", "--http", "0"])
        .limit(LIMIT)
        .spawn();
    server.wait_stderr("/mcp\n", LIMIT);
    let told = server.stderr();
    let address = told
        .trim()
        .strip_prefix("listening on ")
        .unwrap()
        .to_owned();
    for (revision, scenarios) in SCENARIOS {
        let suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
        let done = Marvin::new(&peers.join("node_modules/.bin/node"))
            .arg(peers.join(suite))
            .args(["server", "--url", &address, "--requirements", revision])
            .dir(&home.path())
            .limit(LIMIT)
            .run();
        let said = done.output();
        for scenario in scenarios {
            assert!(
                said.contains(&format!("✓ {scenario}: ")),
                "{revision} {scenario}\n{said}"
            );
        }
    }
    server.signal(Signal::TERM);
    server.wait_open().expect(143);
}

#[test]
fn the_python_sdk_uses_the_server_in_both_eras() {
    let Some(peers) = peers("mcp_peers::the_python_sdk_uses_the_server_in_both_eras") else {
        return;
    };
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let home = Home::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp_client.py");
        let folder = home.path().display().to_string();
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
