//! Changes one member of an object in a JSON text: everything else stays as it is, with its order, indentation and comments ([`super::json_comments`]).

use std::ops::Range;

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::json_comments::{Blanked, blanked, string_end};

/// A member of an object in a text.
struct Member {
    key: String,
    /// From its key to the end of its value.
    whole: Range<usize>,
    value: Range<usize>,
}

/// An object in a text.
struct Object {
    /// Where its brackets are.
    open: usize,
    close: usize,
    members: Vec<Member>,
}

impl Object {
    /// The last of its members of this name, which is the one that counts.
    fn member(&self, key: &str) -> Option<&Member> {
        self.members.iter().rfind(|member| member.key == key)
    }
}

/// The text with `value` at the end of `path`; objects on the way are made when there are none. `None` when the text is no JSON, or there is something else on
/// the way.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Option<String> {
    let plain = blanked(text);
    let mut object = root(&plain)?;
    let mut rest = path;
    while let [key, after @ ..] = rest {
        match (object.member(key), after) {
            (Some(member), []) => {
                let indent = indent_of(text, member.whole.start);
                let mut changed = text.to_owned();
                changed.replace_range(member.value.clone(), &written(text, value, &indent, true));
                return Some(changed);
            }
            (Some(member), _) => object = object_at(&plain.text, member.value.start)?,
            (None, _) => {
                let mut value = value.clone();
                for key in after.iter().rev() {
                    value = Value::Object([((*key).to_owned(), value)].into_iter().collect());
                }
                return Some(with_member(text, &plain, &object, key, &value));
            }
        }
        rest = after;
    }
    None
}

/// The text without the member at the end of `path`; `None` when there is none.
pub(crate) fn remove(text: &str, path: &[&str]) -> Option<String> {
    let mut changed = without_last(text, path)?;
    // A key that stands there twice goes twice.
    while let Some(again) = without_last(&changed, path) {
        changed = again;
    }
    Some(changed)
}

/// The text without the last member of this name.
fn without_last(text: &str, path: &[&str]) -> Option<String> {
    let plain = blanked(text);
    let (last, way) = path.split_last()?;
    let mut object = root(&plain)?;
    for key in way {
        object = object_at(&plain.text, object.member(key)?.value.start)?;
    }
    let at = (object.members.iter()).rposition(|member| member.key == *last)?;
    let member = object.members.get(at)?;
    let after = plain.text.get(member.whole.end..)?;
    let gap = after.len() - after.trim_start().len();
    let last_comma = |at: &&usize| (member.whole.end..object.close).contains(*at);
    let comma = match after.get(gap..)?.starts_with(',') {
        true => Some(member.whole.end + gap),
        false => plain.last_commas.iter().find(last_comma).copied(),
    };
    let mut start = member.whole.start;
    let mut end = comma.map_or(member.whole.end, |comma| comma + 1);
    // A line of its own goes whole, with the comment behind it.
    let line = line_start(text, start);
    let length = plain.text.get(end..)?.find('\n');
    let line_end = length.map_or(plain.text.len(), |length| end + length + 1);
    let is_blank = |range: Range<usize>| -> bool {
        let part = plain.text.get(range);
        part.is_some_and(|part| part.trim().is_empty())
    };
    if is_blank(line..start) && is_blank(end..line_end) && line > 0 {
        (start, end) = (line, line_end);
    } else {
        // In the middle of a line the blanks on one side go too.
        let blanks = [' ', '\t'];
        let (before, after) = (plain.text.get(..start)?, plain.text.get(end..)?);
        match comma {
            Some(_) => end += after.len() - after.trim_start_matches(blanks).len(),
            None => start = before.trim_end_matches(blanks).len(),
        }
    }
    let mut changed = text.to_owned();
    changed.replace_range(start..end, "");
    let before = at.checked_sub(1).and_then(|at| object.members.get(at));
    if let (None, Some(before)) = (comma, before) {
        let between = plain.text.get(before.whole.end..member.whole.start)?;
        let comma = before.whole.end + between.find(',')?;
        changed.replace_range(comma..comma + 1, "");
    }
    Some(changed)
}

/// The text with a new member behind all others of an object.
fn with_member(text: &str, plain: &Blanked, object: &Object, key: &str, value: &Value) -> String {
    let inside = text.get(object.open + 1..object.close).unwrap_or_default();
    let is_inline = !inside.contains('\n') && !object.members.is_empty();
    let indent = match object.members.first() {
        Some(first) => indent_of(text, first.whole.start),
        None => indent_of(text, object.open) + &unit(text),
    };
    let line_break = line_break(text);
    let member = format!(
        "{}: {}",
        Value::from(key),
        written(text, value, &indent, !is_inline)
    );
    let last = object.members.last();
    let last_comma = last.and_then(|last| {
        let behind = last.whole.end..object.close;
        plain.last_commas.iter().find(|at| behind.contains(at))
    });
    let gap = match is_inline {
        true => " ".to_owned(),
        false => format!("{line_break}{indent}"),
    };
    // Behind the last comment too.
    let end = object.open + 1 + inside.trim_end().len();
    let tail = match text.get(end..object.close).unwrap_or_default() {
        tail if is_inline || tail.contains('\n') => tail.to_owned(),
        _ => format!("{line_break}{}", indent_of(text, object.open)),
    };
    let comma = last_comma.map_or("", |_| ",");
    let mut changed = text.to_owned();
    changed.replace_range(end..object.close, &format!("{gap}{member}{comma}{tail}"));
    if let (None, Some(last)) = (last_comma, last) {
        changed.insert(last.whole.end, ',');
    }
    changed
}

/// A value as this text writes values.
fn written(text: &str, value: &Value, indent: &str, is_long: bool) -> String {
    if !is_long {
        return value.to_string();
    }
    let unit = unit(text);
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    let pretty = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    let pretty = match (pretty, String::from_utf8(bytes)) {
        (Ok(()), Ok(pretty)) => pretty,
        _ => value.to_string(),
    };
    pretty.replace('\n', &format!("{}{indent}", line_break(text)))
}

fn line_break(text: &str) -> &'static str {
    match text.contains("\r\n") {
        true => "\r\n",
        false => "\n",
    }
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |at| at + 1)
}

/// The blanks with which the line of this place begins.
fn indent_of(text: &str, at: usize) -> String {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    let blanks = |c: &char| matches!(c, ' ' | '\t');
    line.chars().take_while(blanks).collect()
}

/// One step of indentation: that of the first line that has one.
fn unit(text: &str) -> String {
    let plain = blanked(text).text;
    let indents = plain.lines().filter(|line| !line.trim().is_empty());
    let mut indents = indents.map(|line| indent_of(line, 0));
    let first = indents.find(|indent| !indent.is_empty());
    first.unwrap_or_else(|| "  ".to_owned())
}

fn root(plain: &Blanked) -> Option<Object> {
    serde_json::from_str::<serde::de::IgnoredAny>(&plain.text).ok()?;
    let start = plain.text.len() - plain.text.trim_start().len();
    object_at(&plain.text, start)
}

/// The object whose bracket is at `open` in a text that is JSON.
fn object_at(plain: &str, open: usize) -> Option<Object> {
    let bytes = plain.as_bytes();
    (*bytes.get(open)? == b'{').then_some(())?;
    let mut members = Vec::new();
    let mut at = open + 1;
    loop {
        at = next(bytes, at);
        match bytes.get(at)? {
            b'}' => {
                return Some(Object {
                    open,
                    close: at,
                    members,
                });
            }
            b'"' => {
                let key_end = string_end(bytes, at);
                let key = serde_json::from_str(plain.get(at..key_end)?).ok()?;
                let value = next(bytes, key_end);
                let end = value_end(bytes, value)?;
                members.push(Member {
                    key,
                    whole: at..end,
                    value: value..end,
                });
                at = end;
            }
            _ => return None,
        }
    }
}

/// The next byte that is neither a blank, a comma nor a colon.
fn next(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest
        .iter()
        .position(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b',' | b':'));
    at + length.unwrap_or(rest.len())
}

/// Behind the value that begins at `at`.
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut end = at;
    loop {
        match bytes.get(end)? {
            b'"' => end = string_end(bytes, end),
            b'{' | b'[' => {
                depth += 1;
                end += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                end += 1;
            }
            _ if depth > 0 => {
                end += 1;
                continue;
            }
            _ => {
                let rest = bytes.get(end..)?;
                let is_over = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                end += rest.iter().position(is_over).unwrap_or(rest.len());
            }
        }
        if depth == 0 {
            return Some(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::json_comments::parse;
    use super::*;

    const FILE: &str = r#"// Mine.
{
    "theme": "dark", // stays
    "mcpServers": {
        // the first
        "a": { "command": "one", "args": ["x"] },
        "b": {
            "command": "two" /* why */
        } // of b
        // the end
    }
}
"#;

    #[test]
    fn a_member_is_added_behind_the_others_and_comments_stay() {
        let added = set(FILE, &["mcpServers", "c"], &json!({"command": "three"})).unwrap();
        let expected = FILE.replace("} // of b", "}, // of b").replace(
            "// the end\n",
            "// the end\n        \"c\": {\n            \"command\": \"three\"\n        }\n",
        );
        assert_eq!(added, expected);
        let inline = set(&added, &["mcpServers", "a", "disabled"], &json!(true)).unwrap();
        assert!(
            inline.contains(r#""args": ["x"], "disabled": true },"#),
            "{inline}"
        );
        let again = set(&inline, &["mcpServers", "a", "disabled"], &json!(false)).unwrap();
        assert_eq!(again, inline.replace("true", "false"));
        assert_eq!(
            remove(&again, &["mcpServers", "a", "disabled"]).unwrap(),
            added
        );
        for (text, expected) in [
            (
                "{}",
                "{\n  \"s\": {\n    \"x\": {\n      \"url\": \"u\"\n    }\n  }\n}",
            ),
            (
                "{\"s\":{}}\r\n",
                "{\"s\":{\r\n  \"x\": {\r\n    \"url\": \"u\"\r\n  }\r\n}}\r\n",
            ),
            (
                "{\n\t\"s\": {\n\t\t\"a\": 1,\n\t},\n}",
                "{\n\t\"s\": {\n\t\t\"a\": 1,\n\t\t\"x\": {\n\t\t\t\"url\": \"u\"\n\t\t},\n\t},\n}",
            ),
        ] {
            assert_eq!(
                set(text, &["s", "x"], &json!({"url": "u"})).unwrap(),
                expected
            );
        }
        assert_eq!(set("{\"s\": 3}", &["s", "x"], &json!(1)), None);
        assert_eq!(set("{", &["s"], &json!(1)), None);
    }

    #[test]
    fn a_member_goes_with_its_line_and_its_comma() {
        let without_a = remove(FILE, &["mcpServers", "a"]).unwrap();
        assert_eq!(
            without_a,
            FILE.replace(
                "        \"a\": { \"command\": \"one\", \"args\": [\"x\"] },\n",
                ""
            )
        );
        let without_b = remove(FILE, &["mcpServers", "b"]).unwrap();
        assert!(
            without_b.contains("[\"x\"] }\n        // the end\n"),
            "{without_b}"
        );
        for (text, path, expected) in [
            ("{\"a\": 1, \"b\": 2}", "a", "{\"b\": 2}"),
            ("{\"a\": 1, \"b\": [2, {}]}", "b", "{\"a\": 1}"),
            ("{\n  \"a\": 1,\n  \"b\": 2,\n}", "b", "{\n  \"a\": 1,\n}"),
            ("{\"a\": 1, \"a\": 2}", "a", "{}"),
            ("{\"a\": 1}", "a", "{}"),
        ] {
            let removed = remove(text, &[path]).unwrap();
            assert_eq!(removed, expected);
            parse(&removed).unwrap();
        }
        assert_eq!(remove(FILE, &["mcpServers", "z"]), None);
    }
}
