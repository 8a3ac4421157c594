//! Configured servers in a session: started when they are needed, offered with a message, asked before they change something, ended with the session.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::conversation::{calls, last_sent, messages, playing, says};
use crate::support::home::Home;
use crate::support::server::Server;
use crate::support::wait;
use crate::support::words::{BEGIN_EXTRACT, END_EXTRACT, TextAssertions};

/// A server of the revisions with a handshake; `$1` is a file that tells what it got, `$2` the seconds until it starts, and with `$3` it does not answer what
/// it does not know.
const SERVER: &str = r#"#!/bin/sh
echo "start $$" >> "$1"
[ -n "$2" ] && sleep "$2"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*)
    say '{"protocolVersion":"2025-06-18","serverInfo":{"name":"scripted","version":"1"},"instructions":"Look before you change.","capabilities":{"tools":{},"prompts":{},"resources":{}}}' ;;
  *'"method":"tools/list"'*)
    say '{"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"change","description":"Changes.","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}}},{"name":"ask","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
  *'"method":"prompts/list"'*)
    say '{"prompts":[{"name":"review","description":"Reviews a file.","arguments":[{"name":"file","required":true}]}]}' ;;
  *'"method":"prompts/get"'*)
    echo "$line" >> "$1"
    say '{"messages":[{"role":"user","content":{"type":"text","text":"Review it with care."}}]}' ;;
  *'"method":"resources/read"'*)
    say '{"contents":[{"uri":"doc://a","text":"The body of the document."}]}' ;;
  *'"method":"tools/call"'*'"ask"'*)
    call=$id
    printf '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Which one?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}}}\n' ;;
  *'"id":"q1"'*)
    echo "$line" >> "$1"
    id=$call
    say '{"content":[{"type":"text","text":"thanks"}]}' ;;
  *'"method":"tools/call"'*)
    echo "$line" >> "$1"
    say '{"content":[{"type":"text","text":"it is done"}]}' ;;
  *'"id":'*'"method":'*|*'"method":'*'"id":'*)
    [ -n "$3" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

/// The entry of a scripted server, which is a program of this home.
pub(super) fn entry(home: &Home, args: &[&str]) -> Value {
    let program = home.program("bin/server", SERVER);
    let log = home.path().join("server.log");
    let args: Vec<String> = [log.display().to_string()]
        .into_iter()
        .chain(args.iter().map(|arg| (*arg).to_owned()))
        .collect();
    json!({"command": program, "args": args})
}

pub(super) fn configure(home: &Home, servers: &Value) {
    home.write(
        "config/mcp.json",
        json!({ "mcpServers": servers }).to_string(),
    );
}

pub(super) fn log(home: &Home) -> String {
    fs::read_to_string(home.path().join("server.log")).unwrap_or_default()
}

pub(super) fn starts(home: &Home) -> usize {
    log(home).matches("start ").count()
}

/// Names of the tools that a request offers.
pub(super) fn offered(server: &Server, request: usize) -> Vec<String> {
    let body = server.request(request).json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

pub(super) fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|own| own == name)
}

/// Waits until no server of the home runs any more.
pub(super) fn gone(home: &Home) {
    for line in log(home)
        .lines()
        .filter_map(|line| line.strip_prefix("start "))
    {
        let process = format!("/proc/{}", line.trim());
        wait::until("the server to end", || !Path::new(&process).exists());
    }
}

#[test]
fn tools_of_a_server_are_offered_and_what_is_remembered_needs_no_server() {
    let home = Home::new();
    configure(&home, &json!({"calc": entry(&home, &[])}));
    let server = playing([calls("calc__look", json!({})), says("Done.")]);
    home.ask(&server.url("/v1"), "go on").run().expect(0);
    let names = offered(&server, 0);
    assert!(
        has(&names, "calc__look") && has(&names, "calc__change"),
        "{names:?}"
    );
    last_sent(&server, 1).assert_has(&[
        "Text of the tool look of the server calc",
        BEGIN_EXTRACT,
        "it is done",
        END_EXTRACT,
    ]);
    let system = messages(&server, 0).remove(0)["content"].to_string();
    system.assert_has(&["Look before you change.", "name=\\\"calc\\\""]);
    gone(&home);
    assert_eq!(starts(&home), 1);
    // The next run knows the tools already, and one that does not use them starts nothing.
    let server = playing([says("Done.")]);
    home.ask(&server.url("/v1"), "go on").run().expect(0);
    assert!(has(&offered(&server, 0), "calc__change"));
    assert_eq!(starts(&home), 1);
    // Another entry is another server.
    configure(&home, &json!({"calc": entry(&home, &["0"])}));
    let server = playing([says("Done.")]);
    home.ask(&server.url("/v1"), "go on").run().expect(0);
    assert_eq!(starts(&home), 2);
    gone(&home);
}

#[test]
fn what_a_server_offers_by_now_is_offered_by_the_next_message_or_run() {
    let home = Home::new();
    configure(&home, &json!({"calc": entry(&home, &[])}));
    let tools = |more: &str| {
        let list = format!("\"tools\":[{more}");
        home.program("bin/server", SERVER.replace("\"tools\":[", &list));
    };
    let tool =
        |name: &str| format!("{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}}}},");
    let run = |steps: Vec<_>| {
        let server = playing(steps);
        home.ask(&server.url("/v1"), "go on")
            .args([
                "--sandbox",
                "danger-full-access",
                "--allowed-tools",
                "run_command",
            ])
            .run()
            .expect(0);
        offered(&server, 0)
    };
    // One that had no tools yet would never be called, and so never asked again.
    let without = SERVER.replace(
        r#"say '{"tools":[{"#,
        r#"say '{"tools":[]}'; : '{"tools":[{"#,
    );
    home.program("bin/server", &without);
    assert!(!has(&run(vec![says("Done.")]), "calc__look"));
    tools("");
    assert!(has(&run(vec![says("Done.")]), "calc__look"));
    // Whoever uses a server has it asked, however short the run.
    tools(&tool("second"));
    run(vec![calls("calc__look", json!({})), says("Done.")]);
    assert!(has(&run(vec![says("Done.")]), "calc__second"));
    // What was remembered long ago is looked at by any run.
    let cache = home.config().join("mcp-cache.json");
    let until_known = |name: &str| {
        let command = format!(
            "for i in $(seq 200); do grep -q '\"{name}\"' {} && break; sleep 0.05; done",
            cache.display()
        );
        calls("run_command", json!({"command": command}))
    };
    let mut known: Value = serde_json::from_slice(&fs::read(&cache).unwrap()).unwrap();
    for server in known["servers"].as_array_mut().unwrap() {
        server["snapshot"]["fresh_until"] = 1.into();
    }
    home.write("config/mcp-cache.json", known.to_string());
    tools(&tool("third"));
    run(vec![until_known("third"), says("Done.")]);
    assert!(has(&run(vec![says("Done.")]), "calc__third"));
    // In a conversation what is remembered serves the first message, and the next one has what changed.
    tools(&tool("fourth"));
    let server = playing([until_known("fourth"), says("Done."), says("Done.")]);
    home.chat(&server)
        .args([
            "--sandbox",
            "danger-full-access",
            "--allowed-tools",
            "run_command",
        ])
        .stdin("one\ntwo\n")
        .run()
        .expect(0);
    assert!(!has(&offered(&server, 0), "calc__fourth"));
    assert!(has(&offered(&server, 2), "calc__fourth"));
    gone(&home);
}

#[test]
fn a_tool_that_may_change_something_needs_a_rule_where_nobody_can_be_asked() {
    let home = Home::new();
    configure(&home, &json!({"calc": entry(&home, &[])}));
    let run = |flags: &[&str]| {
        let server = playing([calls("calc__change", json!({"to": "x"})), says("Done.")]);
        home.ask(&server.url("/v1"), "go on")
            .args(flags.to_vec())
            .run()
            .expect(0);
        last_sent(&server, 1)
    };
    run(&[]).assert_has(&["nobody can be asked", "--allowed-tools calc__change"]);
    assert!(!log(&home).contains("tools/call"));
    run(&["--allowed-tools", "calc__change"]).assert_has(&["it is done"]);
    assert!(log(&home).contains(r#""to":"x""#), "{}", log(&home));
    // A read-only Marvin does not even offer it.
    let server = playing([says("Done.")]);
    home.ask(&server.url("/v1"), "go on")
        .env("MARVIN_READONLY", "1")
        .run()
        .expect(0);
    let names = offered(&server, 0);
    assert!(has(&names, "calc__look") && !has(&names, "calc__change"));
    // A sub-agent has the servers that --tools names, and no others.
    for (flags, has_server) in [(&["--tools", "mcp__calc"][..], true), (&[], false)] {
        let server = playing([says("Done.")]);
        home.ask(&server.url("/v1"), "go on")
            .args(flags.to_vec())
            .env("MARVIN_DEPTH", "1")
            .run()
            .expect(0);
        let names = offered(&server, 0);
        assert_eq!(has(&names, "calc__look"), has_server, "{names:?}");
    }
}

#[test]
fn a_slow_or_broken_server_holds_up_no_run_longer_than_it_may() {
    let home = Home::new();
    configure(
        &home,
        &json!({
            "slow": entry(&home, &["60"]),
            "gone": {"command": "/nonexistent/server"},
            "unset": {"command": "x", "env": {"A": "${MARVIN_TEST_MISSING}"}},
            "off": {"command": "/nonexistent/off", "disabled": true},
            "calc": entry(&home, &[]),
        }),
    );
    let server = playing([says("Done.")]);
    let since = Instant::now();
    let done = home
        .ask(&server.url("/v1"), "go on")
        .env("MARVIN_MCP_WAIT", "3")
        .run()
        .expect(0);
    assert!(since.elapsed() < Duration::from_secs(30));
    assert!(has(&offered(&server, 0), "calc__look"));
    done.errors().as_str().assert_has(&[
        "gone",
        "MARVIN_TEST_MISSING",
        "slow has not answered within 3 s (MARVIN_MCP_WAIT)",
    ]);
    done.errors().as_str().assert_lacks(&["nonexistent/off"]);
    gone(&home);
}

#[test]
fn a_server_that_is_silent_until_it_is_greeted_serves_the_first_run() {
    let home = Home::new();
    configure(&home, &json!({"calc": entry(&home, &["", "silent"])}));
    let server = playing([says("Done.")]);
    home.ask(&server.url("/v1"), "go on").run().expect(0);
    assert!(has(&offered(&server, 0), "calc__look"));
    gone(&home);
}

#[test]
fn prompts_resources_and_the_state_of_servers_are_there_in_a_conversation() {
    let home = Home::new();
    configure(&home, &json!({"calc": entry(&home, &[])}));
    let first = playing([says("Fine.")]);
    home.ask(&first.url("/v1"), "know the server")
        .run()
        .expect(0);
    let server = playing([says("Reviewed."), says("Read.")]);
    let lines = "/mcp\n/calc:review\n/calc:review main.rs\nwhat says @calc:doc://a\n/mcp calc\n/mcp clac\n/Calc:review 5\n";
    let done = home.chat(&server).stdin(lines).run().expect(0);
    let said = done.output();
    said.as_str().assert_has(&[
        "not started, 3 tools (",
        "There is no MCP server \"Calc\"",
        "needs file",
        "Usage: /calc:review file=…",
        "scripted 1",
        "There is no MCP server \"clac\"",
    ]);
    last_sent(&server, 0).assert_has(&["Review it with care."]);
    assert!(log(&home).contains(r#""file":"main.rs""#));
    last_sent(&server, 1).assert_has(&["The body of the document.", "@calc:doc://a"]);
    gone(&home);
}

#[test]
fn a_project_brings_no_server_that_nobody_agreed_to() {
    let home = Home::new();
    home.write(
        "work/.mcp.json",
        json!({"mcpServers": {"calc": entry(&home, &[])}}).to_string(),
    );
    let server = playing([says("Done.")]);
    home.ask(&server.url("/v1"), "go on").run().expect(0);
    assert!(!has(&offered(&server, 0), "calc__look"));
    let call = ["mcp", "call", "calc", "look"];
    home.marvin().args(call).fails(&["--trust-project-mcp"]);
    assert_eq!(starts(&home), 0);
    // Nor one that somebody did, in a run that takes nothing of the project.
    let server = playing([says("Done.")]);
    let run = home
        .ask(&server.url("/v1"), "go on")
        .env("MARVIN_MCP_WAIT", "30");
    let run = run.line("--trust-project-mcp --setting-sources user");
    run.run().expect(0);
    assert!(!has(&offered(&server, 0), "calc__look"));
    assert_eq!(starts(&home), 0);
    let trusting = home.marvin().arg("--trust-project-mcp").args(call);
    assert!(trusting.run().expect(0).text().contains("it is done"));
}
