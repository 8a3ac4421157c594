//! Parses the argument text of a call: whatever a model wrote becomes an object or an error that explains what is wrong.

use serde_json::{Map, Value};

use crate::base::params::with_signature;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::formats::patch::{fence, unwrap_patch_text};
use crate::tools::engine::tool::Tool;

/// Names under which models put a whole patch.
const WHOLE_KEYS: [&str; 4] = ["input", "patch", "diff", "patch_text"];

/// How deeply nested wrappings are opened: strings in strings, fences in fences.
const DEEPEST: u8 = 4;

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedArguments {
    /// Named parameters.
    Named(Map<String, Value>),
    /// One text, for freeform tools.
    Whole(String),
}

/// Parses the raw argument text of a call of `tool`.
///
/// Accepted: an object; nothing or null, which mean no arguments; a JSON string that contains an object, also encoded twice; an object that is
/// followed by junk, inside a Markdown fence, or has unescaped line breaks in its strings; for freeform tools also the bare text, as it is, as a JSON
/// string or as the value of an object. Unicode escapes that were escaped twice are repaired in every string.
pub fn parse_arguments(tool: &Tool, raw: &str) -> Outcome<ParsedArguments> {
    let raw = raw.trim();
    if tool.freeform.is_some()
        && let Some(whole) = whole_text(raw, 0)
    {
        return Ok(ParsedArguments::Whole(whole));
    }
    object(raw, 0)
        .map(|mut map| {
            // Only the tool knows whether the text to be replaced occurs in the file exactly as written.
            let replaces = tool.fields().iter().any(|field| field.name == "old_str");
            map.iter_mut()
                .filter(|(key, _)| !replaces || *key == "path")
                .for_each(|(_, value)| mend_unicode(value));
            ParsedArguments::Named(map)
        })
        .map_err(|actual| {
            let problem = Problem::input(format!(
                "The arguments of {} must be a JSON object; {actual}.",
                tool.name
            ));
            with_signature(problem, tool.name, &tool.fields())
        })
}

/// Parses the raw argument text of a call of a registered tool: only an object, because we cannot explain a schema that is not ours.
pub(super) fn parse_owned_arguments(name: &str, raw: &str) -> Outcome<ParsedArguments> {
    let mut map = object(raw.trim(), 0).map_err(|actual| {
        Problem::input(format!(
            "The arguments of {name} must be a JSON object; {actual}."
        ))
        .next("Call again with an object that fits the tool's schema.")
    })?;
    map.values_mut().for_each(mend_unicode);
    Ok(ParsedArguments::Named(map))
}

/// How much of arguments that are not JSON is sent back to the model with every later request.
const MAX_BROKEN_CHARS: usize = 10_000;

/// Argument text for the history: always a JSON object, because providers refuse a history that contains anything else.
pub fn for_history(raw: &str) -> String {
    let trimmed = raw.trim();
    // Parsed completely: a number too large or nesting too deep would stop every later reader.
    if serde_json::from_str::<Map<String, Value>>(trimmed).is_ok() {
        return trimmed.to_owned();
    }
    let map = meant_object(trimmed).unwrap_or_else(|| {
        let start = text::clip(raw, MAX_BROKEN_CHARS);
        Map::from_iter([("input".to_owned(), Value::from(start))])
    });
    Value::Object(map).to_string()
}

/// The object that an argument text is meant as, whatever tool it is for.
pub(crate) fn meant_object(raw: &str) -> Option<Map<String, Value>> {
    object(raw.trim(), 0).ok()
}

/// The object in `raw`, or a description of what it is instead. Decodes nested strings up to twice.
fn object(raw: &str, depth: u8) -> Result<Map<String, Value>, String> {
    if raw.is_empty() || raw == "null" {
        return Ok(Map::new());
    }
    let mut values = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
    match values.next() {
        Some(Ok(Value::Object(map))) => Ok(map),
        Some(Ok(Value::String(inner))) if depth < DEEPEST => object(inner.trim(), depth + 1),
        Some(Ok(Value::Array(items))) if items.is_empty() => Ok(Map::new()),
        // Some models wrap the object in a list of one element.
        Some(Ok(Value::Array(mut items)))
            if items.len() == 1 && items.first().is_some_and(Value::is_object) =>
        {
            match items.pop() {
                Some(Value::Object(map)) => Ok(map),
                _ => Err("got a list".to_owned()),
            }
        }
        Some(Ok(other)) => Err(format!("got {}", text::clip(&other.to_string(), 80))),
        Some(Err(error)) => match canonical_name(raw).filter(|_| depth < DEEPEST) {
            Some(meant) => object(meant.trim(), depth + 1),
            None => Err(format!(
                "got text that is not JSON ({error}): {}",
                text::clip(raw, 120)
            )),
        },
        None => Ok(Map::new()),
    }
}

/// `raw` as JSON if all that is wrong is a Markdown fence around it or control characters inside its strings.
fn canonical_name(raw: &str) -> Option<String> {
    if let Some(inner) = fence(raw) {
        return Some(inner.to_owned());
    }
    let mut out = String::with_capacity(raw.len() + 64);
    let (mut inside, mut escaped) = (false, false);
    for c in raw.chars() {
        match c {
            '"' if !escaped => inside = !inside,
            c if inside && c < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
                escaped = false;
                continue;
            }
            _ => {}
        }
        escaped = inside && c == '\\' && !escaped;
        out.push(c);
    }
    (out != raw).then_some(out)
}

/// The one text in `raw`: bare, quoted, or the value of an object.
fn whole_text(raw: &str, depth: u8) -> Option<String> {
    if depth > DEEPEST {
        return None;
    }
    if let Ok(value) = serde_json::from_str::<Value>(raw) {
        return match value {
            Value::String(text) => {
                whole_text(text.trim(), depth + 1).or_else(|| begins_patch(&text).then_some(text))
            }
            Value::Object(map) => {
                let named = map
                    .iter()
                    .find(|(key, _)| WHOLE_KEYS.contains(&key.as_str()))
                    .and_then(|(_, value)| value.as_str());
                let patch = || {
                    map.values()
                        .filter_map(Value::as_str)
                        .find(|text| begins_patch(text))
                };
                let has_parameters = map.contains_key("old_str");
                if has_parameters {
                    None
                } else {
                    named.or_else(patch).map(str::to_owned)
                }
            }
            _ => None,
        };
    }
    // Text that does not even start like JSON, such as a unified diff, is left for the tool to explain.
    let is_bare = !raw.is_empty() && !raw.starts_with(['{', '[', '"']);
    (is_bare || begins_patch(raw)).then(|| raw.to_owned())
}

fn begins_patch(text: &str) -> bool {
    text.trim_start().starts_with("*** Begin Patch") || unwrap_patch_text(text).is_some()
}

/// `text` with escapes such as `\u00e9` that were written out as six characters replaced by `é`; `None` when nothing changes.
///
/// Only when the model clearly meant characters: the text is pure ASCII, and the escape stands for a visible character or for an ASCII one that JSON
/// encoders escape for HTML. Escapes of control, space and formatting characters stay, because source code means them literally.
pub(crate) fn without_escapes(text: &str) -> Option<String> {
    (text.is_ascii() && text.contains("\\u"))
        .then(|| repaired(text))
        .flatten()
}

fn mend_unicode(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(mended) = without_escapes(text) {
                *text = mended;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mend_unicode),
        Value::Object(map) => map.values_mut().for_each(mend_unicode),
        _ => {}
    }
}

fn repaired(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(pos) = rest.find('\\') {
        let (before, from) = rest.split_at(pos);
        out.push_str(before);
        if let Some((found, len)) = escaped_char(from) {
            out.push(found);
            changed = true;
            rest = from.get(len..).unwrap_or_default();
        } else {
            // A backslash and the character it escapes are kept together, so that `\\u00e9` stays as it is.
            let len = from.chars().take(2).map(char::len_utf8).sum();
            out.push_str(from.get(..len).unwrap_or(from));
            rest = from.get(len..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// ASCII characters that JSON encoders escape to make their output safe in HTML.
const HTML_SAFE: &[char] = &['<', '>', '&', '\'', '"', '+', '=', '`'];

/// The visible character that `text` starts with in escaped form, and the length of that form.
fn escaped_char(text: &str) -> Option<(char, usize)> {
    let unit = |from: usize| {
        let digits = text.get(from..from + 6)?.strip_prefix("\\u")?;
        digits
            .bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
    };
    let high = unit(0)?;
    let (code, len) = if (0xd800..0xdc00).contains(&high) {
        let low = unit(6).filter(|low| (0xdc00..0xe000).contains(low))?;
        (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
    } else {
        (high, 6)
    };
    let found = char::from_u32(code)?;
    let hidden = found.is_control()
        || found.is_whitespace()
        || matches!(code, 0xad | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfe00..=0xfe0f | 0xfeff);
    (HTML_SAFE.contains(&found) || code >= 0x80 && !hidden).then_some((found, len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::tools::find_tool;
    use proptest::prelude::*;
    use serde_json::json;

    fn named_args(raw: &str) -> Value {
        match parse_arguments(find_tool("tree").unwrap(), raw).unwrap() {
            ParsedArguments::Named(map) => Value::Object(map),
            ParsedArguments::Whole(_) => panic!("whole"),
        }
    }

    #[test]
    fn what_is_kept_can_be_read_again() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for raw in [r#"{"a":1e999}"#, deep.as_str()] {
            let kept = for_history(raw);
            let value: Value = serde_json::from_str(&kept).unwrap();
            assert_eq!(value, serde_json::json!({ "input": raw }));
        }
        let odd = r#" {"b": 1.50, "a":2} "#;
        assert_eq!(for_history(odd), odd.trim());
    }

    #[test]
    fn every_form_of_an_object_is_understood() {
        for raw in [
            r#"{"path":"a"}"#,
            r#""{\"path\":\"a\"}""#,
            r#""\"{\\\"path\\\":\\\"a\\\"}\"""#,
            r#"{"path":"a"}</tool_call>"#,
            "  {\"path\":\"a\"} \n{\"path\":\"b\"}",
            r#"[{"path":"a"}]"#,
            "```json\n{\"path\":\"a\"}\n```",
        ] {
            assert_eq!(named_args(raw), json!({"path": "a"}), "{raw}");
        }
        for raw in ["", "null", "{}", "[]", "\"\""] {
            assert_eq!(named_args(raw), json!({}), "{raw}");
        }
    }

    #[test]
    fn line_breaks_left_in_texts_are_taken_as_meant() {
        let raw = "{\"path\":\"a\nb\tc \\\"q\\\" \\\\\",\n\t\"max_depth\":2}";
        assert_eq!(
            named_args(raw),
            json!({"path": "a\nb\tc \"q\" \\", "max_depth": 2})
        );
        assert!(for_history(raw).starts_with("{\"path\":\"a\\nb\\tc"));
        let cut = "{\"path\":\"a\nb";
        assert!(parse_arguments(find_tool("tree").unwrap(), cut).is_err());
    }

    #[test]
    fn what_is_no_object_is_explained() {
        let text = parse_arguments(find_tool("read_file").unwrap(), "src/main.rs")
            .unwrap_err()
            .one_line();
        assert_has(
            &text,
            &[
                "must be a JSON object",
                "A correct call: read_file {\"path\":",
            ],
        );
    }

    #[test]
    fn a_patch_is_taken_whole_in_every_wrapping() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let tool = find_tool("apply_patch").unwrap();
        for raw in [
            patch.to_owned(),
            json!(patch).to_string(),
            json!({"input": patch}).to_string(),
            json!({"path": patch}).to_string(),
        ] {
            assert_eq!(
                parse_arguments(tool, &raw).unwrap(),
                ParsedArguments::Whole(patch.to_owned()),
                "{raw}"
            );
        }
        for raw in [
            format!("```\n{patch}\n```"),
            format!("apply_patch <<'EOF'\n{patch}\nEOF"),
            "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b".to_owned(),
        ] {
            let whole = ParsedArguments::Whole(raw.clone());
            assert_eq!(parse_arguments(tool, &raw).unwrap(), whole, "{raw}");
            let quoted = json!(raw).to_string();
            assert_eq!(parse_arguments(tool, &quoted).unwrap(), whole, "{quoted}");
        }
        for raw in ["", "null", "{}", "[]"] {
            let none = ParsedArguments::Named(Map::new());
            assert_eq!(parse_arguments(tool, raw).unwrap(), none, "{raw}");
        }
        let three = json!({"path": "a", "old_str": "*** Begin Patch", "new_str": ""}).to_string();
        assert!(matches!(
            parse_arguments(tool, &three).unwrap(),
            ParsedArguments::Named(_)
        ));
        assert!(matches!(
            parse_arguments(
                find_tool("create_file").unwrap(),
                &json!({"path": "p", "content": patch}).to_string()
            )
            .unwrap(),
            ParsedArguments::Named(_)
        ));
    }

    #[test]
    fn unicode_escaped_twice_is_mended_where_it_is_plain() {
        for (raw, want) in [
            (
                r#"{"path":"a \\u003c b \\u0026\\u0026 c \\u003E d"}"#,
                "a < b && c > d",
            ),
            (r#"{"path":"caf\\u00e9 \\ud83d\\ude00"}"#, "café 😀"),
            (r#"{"path":"a\\\\u00e9"}"#, r"a\\u00e9"),
            (r#"{"path":"\\u0041\\u200b\\n"}"#, r"\u0041\u200b\n"),
            (r#"{"path":"é \\u00e9"}"#, r"é \u00e9"),
            (r#"{"path":"\\ud83d alone \\u12"}"#, r"\ud83d alone \u12"),
        ] {
            assert_eq!(named_args(raw)["path"], want, "{raw}");
        }
    }

    #[test]
    fn wrappings_are_opened_to_a_limit() {
        let fences =
            |count: usize| format!("{}{{}}{}", "```\n".repeat(count), "\n```".repeat(count));
        assert_eq!(named_args(&fences(2)), json!({}));
        for raw in [
            fences(100_000),
            "```\n".repeat(200_000),
            "[\"".repeat(400_000),
        ] {
            for tool in ["tree", "apply_patch"] {
                let _ = parse_arguments(find_tool(tool).unwrap(), &raw);
            }
            assert!(serde_json::from_str::<Value>(&for_history(&raw)).is_ok());
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fall_over(raw in ".{0,200}") {
            let _ = parse_arguments(find_tool("apply_patch").unwrap(), &raw);
            let _ = parse_arguments(find_tool("read_file").unwrap(), &raw);
        }

        #[test]
        fn an_object_survives_any_wrapping(key in "[a-z]{1,8}", text in "[ -~é\n]{0,40}") {
            prop_assume!(!text.contains("\\u"));
            let object = json!({ key: text });
            let once = object.to_string();
            let twice = Value::from(once.clone()).to_string();
            let thrice = Value::from(twice.clone()).to_string();
            for raw in [once, twice, thrice] {
                prop_assert_eq!(named_args(&raw), object.clone());
            }
        }
    }
}
