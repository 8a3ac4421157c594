//! What models are told of the result of a call.

use serde_json::Value;

use super::text::{clean, clipped};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{file_size, head, tail, thousands};
use crate::tools::engine::result::ToolOk;

/// Characters of a result, more or less: bytes are counted.
const MAX_RESULT: usize = 30_000;
/// Bytes of its end that stay when it is cut.
const TAIL: usize = 6_000;

/// The outcome of a call whose result is `result`.
///
/// # Errors
/// The tool has failed, or there is no result.
pub(super) fn outcome(result: &Value) -> Outcome<ToolOk> {
    let Some(object) = result.as_object() else {
        return Err(Problem::network(
            "The server's result of the call is no object.",
        ));
    };
    let content = object.get("content").and_then(Value::as_array);
    let content = content.map(Vec::as_slice).unwrap_or_default();
    let for_model = content.iter().filter(|block| !is_for_user(block));
    let mut parts: Vec<String> = for_model.map(block).collect();
    parts.retain(|part| !part.trim().is_empty());
    if let Some(structured) = object.get("structuredContent").filter(|own| !own.is_null())
        && !says(content, structured)
    {
        parts.push(structured.to_string());
    }
    let text = match parts.is_empty() {
        true => "(no output)".to_owned(),
        false => cut(parts.join("\n")),
    };
    match object.get("isError") {
        Some(Value::Bool(true)) => Err(Problem::input(text)),
        _ => Ok(ToolOk::from(text)),
    }
}

/// All of a result as text, for people.
pub(crate) fn whole_text(result: &Value) -> String {
    let content = result.get("content").and_then(Value::as_array);
    let content = content.map(Vec::as_slice).unwrap_or_default();
    let mut parts: Vec<String> = content.iter().map(block).collect();
    if let Some(structured) = result.get("structuredContent").filter(|own| !own.is_null())
        && !says(content, structured)
    {
        parts.push(structured.to_string());
    }
    match parts.is_empty() {
        true => "(no output)".to_owned(),
        false => parts.join("\n"),
    }
}

/// Whether a block says that it is for people alone.
fn is_for_user(block: &Value) -> bool {
    let audience = block.pointer("/annotations/audience");
    audience
        .and_then(Value::as_array)
        .is_some_and(|audience| !audience.is_empty() && audience.iter().all(|one| one == "user"))
}

/// Whether the blocks say what the structured result says: the same JSON, the only member of it, or the items of a list one by one.
fn says(content: &[Value], structured: &Value) -> bool {
    let only_member = structured
        .as_object()
        .filter(|object| object.len() == 1)
        .and_then(|object| object.values().next());
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| block.get("text").and_then(Value::as_str))
        .collect();
    [Some(structured), only_member]
        .into_iter()
        .flatten()
        .any(|value| {
            let is_list = value.as_array().is_some_and(|items| {
                !items.is_empty()
                    && items.len() == texts.len()
                    && items
                        .iter()
                        .zip(&texts)
                        .all(|(item, text)| is_same(text, item))
            });
            is_list || texts.iter().any(|text| is_same(text, value))
        })
}

/// Whether a text is the value, as JSON or as it is.
fn is_same(text: &str, value: &Value) -> bool {
    value.as_str() == Some(text)
        || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
}

/// A block of content as text.
pub(crate) fn block(block: &Value) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => clean(text("text")),
        kind @ ("image" | "audio") => media(kind, text("mimeType"), text("data")),
        "resource_link" => {
            let about = match text("description") {
                "" => String::new(),
                about => format!(": {}", clipped(about, 300)),
            };
            let name = clipped(text("name"), 100);
            format!("[resource {name} at {}{about}]", clipped(text("uri"), 300))
        }
        "resource" => resource(block.get("resource").unwrap_or(&Value::Null)),
        other => format!("[a block of the type \"{}\"]", clipped(other, 40)),
    }
}

/// The contents of a resource as text.
pub(crate) fn resource(resource: &Value) -> String {
    let text = |key: &str| resource.get(key).and_then(Value::as_str);
    match (text("text"), text("blob")) {
        (Some(text), _) => clean(text),
        (None, Some(blob)) => media("resource", text("mimeType").unwrap_or_default(), blob),
        (None, None) => "[a resource without content]".to_owned(),
    }
}

/// What cannot be told as text: its kind, size and format.
fn media(kind: &str, media_type: &str, base64: &str) -> String {
    let bytes = u64::try_from(base64.len() / 4 * 3).unwrap_or(u64::MAX);
    let format = media_type.rsplit('/').next().unwrap_or_default();
    let named = format!("[{kind}, {} {}", file_size(bytes), clipped(format, 40));
    format!("{}]", named.trim_end())
}

/// The beginning and the end of a text that is too long.
fn cut(text: String) -> String {
    if text.len() <= MAX_RESULT {
        return text;
    }
    let (first, last) = (head(&text, MAX_RESULT - TAIL), tail(&text, TAIL));
    let count = |bytes: usize| thousands(u64::try_from(bytes).unwrap_or(u64::MAX));
    format!(
        "{first}\n[Cut: {} of {} bytes are left out here; the end follows. Call the tool again for less at once.]\n{last}",
        count(text.len() - first.len() - last.len()),
        count(text.len()),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(result: Value) -> String {
        match outcome(&result) {
            Ok(done) => done.text,
            Err(problem) => format!("failed: {}", problem.what),
        }
    }

    #[test]
    fn every_kind_of_content_is_told() {
        for (content, text) in [
            (
                json!([{"type": "text", "text": "one\u{1b}"}, {"type": "text", "text": "two"}]),
                "one\ntwo",
            ),
            (
                json!([{"type": "image", "mimeType": "image/png", "data": "A".repeat(16_384)}]),
                "[image, 12 KB png]",
            ),
            (
                json!([{"type": "resource_link", "uri": "file:///a", "name": "a", "description": "An a."}]),
                "[resource a at file:///a: An a.]",
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "x", "text": "body"}}]),
                "body",
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "x", "blob": "AAAA"}}]),
                "[resource, 3 bytes]",
            ),
            (
                json!([{"type": "hologram"}]),
                "[a block of the type \"hologram\"]",
            ),
            (
                json!([{"type": "text", "text": "x", "annotations": {"audience": ["user"]}}]),
                "(no output)",
            ),
            (json!([]), "(no output)"),
            (json!(null), "(no output)"),
            (json!([3]), "[a block of the type \"\"]"),
        ] {
            assert_eq!(told(json!({ "content": content })), text);
        }
    }

    #[test]
    fn structured_content_is_told_unless_a_text_is_the_same() {
        let structured = json!({"n": 2});
        let same = json!({"content": [{"type": "text", "text": "{ \"n\": 2 }"}], "structuredContent": structured});
        assert_eq!(told(same), "{ \"n\": 2 }");
        let other =
            json!({"content": [{"type": "text", "text": "Two."}], "structuredContent": structured});
        assert_eq!(told(other), "Two.\n{\"n\":2}");
        // As the Python SDK and the reference servers give what is no object.
        for (texts, structured) in [
            (vec!["5"], json!({"result": 5})),
            (vec!["a b"], json!({"content": "a b"})),
            (
                vec!["{\"n\": 1}", "two"],
                json!({"result": [{"n": 1}, "two"]}),
            ),
            (vec!["[1, 2]"], json!([1, 2])),
        ] {
            let blocks = texts
                .iter()
                .map(|text| json!({"type": "text", "text": text}));
            let blocks: Value = blocks.collect();
            let both = json!({"content": blocks, "structuredContent": structured});
            assert_eq!(whole_text(&both), texts.join("\n"), "{structured}");
        }
        let more = json!({"content": [{"type": "text", "text": "5"}], "structuredContent": {"result": 5, "unit": "km"}});
        assert_eq!(told(more), "5\n{\"result\":5,\"unit\":\"km\"}");
    }

    #[test]
    fn a_failure_is_one_and_a_long_text_loses_its_middle() {
        let failed =
            json!({"content": [{"type": "text", "text": "No such user."}], "isError": true});
        assert_eq!(told(failed), "failed: No such user.");
        assert!(told(json!([1])).starts_with("failed: "));
        let long = told(
            json!({"content": [{"type": "text", "text": format!("begin{}end", "x".repeat(100_000))}]}),
        );
        assert!(long.len() < MAX_RESULT + 200 && long.contains("are left out here"));
        assert!(long.starts_with("begin") && long.ends_with("end"));
    }
}
