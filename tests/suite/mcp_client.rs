//! `marvin mcp test`, `call`, `read` and `prompt` with servers that are processes: Marvin's own, and some for the shell.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::wait;

const LIMIT: Duration = Duration::from_secs(30);

/// A server of the older era for the shell; `calls` is what it does with a call.
fn script(calls: &str) -> String {
    format!(
        r#"#!/bin/sh
result() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
while IFS= read -r line; do
id=${{line#*\"id\":}}; id=${{id%%,*}}
case $line in
*server/discover*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id";;
*initialize\"*) result '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"shell","version":"1"}}}}';;
*tools/list*) result '{{"tools":[{{"name":"greet","description":"Greets.","inputSchema":{{"type":"object","properties":{{"name":{{"type":"string"}}}}}}}}]}}';;
*tools/call*) {calls};;
esac
done
"#
    )
}

/// A home whose one server `calc` is this program.
fn home_with(script: &str) -> Home {
    let home = Home::new();
    let program = home.program("server.sh", script);
    configure(&home, &json!({"command": program.display().to_string()}));
    home
}

fn configure(home: &Home, entry: &Value) {
    let servers = json!({"mcpServers": {"calc": entry}});
    home.write("config/mcp.json", servers.to_string());
}

fn mcp(home: &Home, words: &[&str]) -> Marvin {
    home.marvin()
        .arg("mcp")
        .args(words.iter().copied())
        .limit(LIMIT)
}

#[test]
fn our_own_server_is_used_by_every_command() {
    let home = Home::new();
    let serve = json!({"command": env!("CARGO_BIN_EXE_marvin"), "args": ["mcp", "serve"], "env": {"MARVIN_CONFIG_DIR": home.config()}});
    configure(&home, &serve);
    home.tool("write_note", &json!({"path": "a.md", "content": "milk"}))
        .run()
        .expect(0);
    let done = mcp(&home, &["test", "calc", "--json"]).run().expect(0);
    let told: Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!(
        (&told["era"], &told["version"], &told["name"]),
        (&"modern".into(), &"2026-07-28".into(), &"calc".into())
    );
    assert!(told["tools"].as_array().unwrap().len() > 20);
    mcp(&home, &["test", "calc"]).prints(&[
        "calc: modern 2026-07-28, marvin",
        "resources",
        "  write_note",
    ]);
    mcp(&home, &["call", "calc", "search_notes", "query=milk"]).prints(&["a.md"]);
    mcp(
        &home,
        &[
            "call",
            "calc",
            "search_notes",
            "--raw",
            "--json",
            "{\"query\": \"milk\"}",
        ],
    )
    .prints(&["\"content\""]);
    mcp(&home, &["read", "calc", "note:///a.md"]).prints(&["milk"]);
    let wrong = mcp(&home, &["call", "calc", "serch_notes", "query=milk"])
        .run()
        .expect(1);
    wrong.stderr_has(&["search_notes"]);
    let wrong = mcp(&home, &["read", "calc", "note:///none.md"])
        .run()
        .expect(1);
    wrong.stderr_has(&["calc answered resources/read with an error"]);
}

#[test]
fn values_answers_and_failures_come_as_they_should() {
    let calls = r#"case $line in
*fail*) result '{"isError":true,"content":[{"type":"text","text":"no such name"}]}';;
*ask*) printf '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"who":{"type":"string"},"age":{"type":"integer","default":36}},"required":["who"]}}}\n'
call=$id; IFS= read -r answer; id=$call
case $answer in *Ada*36*) result '{"content":[{"type":"text","text":"asked"}]}';; *decline*) result '{"content":[{"type":"text","text":"declined"}]}';; *) result '{"content":[{"type":"text","text":"refused"}]}';; esac;;
*) case $line in *\"7\"*) result '{"content":[{"type":"text","text":"a text"}]}';; esac;; esac"#;
    let home = home_with(&script(calls));
    mcp(&home, &["call", "calc", "greet", "name=7"]).prints(&["a text"]);
    let failed = mcp(&home, &["call", "calc", "greet", "name=fail"])
        .run()
        .expect(1);
    failed.stderr_has(&["no such name"]);
    assert_eq!(failed.text(), "");
    for (answers, text) in [("{\"who\": \"Ada\"}", "asked"), ("{}", "declined")] {
        mcp(
            &home,
            &["call", "calc", "greet", "name=ask", "--answers", answers],
        )
        .prints(&[text]);
    }
    mcp(&home, &["call", "calc", "greet", "name=ask"]).prints(&["refused"]);
    let slow = mcp(
        &home,
        &["call", "calc", "greet", "name=never", "--timeout", "0.2"],
    )
    .run()
    .expect(1);
    slow.stderr_has(&["calc did not answer tools/call within 0.2 s."]);
    let near = mcp(&home, &["test", "clac"]).run().expect(1);
    near.stderr_has(&["calc"]);
}

#[test]
fn a_server_that_does_not_start_tells_what_it_wrote() {
    let home = home_with("#!/bin/sh\necho 'Error: API_KEY is not set' >&2\nexit 1\n");
    let done = mcp(&home, &["test", "calc"]).run().expect(1);
    done.stderr_has(&["calc has ended.", "API_KEY is not set"]);
    configure(&home, &json!({"command": "no-such-program-here"}));
    let done = mcp(&home, &["test", "calc"]).run().expect(1);
    done.stderr_has(&["no program \"no-such-program-here\""]);
}

/// A server that notes the ids of itself and of a program it started, ignores what would end it, and never answers a call.
fn stubborn(home: &Home) -> (String, PathBuf) {
    let pids = home.path().join("pids");
    let lasting = format!(
        "trap '' TERM INT HUP; setsid sleep 300 >/dev/null 2>&1 & echo $! >{0}.part; sleep 300 >/dev/null & echo $! >>{0}.part; echo $$ >>{0}.part; mv {0}.part {0}; wait",
        pids.display()
    );
    (script(&lasting), pids)
}

fn living(pids: &[i32]) -> Vec<i32> {
    let lives = |pid: &i32| {
        let process = Pid::from_raw(*pid).unwrap();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        test_kill_process(process).is_ok() && !stat.contains(") Z ")
    };
    pids.iter().copied().filter(lives).collect()
}

#[test]
fn a_server_and_what_it_started_end_however_marvin_ends() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
        let home = Home::new();
        let (script, pids) = stubborn(&home);
        let program = home.program("server.sh", script);
        configure(&home, &json!({"command": program.display().to_string()}));
        let running = mcp(&home, &["call", "calc", "greet"]).spawn();
        wait::until_within(LIMIT, "a call", || pids.exists());
        let text = fs::read_to_string(&pids).unwrap();
        let all: Vec<i32> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(living(&all).len(), 3, "{text}");
        running.signal(signal);
        wait::until_within(Duration::from_secs(10), "the end of all", || {
            living(&all).is_empty()
        });
        drop(running);
    }
}
