//! Anthropic's messages: one event, or one whole message, into the draft.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{CallArguments, CallFragment};
use super::draft::{RawUsage, ReplyDraft};
use super::template::TextSpan;
use super::thinking::ThinkingBlock;
use crate::llm::wire::errors::ProviderError;
use crate::llm::wire::read::lenient::{LenientCount, LenientText};

#[derive(Deserialize, Default)]
#[serde(default)]
struct StreamEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    index: LenientCount,
    error: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    content_block: Option<ContentBlock<'a>>,
    delta: Option<ContentBlock<'a>>,
    usage: Option<AnthropicUsage>,
    // A whole message.
    content: Option<Vec<ContentBlock<'a>>>,
    stop_reason: LenientText<'a>,
    stop_details: Option<StopDetails<'a>>,
}

/// A content block or a delta; their members do not clash.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ContentBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    text: LenientText<'a>,
    thinking: LenientText<'a>,
    signature: LenientText<'a>,
    data: LenientText<'a>,
    partial_json: LenientText<'a>,
    id: LenientText<'a>,
    name: LenientText<'a>,
    input: Option<&'a RawValue>,
    stop_reason: LenientText<'a>,
    stop_details: Option<StopDetails<'a>>,
}

/// Why the model declined (<https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>).
#[derive(Deserialize, Default)]
#[serde(default)]
struct StopDetails<'a> {
    #[serde(borrow)]
    category: LenientText<'a>,
    explanation: LenientText<'a>,
}

/// Keeps why the model declined.
fn decline(draft: &mut ReplyDraft, details: Option<&StopDetails<'_>>) {
    let Some(details) = details else {
        return;
    };
    let explanation = details.explanation.filled().unwrap_or_default();
    draft.refusal = match (explanation, details.category.filled()) {
        ("", Some(category)) => format!("category {category}"),
        (words, Some(category)) => format!("{words} (category {category})"),
        (words, None) => words.to_owned(),
    };
}

fn thinking_block(index: u64, block: &ContentBlock<'_>) -> ThinkingBlock {
    let owned = |text: &LenientText<'_>| text.0.as_deref().map(str::to_owned);
    if block.kind.filled() == Some("thinking") {
        ThinkingBlock {
            kind: "thinking",
            index,
            thinking: Some(owned(&block.thinking).unwrap_or_default()),
            signature: owned(&block.signature).filter(|text| !text.is_empty()),
            data: None,
        }
    } else {
        ThinkingBlock {
            kind: "redacted_thinking",
            index,
            data: owned(&block.data),
            ..ThinkingBlock::default()
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MessageStart {
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AnthropicUsage {
    input_tokens: LenientCount,
    cache_creation_input_tokens: LenientCount,
    cache_read_input_tokens: LenientCount,
    cache_creation: Option<CacheCreation>,
    output_tokens: LenientCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    ephemeral_1h_input_tokens: LenientCount,
}

/// Adds one JSON payload to the draft; returns the place of its text if it contained nothing else.
pub(super) fn apply(
    data: &[u8],
    draft: &mut ReplyDraft,
) -> Result<Option<TextSpan>, serde_json::Error> {
    let event: StreamEvent<'_> = serde_json::from_slice(data)?;
    draft.events += 1;
    if event.error.is_some() || event.kind.0.is_none() {
        draft.error = draft.error.take().or_else(|| ProviderError::read(data));
    }
    let index = event.index.0.unwrap_or(0);
    match event.kind.filled().unwrap_or_default() {
        "message_start" => {
            let start = event
                .message
                .and_then(|raw| serde_json::from_str::<MessageStart>(raw.get()).ok());
            // What came until then is not the reply: one that is cut is estimated.
            let usage = start.and_then(|start| start.usage);
            count(
                draft,
                usage.map(|usage| AnthropicUsage {
                    output_tokens: LenientCount::default(),
                    ..usage
                }),
            );
        }
        "content_block_start" => {
            if let Some(block) = &event.content_block {
                start_block(index, block, draft);
            }
        }
        "content_block_delta" => {
            if let Some(delta) = &event.delta {
                apply_delta(index, delta, draft);
                if event.error.is_none() && delta.kind.filled() == Some("text_delta") {
                    let text = delta.text.filled().unwrap_or_default();
                    return Ok(TextSpan::of(text, data, false));
                }
            }
        }
        "message_delta" => {
            if let Some(word) = event.delta.as_ref().and_then(|d| d.stop_reason.filled()) {
                draft.finish = Some(word.to_owned());
            }
            decline(
                draft,
                event.delta.as_ref().and_then(|d| d.stop_details.as_ref()),
            );
            count(draft, event.usage);
        }
        "message_stop" => draft.done = true,
        "message" => {
            draft.whole = true;
            for (index, block) in (0..).zip(event.content.iter().flatten()) {
                start_block(index, block, draft);
            }
            if let Some(word) = event.stop_reason.filled() {
                draft.finish = Some(word.to_owned());
            }
            decline(draft, event.stop_details.as_ref());
            count(draft, event.usage);
        }
        _ => {}
    }
    Ok(None)
}

fn start_block(index: u64, block: &ContentBlock<'_>, draft: &mut ReplyDraft) {
    match block.kind.filled().unwrap_or_default() {
        "text" => draft.say(block.text.filled().unwrap_or_default()),
        "tool_use" => draft.calls.add(CallFragment {
            index: Some(index),
            id: block.id.filled(),
            name: block.name.filled(),
            // A stream begins with an empty object as a placeholder and sends the arguments as text.
            args: match block.input.map(RawValue::get).filter(|json| *json != "{}") {
                Some(json) => CallArguments::Whole(json),
                None => CallArguments::None,
            },
            extra: None,
        }),
        "thinking" | "redacted_thinking" => {
            draft.blocks.push(thinking_block(index, block));
            draft.think(block.thinking.filled().unwrap_or_default());
            draft.sign(block.signature.filled().unwrap_or_default());
        }
        _ => {}
    }
}

fn apply_delta(index: u64, delta: &ContentBlock<'_>, draft: &mut ReplyDraft) {
    match delta.kind.filled().unwrap_or_default() {
        "text_delta" => draft.say(delta.text.filled().unwrap_or_default()),
        "thinking_delta" => {
            let thinking = delta.thinking.filled().unwrap_or_default();
            draft.blocks.add(index, thinking, "");
            draft.think(thinking);
        }
        "signature_delta" => {
            let signature = delta.signature.filled().unwrap_or_default();
            draft.blocks.add(index, "", signature);
            draft.sign(signature);
        }
        "input_json_delta" => draft.calls.add(CallFragment {
            index: Some(index),
            args: CallArguments::Text(delta.partial_json.filled().unwrap_or_default()),
            ..CallFragment::default()
        }),
        _ => {}
    }
}

/// Adds the counts that are there to those known: the request's come first, the reply's last, where some servers repeat the request's.
/// `input_tokens` leaves out what was read from and written to the cache (<https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching>).
fn count(draft: &mut ReplyDraft, counts: Option<AnthropicUsage>) {
    let Some(counts) = counts else {
        return;
    };
    let known = draft.usage.unwrap_or_default();
    let prompt = counts.input_tokens.0.map(|input| {
        let cached = [
            counts.cache_creation_input_tokens,
            counts.cache_read_input_tokens,
        ];
        cached
            .iter()
            .filter_map(|count| count.0)
            .fold(input, u64::saturating_add)
    });
    let prompt = prompt.or(known.prompt);
    let completion = counts.output_tokens.0.or(known.completion);
    draft.count(RawUsage {
        prompt,
        completion,
        total: prompt.zip(completion).map(|(p, c)| p.saturating_add(c)),
        cached: counts.cache_read_input_tokens.0.or(known.cached),
        written: counts.cache_creation_input_tokens.0.or(known.written),
        written_1h: counts
            .cache_creation
            .and_then(|kept| kept.ephemeral_1h_input_tokens.0)
            .or(known.written_1h),
        reasoning: None,
    });
}
