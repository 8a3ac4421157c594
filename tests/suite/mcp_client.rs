//! `marvin mcp test`, `call`, `read` and `prompt` with servers that are processes: Marvin's own, and some for the shell.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::pty::Pty;
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
        " 2 templates",
        "  write_note",
    ]);
    mcp(&home, &["call", "calc", "search_notes", "query=milk"])
        .env("MARVIN_READONLY", "1")
        .prints(&["a.md"]);
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
    let wrong = mcp(&home, &["call", "calc", "zzz"]).run().expect(1);
    wrong.stderr_has(&["There are: ", "search_notes"]);
    let wrong = mcp(&home, &["read", "calc", "note:///none.md"])
        .run()
        .expect(1);
    wrong.stderr_has(&["calc answered resources/read with an error"]);
    let mut serve = serve;
    serve["excludeTools"] = json!(["write_*"]);
    configure(&home, &serve);
    mcp(&home, &["test", "calc"]).prints(&["write_note is left out: excludeTools"]);
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
    let greet = || mcp(&home, &["call", "calc", "greet", "name=7"]);
    greet().prints(&["a text"]);
    // Nothing says that it only reads.
    let bounded = greet().env("MARVIN_READONLY", "1").run().expect(1);
    bounded.stderr_has(&["greet is not available here", "MARVIN_READONLY"]);
    let failed = mcp(&home, &["call", "calc", "greet", "name=fail"])
        .run()
        .expect(1);
    failed.stderr_has(&["no such name"]);
    assert_eq!(failed.text(), "");
    // A server may say with a result that it has no such tool.
    let unknown = mcp(&home, &["call", "calc", "greeet", "name=fail"])
        .run()
        .expect(1);
    unknown.stderr_has(&["no such name", "greet"]);
    for (answers, text) in [("{\"who\": \"Ada\"}", "asked"), ("{}", "declined")] {
        mcp(
            &home,
            &["call", "calc", "greet", "name=ask", "--answers", answers],
        )
        .prints(&[text]);
    }
    let misfit = "{\"who\": \"Ada\", \"age\": \"40\"}";
    let ask = ["call", "calc", "greet", "name=ask", "--answers", misfit];
    let declined = mcp(&home, &ask).run().expect(0);
    assert_eq!(declined.text(), "declined\n");
    declined.stderr_has(&["\"age\" does not fit"]);
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
fn a_server_is_probed_once_and_what_cannot_be_seen_is_not_shown() {
    let calls = "result '{\"content\":[]}';;\n*resources/read*) result '{\"contents\":[]}'";
    let script = script(calls).replace("Greets.", r"Gr\u200beets\u001b[31m.\u202e");
    let home = home_with("");
    let probes = home.path().join("probes");
    let probe = format!("*server/discover*) echo probe >> {};", probes.display());
    let script = script.replace("*server/discover*)", &probe);
    home.program("server.sh", &script);
    mcp(&home, &["read", "calc", "doc://a"]).run().expect(0);
    mcp(&home, &["call", "calc", "greet"]).run().expect(0);
    let shown = mcp(&home, &["test", "calc"]).run().expect(0);
    assert!(
        shown.text().ends_with("\n  greet  Greets.\n"),
        "{}",
        shown.text()
    );
    assert_eq!(fs::read_to_string(probes).unwrap(), "probe\n");
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

/// A server that notes the ids of itself and of what it started as soon as it starts. A stubborn one ignores what would end it, and started one in a session of
/// its own.
fn with_children(home: &Home, is_stubborn: bool) -> (String, PathBuf) {
    let pids = home.path().join("pids");
    let start = match is_stubborn {
        true => "trap '' TERM INT HUP; setsid sleep 300 >/dev/null 2>&1 & echo $! >",
        false => "sleep 300 >/dev/null & echo $! >",
    };
    let last = match is_stubborn {
        true => "wait",
        false => "",
    };
    let calls = "case $line in *wait*) wait;; *) result '{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}';; esac";
    let script = script(calls).replacen(
        '\n',
        &format!(
            "\n{start}{0}.part; sleep 300 >/dev/null & echo $! >>{0}.part; echo $$ >>{0}.part; mv {0}.part {0}\n",
            pids.display()
        ),
        1,
    );
    (format!("{script}\n{last}\n"), pids)
}

fn living(pids: &[i32]) -> Vec<i32> {
    let lives = |pid: &i32| {
        let process = Pid::from_raw(*pid).unwrap();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        test_kill_process(process).is_ok() && !stat.contains(") Z ")
    };
    pids.iter().copied().filter(lives).collect()
}

/// A way in which Marvin ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Its work is done.
    Done,
    Signal(Signal),
    /// The terminal is closed.
    HangUp,
}

/// What runs when Marvin ends.
#[derive(Clone, Copy, Debug)]
enum At {
    /// A command with a call that never ends, or that is answered.
    Call,
    /// A conversation on a terminal.
    Conversation,
}

const ENDS: [(At, End); 10] = [
    (At::Call, End::Done),
    (At::Call, End::Signal(Signal::INT)),
    (At::Call, End::Signal(Signal::TERM)),
    (At::Call, End::Signal(Signal::HUP)),
    (At::Call, End::Signal(Signal::KILL)),
    (At::Conversation, End::Done),
    (At::Conversation, End::HangUp),
    (At::Conversation, End::Signal(Signal::TERM)),
    (At::Conversation, End::Signal(Signal::HUP)),
    (At::Conversation, End::Signal(Signal::KILL)),
];
/// How often each of them is tried; once with a server that does not want to end.
const ROUNDS: usize = 5;
/// How long servers may outlive Marvin, and what a machine with other work may need on top.
const GONE_WITHIN: Duration = Duration::from_secs(5);
const SLACK: Duration = Duration::from_secs(5);

fn outlives_nobody(at: At, end: End, is_stubborn: bool) {
    let about = format!("{at:?} {end:?} {is_stubborn}");
    let home = Home::new();
    let (script, pids) = with_children(&home, is_stubborn);
    let program = home.program("server.sh", script);
    configure(&home, &json!({"command": program.display().to_string()}));
    let started = || {
        wait::until_within(LIMIT, &about, || pids.exists());
        let text = fs::read_to_string(&pids).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let all: Vec<i32> = match at {
        At::Call => {
            let is_done = matches!(end, End::Done);
            let argument = if is_done { "name=all" } else { "name=wait" };
            let running = mcp(&home, &["call", "calc", "greet", argument]).spawn();
            let all: Vec<i32> = started();
            if let End::Signal(signal) = end {
                assert!(living(&all).len() >= 2, "{about}");
                running.signal(signal);
            } else {
                running.wait().expect(0);
            }
            all
        }
        At::Conversation => {
            let mut command = Pty::command(env!("CARGO_BIN_EXE_marvin").as_ref(), &home);
            command
                .env("OPENAI_COMPAT_URL", "http://127.0.0.1:9/v1")
                .env("OPENAI_COMPAT_API_KEY", "test-key")
                .args(["--plain", "--provider", "openai-compat", "--model", "test"]);
            let mut terminal = Pty::spawn(&command, (80, 24));
            let all: Vec<i32> = started();
            terminal.wait_text("You: ");
            assert!(living(&all).len() >= 2, "{about}");
            match end {
                End::Done => {
                    terminal.send("/exit\r");
                    terminal.wait();
                }
                End::HangUp => terminal.hang_up(),
                End::Signal(signal) => terminal.signal(signal),
            }
            wait::until_within(GONE_WITHIN + SLACK, &about, || living(&all).is_empty());
            return;
        }
    };
    wait::until_within(GONE_WITHIN + SLACK, &about, || living(&all).is_empty());
}

#[test]
fn no_server_and_nothing_that_it_started_outlives_marvin_however_it_ends() {
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            for (at, end) in ENDS {
                scope.spawn(move || outlives_nobody(at, end, round == 0));
            }
        });
    }
}
