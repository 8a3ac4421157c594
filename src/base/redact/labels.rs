//! What people and tools said, without what must not be repeated: a label stands where a secret was.

use std::borrow::Cow;

use serde_json::Value;

use super::hit::SECRET;
use super::rules::{Scope, Writing, apply, without_codes};

/// Longest text of [`redact`].
const MAX_CHARS: usize = 8_000;
/// What comes after [`MAX_CHARS`] and is looked at, so that a secret that the end cuts is recognised.
const MARGIN_CHARS: usize = 512;

/// `text` with a label in place of every e-mail address, card number, key, token and password. For what tools return and are called with.
pub fn scrub(text: &str) -> String {
    scrub_with(text, &mut |_, _| None)
}

/// [`scrub`], then on one line, then cut to 8,000 characters. For what is said to a stage and remembered.
pub fn redact(text: &str) -> String {
    redact_with(text, &mut |_, _| None)
}

/// [`scrub`] with labels that `choose` may replace.
pub(super) fn scrub_with(
    text: &str,
    choose: &mut dyn FnMut(&str, &str) -> Option<String>,
) -> String {
    let writing = &mut Writing::Labels(choose);
    let out = apply(text, Scope::All, writing);
    without_codes(&out, writing).into_owned()
}

/// [`redact`] with labels that `choose` may replace.
pub(super) fn redact_with(
    text: &str,
    choose: &mut dyn FnMut(&str, &str) -> Option<String>,
) -> String {
    let scrubbed = scrub_with(text, choose);
    let mut line = String::with_capacity(scrubbed.len().min(4 * MAX_CHARS));
    for word in scrubbed.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * (MAX_CHARS + MARGIN_CHARS) {
            break;
        }
    }
    let start = first_chars(&line, MAX_CHARS + MARGIN_CHARS);
    // White space that took a secret apart is gone now.
    let line = if line.len() == scrubbed.len() && !scrubbed.contains(['\n', '\t', '\r']) {
        Cow::Borrowed(start)
    } else {
        apply(start, Scope::People, &mut Writing::Labels(choose))
    };
    first_chars(&line, MAX_CHARS).to_owned()
}

fn first_chars(text: &str, max: usize) -> &str {
    let end = text.char_indices().nth(max).map(|(at, _)| at);
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Whether `value` is a secret because of the name of its field.
pub(crate) fn is_secret_field(name: &str, value: &str) -> bool {
    let field = Value::from(value).to_string();
    let name = Value::from(name).to_string();
    let text = format!("{name}: {field}");
    let label = format!("{name}: \"{SECRET}\"");
    scrub(&text) == label
}
