//! Masks keys and tokens in everything that is stored or shown: logs, error texts, transcripts.
//!
//! [`secrets`] hides what Marvin itself could give away: its own keys, and what looks like one. [`scrub`] and [`redact`] are stricter: they prepare what
//! people say and tools return for models and memory, and leave a label that says what was there.

mod any_pattern;
mod cards;
mod codes;
mod conversation;
mod formats;
mod hex;
mod hit;
mod key_blocks;
mod labels;
mod names;
mod rules;
#[cfg(test)]
mod tests;
mod values;

use std::borrow::Cow;

use serde_json::Value;

pub use conversation::ConversationLabels;
pub(crate) use key_blocks::LogLines;
pub(crate) use labels::is_secret_field;
pub use labels::{redact, scrub};
use rules::{Scope, Writing, apply, without_codes};
use values::HIDDEN;
pub(crate) use values::LABEL_START;

/// Characters of a key that is hidden wherever it occurs.
const MIN_KNOWN_BYTES: usize = 8;

/// `text` with every key, token and password replaced by `[hidden]`. For what the user is told of failures.
///
/// `known` are the values of this process's key variables; they are hidden wherever they occur.
pub(crate) fn secrets<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let out = without_known(text, known);
    let hidden = apply(&out, Scope::Credentials, &mut Writing::Hidden);
    match hidden {
        Cow::Owned(hidden) => Cow::Owned(hidden),
        Cow::Borrowed(_) => out,
    }
}

/// `text` with everything replaced that [`scrub`] replaces. For logs and events, which outlive the run and are read by others.
pub fn logged<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let out = without_known(text, known);
    let writing = &mut Writing::Hidden;
    let hidden = apply(&out, Scope::All, writing);
    match without_codes(&hidden, writing) {
        Cow::Owned(hidden) => Cow::Owned(hidden),
        Cow::Borrowed(_) => match hidden {
            Cow::Owned(hidden) => Cow::Owned(hidden),
            Cow::Borrowed(_) => out,
        },
    }
}

/// [`secrets`] in every text of a JSON value, which stays one.
pub(crate) fn secrets_in_json(value: &mut Value, known: &[String]) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(hidden) = secrets(text, known) {
                *text = hidden;
            }
        }
        Value::Array(items) => {
            for item in items {
                secrets_in_json(item, known);
            }
        }
        Value::Object(map) => {
            for (name, item) in map.iter_mut() {
                match item.as_str() {
                    Some(text) if is_secret_field(name, text) => *item = Value::from(HIDDEN),
                    _ => secrets_in_json(item, known),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without_known<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let mut out = Cow::Borrowed(text);
    for value in known.iter().filter(|value| value.len() >= MIN_KNOWN_BYTES) {
        if out.contains(value.as_str()) {
            out = Cow::Owned(out.replace(value.as_str(), HIDDEN));
        }
    }
    out
}

#[cfg(test)]
mod log_tests {
    use super::*;

    #[test]
    fn keys_are_hidden_and_prose_is_not() {
        for (text, want) in [
            (
                "Authorization: Bearer abc123def",
                "Authorization: Bearer [hidden]",
            ),
            (
                "OPENAI_API_KEY=sk-abcdefghijklmnop1234 cargo run",
                "OPENAI_API_KEY=[hidden] cargo run",
            ),
            (
                "key sk-proj-abcdefghijklmnop123 refused",
                "key [hidden] refused",
            ),
            ("{\"token\":\"a1b2c3d4\"}", "{\"token\":\"[hidden]\"}"),
            ("the token: a word", "the token: a word"),
            ("src/secret/main.rs:12", "src/secret/main.rs:12"),
        ] {
            assert_eq!(secrets(text, &[]), want);
        }
        assert_eq!(
            secrets("curl -H x:hunter2hunter2", &["hunter2hunter2".to_owned()]),
            "curl -H x:[hidden]"
        );
    }
}
