//! One JSON object (RFC 8259) out of a stream that tells neither its length nor its end: it is complete when its last bracket is closed.
//!
//! Python's `json` module also writes `NaN`, `Infinity` and halves of surrogate pairs (<https://docs.python.org/3/library/json.html>, "Standard
//! Compliance and Interoperability"), which RFC 8259 does not have. They are read as null and U+FFFD.

use serde_json::{Map, Value};

/// Why there will be no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectError {
    /// The stream begins with something else.
    NoObject,
    /// It is longer than the limit.
    TooLong,
    /// Its brackets are closed, but it is not JSON.
    Invalid,
}

/// Reads an object piece by piece, in time proportional to its length.
pub struct ObjectReader {
    bytes: Vec<u8>,
    max_bytes: usize,
    /// How many brackets are open.
    depth: usize,
    in_text: bool,
    /// The byte before was a backslash in a text.
    is_escaped: bool,
}

impl ObjectReader {
    /// A reader of an object of at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            max_bytes,
            depth: 0,
            in_text: false,
            is_escaped: false,
        }
    }

    /// How many bytes of the object have arrived.
    pub fn received(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the next piece; returns the object once it is complete. What follows it is ignored.
    ///
    /// # Errors
    /// There is no object; see [`ObjectError`].
    pub fn feed(&mut self, piece: &[u8]) -> Result<Option<Map<String, Value>>, ObjectError> {
        for byte in piece {
            if self.bytes.is_empty() {
                match byte {
                    b'{' => {}
                    b' ' | b'\t' | b'\n' | b'\r' => continue,
                    _ => return Err(ObjectError::NoObject),
                }
            }
            if self.bytes.len() == self.max_bytes {
                return Err(ObjectError::TooLong);
            }
            self.bytes.push(*byte);
            if self.closes(*byte) {
                return parse(&String::from_utf8_lossy(&self.bytes)).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether `byte` closes the last open bracket.
    fn closes(&mut self, byte: u8) -> bool {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

fn parse(text: &str) -> Result<Map<String, Value>, ObjectError> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&as_standard(text)))
        .map_err(|_| ObjectError::Invalid)
}

/// What Python wrote, without what only Python reads.
fn as_standard(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('"') {
        push_standard_values(before, &mut out);
        let (inside, behind) = after
            .split_at_checked(text_length(after))
            .unwrap_or((after, ""));
        out.push('"');
        push_whole_pairs(inside, &mut out);
        rest = behind.strip_prefix('"').map_or(behind, |behind| {
            out.push('"');
            behind
        });
    }
    push_standard_values(rest, &mut out);
    out
}

/// The length of the text up to the quotation mark that ends it.
fn text_length(after: &str) -> usize {
    let mut is_escaped = false;
    let end = after.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(after.len())
}

fn push_standard_values(between: &str, out: &mut String) {
    let standard = between
        .replace("-Infinity", "null")
        .replace("Infinity", "null");
    out.push_str(&standard.replace("NaN", "null"));
}

fn push_whole_pairs(inside: &str, out: &mut String) {
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        rest = match code_unit(after) {
            Some(unit) if is_low(unit) => {
                out.push_str("\\ufffd");
                after.get(5..).unwrap_or_default()
            }
            Some(unit) if is_high(unit) => {
                let behind = after.get(5..).unwrap_or_default();
                let pair = behind
                    .strip_prefix('\\')
                    .and_then(code_unit)
                    .is_some_and(is_low);
                let length = if pair { 11 } else { 5 };
                let (whole, behind) = after.split_at_checked(length).unwrap_or((after, ""));
                match pair {
                    true => out.extend(["\\", whole]),
                    false => out.push_str("\\ufffd"),
                }
                behind
            }
            _ => {
                // An escaped backslash or quotation mark begins no other escape.
                let mut chars = after.chars();
                out.push('\\');
                out.extend(chars.next());
                chars.as_str()
            }
        };
    }
    out.push_str(rest);
}

fn code_unit(after_backslash: &str) -> Option<u16> {
    let digits = after_backslash.strip_prefix('u')?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// JSON with everything outside ASCII escaped, so that no split of its bytes falls inside a character.
pub(crate) fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            // Outside ASCII there are only texts.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Option<Value>, ObjectError> {
        let mut reader = ObjectReader::new(200);
        for piece in pieces {
            if let Some(map) = reader.feed(piece)? {
                return Ok(Some(Value::Object(map)));
            }
        }
        Ok(None)
    }

    fn whole(text: &str) -> Result<Option<Value>, ObjectError> {
        read(&[text.as_bytes()])
    }

    #[test]
    fn an_object_ends_with_its_last_bracket() {
        for (text, expected) in [
            ("{}", Ok(Some(json!({})))),
            (
                " \r\n\t{\"a\": [1, {\"b\": \"}]\\\"{\"}]} x",
                Ok(Some(json!({"a": [1, {"b": "}]\"{"}]}))),
            ),
            (r#"{"a": 1}{"b": 2}"#, Ok(Some(json!({"a": 1})))),
            (r#"{"a": "\\"}"#, Ok(Some(json!({"a": "\\"})))),
            ("", Ok(None)),
            ("  ", Ok(None)),
            (r#"{"a": 1"#, Ok(None)),
            (r#"{"a": "}"#, Ok(None)),
            ("[1]", Err(ObjectError::NoObject)),
            ("null", Err(ObjectError::NoObject)),
            ("HTTP/1.1 400 Bad Request", Err(ObjectError::NoObject)),
            ("{]", Err(ObjectError::Invalid)),
            ("{a: 1}", Err(ObjectError::Invalid)),
            (r#"{"a": }"#, Err(ObjectError::Invalid)),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    #[test]
    fn what_only_python_reads_becomes_null_or_a_replacement_character() {
        for (text, expected) in [
            (
                r#"{"a": [NaN, Infinity, -Infinity]}"#,
                json!({"a": [null, null, null]}),
            ),
            (
                r#"{"a": NaN, "NaN \" Infinity": "-Infinity"}"#,
                json!({"a": null, "NaN \" Infinity": "-Infinity"}),
            ),
            (r#"{"a": "x\udce9y"}"#, json!({"a": "x\u{fffd}y"})),
            (r#"{"a": "\ud83d"}"#, json!({"a": "\u{fffd}"})),
            (
                r#"{"a": "\ud83d\ud83d\ude00\\ud83d"}"#,
                json!({"a": "\u{fffd}\u{1f600}\\ud83d"}),
            ),
            (r#"{"a": "\ud83d\\"}"#, json!({"a": "\u{fffd}\\"})),
        ] {
            assert_eq!(whole(text), Ok(Some(expected)), "{text}");
        }
        assert_eq!(
            read(&[b"{\"a\": \"\xff\"}"]),
            Ok(Some(json!({"a": "\u{fffd}"})))
        );
    }

    #[test]
    fn an_object_beyond_the_limit_is_an_error_before_it_ends() {
        let mut reader = ObjectReader::new(10);
        assert_eq!(
            reader.feed(b"   {\"a\": 1}"),
            Ok(Some(json!({"a": 1}).as_object().unwrap().clone()))
        );
        let mut reader = ObjectReader::new(10);
        assert_eq!(reader.feed(b"{\"a\": \"bcd"), Ok(None));
        assert_eq!(reader.feed(b"\"}"), Err(ObjectError::TooLong));
        assert_eq!(reader.received(), 10);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[\\PC\"\\\\{}\\[\\]\n\u{7f}😀]{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-z\"\\\\é{}]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_object_is_the_same_at_every_cut(inner in value(), cut in any::<prop::sample::Index>(), escapes in any::<bool>(), after in "\\PC{0,9}") {
            let object = json!({"result": inner});
            let text = object.to_string();
            let text = if escapes { ascii(&text) } else { text };
            prop_assert!(!escapes || text.is_ascii());
            let bytes = [text.as_bytes(), after.as_bytes()].concat();
            let (one, two) = bytes.split_at(cut.index(bytes.len()));
            let mut reader = ObjectReader::new(bytes.len());
            let first = reader.feed(one).unwrap();
            let read = match first {
                None => reader.feed(two).unwrap(),
                first => first,
            };
            prop_assert_eq!(read.map(Value::Object), Some(object));
        }

        #[test]
        fn any_bytes_are_read_alike_in_one_piece_and_byte_by_byte(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(read(&[&bytes]), read(&single));
        }

        #[test]
        fn a_repair_leaves_standard_json_as_it_is(inner in value()) {
            let text = json!({"result": inner}).to_string();
            prop_assert_eq!(as_standard(&text), text.clone());
            prop_assert_eq!(as_standard(&ascii(&text)), ascii(&text));
        }
    }
}
