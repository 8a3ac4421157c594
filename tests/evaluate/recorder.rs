//! Stands between Marvin and the model: passes requests on, or plays the model, and keeps both sides.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use marvin::testing::tools::find_tool;
use serde_json::{Map, Value, json};

use super::families::{Family, Said};
use super::options::Model;
use super::support::forward::forward;
use super::support::server::{Answer, Request, Server};
use super::support::stages::{StageAnswer, last_message, ollama_answers, stage_of};

/// A request and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub stage: String,
    pub request: Value,
    pub status: u16,
    /// As it came.
    pub answer: String,
    pub took: Duration,
}

impl Exchange {
    /// What the provider counted, of question and answer.
    pub(crate) fn tokens(&self) -> u64 {
        let lines = self.answer.lines().filter_map(|line| {
            let line = line.strip_prefix("data: ").unwrap_or(line);
            serde_json::from_str::<Value>(line).ok()
        });
        let whole = serde_json::from_str::<Value>(&self.answer).ok();
        let counted = whole.into_iter().chain(lines).map(|value| {
            let usage = &value["usage"];
            let names = [
                "prompt_tokens",
                "completion_tokens",
                "input_tokens",
                "output_tokens",
            ];
            let own = ["prompt_eval_count", "eval_count"].map(|name| value[name].as_u64());
            let others = names.map(|name| usage[name].as_u64());
            own.into_iter().chain(others).flatten().sum()
        });
        // A stream repeats its count.
        counted.max().unwrap_or(0)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "stage": self.stage, "request": self.request, "status": self.status, "answer": self.answer,
            "seconds": self.took.as_secs_f64(),
        })
    }
}

/// What a scripted model knows of the message that it is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Knowledge {
    /// The right tool; none when none is needed.
    pub tool: Option<String>,
    /// A word that the answer must have.
    pub word: String,
    /// Every stage has something to say, so that the next ones are asked too.
    pub thorough: bool,
}

/// What the stages around the chat model answer when every one has something to say.
const THOROUGH: [(&str, &str); 10] = [
    (
        "planner",
        "searchMemory topic='tea'\nread_note path='tea.md'\nsearch_notes query='<the tea that is named there>'\nReply to the user.",
    ),
    (
        "extractor",
        r#"{"keywords": ["tea", "garden"], "questions": ["which tea does the user like"]}"#,
    ),
    (
        "resolver",
        r#"{"name": "search_notes", "arguments": {"query": "sencha"}}"#,
    ),
    ("memory_digest", "The user likes green tea."),
    ("tool_digest", "The note tea.md says that sencha is best."),
    (
        "summariser",
        "SUMMARY: The user likes sencha.\nTOPICS: tea, garden, notes",
    ),
    (
        "graph_extract",
        r#"[{"branch": "USER", "fact": "The user likes sencha."}]"#,
    ),
    ("graph_pick", "1"),
    ("graph_merge", r#"{"facts": ["The user likes sencha."]}"#),
    ("router", "read_note, search_notes"),
];

pub(crate) struct Recorder {
    server: Server,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
    knowledge: Arc<Mutex<Knowledge>>,
}

impl Recorder {
    pub(crate) fn new(model: &Model, limit: Duration) -> Self {
        let exchanges: Arc<Mutex<Vec<Exchange>>> = Arc::default();
        let knowledge: Arc<Mutex<Knowledge>> = Arc::default();
        let (kept, known, model) = (
            Arc::clone(&exchanges),
            Arc::clone(&knowledge),
            model.clone(),
        );
        let server = Server::answering(move |request, _| {
            let began = Instant::now();
            let body = serde_json::from_slice(&request.body).unwrap_or_default();
            let (status, answer, text) = match &model {
                Model::Real { base, .. } => {
                    let got = forward(base, request, limit);
                    let text = String::from_utf8_lossy(&got.body).into_owned();
                    (got.status, got.answer(), text)
                }
                Model::Scripted(family) => played(family, &known.lock().unwrap(), request, &body),
            };
            if request.method == "POST" {
                kept.lock().unwrap().push(Exchange {
                    stage: stage_of(&body),
                    request: body,
                    status,
                    answer: text,
                    took: began.elapsed(),
                });
            }
            answer
        });
        Self {
            server: server.lenient(),
            exchanges,
            knowledge,
        }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url("")
    }

    pub(crate) fn know(&self, knowledge: Knowledge) {
        *self.knowledge.lock().unwrap() = knowledge;
    }

    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.exchanges.lock().unwrap().clone()
    }
}

/// What a model of this family answers; Ollama's protocol.
fn played(
    family: &Family,
    known: &Knowledge,
    request: &Request,
    body: &Value,
) -> (u16, Answer, String) {
    if !request.path.ends_with("/api/chat") {
        return (404, Answer::status(404), String::new());
    }
    let stage = stage_of(body);
    let thorough = THOROUGH.iter().filter(|_| known.thorough);
    let thorough = thorough.filter(|(name, _)| *name == stage);
    let said = match stage.as_str() {
        _ if thorough.clone().next().is_some() => {
            Said::Text(thorough.map(|(_, text)| *text).collect())
        }
        "router" => Said::Text(known.tool.clone().unwrap_or("none".to_owned())),
        "planner" => Said::Text("Reply to the user.".to_owned()),
        "chat" => chat(family, known, body),
        _ => Said::Text("NONE".to_owned()),
    };
    let mut answer = StageAnswer::text("", "");
    match said {
        Said::Text(text) => answer.text = text,
        Said::Call(name, arguments) => {
            answer.calls = vec![json!({"name": name, "arguments": arguments})];
        }
    }
    let (answer, text) = ollama_answers(body, &answer);
    (200, answer, text)
}

/// Calls the right tool, and answers when there is a result.
fn chat(family: &Family, known: &Knowledge, body: &Value) -> Said {
    let rows = body["messages"].as_array();
    let has_result = rows.and_then(|rows| rows.last()).is_some_and(|last| {
        let text = last_message(body);
        last["role"] == "tool" || text.starts_with("[Tool ") || text.starts_with("Error: ")
    });
    let call = known.tool.as_ref().filter(|_| !has_result);
    let call = call.and_then(|tool| family.call(tool, &arguments(tool)));
    let answer = format!("All done. {}", known.word);
    call.unwrap_or_else(|| family.answer(answer.trim()))
}

/// Plausible arguments of a tool.
fn arguments(tool: &str) -> Map<String, Value> {
    let schema = find_tool(tool).map_or("{}", |tool| tool.schema);
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required = schema["required"].as_array().into_iter().flatten();
    let named = required.filter_map(Value::as_str).map(|name| {
        let property = &schema["properties"][name];
        let value = match property["type"].as_str() {
            Some("integer" | "number") => json!(property["minimum"].as_i64().unwrap_or(1)),
            Some("boolean") => json!(true),
            Some("array") => json!(["tea"]),
            _ => property["enum"][0]
                .as_str()
                .map_or(json!("tea"), |one| json!(one)),
        };
        (name.to_owned(), value)
    });
    named.collect()
}
