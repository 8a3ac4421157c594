//! The JSON Schema of declared parameters, and other text as JSON, written at compile time: every request carries it, so no request renders it.

use super::{Field, Type};

/// How many bytes [`text`] takes for `fields`.
pub(crate) const fn length(fields: &[Field]) -> usize {
    written::<0>(fields).at
}

/// The schema of an object with these `fields` as properties, in declared order; `N` is its [`length`].
pub(crate) const fn text<const N: usize>(fields: &[Field]) -> [u8; N] {
    written::<N>(fields).bytes
}

/// Bytes as text.
///
/// # Panics
/// If they are not UTF-8; this runs at compile time, so it is a compile error.
#[allow(clippy::panic)]
pub(crate) const fn checked(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a schema is text"),
    }
}

/// How many bytes [`string`] takes for `text`.
pub(crate) const fn string_length(text: &str) -> usize {
    quoted::<0>(text).at
}

/// A text without control characters other than line ends as a JSON string; `N` is its [`string_length`].
pub(crate) const fn string<const N: usize>(text: &str) -> [u8; N] {
    quoted::<N>(text).bytes
}

const fn quoted<const N: usize>(text: &str) -> Json<N> {
    let mut json = Json {
        bytes: [0; N],
        at: 0,
    };
    json.text(text);
    json
}

const fn written<const N: usize>(fields: &[Field]) -> Json<N> {
    let mut json = Json {
        bytes: [0; N],
        at: 0,
    };
    json.put("{\"type\":\"object\",\"properties\":{");
    let mut left = fields;
    while let Some((field, rest)) = left.split_first() {
        json.text(field.name);
        json.put(":{\"type\":");
        json.text(field.kind.schema_name());
        json.put(",\"description\":");
        json.text(field.doc());
        json.kind(field.kind);
        if let Some(default) = field.default {
            json.put(",\"default\":");
            json.put(default);
        }
        if let Some(min) = field.min {
            json.put(",\"minimum\":");
            json.number(min);
        }
        if let Some(max) = field.max {
            json.put(",\"maximum\":");
            json.number(max);
        }
        json.put(if rest.is_empty() { "}" } else { "}," });
        left = rest;
    }
    json.put("},\"required\":");
    json.required(fields);
    json.put("}");
    json
}

/// The JSON written so far. What does not fit is only counted.
struct Json<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Json<N> {
    // `get_mut` is not const; the line before checks the bound.
    #[allow(clippy::indexing_slicing)]
    const fn byte(&mut self, byte: u8) {
        if self.at < N {
            self.bytes[self.at] = byte;
        }
        self.at += 1;
    }

    /// Writes JSON unchanged.
    const fn put(&mut self, json: &str) {
        let mut left = json.as_bytes();
        while let Some((byte, rest)) = left.split_first() {
            self.byte(*byte);
            left = rest;
        }
    }

    /// A string, quoted.
    const fn text(&mut self, text: &str) {
        self.byte(b'"');
        let mut left = text.as_bytes();
        while let Some((byte, rest)) = left.split_first() {
            match *byte {
                b'"' | b'\\' => {
                    self.byte(b'\\');
                    self.byte(*byte);
                }
                b'\n' => self.put("\\n"),
                byte => self.byte(byte),
            }
            left = rest;
        }
        self.byte(b'"');
    }

    const fn number(&mut self, number: i64) {
        if number < 0 {
            self.byte(b'-');
        }
        let number = number.unsigned_abs();
        let mut unit = 1;
        while number / unit >= 10 {
            unit *= 10;
        }
        while unit > 0 {
            #[allow(clippy::cast_possible_truncation)]
            self.byte(b'0' + (number / unit % 10) as u8);
            unit /= 10;
        }
    }

    /// The part of the schema that depends on the type.
    const fn kind(&mut self, kind: Type) {
        match kind {
            Type::List(of) => {
                self.put(",\"items\":{\"type\":");
                self.text(of.schema_name());
                self.put("}");
            }
            Type::Choice(words) => {
                self.put(",\"enum\":[");
                let mut left = words;
                while let Some((word, rest)) = left.split_first() {
                    self.text(word);
                    self.put(if rest.is_empty() { "" } else { "," });
                    left = rest;
                }
                self.put("]");
            }
            Type::Text | Type::Whole | Type::Number | Type::Flag | Type::Object => {}
        }
    }

    const fn required(&mut self, fields: &[Field]) {
        self.put("[");
        let mut first = true;
        let mut left = fields;
        while let Some((field, rest)) = left.split_first() {
            if field.required {
                self.put(if first { "" } else { "," });
                self.text(field.name);
                first = false;
            }
            left = rest;
        }
        self.put("]");
    }
}
