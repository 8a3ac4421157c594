//! What Marvin sends, compared with what the official SDKs send for the same conversation: every difference is listed with its reason.
//!
//! `scripts/sdk_requests.py` records the SDKs' requests and the replies that they answer, in `fixtures/wires/sdk`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::server::{Answer, Server};

/// Who has a value, or that both have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    OnlySdk,
    OnlyMarvin,
    Other,
}

use Difference::{OnlyMarvin, OnlySdk, Other};

const CACHED: &str = "the provider finds the conversation's cache by it";
const NO_STATE: &str = "of items at the server, which keeps none";
const EMPTY: &str = "an empty member of the SDK's type of replies, which says nothing";

/// A member, `*` for every index, and why the SDK's and Marvin's requests differ in it.
type Expected = &'static [(&'static str, Difference, &'static str)];

const RESPONSES: Expected = &[
    ("/input/*/content/*/annotations", OnlySdk, EMPTY),
    ("/input/*/content/*/logprobs", OnlySdk, EMPTY),
    ("/input/*/id", OnlySdk, NO_STATE),
    ("/input/*/status", OnlySdk, NO_STATE),
    ("/prompt_cache_key", OnlyMarvin, CACHED),
    (
        "/stream_options",
        OnlyMarvin,
        "spares the padding of every delta",
    ),
];

const COMPLETIONS: Expected = &[
    ("/messages/*/annotations", OnlySdk, EMPTY),
    ("/messages/*/audio", OnlySdk, EMPTY),
    ("/messages/*/function_call", OnlySdk, EMPTY),
    ("/messages/*/parsed", OnlySdk, EMPTY),
    ("/messages/*/refusal", OnlySdk, EMPTY),
    ("/messages/*/tool_calls", OnlySdk, EMPTY),
    (
        "/messages/*/tool_calls/*/function/parsed_arguments",
        OnlySdk,
        EMPTY,
    ),
    (
        "/messages/*/tool_calls/*/index",
        OnlySdk,
        "only of use in a stream",
    ),
    ("/prompt_cache_key", OnlyMarvin, CACHED),
];

const ANTHROPIC: Expected = &[
    (
        "/anthropic-version",
        Other,
        "Marvin names the version whose replies it reads",
    ),
    ("/messages/*/content/*/cache_control", OnlyMarvin, CACHED),
    ("/system/*/cache_control", OnlyMarvin, CACHED),
];

#[test]
fn requests_over_responses_are_those_of_the_sdk() {
    compare("responses", "openai", "gpt-5.5", RESPONSES);
}

#[test]
fn requests_over_chat_completions_are_those_of_the_sdk() {
    compare("completions", "openai", "gpt-4.1", COMPLETIONS);
}

#[test]
fn requests_to_anthropic_are_those_of_the_sdk() {
    compare("anthropic", "anthropic", "claude-sonnet-5-5", ANTHROPIC);
}

fn compare(wire: &str, provider: &str, model: &str, expected: Expected) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wires/sdk");
    let text = std::fs::read_to_string(folder.join(format!("{wire}.json"))).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let rounds = recorded["rounds"].as_array().unwrap().clone();
    let replies: Vec<String> = rounds
        .iter()
        .map(|round| round["reply"].as_str().unwrap().to_owned())
        .collect();
    let server = Server::answering(move |_, n| Answer::sse([replies[n].clone()]));
    let home = Home::new();
    let marvin = home
        .marvin()
        .env("MARVIN_TOOL_SEARCH", "off")
        .with_provider(provider, server.url("/v1"), model)
        .arg("--plain")
        .stdin("Where am I?\nThanks. And now?\n");
    let marvin = match wire {
        "completions" => marvin.env("OPENAI_WIRE", wire),
        _ => marvin,
    };
    let output = marvin.run();
    let requests = server.requests();
    assert_eq!(requests.len(), rounds.len(), "{}", output.errors());
    let mut found = BTreeSet::new();
    for (request, round) in requests.iter().zip(&rounds) {
        assert_eq!(request.path, round["path"]);
        for (name, value) in round["headers"].as_object().unwrap() {
            if value != request.header(name).unwrap() {
                found.insert((format!("/{name}"), Other));
            }
        }
        let sdk = &round["request"];
        let ours = comparable(request.json(), sdk);
        differences("", sdk, &ours, &mut found);
    }
    let expected = expected
        .iter()
        .map(|(path, kind, _)| ((*path).to_owned(), *kind));
    assert_eq!(found, expected.collect(), "found, listed");
}

/// Marvin's request with the recording's words for what it says of itself: system prompt, descriptions of tools, and results.
fn comparable(mut ours: Value, sdk: &Value) -> Value {
    for prompt in ["/instructions", "/system/0/text", "/messages/0/content"] {
        if let Some(prompt) = ours.pointer_mut(prompt)
            && prompt.as_str().is_some_and(|text| text.contains("Marvin"))
        {
            *prompt = json!("SYSTEM");
        }
    }
    let named = |tools: &Value, name: &Value| {
        let tools = tools.as_array().unwrap().iter();
        let mut same = tools.filter(|tool| name_of(tool) == name);
        same.next().cloned().unwrap()
    };
    let tools = sdk["tools"].as_array().unwrap().iter().map(|tool| {
        let mut own = named(&ours["tools"], name_of(tool));
        let function = match own.get("function") {
            Some(_) => &mut own["function"],
            None => &mut own,
        };
        for (member, text) in [
            ("description", json!("DESCRIPTION")),
            ("parameters", json!({"type": "object", "properties": {}})),
            ("input_schema", json!({"type": "object", "properties": {}})),
        ] {
            if let Some(value) = function.get_mut(member) {
                *value = text;
            }
        }
        own
    });
    ours["tools"] = tools.collect();
    name_results(&mut ours);
    ours
}

fn name_of(tool: &Value) -> &Value {
    tool.get("name").unwrap_or(&tool["function"]["name"])
}

/// Replaces the text of each result by the name of its call.
fn name_results(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(name_results),
        Value::Object(members) => {
            for (id, text) in [
                ("call_id", "output"),
                ("tool_call_id", "content"),
                ("tool_use_id", "content"),
            ] {
                if let (Some(id), Some(_)) = (members.get(id).cloned(), members.get(text)) {
                    let words = format!("result of {}", id.as_str().unwrap());
                    members.insert(text.to_owned(), json!(words));
                }
            }
            members.values_mut().for_each(name_results);
        }
        _ => {}
    }
}

/// Adds the members in which the two differ.
fn differences(path: &str, sdk: &Value, ours: &Value, found: &mut BTreeSet<(String, Difference)>) {
    match (sdk, ours) {
        (Value::Object(theirs), Value::Object(own)) => {
            for name in theirs.keys().chain(own.keys()).collect::<BTreeSet<_>>() {
                let path = format!("{path}/{name}");
                match (theirs.get(name), own.get(name)) {
                    (Some(sdk), Some(ours)) => differences(&path, sdk, ours, found),
                    (Some(_), None) => drop(found.insert((path, OnlySdk))),
                    _ => drop(found.insert((path, OnlyMarvin))),
                }
            }
        }
        (Value::Array(theirs), Value::Array(own)) if theirs.len() == own.len() => {
            for (sdk, ours) in theirs.iter().zip(own) {
                differences(&format!("{path}/*"), sdk, ours, found);
            }
        }
        _ if sdk == ours => {}
        _ => drop(found.insert((path.to_owned(), Other))),
    }
}
