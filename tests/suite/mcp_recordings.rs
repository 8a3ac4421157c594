//! Exchanges of servers, ours and, where they lie beside the checkout, recorded ones of official programs: Marvin gets the same results, however the bytes
//! and lines are cut.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, unbounded};
use serde_json::{Value, json};

use crate::support::conversation::{calls as calls_tool, playing, says};
use crate::support::home::Home;
use crate::support::run::program;
use crate::support::server::{Answer, Server};
use crate::support::shared::{shared, skip};
use crate::support::words::TextAssertions;

const LIMIT: Duration = Duration::from_secs(60);

/// Plays the server of an exchange: answers each request as the one was answered that is like it, the next one as the next, in pieces of so many bytes.
const PLAYER: &str = r#"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
size = int(sys.argv[2])
def key(message):
    params = message.get("params") or {}
    args = json.dumps(params.get("arguments") or {}, sort_keys=True)
    return (message["method"], params.get("name") or params.get("uri"), args, "inputResponses" in params)
answers = {}
of_id = {}
for line in lines:
    message = line.get("msg")
    if not isinstance(message, dict):
        continue
    if line["dir"] == "c2s" and "method" in message and "id" in message:
        current = (message["id"], [])
        of_id[message["id"]] = current
        answers.setdefault(key(message), []).append(current)
    elif line["dir"] == "s2c":
        belongs = message.get("id") if "method" not in message else None
        of_id.get(belongs, current)[1].append(message)
out = sys.stdout.buffer
open_subscription = None
for line in sys.stdin:
    request = json.loads(line)
    if "method" not in request or "id" not in request:
        continue
    if request["method"] == "subscriptions/listen":
        open_subscription = request["id"]
    known = answers.get(key(request), [])
    old, messages = known.pop(0) if len(known) > 1 else known[0] if known else (None, [])
    if not messages:
        messages = [{"jsonrpc": "2.0", "id": old, "error": {"code": -32601, "message": "Method not found"}}]
    text = ""
    for message in messages:
        message = json.loads(json.dumps(message))
        if "method" not in message:
            message["id"] = request["id"]
        elif message["method"] == "notifications/progress":
            message["params"]["progressToken"] = request["id"]
        elif open_subscription and "_meta" in message.get("params", {}):
            message["params"]["_meta"] = {"io.modelcontextprotocol/subscriptionId": open_subscription}
        text += json.dumps(message, ensure_ascii=False) + "\n"
    data = text.encode()
    for start in range(0, len(data), size):
        out.write(data[start : start + size])
        out.flush()
"#;

/// Exchanges with these names below `fixtures/mcp`, and the recorded ones.
fn exchanges(test: &str, own: &[&str], recorded: &[&str]) -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/mcp");
    let mut all: Vec<PathBuf> = own
        .iter()
        .map(|name| fixtures.join(format!("{name}.jsonl")))
        .collect();
    if let Some(shared) = shared(test) {
        let file = |name: &&str| shared.join("mcp").join(name).join("exchange.jsonl");
        all.extend(recorded.iter().map(file));
    }
    all
}

fn read(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The events of a stream, with the lines of their data joined.
fn events<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Vec<&'a str>> {
    let mut events: Vec<Vec<&str>> = vec![Vec::new()];
    for line in lines {
        match line {
            "" => events.push(Vec::new()),
            line => events.last_mut().unwrap().push(line),
        }
    }
    events.retain(|event| !event.is_empty());
    events
}

/// The message of an event.
fn message(event: &[&str]) -> Option<Value> {
    let data = event.iter().filter_map(|line| line.strip_prefix("data:"));
    serde_json::from_str(&data.collect::<Vec<_>>().join("\n")).ok()
}

/// The message that answers a request of an exchange, however it came.
fn answer_of<'a>(lines: &'a [Value], request: &Value) -> Option<Value> {
    let id = &request["msg"]["id"];
    let is_it = |message: &Value| message["id"] == *id && message["method"].is_null();
    let plain = |line: &'a Value| {
        let is_same = line["dir"] == "s2c" && line["x"] == request["x"] && is_it(&line["msg"]);
        is_same.then(|| line["msg"].clone())
    };
    lines.iter().find_map(plain).or_else(|| {
        let raw = |line: &'a Value| line["raw"].as_str().filter(|_| line["dir"] == "sse");
        let own = lines.iter().filter(|line| line["x"] == request["x"]);
        let events = events(own.filter_map(raw));
        let mut messages = events.iter().filter_map(|event| message(event));
        messages.find(is_it)
    })
}

/// The calls of tools, with the results that were their end.
fn calls(lines: &[Value]) -> Vec<(Value, Value)> {
    let sent = |line: &&Value| line["dir"] == "c2s" && line["msg"]["method"] == "tools/call";
    let result_of = |line: &Value| Some(answer_of(lines, line)?.get("result")?.clone());
    let calls = lines.iter().filter(sent);
    calls
        .filter_map(|line| Some((line["msg"]["params"].clone(), result_of(line)?)))
        .filter(|(params, _)| params.get("inputResponses").is_none())
        .map(
            |(params, result)| match result["resultType"] == "input_required" {
                false => (params, result),
                true => {
                    let again = |line: &&Value| {
                        let own = &line["msg"]["params"];
                        sent(line)
                            && own["name"] == params["name"]
                            && own.get("inputResponses").is_some()
                    };
                    let last = lines.iter().rfind(again).and_then(result_of);
                    (params, last.unwrap_or(result))
                }
            },
        )
        .filter(|(_, result)| result["resultType"] != "input_required")
        .collect()
}

/// Calls every tool as it was called in the exchange, with a server that `configure` sets up for each size of the pieces, and compares the results.
fn replay(
    home: &Home,
    lines: &[Value],
    version: &str,
    about: &str,
    configure: &dyn Fn(usize),
) -> usize {
    let marvin = |words: &[&str]| {
        let marvin = home.marvin().arg("mcp").args(words.iter().copied());
        marvin.limit(LIMIT).run()
    };
    configure(0);
    let told = marvin(&["test", "old", "--json"]).expect(0);
    let told: Value = serde_json::from_str(told.text()).unwrap();
    assert_eq!(told["version"], version, "{about}");
    let listed = lines
        .iter()
        .find(|line| line["msg"]["method"] == "tools/list");
    let listed = answer_of(lines, listed.unwrap()).unwrap()["result"]["tools"].take();
    assert_eq!(told["tools"], listed, "{about}");
    let calls = calls(lines);
    for (at, (params, result)) in calls.iter().enumerate() {
        configure(at);
        let args = params["arguments"].to_string();
        let tool = params["name"].as_str().unwrap();
        let words = [
            "call",
            "old",
            tool,
            "--json",
            &args,
            "--raw",
            "--answers",
            "{\"name\": \"Ada\"}",
        ];
        let done = marvin(&words);
        let got: Value = serde_json::from_str(done.text())
            .unwrap_or_else(|_| panic!("{about} {tool}: {}", done.output()));
        assert_eq!(got, *result, "{about} {tool} {args}");
    }
    calls.len()
}

/// The revision in which an exchange goes on.
fn version(lines: &[Value]) -> String {
    let of = |method: &str| {
        let request = lines.iter().find(|line| line["msg"]["method"] == method)?;
        let result = answer_of(lines, request)?["result"].take();
        result["protocolVersion"]
            .as_str()
            .or(result["supportedVersions"][0].as_str())
            .map(str::to_owned)
    };
    of("initialize").or_else(|| of("server/discover")).unwrap()
}

#[test]
fn servers_that_are_processes_give_their_results_however_their_bytes_are_cut() {
    let name =
        "mcp_recordings::servers_that_are_processes_give_their_results_however_their_bytes_are_cut";
    let Some(python) = program("python3") else {
        skip(name, "there is no python3");
        return;
    };
    let own = ["stdio-modern", "stdio-legacy"];
    let recorded = [
        "stdio-2026-python-sdk",
        "stdio-legacy-python-sdk",
        "discover-fallback-stdio-everything",
        "discover-fallback-stdio-filesystem",
    ];
    for file in exchanges(name, &own, &recorded) {
        let lines = read(&file);
        let home = Home::new();
        let player = home.write("player.py", PLAYER);
        let configure = |at: usize| {
            let size = [61, 1, 7, 4_096][at % 4];
            let entry = json!({"command": python, "args": [player, file, size.to_string()]});
            let servers = json!({"mcpServers": {"old": entry}});
            home.write("config/mcp.json", servers.to_string());
        };
        let about = file.display().to_string();
        assert!(
            replay(&home, &lines, &version(&lines), &about, &configure) > 2,
            "{about}"
        );
    }
}

/// What makes two requests of an exchange alike.
fn key(request: &Value) -> String {
    let params = &request["params"];
    let subject = params["name"].as_str().or(params["uri"].as_str());
    // A map of the tree sorts its keys.
    let args: BTreeMap<String, Value> = match params["arguments"].as_object() {
        Some(args) => args.clone().into_iter().collect(),
        None => BTreeMap::new(),
    };
    let is_again = params.get("inputResponses").is_some();
    format!("{} {subject:?} {args:?} {is_again}", request["method"])
}

/// The server of an exchange over HTTP: each answer comes in pieces of a size and with ends of lines that differ from call to call.
fn http_player(lines: Vec<Value>) -> Server {
    let turn = Mutex::new(0_usize);
    Server::answering(move |request, _| {
        match request.method.as_str() {
            "GET" => return Answer::status(405),
            "DELETE" => return Answer::status(200),
            _ => {}
        }
        let asked = request.json();
        if asked.get("id").is_none() || asked.get("method").is_none() {
            return Answer::status(202);
        }
        let is_it = |line: &&Value| {
            line["dir"] == "c2s" && line["msg"].is_object() && key(&line["msg"]) == key(&asked)
        };
        let Some(old) = lines.iter().find(is_it) else {
            let error = json!({"code": -32601, "message": "Method not found"});
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "error": error});
            return Answer::json(&answer).with_status(404);
        };
        let (x, old_id) = (&old["x"], &old["msg"]["id"]);
        let renumbered = |mut message: Value| {
            if message["method"].is_null() && message["id"] == *old_id {
                message["id"] = asked["id"].clone();
            }
            if message["method"] == "notifications/progress" {
                message["params"]["progressToken"] = asked["id"].clone();
            }
            message
        };
        let head = lines
            .iter()
            .find(|line| line["dir"] == "s2c" && line["x"] == *x);
        let head = head.unwrap();
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        let (size, end) = (
            [1, 2, 7, 61, 4_096][*turn % 5],
            ["\n", "\r\n", "\r"][*turn % 3],
        );
        let own = lines
            .iter()
            .filter(|line| line["x"] == *x && line["dir"] == "sse");
        let stream = events(own.filter_map(|line| line["raw"].as_str()));
        let (kind, body) = match stream.is_empty() {
            true => (
                "application/json",
                renumbered(head["msg"].clone()).to_string(),
            ),
            false => {
                let mut text = String::new();
                for event in &stream {
                    let data = message(event).map(|message| {
                        let count = event
                            .iter()
                            .filter(|line| line.starts_with("data:"))
                            .count();
                        let message = renumbered(message);
                        match count {
                            1 => message.to_string(),
                            _ => format!("{message:#}"),
                        }
                    });
                    let others = event
                        .iter()
                        .filter(|line| data.is_none() || !line.starts_with("data:"));
                    for line in others {
                        text.push_str(&format!("{line}{end}"));
                    }
                    for line in data.iter().flat_map(|data| data.lines()) {
                        text.push_str(&format!("data: {line}{end}"));
                    }
                    text.push_str(end);
                }
                ("text/event-stream", text)
            }
        };
        let pieces = body.as_bytes().chunks(size).map(<[u8]>::to_vec);
        let status = head["status"].as_u64().unwrap().try_into().unwrap();
        let answer = Answer::stream(kind, pieces).with_status(status);
        let headers = head["headers"].as_object().into_iter().flatten();
        let session = headers.filter(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
        session.fold(answer, |answer, (name, value)| {
            answer.header(name, value.as_str().unwrap())
        })
    })
}

#[test]
fn servers_over_http_give_their_results_however_their_bytes_and_lines_are_cut() {
    let name = "mcp_recordings::servers_over_http_give_their_results_however_their_bytes_and_lines_are_cut";
    let own = ["http-modern", "http-legacy"];
    let recorded = ["http-2026-python-sdk", "discover-fallback-http-everything"];
    for file in exchanges(name, &own, &recorded) {
        let lines = read(&file);
        let about = file.display().to_string();
        let version = version(&lines);
        // One that came in another stream is no end of its own request.
        let server = http_player(lines.clone());
        let home = Home::new();
        let servers = json!({"mcpServers": {"old": {"url": server.url("/mcp")}}});
        home.write("config/mcp.json", servers.to_string());
        assert!(
            replay(&home, &lines, &version, &about, &|_| {}) > 2,
            "{about}"
        );
    }
}

/// An exchange over the transport of 2024, whose answers all come in one stream, as one in which each request has its answer; `before` it are other messages.
fn with_own_answers(lines: &[Value]) -> Vec<Value> {
    let raw = |line: &'_ Value| line["dir"] == "sse";
    let stream = lines.iter().filter(|line| raw(line));
    let stream = events(stream.filter_map(|line| line["raw"].as_str()));
    let mut own = Vec::new();
    let mut before = Vec::new();
    for message in stream.iter().filter_map(|event| message(event)) {
        let is_asked = |line: &&Value| line["dir"] == "c2s" && line["msg"]["id"] == message["id"];
        match lines
            .iter()
            .find(is_asked)
            .filter(|_| message["method"].is_null())
        {
            Some(request) => {
                own.push(request.clone());
                let before = std::mem::take(&mut before);
                own.push(
                    json!({"dir": "s2c", "x": request["x"], "msg": message, "before": before}),
                );
            }
            None => before.push(message),
        }
    }
    own
}

/// Bytes of an event with this message.
fn event_of(message: &Value, end: &str) -> Vec<u8> {
    format!("event: message{end}data: {message}{end}{end}").into_bytes()
}

/// The server of an exchange of [`with_own_answers`].
fn player_of_2024(lines: Vec<Value>) -> Server {
    let stream: Mutex<Option<Sender<Vec<u8>>>> = Mutex::default();
    let turn = Mutex::new(0_usize);
    Server::answering(move |request, _| {
        if request.method == "GET" {
            let (send, receive) = unbounded();
            *stream.lock().unwrap() = Some(send);
            let first = "event: endpoint\ndata: /message?sessionId=s1\n\n";
            return Answer::sse([first]).follow(receive);
        }
        if !request.path.starts_with("/message") {
            return Answer::status(404);
        }
        let asked = request.json();
        if asked.get("id").is_none() || asked.get("method").is_none() {
            return Answer::status(202);
        }
        let is_it = |line: &&Value| line["dir"] == "c2s" && key(&line["msg"]) == key(&asked);
        let old = lines.iter().position(|line| is_it(&line));
        let mut answer = match old.and_then(|at| lines.get(at + 1)) {
            Some(answer) => answer.clone(),
            // It was not asked for all that it has.
            None if asked["method"].as_str().unwrap().ends_with("/list") => {
                let none = json!({"prompts": [], "resources": [], "resourceTemplates": []});
                json!({"msg": {"jsonrpc": "2.0", "result": none}})
            }
            None => {
                json!({"msg": {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}}})
            }
        };
        answer["msg"]["id"] = asked["id"].clone();
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        let (size, end) = (
            [1, 7, 61, 4_096][*turn % 4],
            ["\n", "\r\n", "\r"][*turn % 3],
        );
        let stream = stream.lock().unwrap();
        let messages = answer["before"].as_array().into_iter().flatten();
        for message in messages.chain([&answer["msg"]]) {
            for piece in event_of(message, end).chunks(size) {
                stream.as_ref().unwrap().send(piece.to_vec()).unwrap();
            }
        }
        Answer::status(202)
    })
}

#[test]
fn servers_over_the_transport_of_2024_give_their_results_however_their_bytes_are_cut() {
    let name = "mcp_recordings::servers_over_the_transport_of_2024_give_their_results_however_their_bytes_are_cut";
    for file in exchanges(name, &["http-2024"], &["http-sse-2024-everything"]) {
        let lines = with_own_answers(&read(&file));
        let about = file.display().to_string();
        let server = player_of_2024(lines.clone());
        let home = Home::new();
        // It is found where the entry does not name it.
        let configure = |at: usize| {
            let mut entry = json!({"url": server.url("/sse")});
            if at.is_multiple_of(2) {
                entry["type"] = "sse".into();
            }
            home.write(
                "config/mcp.json",
                json!({"mcpServers": {"old": entry}}).to_string(),
            );
        };
        assert!(
            replay(&home, &lines, &version(&lines), &about, &configure) > 0,
            "{about}"
        );
    }
}

#[test]
fn what_a_subscription_tells_is_offered_with_the_next_message() {
    let name = "mcp_recordings::what_a_subscription_tells_is_offered_with_the_next_message";
    let Some(python) = program("python3") else {
        skip(name, "there is no python3");
        return;
    };
    for file in exchanges(name, &["subscription"], &["subscriptions-stdio"]) {
        let mut lines = read(&file);
        // What it had before it grew, which was not asked for in the exchange.
        let list = lines
            .iter()
            .position(|line| line["msg"]["method"] == "tools/list")
            .unwrap();
        let mut before = vec![lines[list].clone(), lines[list + 1].clone()];
        for line in &mut before {
            line["msg"]["id"] = "before".into();
        }
        let tools = before[1]["msg"]["result"]["tools"].as_array_mut().unwrap();
        tools.retain(|tool| tool["name"] != "later");
        for tool in tools {
            tool["annotations"] = json!({"readOnlyHint": true});
        }
        before.extend(std::mem::take(&mut lines));
        let discover = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}});
        before.push(json!({"dir": "c2s", "msg": {"id": "d", "method": "server/discover"}}));
        before.push(json!({"dir": "s2c", "msg": {"id": "d", "result": discover}}));
        for size in [1, 7, 4_096] {
            let home = Home::new();
            let player = home.write("player.py", PLAYER);
            let write = |lines: &[Value]| {
                let text: Vec<String> = lines.iter().map(Value::to_string).collect();
                home.write("exchange.jsonl", text.join("\n"))
            };
            let entry =
                json!({"command": python, "args": [player, write(&before), size.to_string()]});
            home.write(
                "config/mcp.json",
                json!({"mcpServers": {"old": entry}}).to_string(),
            );
            // Remembers what it offers; when it is asked again it has grown.
            let model = playing([says("Hello.")]);
            home.ask(&model.url("/v1"), "hello").run().expect(0);
            write(&before[2..]);
            grows(&home, &file.display().to_string());
        }
    }
}

/// The server of an exchange with a subscription over HTTP. Its tools, for which the exchange does not ask, are one more when it has grown.
fn subscribed_player(lines: &[Value]) -> Server {
    let sent = |method: &str| {
        let is_it = |line: &&Value| line["dir"] == "c2s" && line["msg"]["method"] == method;
        lines.iter().find(is_it).unwrap()
    };
    let listens = &sent("subscriptions/listen")["x"];
    let stream = lines
        .iter()
        .filter(|line| line["dir"] == "sse" && line["x"] == *listens);
    let stream = events(stream.filter_map(|line| line["raw"].as_str()));
    let mut news: Vec<Value> = stream.iter().filter_map(|event| message(event)).collect();
    let acknowledged = news.remove(0);
    let grown = answer_of(lines, sent("tools/call")).unwrap();
    let has_grown = AtomicBool::new(false);
    let (send, receive) = unbounded();
    let of_subscription = |mut message: Value, id: &Value| {
        message["params"]["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
        event_of(&message, "\n")
    };
    let subscription = Mutex::new(Value::Null);
    Server::answering(move |request, _| {
        if request.method != "POST" {
            return Answer::status(405);
        }
        let asked = request.json();
        let id = asked["id"].clone();
        let complete = |mut result: Value| {
            result["resultType"] = "complete".into();
            Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
        };
        match asked["method"].as_str().unwrap_or_default() {
            "server/discover" => complete(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}})),
            "tools/list" => {
                let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
                let mut tools = vec![tool("grow")];
                tools.extend(has_grown.load(Ordering::SeqCst).then(|| tool("later")));
                complete(json!({"tools": tools}))
            }
            "subscriptions/listen" => {
                *subscription.lock().unwrap() = id.clone();
                let first = of_subscription(acknowledged.clone(), &id);
                // Byte by byte, as far as that is possible.
                let pieces = first.chunks(1).map(<[u8]>::to_vec);
                Answer::sse(pieces).follow(receive.clone())
            }
            "tools/call" => {
                has_grown.store(true, Ordering::SeqCst);
                let subscription = subscription.lock().unwrap();
                for message in &news {
                    for piece in of_subscription(message.clone(), &subscription).chunks(7) {
                        send.send(piece.to_vec()).unwrap();
                    }
                }
                complete(grown["result"].clone())
            }
            _ => Answer::json(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})).with_status(404),
        }
    })
}

#[test]
fn what_a_subscription_over_http_tells_is_offered_with_the_next_message() {
    let name =
        "mcp_recordings::what_a_subscription_over_http_tells_is_offered_with_the_next_message";
    for file in exchanges(
        name,
        &["subscription-http"],
        &["subscriptions-and-errors-http"],
    ) {
        let server = subscribed_player(&read(&file));
        let home = Home::new();
        let servers = json!({"mcpServers": {"old": {"url": server.url("/mcp")}}});
        home.write("config/mcp.json", servers.to_string());
        let model = playing([says("Hello.")]);
        home.ask(&model.url("/v1"), "hello").run().expect(0);
        grows(&home, &file.display().to_string());
    }
}

/// A conversation in which the server grows by a call.
fn grows(home: &Home, about: &str) {
    let model = Server::answering(|request, _| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        match last["role"] == "user" && last["content"].to_string().contains("grow") {
            true => calls_tool("old__grow", json!({})),
            false => says("Fine."),
        }
    });
    let offers = |request: usize| {
        let tools = model.request(request).json()["tools"].take();
        let mut tools = tools.as_array().unwrap().iter();
        tools.any(|tool| tool["function"]["name"] == "old__later")
    };
    let mut chat = home.chat(&model).stdin_open().limit(LIMIT).spawn();
    chat.write(b"grow\n");
    model.wait_requests(2, LIMIT);
    model.request(1).text().as_str().assert_has(&["grown"]);
    assert!(!offers(1), "in the middle of a round: {about}");
    let found = (2..60).any(|n| {
        chat.write(b"and now?\n");
        model.wait_requests(n + 1, LIMIT);
        offers(n)
    });
    assert!(found, "{about}");
    chat.close_stdin();
    chat.wait().expect(0);
}
