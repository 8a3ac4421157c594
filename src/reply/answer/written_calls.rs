//! Calls of tools that a model wrote in the text of its answer.
//!
//! One shape is taught, the fence. Those of the model families are read by [`crate::formats::model_text`]; what else models write by habit is read here,
//! because it is a call only by the name of a tool.

use serde_json::{Deserializer, Map, Value};

use super::notes::unquoted;
use crate::formats::lenient_json::whole_value;
use crate::formats::model_text::{self, ModelText, RawArguments, RawCall};
use crate::reply::tools::aliases::{KnownTool, KnownTools};
use crate::reply::tools::call::WrittenCall;
use crate::reply::tools::step;

/// The shape that is taught.
pub(crate) const FENCE: &str = "```tool_call";
/// The shape that models of the Qwen and Hermes families learned.
pub(crate) const TAG: &str = "<tool_call>";
const LIST: &str = "tool_calls:";
/// Fences of an answer that are run.
const MAX_FENCES: usize = 3;
/// Calls of another shape that are run.
const MAX_ENTRIES: usize = 5;

/// What a model wrote, read with the tools in hand.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WrittenAnswer {
    /// Calls to run or to refuse.
    pub calls: Vec<WrittenCall>,
    /// What is for the user.
    pub prose: String,
    /// Something was thought.
    pub has_thought: bool,
    /// A call was meant that cannot be read, or whose tool nobody has.
    pub is_broken: bool,
}

impl WrittenCall {
    /// A call of the provider's own protocol, whose arguments are an object or its text, sometimes wrapped as `{"tool": {"name", "args"}}`.
    pub(crate) fn native(name: &str, args: &Value, tools: &KnownTools) -> Self {
        let mut args = arguments(args, tools.meant(name));
        if args.len() == 1
            && let Some(Value::Object(mut inner)) = args.get("tool").cloned()
            && let Some(given) = ["args", "arguments"]
                .iter()
                .find_map(|key| inner.remove(*key))
        {
            args = arguments(&given, tools.meant(name));
        }
        tools.call(name, args)
    }
}

/// Reads the text of an answer. `others` are what the user and tools said: a call that stands there is quoted, and not run.
pub(crate) fn read_answer(text: &str, tools: &KnownTools, others: &[&str]) -> WrittenAnswer {
    let ModelText {
        prose,
        calls,
        has_thought,
        has_broken_call,
    } = model_text::read(text, &|name| tools.meant(name).is_some());
    let mut answer = WrittenAnswer {
        prose,
        has_thought,
        is_broken: has_broken_call,
        ..WrittenAnswer::default()
    };
    let is_quoted = |call: &RawCall| {
        let written = text.get(call.range.clone()).unwrap_or_default();
        model_text::is_quotation(written, others.iter().copied())
    };
    let count = calls.len();
    let calls: Vec<RawCall> = calls.into_iter().filter(|call| !is_quoted(call)).collect();
    if calls.len() < count {
        answer.is_broken = true;
    } else if calls.is_empty() {
        answer.calls = by_name(text, &answer.prose, tools);
        if !answer.calls.is_empty() {
            answer.prose.clear();
        }
    }
    if calls.is_empty() {
        return answer;
    }
    let most = match text.contains(FENCE) {
        true => MAX_FENCES,
        false => MAX_ENTRIES,
    };
    // A tool that nobody has is refused with words, in the shapes that models are shown; in another shape the model is shown the right one.
    let is_taught = text.contains(FENCE) || text.contains(TAG);
    let is_known = |call: &RawCall| tools.meant(&call.name).is_some();
    if is_taught || calls.iter().any(is_known) {
        let calls = calls.into_iter().take(most);
        answer.calls = calls.map(|call| written(call, tools)).collect();
    } else {
        answer.is_broken = true;
    }
    answer
}

/// The calls in an answer, in order.
pub fn read(text: &str, tools: &KnownTools) -> Vec<WrittenCall> {
    read_answer(text, tools, &[]).calls
}

fn written(call: RawCall, tools: &KnownTools) -> WrittenCall {
    match call.arguments {
        RawArguments::Json(given) => WrittenCall::native(&call.name, &given, tools),
        RawArguments::Texts(pairs) => {
            let typed = tools.meant(&call.name).and_then(|tool| tool.typed(&pairs));
            let texts = || {
                let pairs = pairs.iter();
                pairs
                    .map(|(key, value)| (key.clone(), Value::from(value.as_str())))
                    .collect()
            };
            tools.call(&call.name, typed.unwrap_or_else(texts))
        }
    }
}

/// Calls whose shape is one only because a tool has that name.
fn by_name(text: &str, prose: &str, tools: &KnownTools) -> Vec<WrittenCall> {
    let listed = list(&model_text::without_thoughts(text), tools);
    if !listed.is_empty() {
        return listed;
    }
    let prose = prose.trim();
    parenthesised(prose, tools)
        .or_else(|| colons(prose, tools))
        .into_iter()
        .collect()
}

fn entry(value: &Value, tools: &KnownTools) -> Option<WrittenCall> {
    let (name, given) = name_and_arguments(value)?;
    Some(WrittenCall::native(
        name,
        given.unwrap_or(&Value::Null),
        tools,
    ))
}

/// A call as an object: `{"name", "arguments"}`, or the same below `function`.
fn name_and_arguments(value: &Value) -> Option<(&str, Option<&Value>)> {
    let function = value
        .get("function")
        .filter(|inner| inner.is_object())
        .unwrap_or(value);
    let name = function
        .get("name")?
        .as_str()
        .filter(|name| !name.trim().is_empty())?;
    let given = ["arguments", "args"]
        .iter()
        .find_map(|key| function.get(*key));
    Some((name, given))
}

/// Arguments in any form: an object, its text, nothing, or a bare text for the first parameter that takes one.
pub(crate) fn arguments(given: &Value, tool: Option<&KnownTool>) -> Map<String, Value> {
    let bare = |value: Value| {
        let key = tool
            .and_then(|tool| tool.first_text.as_deref())
            .unwrap_or("query");
        Map::from_iter([(key.to_owned(), value)])
    };
    match given {
        Value::Object(map) => map.clone(),
        Value::Null => Map::new(),
        Value::String(text) if text.trim().is_empty() => Map::new(),
        Value::String(text) => {
            lenient_object(text).unwrap_or_else(|| bare(Value::from(text.as_str())))
        }
        other => bare(other.clone()),
    }
}

/// The object at the start of a text; more brackets may follow, and the last ones may be missing.
fn lenient_object(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    let text = Some(text).filter(|text| text.starts_with('{'))?;
    match whole_value(text)?.0 {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn find_from(text: &str, from: usize, what: &str) -> Option<usize> {
    Some(from + text.get(from..)?.find(what)?)
}

/// `tool_calls: [ … ]`, the provider's protocol as text.
fn list(text: &str, tools: &KnownTools) -> Vec<WrittenCall> {
    let Some(items) = list_body(text) else {
        return Vec::new();
    };
    let mut stream = Deserializer::from_str(items).into_iter::<Vec<Value>>();
    if let Some(Ok(entries)) = stream.next() {
        let calls = entries.iter().filter_map(|value| entry(value, tools));
        return calls.take(MAX_ENTRIES).collect();
    }
    picked(items, tools)
}

/// What follows the words at the start of a line, or as the key of an object that is the whole answer.
fn list_body(text: &str) -> Option<&str> {
    let whole = text.trim();
    if whole.starts_with('{')
        && let Some((_, rest)) = whole.split_once("\"tool_calls\"")
    {
        return rest
            .trim_start()
            .strip_prefix(':')
            .map(str::trim_start)
            .filter(|rest| rest.starts_with('['));
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + line.len() - line.trim_start().len();
        at += line.len();
        let is_list = text
            .get(start..start + LIST.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(LIST));
        if is_list {
            let rest = text
                .get(start + LIST.len()..)
                .unwrap_or_default()
                .trim_start();
            return rest.starts_with('[').then_some(rest);
        }
    }
    None
}

/// Names and arguments of known tools in text that only looks like JSON.
fn picked(text: &str, tools: &KnownTools) -> Vec<WrittenCall> {
    const NAME: &str = "\"name\"";
    let mut calls = Vec::new();
    let mut at = 0;
    while calls.len() < MAX_ENTRIES
        && let Some(name_at) = find_from(text, at, NAME)
        && let Some((Value::String(name), after)) = value_at(text, name_at + NAME.len())
    {
        at = after;
        let next = find_from(text, at, NAME).unwrap_or(text.len());
        let keys = ["\"arguments\"", "\"args\""].into_iter();
        let key_end = keys
            .filter_map(|key| Some(find_from(text, at, key)? + key.len()))
            .min();
        let given = match key_end.filter(|end| *end < next) {
            Some(end) => match value_at(text, end) {
                Some((value, after)) => {
                    at = after;
                    value
                }
                None => break,
            },
            None => Value::Null,
        };
        if tools.meant(&name).is_some() {
            calls.push(WrittenCall::native(&name, &given, tools));
        }
    }
    calls
}

/// The value after a key, and where it ends.
fn value_at(text: &str, from: usize) -> Option<(Value, usize)> {
    let rest = text.get(from..)?.trim_start().strip_prefix(':')?;
    let start = text.len() - rest.len();
    let mut stream = Deserializer::from_str(rest).into_iter::<Value>();
    match stream.next() {
        Some(Ok(value)) => Some((value, start + stream.byte_offset())),
        _ => Some((Value::Object(lenient_object(rest)?), text.len())),
    }
}

/// `name(…)`: an object, `key="value"` pairs, or a bare text.
fn parenthesised(text: &str, tools: &KnownTools) -> Option<WrittenCall> {
    let (name, rest) = text.split_once('(')?;
    let inside = rest
        .strip_suffix(';')
        .unwrap_or(rest)
        .strip_suffix(')')?
        .trim();
    let tool = known(name, tools)?;
    let args = match lenient_object(inside) {
        Some(map) => map,
        None => match step::pairs(inside) {
            pairs if pairs.is_complete && !pairs.found.is_empty() => tool.typed(&pairs.found)?,
            _ => arguments(&Value::from(unquoted(inside)), Some(tool)),
        },
    };
    Some(tools.call(name, args))
}

/// `name: key: value, key: value`.
fn colons(text: &str, tools: &KnownTools) -> Option<WrittenCall> {
    let (name, rest) = text.split_once(':')?;
    let tool = known(name, tools)?;
    let mut pairs: Vec<(String, String)> = Vec::new();
    for line in rest.trim().lines().filter(|line| !line.trim().is_empty()) {
        let mut is_start = true;
        for piece in line.split(',') {
            match (key_of(piece, tool), pairs.last_mut()) {
                (Some((key, value)), _) => pairs.push((key.to_owned(), value.trim().to_owned())),
                // A comma inside a value.
                (None, Some((_, value))) if !is_start => {
                    value.push(',');
                    value.push_str(piece);
                }
                _ => return None,
            }
            is_start = false;
        }
    }
    for (_, value) in &mut pairs {
        *value = unquoted(value.trim()).to_owned();
    }
    let args = tool.typed(&pairs).filter(|args| !args.is_empty())?;
    Some(tools.call(name, args))
}

/// The tool that a line begins with: a name alone, nothing else.
fn known<'a>(name: &str, tools: &'a KnownTools) -> Option<&'a KnownTool> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_short = !name.is_empty() && name.len() <= 128;
    if is_short && name.chars().all(is_name) {
        tools.meant(name)
    } else {
        None
    }
}

/// `key: value` of a parameter of the tool.
fn key_of<'a>(piece: &'a str, tool: &KnownTool) -> Option<(&'a str, &'a str)> {
    let (key, value) = piece.split_once(':')?;
    let key = unquoted(key.trim());
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.len() <= 64
        && key.chars().all(is_name);
    let is_parameter = tool.parameters.is_none() || tool.parameter(key).is_some();
    (is_key && is_parameter && !value.starts_with("//")).then_some((key, value))
}

#[cfg(test)]
mod tests;
