//! Recorded exchanges of official servers, where they lie beside the checkout: Marvin gets the same results, however the bytes are cut.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::program;
use crate::support::shared::{shared, skip};

const LIMIT: Duration = Duration::from_secs(60);

/// Plays the server of a recording: answers each request as the one was answered that is like it, in pieces of so many bytes.
const PLAYER: &str = r#"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
size = int(sys.argv[2])
def key(message):
    params = message.get("params") or {}
    args = json.dumps(params.get("arguments") or {}, sort_keys=True)
    return (message["method"], params.get("name") or params.get("uri"), args, "inputResponses" in params)
answers = {}
open_requests = {}
for line in lines:
    message = line.get("msg")
    if not isinstance(message, dict):
        continue
    if line["dir"] == "c2s" and "method" in message and "id" in message:
        open_requests[message["id"]] = key(message)
        answers.setdefault(key(message), (message["id"], []))
        current = key(message)
    elif line["dir"] == "s2c":
        belongs = message.get("id") if "method" not in message else None
        at = open_requests.get(belongs, current)
        if answers[at][0] == belongs or belongs is None:
            answers[at][1].append(message)
out = sys.stdout.buffer
for line in sys.stdin:
    request = json.loads(line)
    if "method" not in request or "id" not in request:
        continue
    old, messages = answers.get(key(request), (None, []))
    if not messages:
        messages = [{"jsonrpc": "2.0", "id": old, "error": {"code": -32601, "message": "Method not found"}}]
    text = ""
    for message in messages:
        message = json.loads(json.dumps(message))
        if "method" not in message:
            message["id"] = request["id"]
        elif message["method"] == "notifications/progress":
            message["params"]["progressToken"] = request["id"]
        text += json.dumps(message, ensure_ascii=False) + "\n"
    data = text.encode()
    for start in range(0, len(data), size):
        out.write(data[start : start + size])
        out.flush()
"#;

/// The recorded calls of tools, with the results that were their end.
fn calls(lines: &[Value]) -> Vec<(Value, Value)> {
    let sent = |line: &&Value| line["dir"] == "c2s" && line["msg"]["method"] == "tools/call";
    let answer = |id: &Value| {
        lines.iter().find(|line| {
            line["dir"] == "s2c" && line["msg"]["id"] == *id && line["msg"]["method"].is_null()
        })
    };
    let result = |line: &Value| Some(answer(&line["msg"]["id"])?["msg"].get("result")?.clone());
    let calls = lines.iter().filter(sent);
    calls
        .filter_map(|line| Some((line["msg"]["params"].clone(), result(line)?)))
        .filter(|(params, result)| {
            params.get("inputResponses").is_none() && result["resultType"] != "input_required"
        })
        .collect()
}

#[test]
fn recorded_servers_give_recorded_results_however_their_bytes_are_cut() {
    let name = "mcp_recordings::recorded_servers_give_recorded_results_however_their_bytes_are_cut";
    let Some(shared) = shared(name) else {
        return;
    };
    let Some(python) = program("python3") else {
        skip(name, "there is no python3");
        return;
    };
    let mut seen = 0;
    for (recording, version) in [
        ("stdio-2026-python-sdk", "2026-07-28"),
        ("stdio-legacy-python-sdk", "2025-11-25"),
        ("discover-fallback-stdio-everything", "2025-11-25"),
        ("discover-fallback-stdio-filesystem", "2025-11-25"),
    ] {
        let file = shared.join("mcp").join(recording).join("exchange.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let home = Home::new();
        let player = home.write("player.py", PLAYER);
        let configure = |size: usize| {
            let entry = json!({"command": python, "args": [player, file, size.to_string()]});
            let servers = json!({"mcpServers": {"old": entry}});
            home.write("config/mcp.json", servers.to_string());
        };
        let marvin = |words: &[&str]| {
            let marvin = home.marvin().arg("mcp").args(words.iter().copied());
            marvin.limit(LIMIT).run()
        };
        configure(61);
        let told = marvin(&["test", "old", "--json"]).expect(0);
        let told: Value = serde_json::from_str(told.text()).unwrap();
        assert_eq!(told["version"], version, "{recording}");
        for (at, (params, result)) in calls(&lines).into_iter().enumerate() {
            configure([1, 7, 4_096][at % 3]);
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
                .unwrap_or_else(|_| panic!("{recording} {tool}: {}", done.output()));
            assert_eq!(got, result, "{recording} {tool}");
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen}");
}
