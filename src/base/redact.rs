//! Masks keys and tokens in everything that is stored or shown: logs, error texts, transcripts.
//!
//! [`secrets`] hides what Marvin itself could give away: its own keys, and what looks like one. [`scrub`] and [`redact`] are stricter: they prepare what
//! people say and tools return for models and memory, and leave a label that says what was there.

mod cards;
mod labels;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub(crate) use labels::{LABEL_START, redact, scrub};

/// Words before `=` or `:` whose value is a secret.
const KEYWORDS: [&str; 9] = [
    "api_key",
    "apikey",
    "api-key",
    "token",
    "secret",
    "password",
    "passwd",
    "authorization",
    "bearer",
];
/// Prefixes of well-known key formats, with the minimum length of the rest.
const PREFIXES: [(&str, usize); 16] = [
    ("sk-", 16),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("pk_live_", 8),
    ("rk_live_", 8),
    ("gsk_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("github_pat_", 16),
    ("AIza", 30),
    ("AKIA", 12),
    ("xai-", 16),
    ("tk_", 16),
    ("eyJ", 40),
];

/// `text` with every recognised secret replaced by `[hidden]`.
///
/// `known` are the values of this process's key variables; they are hidden wherever they occur.
pub(crate) fn secrets<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let mut out = Cow::Borrowed(text);
    for value in known.iter().filter(|v| v.len() >= 8) {
        if out.contains(value.as_str()) {
            out = Cow::Owned(out.replace(value.as_str(), "[hidden]"));
        }
    }
    let spans = spans(&out);
    if spans.is_empty() {
        return out;
    }
    let mut masked = String::with_capacity(out.len());
    let mut from = 0;
    for (start, end) in spans {
        masked.push_str(out.get(from..start).unwrap_or_default());
        masked.push_str("[hidden]");
        from = end;
    }
    masked.push_str(out.get(from..).unwrap_or_default());
    Cow::Owned(masked)
}

/// Byte ranges of `text` that look like secrets.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let key_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | '=');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(key_char)) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        let word = rest
            .get(..rest.find(|c| !key_char(c)).unwrap_or(rest.len()))
            .unwrap_or_default();
        // `KEY=value` is one run of key characters; only the value is checked.
        let value_at = word
            .rfind('=')
            .filter(|i| i + 1 < word.len())
            .map_or(0, |i| i + 1);
        let value = word.get(value_at..).unwrap_or_default();
        let named =
            keyword_before(text.get(..start + value_at).unwrap_or_default()) && value.len() >= 6;
        let shaped = PREFIXES.iter().any(|(prefix, least)| {
            value
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.len() >= *least)
        });
        if (named && value.chars().any(|c| c.is_ascii_digit()) || shaped)
            && !value.starts_with("[hidden")
        {
            found.push((start + value_at, start + word.len()));
        }
        at = start + word.len().max(1);
    }
    found
}

/// True when `before` ends in a secret's keyword and a separator (`api_key: `, `Authorization: Bearer `).
fn keyword_before(before: &str) -> bool {
    let trimmed = before.trim_end_matches([' ', '"', '\'', ':', '=']);
    if trimmed.len() == before.len() {
        return false;
    }
    let tail = crate::base::text::tail(trimmed, 16).to_ascii_lowercase();
    KEYWORDS.iter().any(|word| tail.ends_with(word))
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
