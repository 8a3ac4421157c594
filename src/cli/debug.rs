//! `marvin debug`: parts of the reply flow that need no model, each on its own: text on standard input, text or JSON on standard output. For tests.

use std::fs;
use std::io::{self, IsTerminal, Read};

use serde_json::{Map, Value, json};

use crate::base::problem::{Outcome, Problem};
use crate::base::{redact, words};
use crate::reply::answer::guard;
use crate::reply::answer::written_calls;
use crate::reply::memory::recall_gate;
use crate::reply::models::model_size::{self, ModelSize};
use crate::reply::preparation::plan::Plan;
use crate::reply::preparation::split;
use crate::reply::settings::SizeSetting;
use crate::reply::speech;
use crate::reply::tools::aliases::KnownTools;
use crate::reply::tools::call::WrittenCall;
use crate::reply::tools::step;

const MAX_INPUT_BYTES: u64 = 64 << 20;
const PARTS: &str = "redact, scrub, speech, malformed, plan, fact, split [LANGUAGE], size MODEL, call NAME,NAME, step SCHEMA.json, gate";

/// The output of one part.
pub(super) fn run(words: &[String]) -> Outcome<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let out = match words.as_slice() {
        ["reply", "size", model] => size(model),
        ["reply", part] => text_part(part, &input()?)?,
        ["reply", "split", language] => parts(&input()?, Some(language)),
        ["reply", "call", names] => calls(&input()?, names),
        ["reply", "step", schema] => step(&input()?, schema)?,
        _ => return Err(usage()),
    };
    // A pipe gets the text alone.
    let end = if io::stdout().is_terminal() { "\n" } else { "" };
    Ok(out + end)
}

fn usage() -> Problem {
    Problem::input("marvin debug takes \"reply\", a part and its argument.")
        .next(format!("Parts: {PARTS}."))
}

fn input() -> Outcome<String> {
    let mut bytes = Vec::new();
    let stdin = io::stdin().lock();
    stdin
        .take(MAX_INPUT_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|reason| Problem::system("Cannot read standard input", reason))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn text_part(part: &str, text: &str) -> Outcome<String> {
    Ok(match part {
        "redact" => redact::redact(text),
        "scrub" => redact::scrub(text),
        "speech" => speech::spoken(text),
        "malformed" => guard::is_malformed(text).to_string(),
        "plan" => json!(Plan::parse(text).steps()).to_string(),
        "fact" => words::fold(text),
        "split" => parts(text, None),
        "gate" => gate(text)?,
        _ => return Err(usage()),
    })
}

fn size(model: &str) -> String {
    match model_size::of(model, SizeSetting::Auto) {
        ModelSize::Small => "small",
        ModelSize::Large => "large",
    }
    .to_owned()
}

fn parts(text: &str, language: Option<&str>) -> String {
    let parts = split::compound(text, language);
    json!(parts.as_ref().map_or(&[][..], |parts| parts.as_slice())).to_string()
}

fn calls(text: &str, names: &str) -> String {
    let names = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let calls = written_calls::read(text, &KnownTools::of_names(names));
    Value::from_iter(calls.into_iter().map(call)).to_string()
}

fn call(call: WrittenCall) -> Value {
    json!({"name": call.name, "arguments": call.args})
}

fn step(text: &str, schema: &str) -> Outcome<String> {
    let file = fs::read_to_string(schema)
        .map_err(|reason| Problem::system(format!("Cannot read \"{schema}\""), reason))?;
    let schema: Map<String, Value> = serde_json::from_str(&file).map_err(|reason| {
        Problem::input(format!("\"{schema}\" is not a JSON object: {reason}."))
            .next("Write {\"tool\": {\"property\": \"type\"}}.")
    })?;
    let found = step::fast(text, &KnownTools::of_json(&schema));
    Ok(found.map_or(Value::Null, call).to_string())
}

/// Reads `{"query", "messages"}`; messages of either protocol count.
fn gate(text: &str) -> Outcome<String> {
    let given: Value = serde_json::from_str(text).map_err(|reason| {
        Problem::input(format!("The input is not JSON: {reason}."))
            .next("Write {\"query\": \"…\", \"messages\": []}.")
    })?;
    let query = given
        .get("query")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let messages = given.get("messages").and_then(Value::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let content = |message: &'_ Value| {
        message
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let is_tool_row = |message: &Value| {
        let text = content(message);
        message.get("role").and_then(Value::as_str) == Some("tool")
            || message
                .get("tool_calls")
                .and_then(Value::as_array)
                .is_some_and(|calls| !calls.is_empty())
            || text.starts_with("[Tool result: ")
            || text.starts_with("[Tool error: ")
            || text.contains(written_calls::FENCE)
    };
    let has_tool_rows = messages.iter().any(is_tool_row);
    let recall = recall_gate::needs_recall(query, messages.iter().map(content), has_tool_rows);
    Ok(if recall { "recall" } else { "skip" }.to_owned())
}
