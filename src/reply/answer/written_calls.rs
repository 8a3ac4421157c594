//! Calls of tools that a model wrote in the text of its answer.
//!
//! One shape is taught, the fence; the others are what models write by habit. A shape counts only where it cannot be prose.

use std::ops::Range;

use serde_json::{Deserializer, Map, Value};

use super::notes::unquoted;
use crate::reply::tools::aliases::{KnownTool, KnownTools};
use crate::reply::tools::call::WrittenCall;
use crate::reply::tools::step;

/// The shape that is taught.
pub(crate) const FENCE: &str = "```tool_call";
/// The shape that models of the Qwen and Hermes families learned.
pub(crate) const TAG: &str = "<tool_call>";
/// How written calls open and close.
const MARKS: [(&str, &str); 2] = [(FENCE, "```"), (TAG, "</tool_call>")];
const LIST: &str = "tool_calls:";
/// Fences of an answer that are run.
const MAX_FENCES: usize = 3;
/// Fences that are looked at: more are no answer but a loop.
const MAX_TRIED: usize = 12;
/// Entries of a list that are run.
const MAX_ENTRIES: usize = 5;
/// Brackets that a model may have forgotten at the end.
const MAX_MISSING: usize = 4;

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

/// The calls in an answer, in order; the first shape that fits decides.
pub fn read(text: &str, tools: &KnownTools) -> Vec<WrittenCall> {
    let fenced: Vec<WrittenCall> = fences(text)
        .iter()
        .flat_map(|fence| fence.values.iter())
        .filter_map(|value| entry(value, tools))
        .take(MAX_FENCES)
        .collect();
    if !fenced.is_empty() {
        return fenced;
    }
    let listed = list(text, tools);
    if !listed.is_empty() {
        return listed;
    }
    let text = text.trim();
    parenthesised(text, tools)
        .or_else(|| colons(text, tools))
        .into_iter()
        .collect()
}

/// A fence of calls, and what of the text it takes up.
pub(crate) struct CallFence {
    pub range: Range<usize>,
    /// The JSON inside; empty when it cannot be read.
    values: Vec<Value>,
}

impl CallFence {
    /// True when something inside names a tool.
    pub(crate) fn is_readable(&self) -> bool {
        self.values
            .iter()
            .any(|value| name_and_arguments(value).is_some())
    }
}

/// The fences in an answer, tags included; the last one need not be closed.
pub(crate) fn fences(text: &str) -> Vec<CallFence> {
    let mut found: Vec<CallFence> = Vec::new();
    let mut at = 0;
    let mut next = MARKS.map(|(open, _)| text.find(open));
    loop {
        for ((open, _), place) in MARKS.iter().zip(&mut next) {
            if place.is_some_and(|place| place < at) {
                *place = find_from(text, at, open);
            }
        }
        let openings = next.iter().zip(MARKS);
        let openings = openings.filter_map(|(place, mark)| Some(((*place)?, mark)));
        let Some((start, (open, close))) = openings.min_by_key(|(start, _)| *start) else {
            break;
        };
        let mut inside = start + open.len();
        let rest = text.get(inside..).unwrap_or_default();
        if open == TAG && !rest.trim_start().starts_with(['{', '[']) {
            // Somebody writes about the tag.
            at = inside;
            continue;
        }
        if open == FENCE && rest.starts_with('s') {
            inside += 1;
        }
        let (values, read) = match found.len() {
            0..MAX_TRIED => objects(text.get(inside..).unwrap_or_default(), close),
            _ => (Vec::new(), 0),
        };
        // The closing fence; one inside a string of the JSON is not it.
        let end = match find_from(text, inside + read, close) {
            _ if values.is_empty() => block_end(text, inside, close),
            Some(closed)
                if text
                    .get(inside + read..closed)
                    .is_some_and(|gap| gap.trim().is_empty()) =>
            {
                closed + close.len()
            }
            _ => inside + read,
        };
        found.push(CallFence {
            range: start..end,
            values,
        });
        at = end;
    }
    found
}

/// Where an unreadable fence ends: at a closing fence on a line of its own or at the closing tag, else with the text.
fn block_end(text: &str, from: usize, close: &str) -> usize {
    if close != "```" {
        return find_from(text, from, close).map_or(text.len(), |at| at + close.len());
    }
    let mut at = from;
    for line in text.get(from..).unwrap_or_default().split_inclusive('\n') {
        at += line.len();
        if line.trim() == "```" {
            break;
        }
    }
    at
}

fn find_from(text: &str, from: usize, what: &str) -> Option<usize> {
    Some(from + text.get(from..)?.find(what)?)
}

/// The JSON objects at the start of a text, one after the other or in a list, up to `close`, and how many bytes they take.
fn objects(text: &str, close: &str) -> (Vec<Value>, usize) {
    if !text.trim_start().starts_with(['{', '[']) {
        return (Vec::new(), 0);
    }
    let mut values = Vec::new();
    let mut stream = Deserializer::from_str(text).into_iter::<Value>();
    let mut read = 0;
    while values.len() < MAX_FENCES
        && let Some(Ok(value)) = stream.next()
    {
        read = stream.byte_offset();
        match value {
            Value::Array(items) => values.extend(items),
            value => values.push(value),
        }
    }
    // Half a call that was cut off is not guessed: it could write half a file.
    if values.is_empty()
        && let Some(json) = text.get(..block_end(text, 0, close))
        && let Some(json) = json.trim_end().strip_suffix(close)
        && let Some(map) = repaired(json)
    {
        return (vec![Value::Object(map)], json.len());
    }
    (values, read)
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
    if !text.starts_with('{') {
        return None;
    }
    let mut stream = Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    match stream.next() {
        Some(Ok(map)) => Some(map),
        _ => repaired(text),
    }
}

/// An object whose strings contain line breaks, or whose last brackets are missing.
fn repaired(text: &str) -> Option<Map<String, Value>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let mut json = String::with_capacity(text.len() + 16);
    let mut open = Vec::new();
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            '"' if !escaped => inside = !inside,
            '{' if !inside => open.push('}'),
            '[' if !inside => open.push(']'),
            '}' | ']' if !inside => {
                // One too many: what came before was all.
                if open.last() != Some(&c) {
                    break;
                }
                open.pop();
            }
            c if inside && c < ' ' => {
                json.push_str(&format!("\\u{:04x}", u32::from(c)));
                escaped = false;
                continue;
            }
            _ => {}
        }
        escaped = inside && c == '\\' && !escaped;
        json.push(c);
        if open.is_empty() {
            break;
        }
    }
    if inside || open.len() > MAX_MISSING {
        return None;
    }
    json.extend(open.iter().rev());
    serde_json::from_str(&json).ok()
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
        _ => Some((Value::Object(repaired(rest)?), text.len())),
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
