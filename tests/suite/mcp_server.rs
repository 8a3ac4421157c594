//! `marvin mcp serve` as the programs see it that start it: both eras over standard input and output.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Marvin, Running};
use crate::support::wait;
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(30);
const MODERN: &str = "2026-07-28";

/// `_meta` of a request of the era without a handshake.
pub(super) fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request; a modern one unless its parameters have a `_meta` or `version` is empty.
pub(super) fn request(
    id: impl Into<Value>,
    method: &str,
    mut params: Value,
    version: &str,
) -> Value {
    if !version.is_empty() {
        params["_meta"] = meta(version);
    }
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn handshake(version: &str) -> Value {
    request(
        "hello",
        "initialize",
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        "",
    )
}

/// A server that runs.
struct Client(Running);

impl Client {
    fn of(home: &Home, args: &[&str]) -> Self {
        Self(serve(home, args).stdin_open().limit(LIMIT).spawn())
    }

    fn send(&mut self, message: &Value) {
        self.0.write(format!("{message}\n").as_bytes());
    }

    /// The first message with this in it that has come or comes.
    fn message(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        wait::found(what, || lines(&self.0.stdout()).into_iter().find(&is_it))
    }

    /// Sends a request and returns its answer.
    fn ask(&mut self, id: u64, method: &str, params: Value, version: &str) -> Value {
        self.send(&request(id, method, params, version));
        self.message(method, |message| message["id"] == id)
    }
}

fn serve(home: &Home, args: &[&str]) -> Marvin {
    home.marvin().args(["mcp", "serve"]).args(args.to_vec())
}

/// Where a home's tools work.
fn folder(home: &Home) -> String {
    home.work().display().to_string()
}

/// The whole lines so far.
fn lines(text: &str) -> Vec<Value> {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// What a server answers to these lines, after which its input ends.
fn answers(home: &Home, args: &[&str], messages: &[String]) -> Vec<Value> {
    let input = messages.join("\n") + "\n";
    let done = serve(home, args).stdin(input).limit(LIMIT).run().expect(0);
    lines(done.text())
}

fn answer_to<'a>(answers: &'a [Value], id: &Value) -> &'a Value {
    let mut found = answers.iter().filter(|answer| answer["id"] == *id);
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no answer to {id} in {answers:#?}"));
    assert_eq!(found.next(), None, "two answers to {id}");
    first
}

#[test]
fn each_revision_with_a_handshake_gets_what_it_knows() {
    let home = Home::new();
    for (asked, agreed, has_titles, has_annotations) in [
        ("2025-11-25", "2025-11-25", true, true),
        ("2025-06-18", "2025-06-18", true, true),
        ("2025-03-26", "2025-03-26", false, true),
        ("2024-11-05", "2024-11-05", false, false),
        ("2019-01-01", "2025-11-25", true, true),
    ] {
        let messages = [
            json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}),
            handshake(asked),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            request(1, "tools/list", json!({}), ""),
            request(2, "server/discover", json!({}), ""),
        ];
        let got = answers(&home, &[], &messages.map(|message| message.to_string()));
        let hello = &answer_to(&got, &"hello".into())["result"];
        assert_eq!(hello["protocolVersion"], agreed);
        assert_eq!(hello["serverInfo"]["name"], "marvin");
        assert_eq!(answer_to(&got, &0.into())["result"], json!({}));
        let list = &answer_to(&got, &1.into())["result"];
        let reads = list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool["name"] == "read_file")
            .unwrap();
        assert_eq!(reads.get("title").is_some(), has_titles, "{asked}");
        assert_eq!(
            reads["annotations"]["readOnlyHint"] == true,
            has_annotations,
            "{asked}"
        );
        assert_eq!(reads["inputSchema"]["type"], "object");
        assert_eq!(list.get("resultType"), None, "{asked}");
        assert_eq!(
            answer_to(&got, &2.into())["error"]["code"],
            -32601,
            "{asked}"
        );
    }
}

#[test]
fn without_a_handshake_each_answer_says_all_that_it_has_to() {
    let home = Home::new();
    let cached = [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
    ];
    let mut client = Client::of(&home, &[]);
    for (at, (method, params)) in cached.into_iter().enumerate() {
        let answer = client.ask(at as u64, method, params, MODERN);
        let result = &answer["result"];
        assert_eq!(result["resultType"], "complete", "{method}");
        assert_eq!(
            result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            "marvin"
        );
        assert!(
            result["ttlMs"].is_u64() && result["cacheScope"].is_string(),
            "{method}"
        );
    }
    let result =
        client.ask(9, "tools/call", json!({"name": "system_info"}), MODERN)["result"].clone();
    assert_eq!(
        (&result["resultType"], &result["isError"]),
        (&json!("complete"), &json!(false))
    );
    assert_eq!(result.get("ttlMs"), None);
    let wrong = client.ask(
        10,
        "tools/call",
        json!({"name": "read_note", "arguments": {"nope": 1}}),
        MODERN,
    );
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
}

#[test]
fn what_may_not_come_gets_the_error_that_the_protocol_has_for_it() {
    let home = Home::new();
    let modern =
        |id: u64, method: &str, params: Value| request(id, method, params, MODERN).to_string();
    let plain = |id: u64, method: &str, params: Value| request(id, method, params, "").to_string();
    let first = modern(100, "tools/list", json!({}));
    let with_id = |id: Value| {
        let mut line = request(1, "tools/list", json!({}), MODERN);
        line["id"] = id;
        line.to_string()
    };
    let hello = handshake("2025-11-25").to_string();
    let half = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}});
    for (before, line, id, code) in [
        ("", plain(1, "tools/list", json!({})), json!(1), -32602),
        ("", plain(1, "server/discover", json!({})), json!(1), -32602),
        (
            "",
            request(1, "tools/list", json!({}), "2099-01-01").to_string(),
            json!(1),
            -32022,
        ),
        (
            "",
            modern(1, "initialize", json!({"protocolVersion": "2025-11-25"})),
            json!(1),
            -32601,
        ),
        ("", "{broken".to_owned(), Value::Null, -32700),
        ("", "[]".to_owned(), Value::Null, -32600),
        ("", "{}".to_owned(), Value::Null, -32600),
        (&first, with_id(Value::Null), Value::Null, -32600),
        (&first, with_id(json!(1.5)), json!(1.5), -32600),
        (&first, plain(1, "tools/list", half), json!(1), -32602),
        (&first, modern(1, "ping", json!({})), json!(1), -32601),
        (&first, modern(1, "no/such", json!({})), json!(1), -32601),
        (
            &first,
            plain(1, "initialize", json!({"protocolVersion": "2025-11-25"})),
            json!(1),
            -32022,
        ),
        (
            &first,
            modern(1, "tools/list", json!({"cursor": "x"})),
            json!(1),
            -32602,
        ),
        (&first, modern(1, "tools/call", json!({})), json!(1), -32602),
        (
            &first,
            modern(1, "tools/call", json!({"name": "no_such"})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "tools/call", json!({"name": "exit_app"})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "tools/call", json!({"name": "tree", "arguments": [1]})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "prompts/get", json!({"name": "x"})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "resources/read", json!({"uri": "file:///etc/passwd"})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(
                1,
                "resources/read",
                json!({"uri": "note:///..%2F..%2Fetc%2Fpasswd"}),
            ),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "resources/read", json!({"uri": "note:///%ff%"})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "subscriptions/listen", json!({})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(
                1,
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "x"}, "argument": {"name": "a", "value": ""}}),
            ),
            json!(1),
            -32602,
        ),
        (&hello, modern(1, "tools/list", json!({})), json!(1), -32600),
        (
            &hello,
            plain(1, "initialize", json!({"protocolVersion": "2025-11-25"})),
            json!(1),
            -32600,
        ),
        (
            &hello,
            plain(1, "logging/setLevel", json!({"level": "loud"})),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "resources/list", json!({})).replace(
                "\"_meta\":{",
                "\"_meta\":{\"io.modelcontextprotocol/logLevel\":\"zz\",",
            ),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "tools/list", json!({}))
                .replace("\"_meta\":{", "\"_meta\":{\"progressToken\":{},"),
            json!(1),
            -32602,
        ),
        (
            &first,
            modern(1, "tools/list", json!({})).replace("2.0", "1.0"),
            json!(1),
            -32600,
        ),
    ] {
        let messages = [before.to_owned(), line.clone()];
        let got = answers(&home, &[], &messages);
        assert_eq!(answer_to(&got, &id)["error"]["code"], code, "{line}");
    }
}

#[test]
fn notes_and_places_are_resources_that_are_listed_completed_and_read() {
    let home = Home::new();
    let mut client = Client::of(&home, &[]);
    client.send(&request(
        "watch",
        "subscriptions/listen",
        json!({"notifications": {"resourcesListChanged": true, "toolsListChanged": true}}),
        MODERN,
    ));
    let first = client.message("the agreement", |message| {
        message["method"] == "notifications/subscriptions/acknowledged"
    });
    assert_eq!(
        first["params"]["notifications"],
        json!({"resourcesListChanged": true})
    );
    let note = json!({"name": "write_note", "arguments": {"path": "a b/ü.md", "content": "# Hi"}});
    client.ask(1, "tools/call", note, MODERN);
    let place = json!({"name": "save_place", "arguments": {"label": "home", "name": "Home", "lat": 1.5, "lng": 2.5}});
    client.ask(2, "tools/call", place, MODERN);
    let told = client.message("the change", |message| {
        message["method"] == "notifications/resources/list_changed"
    });
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "watch"
    );
    let list = client.ask(3, "resources/list", json!({}), MODERN);
    let uris: Vec<&str> = list["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|resource| resource["uri"].as_str())
        .collect();
    assert_eq!(uris, ["note:///a%20b/%C3%BC.md", "place:///home"]);
    let read = client.ask(4, "resources/read", json!({"uri": uris[0]}), MODERN);
    assert_eq!(read["result"]["contents"][0]["text"], "# Hi\n");
    let read = client.ask(5, "resources/read", json!({"uri": uris[1]}), MODERN);
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["lat"], 1.5);
    for (id, uri, name, value, expected) in [
        (6, "note:///{+path}", "path", "A", json!(["a b/ü.md"])),
        (7, "note:///{+path}", "path", "x", json!([])),
        (8, "place:///{name}", "name", "", json!(["home"])),
    ] {
        let asked = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}});
        let answer = client.ask(id, "completion/complete", asked, MODERN);
        assert_eq!(answer["result"]["completion"]["values"], expected, "{uri}");
    }
    // At the end the request that stayed open has its answer.
    let done = client.0.wait().expect(0);
    let end = lines(done.text());
    assert_eq!(
        answer_to(&end, &"watch".into())["result"]["resultType"],
        "complete"
    );
}

#[test]
fn a_client_with_a_handshake_is_told_of_changes_too() {
    let home = Home::new();
    let mut client = Client::of(&home, &[]);
    client.send(&handshake("2025-11-25"));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let mut n = 0u64;
    // Whoever looks at the notes may do so first after one was written.
    wait::until("the notice", || {
        n += 1;
        let note = json!({"name": "write_note", "arguments": {"path": format!("x{n}.md"), "content": "hi"}});
        client.ask(n, "tools/call", note, "");
        let said = lines(&client.0.stdout());
        let is_it = |line: &Value| line["method"] == "notifications/resources/list_changed";
        said.iter().any(is_it)
    });
    client.0.wait().expect(0);
}

#[test]
fn the_sandbox_of_commands_is_said_with_the_command_or_before_it() {
    let home = Home::new();
    let call = request(
        1,
        "tools/call",
        json!({"name": "run_command", "arguments": {"command": "echo it runs"}}),
        MODERN,
    );
    let at_home = home.path().display().to_string();
    let run = |before: &[&str], after: &[&str]| {
        let command = home.marvin().args(before.to_vec()).args(["mcp", "serve"]);
        let command = command
            .args(["--working-dir", at_home.as_str()])
            .args(after.to_vec());
        let done = command
            .stdin(format!("{call}\n"))
            .limit(LIMIT)
            .run()
            .expect(0);
        done.text().to_owned()
    };
    run(&[], &[]).assert_has(&["Commands cannot be held", "--working-dir", "MARVIN_SANDBOX"]);
    let free = ["--sandbox", "danger-full-access"];
    run(&[], &free).assert_has(&["it runs"]);
    run(&free, &[]).assert_has(&["it runs"]);
}

#[test]
fn a_call_is_cancelled_alone_and_its_program_ends() {
    let home = Home::new();
    let mut client = Client::of(&home, &["--working-dir", &folder(&home)]);
    let slow = json!({"name": "run_command", "arguments": {"command": "echo $$ > pid; sleep 600"}});
    client.send(&request("slow", "tools/call", slow, MODERN));
    let dir = home.work();
    let pid = wait::found("the program", || {
        std::fs::read_to_string(dir.join("pid"))
            .ok()
            .filter(|text| text.ends_with('\n'))
    });
    let quick = client.ask(
        1,
        "tools/call",
        json!({"name": "run_command", "arguments": {"command": "echo quick"}}),
        MODERN,
    );
    assert!(
        quick["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("quick")
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}}));
    let status = format!("/proc/{}/status", pid.trim());
    wait::until("the end of the program", || {
        std::fs::metadata(&status).is_err()
    });
    let done = client.0.wait().expect(0);
    assert!(
        lines(done.text())
            .iter()
            .all(|message| message["id"] != "slow")
    );
}

#[test]
fn the_end_of_input_and_a_signal_end_what_runs() {
    for (signal, code) in [(None, 0), (Some(Signal::TERM), 143)] {
        let home = Home::new();
        let mut client = Client::of(&home, &["--working-dir", &folder(&home)]);
        let slow =
            json!({"name": "run_command", "arguments": {"command": "echo $$ > pid; sleep 600"}});
        client.send(&request("slow", "tools/call", slow, MODERN));
        let pid = wait::found("the program", || {
            std::fs::read_to_string(home.work().join("pid"))
                .ok()
                .filter(|text| text.ends_with('\n'))
        });
        match signal {
            None => client.0.close_stdin(),
            Some(signal) => client.0.signal(signal),
        }
        client.0.wait_open().expect(code);
        let status = format!("/proc/{}/status", pid.trim());
        wait::until("the end of the program", || {
            std::fs::metadata(&status).is_err()
        });
    }
}

#[test]
fn progress_reaches_the_client_that_asked_for_it() {
    let home = Home::new();
    let mut client = Client::of(&home, &["--working-dir", &folder(&home)]);
    let command = "echo begun; while [ ! -e go ]; do sleep 0.02; done";
    let mut call = request(
        1,
        "tools/call",
        json!({"name": "run_command", "arguments": {"command": command}}),
        MODERN,
    );
    call["params"]["_meta"]["progressToken"] = "t".into();
    client.send(&call);
    let told = client.message("progress", |message| {
        message["params"]["message"] == "begun"
    });
    assert_eq!(
        (
            &told["params"]["progressToken"],
            &told["params"]["progress"]
        ),
        (&json!("t"), &json!(1))
    );
    std::fs::write(home.work().join("go"), "").unwrap();
    client.message("the answer", |message| message["id"] == 1);
}

#[test]
fn many_calls_at_once_mix_nothing_and_a_flood_is_answered() {
    let home = Home::new();
    let call = |n: u64| {
        request(
            n,
            "tools/call",
            json!({"name": "convert_units", "arguments": {"value": n, "from": "m", "to": "m"}}),
            MODERN,
        )
        .to_string()
    };
    let mut messages: Vec<String> = (0..64).map(call).collect();
    messages.extend((64..20_000).map(|n| request(n, "no/such", json!({}), MODERN).to_string()));
    let got = answers(&home, &[], &messages);
    assert_eq!(got.len(), 20_000);
    for n in 0..64u64 {
        let answer = got.iter().find(|answer| answer["id"] == n).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&n.to_string()), "{n}: {text}");
    }
}

#[test]
fn groups_and_read_only_say_what_is_offered_and_the_folder_is_a_fence() {
    let home = Home::new();
    let names = |args: &[&str]| -> Vec<String> {
        let got = answers(
            &home,
            args,
            &[request(1, "tools/list", json!({}), MODERN).to_string()],
        );
        let tools = answer_to(&got, &1.into())["result"]["tools"]
            .as_array()
            .unwrap()
            .clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let has = |names: &[String], name: &str| names.iter().any(|own| own == name);
    let all = names(&[]);
    assert!(
        all.len() > 100
            && has(&all, "run_command")
            && !has(&all, "launch_agent")
            && !has(&all, "exit_app")
    );
    let reading = names(&["--read-only"]);
    assert!(
        has(&reading, "read_file")
            && !has(&reading, "run_command")
            && !has(&reading, "create_file")
            && !has(&reading, "write_note")
            && !has(&reading, "create_ticket")
    );
    let files = names(&["--tools", "files"]);
    assert!(has(&files, "read_file") && !has(&files, "weather_forecast"));
    let read = json!({"name": "read_file", "arguments": {"path": "../outside"}});
    let got = answers(
        &home,
        &["--working-dir", &folder(&home)],
        &[request(1, "tools/call", read, MODERN).to_string()],
    );
    assert_eq!(answer_to(&got, &1.into())["result"]["isError"], true);
    serve(&home, &["--redonly"]).fails(&["There is no flag --redonly here.", "--read-only"]);
    serve(&home, &["--http", "192.168.0.1:80"]).fails(&["not an address of this machine alone"]);
    home.marvin().args(["mcp", "sevre"]).fails(&[
        "There is no command \"sevre\"",
        "Usage: marvin mcp list|add",
    ]);
}
