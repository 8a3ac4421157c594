//! What a list of tools says of calls: which may be repeated, and which arguments HTTP repeats in headers.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::base::text::one_line;

/// The mark of a property whose value is a header too.
const MARK: &str = "x-mcp-header";
/// Such a header begins with this.
const PREFIX: &str = "Mcp-Param-";
/// How deep marks are looked for.
const MAX_DEPTH: usize = 32;

/// The tools that were listed.
#[derive(Default)]
pub(super) struct KnownTools {
    is_listed: bool,
    tools: HashMap<String, KnownTool>,
    refused: Vec<(String, String)>,
}

#[derive(Default)]
struct KnownTool {
    /// Calling it twice is as good as once.
    is_safe: bool,
    marks: Vec<Mark>,
}

/// A marked property.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    path: Vec<String>,
    header: String,
}

impl KnownTools {
    pub(super) fn is_listed(&self) -> bool {
        self.is_listed
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_safe(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| tool.is_safe)
    }

    pub(super) fn refused(&self) -> Vec<(String, String)> {
        self.refused.clone()
    }

    /// Remembers a page of tools; where marks count, those that cannot be headers are taken out, and returned with the reason.
    pub(super) fn learn(
        &mut self,
        page: &mut Value,
        is_first: bool,
        marks_count: bool,
    ) -> Vec<(String, String)> {
        if is_first {
            self.forget();
        }
        self.is_listed = true;
        let mut refused = Vec::new();
        let tools = page.get_mut("tools").and_then(Value::as_array_mut);
        if let Some(tools) = tools {
            tools.retain(|tool| {
                let Some(name) = tool.get("name").and_then(Value::as_str) else {
                    return true;
                };
                let hint = |hint: &str| {
                    let hints = tool.get("annotations");
                    hints.and_then(|hints| hints.get(hint)) == Some(&Value::Bool(true))
                };
                let marks = match marks_count {
                    true => marks(tool.get("inputSchema").unwrap_or(&Value::Null)),
                    false => Ok(Vec::new()),
                };
                match marks {
                    Ok(marks) => {
                        let known = KnownTool {
                            is_safe: hint("readOnlyHint") || hint("idempotentHint"),
                            marks,
                        };
                        self.tools.entry(name.to_owned()).or_insert(known);
                        true
                    }
                    Err(why) => {
                        refused.push((super::text::clipped(name, 64), why));
                        false
                    }
                }
            });
        }
        self.refused.extend(refused.iter().cloned());
        refused
    }

    /// The headers of a call.
    pub(super) fn headers(&self, tool: &str, args: &Value) -> Vec<(String, String)> {
        let marks = self.tools.get(tool).map(|tool| tool.marks.as_slice());
        let marks = marks.unwrap_or_default().iter();
        let header = |mark: &Mark| {
            let value = mark.path.iter().try_fold(args, |value, key| value.get(key));
            let text = match value? {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Number(number) => match number.as_f64() {
                    // 5.0 is an integer in JSON Schema.
                    Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float:.0}"),
                    _ => number.to_string(),
                },
                _ => return None,
            };
            Some((mark.header.clone(), header_value(&text)))
        };
        marks.filter_map(header).collect()
    }
}

/// The marks of a schema.
///
/// # Errors
/// One of them cannot be a header.
fn marks(schema: &Value) -> Result<Vec<Mark>, String> {
    let mut found = Vec::new();
    walk(schema, Some(&mut Vec::new()), &mut found, 0)?;
    Ok(found)
}

/// Looks through a schema; `path` leads to it through `properties` alone.
fn walk(
    schema: &Value,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<Mark>,
    depth: usize,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    match schema {
        Value::Array(all) => all
            .iter()
            .try_for_each(|one| walk(one, None, found, depth + 1)),
        Value::Object(object) => {
            if let Some(mark) = object.get(MARK) {
                add(mark, object, path.as_deref().map(Vec::as_slice), found)?;
            }
            for (key, inner) in object {
                match (key.as_str(), inner) {
                    // Data, not schemas.
                    ("default" | "const" | "enum" | "examples" | MARK, _) => {}
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            if let Some(path) = path.as_deref_mut() {
                                path.push(name.clone());
                            }
                            walk(property, path.as_deref_mut(), found, depth + 1)?;
                            if let Some(path) = path.as_deref_mut() {
                                path.pop();
                            }
                        }
                    }
                    (
                        "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                        Value::Object(named),
                    ) => {
                        for schema in named.values() {
                            walk(schema, None, found, depth + 1)?;
                        }
                    }
                    (_, inner) => walk(inner, None, found, depth + 1)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn add(
    mark: &Value,
    property: &Map<String, Value>,
    path: Option<&[String]>,
    found: &mut Vec<Mark>,
) -> Result<(), String> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Err(format!(
            "it marks with {MARK} what is not a property of its arguments"
        ));
    };
    let name = mark.as_str().unwrap_or_default();
    let shown = one_line(&super::text::clipped(name, 40));
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("its {MARK} \"{shown}\" is no name of a header"));
    }
    let header = format!("{PREFIX}{name}");
    if found
        .iter()
        .any(|own| own.header.eq_ignore_ascii_case(&header))
    {
        return Err(format!("its {MARK} \"{shown}\" is there twice"));
    }
    let kind = property.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "its {MARK} \"{shown}\" is on a value that is neither a string, an integer nor a boolean"
        ));
    }
    found.push(Mark {
        path: path.to_vec(),
        header,
    });
    Ok(())
}

/// A text as the value of a header: in base64 where it cannot be one as it is.
pub(super) fn header_value(text: &str) -> String {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t'));
    let has_blank_end = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    match is_plain && !has_blank_end && !looks_encoded {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn page(schema: Value) -> Value {
        json!({"tools": [{"name": "t", "inputSchema": schema}]})
    }

    #[test]
    fn marked_arguments_are_headers() {
        let mut known = KnownTools::default();
        let mut listed = page(json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "empty": {"type": "string", "x-mcp-header": "Empty"},
            "none": {"type": "string", "x-mcp-header": "None"},
            "where": {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}},
            "x-mcp-header": {"type": "string"}
        }}));
        assert_eq!(known.learn(&mut listed, true, true), []);
        let args = json!({"region": "eu", "count": 5.0, "dry": false, "empty": "", "none": null, "where": {"city": "Zürich"}});
        let headers = known.headers("t", &args);
        let expected = [
            ("Region", "eu"),
            ("Count", "5"),
            ("Dry", "false"),
            ("Empty", ""),
            ("City", "=?base64?WsO8cmljaA==?="),
        ];
        let expected = expected.map(|(name, value)| (format!("Mcp-Param-{name}"), value.into()));
        assert_eq!(headers, expected);
    }

    #[test]
    fn a_mark_that_cannot_be_a_header_takes_its_tool_out() {
        let string = |mark: &str| json!({"type": "string", "x-mcp-header": mark});
        for (schema, count) in [
            (json!({"properties": {"a": string("")}}), 1),
            (json!({"properties": {"a": string("a b")}}), 1),
            (json!({"properties": {"a": string("é")}}), 1),
            (
                json!({"properties": {"a": string("X"), "b": string("x")}}),
                1,
            ),
            (
                json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
                1,
            ),
            (json!({"properties": {"a": {"x-mcp-header": "A"}}}), 1),
            (
                json!({"properties": {"a": {"type": "string", "x-mcp-header": 3}}}),
                1,
            ),
            (
                json!({"properties": {"a": {"type": "array", "items": string("A")}}}),
                1,
            ),
            (json!({"anyOf": [{"properties": {"a": string("A")}}]}), 1),
            (json!({"$defs": {"a": string("A")}}), 1),
            (json!({"x-mcp-header": "A", "type": "string"}), 1),
            (
                json!({"properties": {"a": {"type": "object", "default": string("A")}}}),
                0,
            ),
        ] {
            let mut known = KnownTools::default();
            let mut listed = page(schema.clone());
            let refused = known.learn(&mut listed, true, true).len();
            assert_eq!(refused, count, "{schema}");
            assert_eq!(listed["tools"].as_array().unwrap().len(), 1 - count);
            // Over other transports the marks mean nothing.
            let mut listed = page(schema);
            assert_eq!(known.learn(&mut listed, true, false), []);
        }
    }

    proptest! {
        #[test]
        fn every_text_is_a_header_that_says_it(text in "\\PC{0,20}|[ \t=?a-z]{0,12}|=\\?base64\\?[A-Za-z0-9]{0,8}\\?=") {
            let value = header_value(&text);
            prop_assert!(ureq::http::HeaderValue::from_str(&value).is_ok());
            prop_assert_eq!(value.trim(), &value);
            let inner = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
            let said = match inner {
                Some(inner) => String::from_utf8(STANDARD.decode(inner).unwrap()).unwrap(),
                None => value,
            };
            prop_assert_eq!(said, text);
        }
    }
}
