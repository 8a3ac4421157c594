//! The tools of an offer as JSON, written to the end of a body. The schemas are text already and only have to be joined.

use crate::llm::provider::Offered;

const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// In the format of OpenAI and Ollama; the last one carries the cache breakpoint of `marks`.
pub(super) fn functions(out: &mut Vec<u8>, tools: &[Offered], marks: bool) {
    let mut left = tools.len();
    list(out, tools, |out, tool| {
        put(out, "{\"type\":\"function\",\"function\":{");
        members(out, tool, "parameters");
        left -= 1;
        put(out, "}");
        put(out, if marks && left == 0 { CACHE_MARK } else { "" });
        put(out, "}");
    });
}

/// In the format of Responses; `strict` is set to false where the server would otherwise make every optional argument required.
pub(super) fn responses(out: &mut Vec<u8>, tools: &[Offered], strict: bool) {
    list(out, tools, |out, tool| {
        put(out, "{\"type\":\"function\",");
        members(out, tool, "parameters");
        put(out, if strict { ",\"strict\":false}" } else { "}" });
    });
}

/// In Anthropic's format; the last one carries the cache breakpoint of `marks`.
pub(super) fn anthropic(out: &mut Vec<u8>, tools: &[Offered], marks: bool) {
    let mut left = tools.len();
    list(out, tools, |out, tool| {
        put(out, "{");
        members(out, tool, "input_schema");
        left -= 1;
        put(out, if marks && left == 0 { CACHE_MARK } else { "" });
        put(out, "}");
    });
}

fn list(out: &mut Vec<u8>, tools: &[Offered], mut each: impl FnMut(&mut Vec<u8>, &Offered)) {
    put(out, "[");
    for (index, tool) in tools.iter().enumerate() {
        put(out, if index == 0 { "" } else { "," });
        each(out, tool);
    }
    put(out, "]");
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
    put(out, &tool.params_json);
}

fn put(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}
