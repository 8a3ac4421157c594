//! What of a model's answer may be shown: raw JSON, broken calls and tokens of its own never.

use serde_json::{Map, Value};

use super::notes::unfenced;
use super::written_calls::{FENCE, TAG};
use crate::base::word_list::WordList;
use crate::formats::model_text;

/// Fields in which models put an answer, the best first.
const ANSWER_FIELDS: [&str; 7] = [
    "response", "message", "text", "content", "answer", "reply", "error",
];
/// What only broken calls begin with.
const BROKEN_STARTS: [&str; 4] = ["tool_calls:", "tool_code", "tool_output", TAG];
/// Keys of what tools return and nobody says.
const DUMP_KEYS: WordList = WordList(
    "specVersion openapi swagger apis endpoints paths host basePath site location forecast \
     current_date high low section",
);

/// The answer inside an answer that is a JSON object.
pub(crate) fn answer_field(text: &str) -> Option<String> {
    let text = unfenced(bare(text));
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    let map: Map<String, Value> = serde_json::from_str(text).ok()?;
    let mut texts = ANSWER_FIELDS
        .iter()
        .filter_map(|key| map.get(*key)?.as_str());
    texts
        .find(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// True when a text without a call must not be shown.
pub fn is_malformed(text: &str) -> bool {
    let text = bare(text);
    if answer_field(text).is_some() {
        return false;
    }
    // An object without an answer, or half of one.
    text.starts_with('{')
        || is_broken_call(text)
        || has_unused_token(text)
        || is_dump(text)
        || is_list_of_records(text)
}

/// What is said in place of a malformed answer.
pub(crate) const fn trouble(is_small: bool) -> &'static str {
    match is_small {
        true => {
            "I had trouble understanding that request. Small models do this now and then; choose a larger one with --provider or OLLAMA_MODEL if it happens often."
        }
        false => "I had trouble understanding that request. Could you put it in other words?",
    }
}

/// `text` without white space and invisible characters around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
    })
}

/// True when a text begins like a call, but is none that can be read.
pub(crate) fn is_broken_call(text: &str) -> bool {
    let text = bare(text);
    let starts = |text: &str| {
        let begins = |word: &&str| {
            let start = text.get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        BROKEN_STARTS.iter().any(begins)
    };
    if text.starts_with(FENCE) {
        return model_text::read(text, &|_| false).calls.is_empty();
    }
    let Some(opened) = text.strip_prefix("```") else {
        return starts(text);
    };
    // The word stands as the language of the fence, or in its first line.
    let inside = opened
        .split_once('\n')
        .map_or("", |(_, inside)| inside.trim_start());
    starts(opened.trim_start()) || starts(inside)
}

/// `<unused42>`: a token that the model was never trained on.
fn has_unused_token(text: &str) -> bool {
    let mut tokens = text.split("<unused").skip(1);
    tokens.any(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with('>'))
    })
}

/// True for what a tool returned, passed on as it was.
fn is_dump(text: &str) -> bool {
    let inside = unfenced(text);
    // A fence that ends before the text is a sample with an explanation.
    let spans = inside.len() == text.len() || !inside.contains("```");
    let has_key = |key: &str, is_value: &dyn Fn(&str) -> bool| {
        inside
            .match_indices(&format!("\"{key}\""))
            .any(|(at, found)| {
                let after = inside.get(at + found.len()..).unwrap_or_default();
                after.trim_start().strip_prefix(':').is_some_and(is_value)
            })
    };
    spans
        && inside.starts_with(['{', '['])
        && (DUMP_KEYS.iter().any(|key| has_key(key, &|_| true))
            || has_key("lang", &|value| value.trim_start().starts_with("\"json\""))
            || inside.contains("\"api.github.com\""))
}

/// True for a JSON list with objects or lists in it and nothing around it, or half of one. A list of numbers or words may be the answer.
fn is_list_of_records(text: &str) -> bool {
    let is_half = text
        .strip_prefix('[')
        .is_some_and(|inside| inside.trim_start().starts_with("{\""));
    if is_half && !text.contains(']') {
        return true;
    }
    let list = Some(text).filter(|text| text.starts_with('['));
    let list: Option<Vec<Value>> = list.and_then(|text| serde_json::from_str(text).ok());
    list.is_some_and(|list| {
        let mut items = list.iter();
        items.any(|item| item.is_object() || item.is_array())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_inside_an_object_is_found() {
        for (text, want) in [
            (
                r#"{"answer": "Wick", "text": "It is Wick."}"#,
                Some("It is Wick."),
            ),
            (r#" {"response": " ", "reply": "Wick"} "#, Some("Wick")),
            (
                r#"{"error": "No ferry today.", "location": "Wick"}"#,
                Some("No ferry today."),
            ),
            ("```json\n{\"message\": \"Wick\"}\n```", Some("Wick")),
            (r#"{"answer": 5}"#, None),
            (r#"{"town": "Wick"}"#, None),
            (r#"It is {"answer": "Wick"}"#, None),
            (r#"["answer"]"#, None),
            ("", None),
        ] {
            assert_eq!(answer_field(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn what_nobody_says_is_malformed() {
        for text in [
            "tool_calls: [",
            "Tool_Code: x",
            "<tool_call>{\"name\":\"convert_units\",\"arguments\":{}}</tool_call>",
            "<tool_call>\n{\"name\": ",
            "```tool_code\nprint(1)\n```",
            "```\ntool_output: 5",
            "```tool_call\nnot json\n```",
            "```tool_call\n{\"name\": ",
            "a <unused7> b",
            "{\"town\": \"Wick\"",
            "{\"town\": \"Wick\"}",
            "{\"answer\": \"\"}",
            "\u{feff}{\"town\": \"Wick\"}",
            "[{\"high\": 9}]",
            "[{\"town\": \"Wick\"",
            "[1, {\"lang\" : \"json\"}]",
            "```json\n[{\"site\": 1}]\n```",
            "```json\n{\"paths\": 1}",
            "[\"api.github.com\"]",
        ] {
            assert!(is_malformed(text), "{text}");
        }
        for text in [
            "It is Wick.",
            "",
            "The tool_calls: field lists them.",
            "[1] says otherwise.",
            "Write this:\n```json\n{\"site\": 1}\n```",
            "```json\n{\"site\": 1}\n```\nis the file.",
            "```rust\nfn main() {}\n```",
            "{\"answer\": \"Wick\"}",
            "Use <unused> tokens.",
            "Hermes writes <tool_call> around a call.",
            "```tool_call\n{\"name\": \"web_search\", \"arguments\": {}}\n```",
        ] {
            assert!(!is_malformed(text), "{text}");
        }
    }
}
