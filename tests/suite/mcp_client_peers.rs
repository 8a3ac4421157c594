//! Marvin as a client of what others have written for the Model Context Protocol, as in `mcp_peers.rs`: the official Python SDK, the reference servers, the
//! conformance suite.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::mcp_peers::peers;
use crate::support::home::Home;
use crate::support::run::{Marvin, Running};
use crate::support::wait;

const LIMIT: Duration = Duration::from_secs(120);

/// Uses one configured server.
struct User {
    home: Home,
}

impl User {
    fn of(entry: &Value) -> Self {
        let home = Home::new();
        let servers = json!({"mcpServers": {"peer": entry}});
        home.write("config/mcp.json", servers.to_string());
        Self { home }
    }

    fn mcp(&self, words: &[&str]) -> Marvin {
        self.home
            .marvin()
            .arg("mcp")
            .args(words.iter().copied())
            .limit(LIMIT)
    }

    fn told(&self) -> Value {
        let done = self.mcp(&["test", "peer", "--json"]).run().expect(0);
        serde_json::from_str(done.text()).unwrap()
    }
}

fn count(told: &Value, list: &str) -> usize {
    told[list].as_array().unwrap().len()
}

/// A port that nobody listens on yet.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A server that listens on a port.
fn listening(program: Marvin, port: u16) -> Running {
    let running = program.limit(LIMIT).spawn();
    wait::until_within(LIMIT, "a server that listens", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    running
}

#[test]
fn the_python_sdk_serves_marvin_in_both_eras_and_over_both_transports() {
    let name =
        "mcp_client_peers::the_python_sdk_serves_marvin_in_both_eras_and_over_both_transports";
    let Some(peers) = peers(name) else {
        return;
    };
    let python = peers.join("python/bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp_server.py");
    let port = free_port();
    let http = Marvin::new(&python).arg(&script).arg(port.to_string());
    let http = listening(http, port);
    let stdio = json!({"command": python, "args": [script]});
    let url = json!({"url": format!("http://127.0.0.1:{port}/mcp")});
    for (mut entry, protocol) in [
        (stdio, None),
        (url.clone(), None),
        (url, Some("2025-11-25")),
    ] {
        if let Some(protocol) = protocol {
            entry["protocol"] = protocol.into();
        }
        let user = User::of(&entry);
        let told = user.told();
        let version = protocol.unwrap_or("2026-07-28");
        assert_eq!(
            (&told["version"], &told["server"]["name"]),
            (&version.into(), &"sdk".into())
        );
        assert_eq!(told["instructions"], "A server for tests.");
        user.mcp(&["call", "peer", "add", "a=2", "b=40"])
            .prints(&["42"]);
        user.mcp(&["call", "peer", "count", "steps=3"])
            .prints(&["3 steps"]);
        user.mcp(&["call", "peer", "greet", "--answers", "{\"name\": \"Ada\"}"])
            .prints(&["Hello, Ada!"]);
        user.mcp(&["read", "peer", "demo://greeting"])
            .prints(&["good day"]);
        user.mcp(&["prompt", "peer", "review", "code=x"])
            .prints(&["user: Please review: x"]);
        user.mcp(&["call", "peer", "add", "a=two"]).run().expect(1);
    }
    http.kill();
    drop(http);
}

#[test]
fn the_reference_servers_serve_marvin() {
    let Some(peers) = peers("mcp_client_peers::the_reference_servers_serve_marvin") else {
        return;
    };
    let node = peers.join("node_modules/.bin/node");
    let server = |name: &str| -> PathBuf {
        peers.join(format!(
            "node_modules/@modelcontextprotocol/server-{name}/dist/index.js"
        ))
    };
    let ports = [free_port(), free_port()];
    let start = |kind: &str, port: u16| {
        let program = Marvin::new(&node)
            .arg(server("everything"))
            .arg(kind)
            .env("PORT", port.to_string());
        listening(program, port)
    };
    let running = [start("streamableHttp", ports[0]), start("sse", ports[1])];
    for entry in [
        json!({"command": node, "args": [server("everything"), "stdio"]}),
        json!({"url": format!("http://127.0.0.1:{}/mcp", ports[0])}),
        json!({"type": "sse", "url": format!("http://127.0.0.1:{}/sse", ports[1])}),
        // The transport of 2024-11-05 is found as well.
        json!({"url": format!("http://127.0.0.1:{}/sse", ports[1])}),
    ] {
        let user = User::of(&entry);
        let told = user.told();
        assert_eq!(told["era"], "legacy", "{entry}");
        let counts = ["tools", "prompts", "resources", "templates"].map(|list| count(&told, list));
        assert!(counts.iter().all(|count| *count > 0), "{entry} {counts:?}");
        user.mcp(&["call", "peer", "echo", "message=hello"])
            .prints(&["Echo: hello"]);
        user.mcp(&["call", "peer", "get-tiny-image"])
            .prints(&["[image, "]);
        user.mcp(&[
            "call",
            "peer",
            "trigger-long-running-operation",
            "duration=1",
            "steps=3",
        ])
        .prints(&["Steps: 3"]);
        user.mcp(&[
            "call",
            "peer",
            "trigger-elicitation-request",
            "--answers",
            "{\"name\": \"Ada\"}",
        ])
        .prints(&["Ada"]);
        user.mcp(&["prompt", "peer", "simple-prompt"])
            .prints(&["user: "]);
    }
    drop(running);
    let files = User::of(&json!({"command": node, "args": [server("filesystem"), "/usr"]}));
    // The root that Marvin tells replaces its folder.
    files.home.write("work/a.txt", "hello there");
    let path = files.home.work().join("a.txt");
    let path = format!("path={}", path.display());
    let root = files.home.work().display().to_string();
    let files = |words: &[&str]| files.mcp(words).args(["--raw"]);
    files(&["call", "peer", "list_allowed_directories"]).prints(&[&root]);
    files(&["call", "peer", "read_text_file", &path]).prints(&["hello there"]);
    files(&["call", "peer", "read_text_file", "path=/etc/passwd"])
        .run()
        .expect(1);
    let memory = User::of(&json!({"command": node, "args": [server("memory")]}));
    let told = memory.told();
    assert!(count(&told, "tools") > 5);
    memory
        .mcp(&["call", "peer", "read_graph"])
        .prints(&["entities"]);
}

/// The scenarios that are about no sign-in.
const SCENARIOS: [(&str, &[&str]); 2] = [
    (
        "2026-07-28",
        &[
            "tools_call",
            "request-metadata",
            "sep-2322-client-request-state",
            "http-standard-headers",
            "http-custom-headers",
            "http-invalid-tool-headers",
            "json-schema-ref-no-deref",
            "json-schema-2020-12-preservation",
        ],
    ),
    (
        "2025-11-25",
        &[
            "initialize",
            "tools_call",
            "elicitation-sep1034-client-defaults",
            "sse-retry",
            "json-schema-2020-12-preservation",
        ],
    ),
];

#[test]
fn the_conformance_suite_finds_what_it_asks_of_any_client() {
    let Some(peers) =
        peers("mcp_client_peers::the_conformance_suite_finds_what_it_asks_of_any_client")
    else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp_conformance_client.py");
    let command = format!(
        "{} {} {}",
        peers.join("python/bin/python").display(),
        script.display(),
        env!("CARGO_BIN_EXE_marvin")
    );
    let suite = peers.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let home = Home::new();
    for (revision, scenarios) in SCENARIOS {
        for scenario in scenarios {
            let done = Marvin::new(&peers.join("node_modules/.bin/node"))
                .arg(&suite)
                .args([
                    "client",
                    "--command",
                    &command,
                    "--scenario",
                    scenario,
                    "--spec-version",
                    revision,
                ])
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .dir(&home.path())
                .limit(LIMIT)
                .run();
            assert_eq!(
                done.code(),
                Some(0),
                "{revision} {scenario}\n{}",
                done.output()
            );
        }
    }
}
