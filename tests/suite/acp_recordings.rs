//! Exchanges of the official SDK with a stand-in, where they lie beside the checkout: Marvin is told the same and does the same, in the same order.

use std::fs;

use serde_json::{Value, json};

use crate::support::conversation::{calls, says};
use crate::support::editor::Editor;
use crate::support::home::Home;
use crate::support::server::{Answer, Server};
use crate::support::shared::shared;

/// The folder that the recordings name.
const FOLDER: &str = "/home/u/project";

/// A model that makes the calls of a recording, one after the other.
fn model(lines: &[Value]) -> Server {
    let tool = |update: &Value| match update["kind"].as_str() {
        Some("read") => "read_file",
        Some("edit") => "create_file",
        _ => "run_command",
    };
    let made: Vec<(&'static str, Value)> = lines
        .iter()
        .map(|line| &line["from_agent"]["params"]["update"])
        .filter(|update| update["sessionUpdate"] == "tool_call")
        .map(|update| (tool(update), update["rawInput"].clone()))
        .collect();
    Server::answering(move |request, _| {
        if request.path.ends_with("/models") {
            return Answer::json(&json!({"data": []}));
        }
        let body = request.json();
        let messages = body["messages"].as_array().unwrap().iter();
        let done = messages.filter(|message| message["role"] == "tool").count();
        match made.get(done) {
            Some((tool, args)) => calls(tool, args.clone()),
            None => says("done"),
        }
    })
    .lenient()
}

/// What was told: kinds of updates and questions, without what only one of the two tells.
fn told<'a>(lines: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let word = |line: &Value| {
        let update = &line["params"]["update"];
        let kind = update["sessionUpdate"].as_str();
        match (line["method"].as_str()?, kind) {
            ("session/update", Some(kind @ ("tool_call" | "agent_message_chunk"))) => {
                Some(kind.to_owned())
            }
            ("session/update", Some("tool_call_update")) => {
                let status = update["status"].as_str()?;
                (!matches!(status, "in_progress" | "pending")).then(|| format!("call {status}"))
            }
            ("session/update", _) => None,
            (method, _) => Some(method.to_owned()),
        }
    };
    lines.filter_map(word).collect()
}

#[test]
fn recorded_exchanges_go_the_same_way() {
    let Some(shared) = shared("recorded_exchanges_go_the_same_way") else {
        return;
    };
    for name in ["acp-turn", "acp-files"] {
        let text = fs::read_to_string(shared.join(format!("acp/{name}.jsonl"))).unwrap();
        let lines: Vec<Value> = (text.lines())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (home, server) = (Home::new(), model(&lines));
        fs::write(home.work().join("a.txt"), "on disk\n").unwrap();
        let mut editor = Editor::start(home.marvin().with_model(&server));
        // What the client answered to the agent's requests, in order.
        let is_answer = |line: &&Value| line["method"].is_null() && !line.is_null();
        let answers = lines.iter().map(|line| &line["to_agent"]).filter(is_answer);
        let mut answers: Vec<Value> = answers.map(|line| line["result"].clone()).collect();
        answers.reverse();
        editor.answers(move |_| answers.pop().map(Ok));
        let mut session = Value::Null;
        for line in lines.iter().map(|line| &line["to_agent"]) {
            let Some(method) = line["method"].as_str() else {
                continue;
            };
            let params = line["params"].to_string();
            let params = params.replace(FOLDER, &home.work().display().to_string());
            let mut params: Value = serde_json::from_str(&params).unwrap();
            if !params["sessionId"].is_null() {
                params["sessionId"] = session.clone();
            }
            let id = editor.ask(method, params);
            let answer = editor.answer(id);
            if method == "session/new" {
                session = answer["result"]["sessionId"].clone();
            }
            let recorded = lines.iter().map(|line| &line["from_agent"]);
            let mut recorded =
                recorded.filter(|one| one["id"] == line["id"] && one["method"].is_null());
            let recorded = recorded.next().unwrap();
            for field in [
                "/error/code",
                "/result/stopReason",
                "/result/protocolVersion",
            ] {
                assert_eq!(
                    answer.pointer(field),
                    recorded.pointer(field),
                    "{name} {method}"
                );
            }
        }
        let recorded = told(lines.iter().map(|line| &line["from_agent"]));
        assert_eq!(told(editor.lines().iter()), recorded, "{name}");
        editor.close().expect(0);
    }
}
