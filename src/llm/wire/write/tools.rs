//! The tools of an offer as JSON. The schemas are text already and only have to be joined.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::llm::provider::{Offered, Params};

/// In the format of OpenAI and Ollama.
pub(super) fn functions(tools: &[Offered]) -> Vec<u8> {
    list(tools, |out, tool| {
        put(out, "{\"type\":\"function\",\"function\":");
        declaration(out, tool, "parameters");
        put(out, "}}");
    })
}

/// In the format of Responses; `strict` is set to false where the server would otherwise make every optional argument required.
pub(super) fn responses(tools: &[Offered], strict: bool) -> Vec<u8> {
    list(tools, |out, tool| {
        put(out, "{\"type\":\"function\",");
        members(out, tool, "parameters");
        put(out, if strict { ",\"strict\":false}" } else { "}" });
    })
}

/// In Anthropic's format; the last one carries the cache breakpoint.
pub(super) fn anthropic(tools: &[Offered]) -> Vec<u8> {
    let mut left = tools.len();
    list(tools, |out, tool| {
        declaration(out, tool, "input_schema");
        left -= 1;
        if left == 0 {
            put(out, ",\"cache_control\":{\"type\":\"ephemeral\"}");
        }
        put(out, "}");
    })
}

fn list(tools: &[Offered], mut each: impl FnMut(&mut Vec<u8>, &Offered)) -> Vec<u8> {
    let room = |tool: &Offered| tool.about_json.len() + tool.params.json().len() + 160;
    let mut out = Vec::with_capacity(tools.iter().map(room).sum());
    out.push(b'[');
    for (at, tool) in tools.iter().enumerate() {
        put(&mut out, if at == 0 { "" } else { "," });
        each(&mut out, tool);
    }
    out.push(b']');
    out
}

/// An object that is not closed yet.
fn declaration(out: &mut Vec<u8>, tool: &Offered, parameters: &str) {
    put(out, "{");
    members(out, tool, parameters);
}

fn members(out: &mut Vec<u8>, tool: &Offered, parameters: &str) {
    // A name that providers accept has nothing to escape.
    put(out, "\"name\":\"");
    put(out, &tool.name);
    put(out, "\",\"description\":");
    put(out, &tool.about_json);
    put(out, ",\"");
    put(out, parameters);
    put(out, "\":");
    match &tool.params {
        Params::Declared(schema) => put(out, schema),
        Params::Foreign(schema) => {
            let schema = Value::Object(object_schema(schema));
            // Writing JSON into memory does not fail.
            let _ = serde_json::to_writer(out, &schema);
        }
    }
}

fn put(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// A foreign schema in the form that every provider accepts: an object with properties, without `$schema`.
fn object_schema(schema: &RawValue) -> Map<String, Value> {
    let mut schema: Map<String, Value> = serde_json::from_str(schema.get()).unwrap_or_default();
    for name in ["$schema", "$id"] {
        schema.shift_remove(name);
    }
    schema
        .entry("type")
        .or_insert_with(|| Value::from("object"));
    schema
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    schema
}
