//! The parts of a message in the shapes of Anthropic's Messages API (<https://docs.anthropic.com/en/api/messages>).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::line_writer::{CLIPPED, MAX_TEXT};
use crate::chat::image::Image;
use crate::chat::message::ToolCall;
use crate::chat::usage::Tokens;
use crate::llm::image_data::Base64;
use crate::tools::engine::arguments::meant_object;

/// What the model wrote.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentBlock {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        /// Empty where the provider has none.
        signature: String,
    },
    ToolUse {
        id: String,
        name: String,
        /// Always an object.
        input: Map<String, Value>,
    },
}

/// What a call returned: its text, or blocks if it has images.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(&'a str),
    Blocks(Vec<Value>),
}

/// The content of a result with those of its images for which a line has room.
pub(super) fn of_result<'a>(text: &'a str, images: &[Image]) -> ResultContent<'a> {
    if images.is_empty() {
        return ResultContent::Text(text);
    }
    let mut room = MAX_TEXT.saturating_sub(Value::from(text).to_string().len());
    let images = images.iter().filter_map(|image| {
        let bytes = image.data.as_deref()?;
        room = room.checked_sub(bytes.len().div_ceil(3) * 4)?;
        let media_type = image.kind.media_type();
        Some(json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": Base64(bytes)}}))
    });
    let images: Vec<Value> = images.collect();
    match images.is_empty() {
        true => ResultContent::Text(text),
        false => {
            let text = json!({"type": "text", "text": text});
            ResultContent::Blocks(std::iter::once(text).chain(images).collect())
        }
    }
}

impl ContentBlock {
    pub(super) fn of_call(call: &ToolCall) -> Self {
        Self::ToolUse {
            id: call.id.clone(),
            name: call.name.clone(),
            input: fitted(input_of(&call.args), MAX_TEXT),
        }
    }
}

/// Arguments as the object that they are meant as; what is none has no members, and the result says so.
pub(super) fn input_of(args: &str) -> Map<String, Value> {
    meant_object(args).unwrap_or_default()
}

/// The same in at most `most` bytes: the longest texts lose their ends until it is. Nothing is left where that is not enough.
pub(super) fn fitted(input: Map<String, Value>, most: usize) -> Map<String, Value> {
    let mut whole = Value::Object(input);
    while whole.to_string().len() > most {
        let Some(longest) = longest(&mut whole).filter(|text| text.len() > CLIPPED.len()) else {
            break;
        };
        let kept = longest.floor_char_boundary(longest.len() / 2 - CLIPPED.len() / 2);
        longest.truncate(kept);
        longest.push_str(CLIPPED);
    }
    match whole {
        Value::Object(input) if Value::Object(input.clone()).to_string().len() <= most => input,
        _ => Map::new(),
    }
}

/// A message of the caller as far as a line has room for it: without its files, whose beginnings nobody could use, and without the ends of long texts.
pub(super) fn fitted_message(message: &Value) -> Value {
    let mut message = message.clone();
    if message.to_string().len() <= MAX_TEXT {
        return message;
    }
    let blocks = message.get_mut("content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        if block.get("source").is_some() {
            *block = json!({"type": "text", "text": CLIPPED.trim_start()});
        }
    }
    match message {
        Value::Object(message) => Value::Object(fitted(message, MAX_TEXT)),
        other => other,
    }
}

fn longest(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(items) => {
            let texts = items.iter_mut().filter_map(longest);
            texts.max_by_key(|text| text.len())
        }
        Value::Object(map) => {
            let texts = map.values_mut().filter_map(longest);
            texts.max_by_key(|text| text.len())
        }
        _ => None,
    }
}

/// Tokens in Anthropic's way of counting: what was read from or written to a cache is no part of the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct UsageFields {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
}

impl From<Tokens> for UsageFields {
    fn from(tokens: Tokens) -> Self {
        let from_cache = tokens.cached.saturating_add(tokens.written);
        Self {
            input_tokens: tokens.input.saturating_sub(from_cache),
            output_tokens: tokens.output,
            cache_read_input_tokens: tokens.cached,
            cache_creation_input_tokens: tokens.written,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_input_of_a_call_is_an_object_whatever_the_model_wrote() {
        for (args, input) in [
            (r#"{"path":"a"}"#, json!({"path": "a"})),
            ("", json!({})),
            ("null", json!({})),
            (r#""{\"path\":\"a\"}""#, json!({"path": "a"})),
            ("*** Begin Patch", json!({})),
            ("{\"path\":", json!({})),
            ("[1]", json!({})),
        ] {
            assert_eq!(Value::Object(input_of(args)), input, "{args}");
        }
    }

    #[test]
    fn an_input_that_is_longer_than_a_line_loses_the_ends_of_its_longest_texts() {
        let long =
            json!({"path": "a", "content": "x\n".repeat(2 << 20), "more": ["y".repeat(600_000)]});
        let call = ToolCall::new("1", "create_file", long.to_string());
        let ContentBlock::ToolUse { input, .. } = ContentBlock::of_call(&call) else {
            panic!("no call");
        };
        assert_eq!(input["path"], "a");
        assert!(input["content"].as_str().unwrap().ends_with(CLIPPED));
        let length = Value::Object(input).to_string().len();
        assert!((MAX_TEXT / 4..=MAX_TEXT).contains(&length), "{length}");
        let ContentBlock::ToolUse { input, .. } = ContentBlock::of_call(&call) else {
            panic!("no call");
        };
        let shorter = fitted(input, 1_000);
        assert!(shorter["path"] == "a" && Value::Object(shorter).to_string().len() <= 1_000);
        let many: Vec<u32> = (0..400_000).collect();
        let call = ToolCall::new("1", "x", json!({"many": many}).to_string());
        assert!(
            matches!(ContentBlock::of_call(&call), ContentBlock::ToolUse { input, .. } if input.is_empty())
        );
    }

    #[test]
    fn a_message_that_comes_back_fits_into_a_line() {
        let text = |text: String| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A".repeat(2 << 20)}});
        let short = json!({"role": "user", "content": [text("a".to_owned())]});
        assert_eq!(fitted_message(&short), short);
        for content in [
            json!("x\n".repeat(1 << 20)),
            json!([text("a".to_owned()), image, text("b".repeat(2 << 20))]),
        ] {
            let told = fitted_message(&json!({"role": "user", "content": content}));
            let text = told.to_string();
            assert!(
                text.len() <= MAX_TEXT && text.contains("left out"),
                "{}",
                text.len()
            );
            assert!(content.is_string() || told["content"][0]["text"] == "a");
            assert!(!text.contains("AAAA"));
        }
    }

    #[test]
    fn what_a_cache_gave_or_got_is_not_counted_twice() {
        let usage = UsageFields::from(Tokens {
            input: 100,
            output: 7,
            cached: 60,
            written: 30,
            ..Tokens::default()
        });
        let form = serde_json::to_value(usage).unwrap();
        assert_eq!(
            form,
            json!({"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30})
        );
    }
}
