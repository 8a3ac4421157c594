//! The form of a server's question: a flat object of its fields (<https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>), read,
//! described and checked. Pure: who is asked does not matter.

use serde_json::Value;

use super::text::clipped;
use crate::base::word_list::WordList;

/// Fields of a form.
const MAX_FIELDS: usize = 100;
/// Characters of a title or a description.
const MAX_WORDS: usize = 300;
/// What speaks of something that nobody should type for a server without thinking.
const SECRET_WORDS: WordList =
    WordList("password passwd passphrase secret token key card cvv pin credential");

/// One field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormField {
    pub name: String,
    pub title: String,
    about: String,
    kind: FieldKind,
    pub is_required: bool,
    pub default: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldKind {
    Text {
        min: u64,
        max: u64,
        format: Option<String>,
    },
    Number {
        is_integer: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
    Bool,
    /// Values with their titles.
    One(Vec<(String, String)>),
    Several {
        options: Vec<(String, String)>,
        min: u64,
        max: u64,
    },
}

/// The fields of a form in their order; one that is of no known type is a text.
pub(crate) fn fields(schema: &Value) -> Vec<FormField> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|own| own == name));
    let members = schema.get("properties").and_then(Value::as_object);
    let members = members.into_iter().flatten().take(MAX_FIELDS);
    members
        .map(|(name, schema)| {
            let text = |key: &str| {
                let text = schema.get(key).and_then(Value::as_str);
                text.map(|text| clipped(text, MAX_WORDS))
                    .filter(|text| !text.is_empty())
            };
            FormField {
                name: name.clone(),
                title: text("title").unwrap_or_else(|| clipped(name, MAX_WORDS)),
                about: text("description").unwrap_or_default(),
                kind: kind(schema),
                is_required: is_required(name),
                default: schema
                    .get("default")
                    .filter(|value| !value.is_null())
                    .cloned(),
            }
        })
        .collect()
}

fn kind(schema: &Value) -> FieldKind {
    let whole =
        |key: &str, default: u64| schema.get(key).and_then(Value::as_u64).unwrap_or(default);
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    if let Some(options) = options(schema) {
        return FieldKind::One(options);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => FieldKind::Bool,
        Some(word @ ("number" | "integer")) => FieldKind::Number {
            is_integer: word == "integer",
            min: number("minimum"),
            max: number("maximum"),
        },
        Some("array") => FieldKind::Several {
            options: schema.get("items").and_then(options).unwrap_or_default(),
            min: whole("minItems", 0),
            max: whole("maxItems", u64::MAX),
        },
        _ => FieldKind::Text {
            min: whole("minLength", 0),
            max: whole("maxLength", u64::MAX),
            format: schema
                .get("format")
                .and_then(Value::as_str)
                .map(str::to_owned),
        },
    }
}

/// The values that can be chosen: `enum` with `enumNames`, or `oneOf` and `anyOf` of constants with titles.
fn options(schema: &Value) -> Option<Vec<(String, String)>> {
    let texts = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(values) = texts("enum") {
        let names = texts("enumNames");
        let option = |(at, value): (usize, &Value)| {
            let value = value.as_str()?;
            let name = names
                .and_then(|names| names.get(at)?.as_str())
                .unwrap_or(value);
            Some((value.to_owned(), clipped(name, MAX_WORDS)))
        };
        return Some(values.iter().enumerate().filter_map(option).collect());
    }
    let constants = texts("oneOf")
        .or_else(|| texts("anyOf"))?
        .iter()
        .filter_map(|option| {
            let value = option.get("const")?.as_str()?;
            let title = option.get("title").and_then(Value::as_str).unwrap_or(value);
            Some((value.to_owned(), clipped(title, MAX_WORDS)))
        });
    Some(constants.collect())
}

impl FormField {
    /// Whether name or title speak of a secret.
    pub(crate) fn is_secret(&self) -> bool {
        let words = format!("{} {}", self.name, self.title);
        let mut parts = String::new();
        let mut was_lower = false;
        for c in words.chars() {
            if c.is_uppercase() && was_lower {
                parts.push(' ');
            }
            was_lower = c.is_lowercase();
            parts.push(if c.is_alphanumeric() { c } else { ' ' });
        }
        parts.split_whitespace().any(|word| {
            SECRET_WORDS.has_in_any_case(word)
                || SECRET_WORDS.has_in_any_case(word.trim_end_matches(['s', 'S']))
        })
    }

    /// What is to be written, in a few lines.
    pub(crate) fn description(&self) -> String {
        let mut out = self.title.clone();
        let shape = match &self.kind {
            FieldKind::Text { min, max, format } => {
                let limits = limits(whole(*min, 0), whole(*max, u64::MAX), " characters");
                let format = format.as_deref().map(format_words);
                format!("{}{limits}", format.as_deref().unwrap_or("text"))
            }
            FieldKind::Number {
                is_integer,
                min,
                max,
            } => {
                let word = if *is_integer {
                    "whole number"
                } else {
                    "number"
                };
                format!("{word}{}", limits(number(*min), number(*max), ""))
            }
            // "no" is the answer that declines all of the form where it is typed.
            FieldKind::Bool => "y or n".to_owned(),
            FieldKind::One(_) => "one of these".to_owned(),
            FieldKind::Several { min, max, .. } => {
                let limits = limits(whole(*min, 0), whole(*max, u64::MAX), " of them");
                format!("any of these, with commas between them{limits}")
            }
        };
        let need = match self.is_required {
            true => "",
            false => ", may be left out",
        };
        out.push_str(&format!(" ({shape}{need})"));
        if !self.about.is_empty() {
            out.push_str(&format!("\n{}", self.about));
        }
        if let FieldKind::One(options) | FieldKind::Several { options, .. } = &self.kind {
            for (value, title) in options {
                match value == title {
                    true => out.push_str(&format!("\n- {}", clipped(value, MAX_WORDS))),
                    false => out.push_str(&format!("\n- {}: {title}", clipped(value, MAX_WORDS))),
                }
            }
        }
        match &self.default {
            Some(default) => out.push_str(&format!("\nAs it is filled in: {}", shown(default))),
            None if self.is_required => {}
            None => out.push_str("\nNothing is filled in."),
        }
        out
    }

    /// The value that somebody wrote.
    ///
    /// # Errors
    /// It is none; the words say what is wrong.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let value = match &self.kind {
            FieldKind::Text { .. } => Value::from(text),
            FieldKind::Number {
                is_integer: true, ..
            } => match text.parse::<i64>() {
                Ok(number) => Value::from(number),
                Err(_) => return Err("it is no whole number".to_owned()),
            },
            FieldKind::Number { .. } => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Value::from(number),
                _ => return Err("it is no number".to_owned()),
            },
            FieldKind::Bool => match text.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" | "on" | "1" => Value::Bool(true),
                "n" | "no" | "false" | "off" | "0" => Value::Bool(false),
                _ => return Err("it is neither yes nor no".to_owned()),
            },
            FieldKind::One(options) => Value::from(chosen(options, text)?),
            FieldKind::Several { options, .. } => {
                let parts = text
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty());
                let parts: Result<Vec<String>, String> =
                    parts.map(|part| chosen(options, part)).collect();
                Value::from(parts?)
            }
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value is one of this field.
    ///
    /// # Errors
    /// It is not; the words say why.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let between = |what: &str, count: u64, min: u64, max: u64| match count {
            count if count < min => Err(format!("it needs at least {min} {what}")),
            count if count > max => Err(format!("it takes at most {max} {what}")),
            _ => Ok(()),
        };
        match (&self.kind, value) {
            (FieldKind::Text { min, max, format }, Value::String(text)) => {
                let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
                between("characters", length, *min, *max)?;
                match has_format(format.as_deref().unwrap_or_default(), text) {
                    true => Ok(()),
                    false => Err(format!(
                        "it is no {}",
                        format_words(format.as_deref().unwrap_or_default())
                    )),
                }
            }
            (
                FieldKind::Number {
                    is_integer,
                    min,
                    max,
                },
                Value::Number(number),
            ) => {
                let number = number.as_f64().unwrap_or_default();
                if *is_integer && number.fract() != 0.0 {
                    return Err("it is no whole number".to_owned());
                }
                match (min, max) {
                    (Some(min), _) if number < *min => Err(format!("it is less than {min}")),
                    (_, Some(max)) if number > *max => Err(format!("it is more than {max}")),
                    _ => Ok(()),
                }
            }
            (FieldKind::Bool, Value::Bool(_)) => Ok(()),
            (FieldKind::One(options), Value::String(text))
                if options.iter().any(|(own, _)| own == text) =>
            {
                Ok(())
            }
            (FieldKind::Several { options, min, max }, Value::Array(items)) => {
                let is_known = |item: &Value| {
                    item.as_str().is_some_and(|item| {
                        options.is_empty() || options.iter().any(|(own, _)| own == item)
                    })
                };
                match items.iter().all(is_known) {
                    true => between("of them", items.len() as u64, *min, *max),
                    false => Err("it is none of the choices".to_owned()),
                }
            }
            _ => Err("it is of another kind".to_owned()),
        }
    }
}

/// The option that somebody means: its value or its title, in any case.
fn chosen(options: &[(String, String)], text: &str) -> Result<String, String> {
    if options.is_empty() {
        return Ok(text.to_owned());
    }
    let is_it = |(value, title): &&(String, String)| {
        value.eq_ignore_ascii_case(text) || title.eq_ignore_ascii_case(text)
    };
    let exact = options.iter().find(|(value, _)| value == text);
    exact
        .or_else(|| options.iter().find(is_it))
        .map(|(value, _)| value.clone())
        .ok_or_else(|| "it is none of the choices".to_owned())
}

/// The formats that the protocol names; others are not looked at.
fn has_format(format: &str, text: &str) -> bool {
    match format {
        "email" => text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && host.contains('.') && !text.contains(char::is_whitespace)
        }),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            !rest.is_empty()
                && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(is_scheme)
        }),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        _ => true,
    }
}

/// The name of a format, with an example where people write it in many ways.
fn format_words(format: &str) -> String {
    match format {
        "uri" => "address, such as https://example.org".to_owned(),
        "date" => "date, such as 2026-03-09".to_owned(),
        "date-time" => "date and time, such as 2026-03-09T14:30:00Z".to_owned(),
        other => clipped(other, 40),
    }
}

/// A limit that is none where it equals `none`.
fn whole(limit: u64, none: u64) -> Option<String> {
    (limit != none).then(|| limit.to_string())
}

fn number(limit: Option<f64>) -> Option<String> {
    limit.map(|limit| limit.to_string())
}

fn limits(min: Option<String>, max: Option<String>, of: &str) -> String {
    match (min, max) {
        (None, None) => String::new(),
        (Some(min), None) => format!(", at least {min}{of}"),
        (None, Some(max)) => format!(", at most {max}{of}"),
        (Some(min), Some(max)) => format!(", {min} to {max}{of}"),
    }
}

/// A value as somebody would write it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => clipped(text, MAX_WORDS),
        Value::Bool(is_true) => if *is_true { "y" } else { "n" }.to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(shown).collect();
            clipped(&items.join(", "), MAX_WORDS)
        }
        other => clipped(&other.to_string(), MAX_WORDS),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "title": "Your name", "description": "As on the badge.", "minLength": 2},
            "mail": {"type": "string", "format": "email"},
            "age": {"type": "integer", "minimum": 18, "default": 30},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            "colours": {"type": "array", "maxItems": 1, "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}},
            "news": {"type": "boolean"},
            "apiKey": {"type": "string"},
        }})
    }

    #[test]
    fn what_is_written_becomes_a_value_or_words_about_it() {
        let fields = fields(&schema());
        let field = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        for (name, text, value) in [
            ("name", " Ann ", Ok(json!("Ann"))),
            ("name", "A", Err("at least 2")),
            ("mail", "a@b.org", Ok(json!("a@b.org"))),
            ("mail", "a@b", Err("no email")),
            ("age", "20", Ok(json!(20))),
            ("age", "3.5", Err("no whole number")),
            ("age", "17", Err("less than 18")),
            ("size", "large", Ok(json!("l"))),
            ("size", "xl", Err("none of the choices")),
            ("colours", "Red", Ok(json!(["r"]))),
            ("colours", "r, g", Err("at most 1")),
            ("news", "Yes", Ok(json!(true))),
            ("news", "perhaps", Err("neither")),
        ] {
            match (field(name).parse(text), value) {
                (Ok(read), Ok(value)) => assert_eq!(read, value, "{name} {text}"),
                (Err(words), Err(part)) => assert!(words.contains(part), "{name} {text}: {words}"),
                (read, _) => panic!("{name} {text}: {read:?}"),
            }
        }
        assert!(field("apiKey").is_secret() && !field("name").is_secret());
    }

    #[test]
    fn a_description_says_what_would_be_taken() {
        let schema = json!({"required": ["name", "age"], "properties": {
            "name": {"type": "string", "title": "Your name", "description": "As on the badge.", "minLength": 2},
            "code": {"type": "string", "minLength": 2, "maxLength": 4, "default": "ab"},
            "day": {"type": "string", "format": "date"},
            "age": {"type": "integer", "minimum": 18},
            "part": {"type": "number", "maximum": 0.5, "default": 0.25},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
            "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"enum": ["a", "b"]}, "default": ["a", "b"]},
            "news": {"type": "boolean", "default": false},
        }});
        let fields = fields(&schema);
        for (name, words) in [
            (
                "name",
                "Your name (text, at least 2 characters)\nAs on the badge.",
            ),
            (
                "code",
                "code (text, 2 to 4 characters, may be left out)\nAs it is filled in: ab",
            ),
            (
                "day",
                "day (date, such as 2026-03-09, may be left out)\nNothing is filled in.",
            ),
            ("age", "age (whole number, at least 18)"),
            (
                "part",
                "part (number, at most 0.5, may be left out)\nAs it is filled in: 0.25",
            ),
            (
                "size",
                "size (one of these, may be left out)\n- s: Small\n- l: Large\nNothing is filled in.",
            ),
            (
                "tags",
                "tags (any of these, with commas between them, 1 to 2 of them, may be left out)\n- a\n- b\nAs it is filled in: a, b",
            ),
            (
                "news",
                "news (y or n, may be left out)\nAs it is filled in: n",
            ),
        ] {
            let field = fields.iter().find(|field| field.name == name).unwrap();
            assert_eq!(field.description(), words);
        }
    }
}
