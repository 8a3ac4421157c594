//! What stands inside a written call, whoever's format is around it: JSON, the call of a Python function, elements for each parameter, or a name with JSON
//! behind it.

use serde_json::{Map, Value};

use super::RawCall;
use super::families::{DSML, DSML_CLOSING, starts_with};
use crate::formats::lenient_json::{value, whole_value};

const MAX_CALLS: usize = 12;
/// Bytes within which the first key of a call stands.
const MAX_BEGINNING: usize = 64;
/// Keys under which a call's name stands.
const NAMES: [&str; 6] = [
    "name",
    "tool",
    "tool_name",
    "action",
    "function_name",
    "recipient_name",
];
/// Keys under which its arguments stand.
const ARGUMENTS: [&str; 8] = [
    "arguments",
    "parameters",
    "args",
    "input",
    "tool_input",
    "action_input",
    "tool_args",
    "params",
];
/// Keys with one call, or a list of them.
const WRAPPERS: [&str; 5] = [
    "function",
    "function_call",
    "tool_call",
    "tool_calls",
    "tool_uses",
];
/// Keys with which an object that is a call may begin.
const FIRST_KEYS: [&str; 4] = ["type", "id", "index", "tool_call_id"];

/// The calls inside a block, in order. `is_closed` says that its end was seen, so that brackets may be missing.
pub(super) fn calls(inside: &str, is_closed: bool) -> Vec<RawCall> {
    let plain = without_dsml(inside);
    let text = unfenced(skip_marks(&plain));
    if text.starts_with(['{', '[']) && !is_python_list(text) {
        return json_calls(text, is_closed);
    }
    if text.contains('<') {
        let elements = elements(text);
        if !elements.is_empty() {
            return elements;
        }
    }
    if text.starts_with("call:") {
        return gemma_calls(text);
    }
    let python = python_calls(text);
    if !python.is_empty() {
        return python;
    }
    named(text, is_closed)
}

/// Whether a block may begin so; what people write behind the mark of one is prose.
pub(super) fn may_begin(inside: &str) -> bool {
    let text = inside.trim_start();
    let name = identifier(text);
    let after = text.get(name.len()..).unwrap_or_default();
    let is_next = after.starts_with('\n') && after.trim_start().starts_with(['<', '{']);
    // The name right behind the mark, where the text was cut.
    let is_cut =
        after.trim().is_empty() && (inside.len() == text.len() || inside.starts_with('\n'));
    text.starts_with(['{', '[', '<', '`'])
        || text.starts_with("call:")
        || !name.is_empty() && (after.starts_with(['(', '{', '[', '<']) || is_next || is_cut)
}

/// The calls of JSON: one value after the other, each a call or a list of them.
fn json_calls(text: &str, is_closed: bool) -> Vec<RawCall> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() < MAX_CALLS && rest.starts_with(['{', '[']) {
        let read = match is_closed {
            true => whole_value(rest),
            false => value(rest),
        };
        let Some((value, length)) = read else { break };
        found.extend(marked(&value));
        let after = rest.get(length..).unwrap_or_default();
        rest = skip_marks(after.trim_start_matches([',', ';']));
    }
    found
}

/// The calls that a JSON value stands for; `None` when it is something else.
pub(super) fn of_json(value: &Value) -> Option<Vec<RawCall>> {
    let map = match value {
        Value::Array(items) if !items.is_empty() => {
            let calls: Option<Vec<Vec<RawCall>>> = items.iter().map(of_json).collect();
            return Some(calls?.concat());
        }
        Value::Object(map) => map,
        _ => return None,
    };
    for key in WRAPPERS {
        match map.get(key) {
            Some(inner @ (Value::Object(_) | Value::Array(_))) => {
                return of_json(inner).or_else(|| of_function(inner));
            }
            // The entry has no list: no call.
            Some(Value::String(name)) if key == "function" => {
                return with_arguments(name, map);
            }
            _ => {}
        }
    }
    let name = NAMES.iter().find_map(|key| map.get(*key)?.as_str())?;
    with_arguments(name, map)
}

/// The calls of a value that marks of a call are around: its name is enough.
pub(super) fn marked(value: &Value) -> Vec<RawCall> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        value => std::slice::from_ref(value),
    };
    let one = |item: &Value| {
        of_json(item)
            .or_else(|| of_function(item))
            .unwrap_or_default()
    };
    items.iter().flat_map(one).collect()
}

/// `{"name"}` below a key that says it is a function: it needs no arguments.
fn of_function(value: &Value) -> Option<Vec<RawCall>> {
    let name = value.get("name")?.as_str()?;
    let name = Some(name).filter(|name| !name.trim().is_empty())?;
    Some(vec![RawCall::json(name, Value::Null)])
}

fn with_arguments(name: &str, map: &Map<String, Value>) -> Option<Vec<RawCall>> {
    let given = ARGUMENTS.iter().find_map(|key| map.get(*key))?;
    let is_named = !name.trim().is_empty() && !name.contains('\n');
    // Numbers and truth values are no arguments: this describes something else.
    let fits = matches!(given, Value::Object(_) | Value::String(_) | Value::Null)
        || given.as_array().is_some_and(Vec::is_empty);
    let given = match given {
        Value::Array(_) => Value::Null,
        given => given.clone(),
    };
    (is_named && fits).then(|| vec![RawCall::json(name, given)])
}

/// Whether more text may still make the beginning of an object that of a call.
pub(super) fn may_begin_call(text: &str) -> bool {
    if text.len() >= MAX_BEGINNING {
        return false;
    }
    let inside = text.trim_start_matches(['{', '[', ' ', '\n', '\r', '\t']);
    let key = inside.trim_start_matches(['"', '\'', '“', '‘', '`']);
    let mut known = NAMES
        .iter()
        .chain(&ARGUMENTS)
        .chain(&WRAPPERS)
        .chain(&FIRST_KEYS);
    known.any(|known| known.starts_with(key))
}

/// Whether an object that begins here can be a call, by its first key.
pub(super) fn begins_call(text: &str) -> bool {
    let inside = crate::base::text::head(text, MAX_BEGINNING);
    let inside = inside.trim_start_matches(['{', '[', ' ', '\n', '\r', '\t']);
    let inside = inside.trim_start_matches(['"', '\'', '“', '‘', '`']);
    let key = identifier(inside);
    NAMES
        .iter()
        .chain(&ARGUMENTS)
        .chain(&WRAPPERS)
        .chain(&FIRST_KEYS)
        .any(|known| *known == key)
}

/// The name of a call in JSON that is cut.
pub(super) fn first_name(text: &str) -> Option<&str> {
    let text = crate::base::text::head(text, 200);
    NAMES.iter().find_map(|key| {
        let (_, after) = text.split_once(key)?;
        let after = after.trim_start_matches(['"', '\'', '”', '’']).trim_start();
        let value = after.strip_prefix(':')?.trim_start();
        let name = identifier(value.trim_start_matches(['"', '\'', '“', '‘']));
        Some(name).filter(|name| !name.is_empty())
    })
}

/// Whether what cannot be read was meant as a call: it has a name and arguments.
pub(super) fn looks_like_call(text: &str) -> bool {
    let text = crate::base::text::head(text, 400);
    let has = |keys: &[&str]| {
        keys.iter().any(|key| {
            text.match_indices(key).any(|(at, found)| {
                let after = text.get(at + found.len()..).unwrap_or_default();
                let after = after.trim_start_matches(['"', '\'', '”', '’']);
                after.trim_start().starts_with(':')
            })
        })
    };
    has(&NAMES) && has(&ARGUMENTS) || has(&["function_call", "tool_calls"])
}

/// `f(a="x", n=1)`, several of them, or a list of them (<https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/>,
/// <https://ai.google.dev/gemma/docs/capabilities/function-calling>).
fn python_calls(text: &str) -> Vec<RawCall> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches('[');
    while found.len() < MAX_CALLS
        && let Some((call, after)) = python_call(rest)
    {
        found.push(call);
        rest = after
            .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ']' | ')'));
    }
    // What follows is code that nobody runs here.
    if rest.is_empty() { found } else { Vec::new() }
}

/// The calls of a list, `[f(…), g(…)]`, at the start of a text, and its bytes.
pub(super) fn python_list(text: &str) -> Option<(Vec<RawCall>, usize)> {
    let mut rest = text.strip_prefix('[')?;
    let mut found = Vec::new();
    while found.len() < MAX_CALLS {
        let (call, after) = python_call(rest)?;
        found.push(call);
        let after = after.trim_start();
        if let Some(end) = after.strip_prefix(']') {
            return Some((found, text.len() - end.len()));
        }
        rest = after.strip_prefix(',')?;
    }
    None
}

/// Whether a text begins like such a list.
pub(super) fn is_python_list(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|inside| {
        let inside = inside.trim_start();
        let name = identifier(inside);
        let after = inside.get(name.len()..).unwrap_or_default();
        !name.is_empty() && after.starts_with('(')
    })
}

/// The call of a function at the start of a text, and what is behind it.
pub(super) fn python_call(text: &str) -> Option<(RawCall, &str)> {
    let mut text = text.trim_start();
    // `result = f(…)`, `print(f(…))`.
    let name = identifier(text);
    let after = text.get(name.len()..)?.trim_start();
    if let Some(assigned) = after
        .strip_prefix('=')
        .filter(|rest| !rest.starts_with('='))
    {
        text = assigned.trim_start();
    }
    if let Some(printed) = text.strip_prefix("print(") {
        text = printed;
    }
    let name = identifier(text);
    let mut rest = text.get(name.len()..)?.strip_prefix('(')?;
    let name = name.strip_suffix(".call").unwrap_or(name);
    if name.is_empty() {
        return None;
    }
    let mut map = Map::new();
    let mut bare = None;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if let Some(after) = rest.strip_prefix(')') {
            let arguments = match bare {
                Some(value) if map.is_empty() => value,
                _ => Value::Object(map),
            };
            return Some((RawCall::json(name, arguments), after));
        }
        let key = identifier(rest);
        let given = rest.get(key.len()..)?.trim_start().strip_prefix('=');
        let (value, length) = value(given.unwrap_or(rest))?;
        rest = given.unwrap_or(rest).get(length..)?;
        match given {
            Some(_) => drop(map.insert(key.to_owned(), value)),
            None => bare = bare.or(Some(value)),
        }
    }
}

/// Calls with an element for each parameter, whoever's.
fn elements(text: &str) -> Vec<RawCall> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() < MAX_CALLS
        && let Some((call, after)) = element(rest)
    {
        found.push(call);
        rest = after;
    }
    found
}

fn element(text: &str) -> Option<(RawCall, &str)> {
    let opened = ["<function=", "<invoke name=", "<function name="]
        .iter()
        .filter_map(|open| Some((text.find(open)?, open.len())))
        .min();
    if let Some((at, length)) = opened {
        let rest = text.get(at + length..)?;
        let (name, inside) = rest.split_once('>')?;
        let name = name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '/'));
        // The block around it ended; without an end of its own the last parameter may be half.
        let closes = ["</function>", "</invoke>"].iter();
        let (inside, after) = closes
            .filter_map(|close| inside.split_once(close))
            .min_by_key(|(inside, _)| inside.len())?;
        let json = inside.trim();
        if json.starts_with('{') {
            let arguments = whole_value(json)?.0;
            return Some((RawCall::json(name, arguments), after));
        }
        let pairs = pairs(inside, &["<parameter=", "<parameter name="], "</parameter>");
        return Some((RawCall::texts(name, pairs), after));
    }
    // The name on the first line, then keys and values (<https://huggingface.co/zai-org/GLM-4.5>).
    let name = identifier(text.trim_start());
    let inside = text.trim_start().get(name.len()..)?;
    let is_call = !name.is_empty() && inside.trim_start().starts_with("<arg_key>");
    let mut pairs = Vec::new();
    let mut rest = inside;
    while let Some((_, opened)) = rest.split_once("<arg_key>") {
        let (key, after) = opened.split_once("</arg_key>")?;
        let (_, opened) = after.split_once("<arg_value>")?;
        let (value, after) = opened.split_once("</arg_value>")?;
        pairs.push((key.trim().to_owned(), value.trim().to_owned()));
        rest = after;
    }
    is_call.then(|| (RawCall::texts(name, pairs), rest))
}

/// `<parameter=key>value</parameter>` and the like.
fn pairs(text: &str, opens: &[&str], close: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut rest = text;
    loop {
        let opened = opens
            .iter()
            .filter_map(|open| Some((rest.find(open)?, open.len())))
            .min();
        let Some((at, length)) = opened else {
            return pairs;
        };
        let Some((head, inside)) = rest
            .get(at + length..)
            .and_then(|rest| rest.split_once('>'))
        else {
            return pairs;
        };
        // Attributes may follow the name: `name="days" string="false"`.
        let key = head.trim_start_matches(['"', '\'']);
        let key = identifier(key).to_owned();
        let Some((value, after)) = inside.split_once(close) else {
            return pairs;
        };
        let value = value.strip_prefix('\n').unwrap_or(value);
        pairs.push((key, value.strip_suffix('\n').unwrap_or(value).to_owned()));
        rest = after;
    }
}

/// `call:name{key:<escape>text<escape>,n:1}` (<https://ai.google.dev/gemma/docs/functiongemma>).
fn gemma_calls(text: &str) -> Vec<RawCall> {
    let mut found = Vec::new();
    for part in text.split("call:").skip(1).take(MAX_CALLS) {
        let name = identifier(part);
        let given = part.get(name.len()..).unwrap_or_default().trim_start();
        let quote = ["<escape>", "<|\"|>"]
            .into_iter()
            .find(|quote| given.contains(quote));
        let json = match quote {
            None => given.to_owned(),
            Some(quote) => {
                let parts = given.split(quote).enumerate();
                let part = |(n, part): (usize, &str)| match n % 2 {
                    0 => part.to_owned(),
                    _ => Value::from(part).to_string(),
                };
                parts.map(part).collect()
            }
        };
        match value(&json) {
            Some((arguments @ Value::Object(_), _)) if !name.is_empty() => {
                found.push(RawCall::json(name, arguments));
            }
            _ => break,
        }
    }
    found
}

/// A name and JSON behind it: `name[ARGS]{…}` of Mistral, `functions.name:0<|tool_call_argument_begin|>{…}` of Kimi, `function<｜tool▁sep｜>name` with a fence
/// or without one of DeepSeek.
fn named(text: &str, is_closed: bool) -> Vec<RawCall> {
    let mut found = Vec::new();
    let mut rest = text;
    while found.len() < MAX_CALLS
        && let Some(at) = rest.find('{')
    {
        let head = rest.get(..at).unwrap_or_default();
        let Some(name) = name_before(head) else { break };
        let json = rest.get(at..).unwrap_or_default();
        let read = match is_closed {
            true => whole_value(json),
            false => value(json),
        };
        let Some((arguments, length)) = read else {
            break;
        };
        found.push(RawCall::json(&name, arguments));
        rest = json.get(length..).unwrap_or_default();
    }
    found
}

/// The name of a call in what stands before its arguments: the last word that is no mark of a format.
fn name_before(head: &str) -> Option<String> {
    let head = head
        .trim()
        .trim_end_matches("```json")
        .trim_end_matches("```");
    let mut name = None;
    let mut rest = head;
    while let Some(c) = rest.chars().next() {
        let word = identifier(rest);
        let after_mark = match c {
            '<' => rest.find('>').map(|at| at + 1),
            '[' => rest.find(']').map(|at| at + 1),
            _ => None,
        };
        let length = match after_mark {
            Some(length) => {
                // The id of a call, in Mistral's way.
                let is_id = rest.starts_with("[CALL_ID]");
                let id = identifier(rest.get(length..).unwrap_or_default());
                length + if is_id { id.len() } else { 0 }
            }
            None if word.is_empty() => c.len_utf8(),
            None => {
                if !matches!(word, "function" | "json" | "assistant") {
                    name = Some(word.to_owned());
                }
                word.len()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    let name = name?;
    // `functions.name:0`.
    let name = name.trim_start_matches("functions.");
    Some(name.split(':').next().unwrap_or(name).to_owned())
}

/// The name of a function at the start of a text.
pub(super) fn identifier(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let name = text.get(..text.find(|c| !is_part(c)).unwrap_or(text.len()));
    let name = name.unwrap_or_default().trim_end_matches([':', '.', '-']);
    let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if starts && name.len() <= 128 {
        name
    } else {
        ""
    }
}

/// Without the inside of a fence's first line and last line.
fn unfenced(text: &str) -> &str {
    let Some(opened) = text.strip_prefix("```") else {
        return text;
    };
    let inside = opened.split_once('\n').map_or(opened, |(_, inside)| inside);
    inside
        .rsplit_once("```")
        .map_or(inside, |(inside, _)| inside)
        .trim()
}

/// `text` without white space and marks before it.
fn skip_marks(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(inside) = rest.strip_prefix("<|")
        && let Some(end) = inside.find("|>").filter(|end| *end <= 48)
    {
        rest = inside.get(end + 2..).unwrap_or_default().trim_start();
    }
    rest.strip_prefix("[TOOL_CALLS]")
        .map_or(rest, str::trim_start)
}

fn without_dsml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let here = rest.get(at..).unwrap_or_default();
        let (mark, length) = match (starts_with(here, DSML_CLOSING), starts_with(here, DSML)) {
            (Some(length), _) => ("</", length),
            (None, Some(length)) => ("<", length),
            (None, None) => ("<", 1),
        };
        out.push_str(mark);
        rest = here.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
