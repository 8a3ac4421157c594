//! Values as language models write them where JSON is meant: wrong or missing quotes, trailing commas, bare keys, Python's words, line breaks inside
//! strings, brackets that are missing at the end.

use serde_json::{Deserializer, Map, Number, Value};

/// Levels of nesting that are followed.
const MAX_DEPTH: usize = 64;
/// Brackets that may be missing at the end.
const MAX_MISSING: usize = 4;
/// Quotes, and what closes each.
const QUOTES: [(char, char); 5] = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’')];

/// The value at the start of `text`, and the number of bytes that it takes. `None` when it is cut, or none.
pub(crate) fn value(text: &str) -> Option<(Value, usize)> {
    strict(text).or_else(|| Parser::new(text, 0).run())
}

/// The same for a text that is known to be whole: its last brackets may be missing, or closed in the wrong order.
pub(crate) fn whole_value(text: &str) -> Option<(Value, usize)> {
    strict(text).or_else(|| Parser::new(text, MAX_MISSING).run())
}

fn strict(text: &str) -> Option<(Value, usize)> {
    let mut stream = Deserializer::from_str(text).into_iter::<Value>();
    match stream.next() {
        Some(Ok(value)) => Some((value, stream.byte_offset())),
        _ => None,
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Brackets that may still be missing.
    missing: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, missing: usize) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            missing,
        }
    }

    fn run(mut self) -> Option<(Value, usize)> {
        let value = self.value()?;
        Some((value, self.at))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_skipped).len();
    }

    fn value(&mut self) -> Option<Value> {
        self.skip(char::is_whitespace);
        match self.peek()? {
            '{' => self.nested(Self::object),
            '[' => self.nested(|parser| parser.list(']')),
            // A tuple of Python.
            '(' => self.nested(|parser| parser.list(')')),
            c if QUOTES.iter().any(|(open, _)| *open == c) => self.string().map(Value::from),
            _ => self.word(),
        }
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Option<Value> {
        let mut map = Map::new();
        while !self.ends('}')? {
            let key = match self.peek()? {
                c if QUOTES.iter().any(|(open, _)| *open == c) => self.string()?,
                _ => self.name()?.to_owned(),
            };
            self.skip(char::is_whitespace);
            self.at += self.rest().strip_prefix(':').map(|_| 1)?;
            let value = self.value()?;
            map.entry(key).or_insert(value);
        }
        Some(Value::Object(map))
    }

    fn list(&mut self, close: char) -> Option<Value> {
        let mut items = Vec::new();
        while !self.ends(close)? {
            items.push(self.value()?);
        }
        Some(Value::Array(items))
    }

    /// Whether the object or list ends here; commas before it are no matter. `None` when the text ends first.
    fn ends(&mut self, close: char) -> Option<bool> {
        self.skip(|c| c.is_whitespace() || c == ',');
        match self.peek() {
            Some(c) if c == close => {
                self.at += 1;
                Some(true)
            }
            // The text, or what is around this value, ends: the bracket is missing.
            None | Some('}' | ']') => {
                self.missing = self.missing.checked_sub(1)?;
                Some(true)
            }
            Some(_) => Some(false),
        }
    }

    /// A key without quotes.
    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).filter(|name| !name.is_empty())
    }

    fn word(&mut self) -> Option<Value> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
        let word = rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len()))?;
        self.at += word.len();
        match word {
            "true" | "True" | "TRUE" => Some(Value::Bool(true)),
            "false" | "False" | "FALSE" => Some(Value::Bool(false)),
            "null" | "None" | "nil" | "undefined" => Some(Value::Null),
            _ => {
                let whole = word.parse::<i64>().ok().map(Number::from);
                let number = whole.or_else(|| Number::from_f64(word.parse().ok()?));
                let is_number = word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
                number.filter(|_| is_number).map(Value::Number)
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let open = self.peek()?;
        let close = QUOTES.iter().find(|(quote, _)| *quote == open)?.1;
        let triple = [open; 3].iter().collect::<String>();
        if self.rest().starts_with(&triple) {
            let inside = self.rest().get(triple.len()..)?;
            let end = inside.find(&triple)?;
            self.at += end + 2 * triple.len();
            return inside.get(..end).map(str::to_owned);
        }
        self.at += open.len_utf8();
        let mut out = String::new();
        loop {
            let c = self.peek()?;
            self.at += c.len_utf8();
            if c == close && self.is_end_of_string() {
                return Some(out);
            }
            if c == '\\' {
                self.escape(&mut out)?;
            } else {
                out.push(c);
            }
        }
    }

    /// Whether the quote before this place closes its string: an apostrophe or a quotation inside does not.
    fn is_end_of_string(&self) -> bool {
        let next = self.rest().trim_start().chars().next();
        next.is_none_or(|c| matches!(c, ',' | ':' | '}' | ']' | ')' | '='))
    }

    fn escape(&mut self, out: &mut String) -> Option<()> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => {
                let first = self.hex()?;
                let second = match (0xd800..0xdc00).contains(&first) {
                    true if self.rest().starts_with("\\u") => {
                        self.at += 2;
                        self.hex()?
                    }
                    _ => 0,
                };
                let code = match (0xdc00..0xe000).contains(&second) {
                    true => 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    false => first,
                };
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            '"' | '\'' | '\\' | '/' | '`' => out.push(c),
            // No escape that JSON has: a path, a pattern.
            other => out.extend(['\\', other]),
        }
        Some(())
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_models_write_for_json_is_read() {
        for (text, want) in [
            (r#"{"a": 1}"#, json!({"a": 1})),
            (
                "{'a': 'it's raining', 'b': True,}",
                json!({"a": "it's raining", "b": true}),
            ),
            (
                "{a: \"x\", b-c: [1, 2,], }",
                json!({"a": "x", "b-c": [1, 2]}),
            ),
            ("{“a”: “x”, ‘b’: None}", json!({"a": "x", "b": null})),
            ("{\"a\": \"two\nlines\"}", json!({"a": "two\nlines"})),
            (
                r#"{"a": "say "hi" now", "b": .5}"#,
                json!({"a": "say \"hi\" now", "b": 0.5}),
            ),
            (
                r#"{'a': "C:\dir\u00e9\ud83d\ude00"}"#,
                json!({"a": "C:\\diré😀"}),
            ),
            ("{'a': \"\"\"x \"y\" z\"\"\"}", json!({"a": "x \"y\" z"})),
            ("('a', -3)", json!(["a", -3])),
        ] {
            assert_eq!(value(text), Some((want, text.len())), "{text}");
        }
        assert_eq!(value("{'a': 1} and more"), Some((json!({"a": 1}), 8)));
    }

    #[test]
    fn what_is_cut_is_no_value_and_missing_brackets_are_added_to_a_whole_text() {
        for text in [
            "{'a': 1", "{'a': 'x", "[1, {", "{'a'", "{'a': ", "word", "", "{a}",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
        for (text, want) in [
            ("{'a': {'b': [1", json!({"a": {"b": [1]}})),
            ("[{'a': 1]", json!([{"a": 1}])),
            ("{'a': [1}", json!({"a": [1]})),
        ] {
            assert_eq!(
                whole_value(text).map(|(value, _)| value),
                Some(want),
                "{text}"
            );
        }
        assert_eq!(whole_value("{'a': 'half of"), None);
        assert_eq!(whole_value(&"[".repeat(10_000)), None);
        assert_eq!(value(&"{'a':".repeat(10_000)), None);
    }

    proptest! {
        #[test]
        fn json_is_read_as_json(key in "\\PC{0,12}", text in "\\PC{0,20}", number in any::<i64>()) {
            let json = json!({ key: [text, number, null, true] });
            let written = json.to_string();
            prop_assert_eq!(value(&written), Some((json, written.len())));
        }

        #[test]
        fn nothing_breaks_it(text in "[{}\\[\\]()'\"“,:\\\\ua1\\-. \n]{0,40}") {
            for read in [value(&text), whole_value(&text)].into_iter().flatten() {
                prop_assert!(text.is_char_boundary(read.1));
            }
        }
    }
}
