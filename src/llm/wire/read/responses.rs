//! The Responses wire: adds one event, or one complete response, to the draft (<https://platform.openai.com/docs/api-reference/responses-streaming>).
//!
//! Text arrives in deltas, in an item's `output_item.done`, and once more in the last event; servers differ in which of the three they fill in. So
//! everything is taken from wherever it comes first.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::billed;
use super::draft::{RawUsage, ReplyDraft};
use super::lenient::{LenientCount, LenientText};
use super::output_items::{ItemContent, ItemKey, MessageItem, ReasoningItem};
use super::repair_json::{LONE_SURROGATE, has_lone_surrogate};
use super::template::TextSpan;
use crate::llm::wire::errors::{ProviderError, fired_filters};

/// Separates two messages, and two parts of the reasoning.
const PARAGRAPH: &str = "\n\n";
/// Numbers for parts that came only with the complete item; higher than any number in events.
const UNANNOUNCED_PARTS: u64 = 1 << 32;

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    output_index: LenientCount,
    item_id: LenientText<'a>,
    content_index: LenientCount,
    summary_index: LenientCount,
    delta: LenientText<'a>,
    text: LenientText<'a>,
    refusal: LenientText<'a>,
    name: LenientText<'a>,
    arguments: Option<&'a RawValue>,
    item: Option<Item<'a>>,
    response: Option<ResponseObject<'a>>,
    /// Of a complete response, or of another protocol.
    object: LenientText<'a>,
    choices: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Item<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    id: LenientText<'a>,
    call_id: LenientText<'a>,
    name: LenientText<'a>,
    arguments: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    summary: Option<&'a RawValue>,
    encrypted_content: Option<&'a RawValue>,
    phase: LenientText<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ContentPart<'a> {
    #[serde(rename = "type", borrow)]
    kind: LenientText<'a>,
    text: LenientText<'a>,
    refusal: LenientText<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponseObject<'a> {
    #[serde(borrow)]
    id: LenientText<'a>,
    status: LenientText<'a>,
    incomplete_details: Option<IncompleteDetails<'a>>,
    error: Option<&'a RawValue>,
    output: Option<Vec<Option<Item<'a>>>>,
    usage: Option<&'a RawValue>,
    /// Azure.
    content_filters: Option<&'a RawValue>,
}

/// What one of Azure's filters found.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ContentFilter {
    content_filter_results: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct IncompleteDetails<'a> {
    #[serde(borrow)]
    reason: LenientText<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResponsesUsage {
    input_tokens: LenientCount,
    output_tokens: LenientCount,
    total_tokens: LenientCount,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
    /// xAI: in units of 10^-10 US dollars.
    cost_in_usd_ticks: LenientCount,
    /// OpenRouter: US dollars.
    cost: Option<Value>,
    /// OpenRouter.
    is_byok: Option<Value>,
    /// OpenRouter.
    cost_details: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct InputDetails {
    cached_tokens: LenientCount,
    cache_write_tokens: LenientCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: LenientCount,
}

/// Adds one JSON payload to the draft; `name` comes from the event's line. Returns the place of its text if it contained nothing else.
pub(super) fn apply(
    name: &str,
    data: &[u8],
    draft: &mut ReplyDraft,
) -> Result<Option<TextSpan>, serde_json::Error> {
    let event: ResponsesEvent<'_> = serde_json::from_slice(data)?;
    if event.kind.filled().is_none() && event.choices.is_some() {
        return Err(serde::de::Error::custom("a chat completion"));
    }
    // These are decoded last, when it is too late for repairs.
    let has_raw = event.item.is_some() || event.response.is_some() || event.arguments.is_some();
    if has_raw && std::str::from_utf8(data).is_ok_and(has_lone_surrogate) {
        return Err(serde::de::Error::custom(LONE_SURROGATE));
    }
    draft.events += 1;
    let key = ItemKey {
        index: event.output_index.0,
        id: event.item_id.filled(),
        or_newest: true,
    };
    let content_part = event.content_index.0.unwrap_or(0);
    let summary_part = event.summary_index.0.unwrap_or(0);
    let kind = event.kind.filled().unwrap_or(name);
    let kind = kind.strip_prefix("response.").unwrap_or(kind);
    match kind {
        "output_text.delta" => {
            let text = event.delta.filled().unwrap_or_default();
            let at = message(draft, key);
            if say(draft, at, content_part, text) {
                return Ok(TextSpan::of(text, data, false));
            }
        }
        "output_text.done" => {
            let at = message(draft, key);
            if !draft.items.has_text(at, content_part) {
                say(
                    draft,
                    at,
                    content_part,
                    event.text.filled().unwrap_or_default(),
                );
            }
        }
        "refusal.delta" | "refusal.done" => {
            let at = message(draft, key);
            let (piece, whole) = (event.delta.filled(), event.refusal.filled());
            refuse(draft, at, piece.or(whole), piece.is_some());
        }
        "reasoning_summary_text.delta" | "reasoning_summary_text.done" => {
            let at = reasoning(draft, key);
            let (piece, whole) = (event.delta.filled(), event.text.filled());
            think(
                draft,
                at,
                false,
                summary_part,
                piece.or(whole),
                piece.is_some(),
            );
        }
        "reasoning_text.delta" | "reasoning_text.done" | "reasoning.delta" | "reasoning.done" => {
            let at = reasoning(draft, key);
            let (piece, whole) = (event.delta.filled(), event.text.filled());
            think(
                draft,
                at,
                true,
                content_part,
                piece.or(whole),
                piece.is_some(),
            );
        }
        "function_call_arguments.delta" => {
            let at = call(draft, key);
            if let Some(call) = draft.items.open_call(at) {
                let piece = event.delta.filled().unwrap_or_default();
                draft.calls.append_arguments(call, piece);
            }
        }
        "function_call_arguments.done" => {
            let at = call(draft, key);
            if let Some(call) = draft.items.open_call(at) {
                set_arguments(draft, call, event.arguments);
                draft.calls.set_name(call, event.name.filled());
            }
        }
        "output_item.added" | "output_item.done" => {
            if let Some(item) = &event.item {
                let id = item.id.filled().or(item.call_id.filled());
                let key = ItemKey {
                    id: id.or(key.id),
                    or_newest: kind == "output_item.done",
                    ..key
                };
                let at = open(draft, key, item);
                if kind == "output_item.done" {
                    settle(draft, at, item);
                }
            }
        }
        "completed" | "incomplete" | "failed" | "cancelled" => {
            end(draft, &event.response.unwrap_or_default(), kind);
        }
        "error" => {
            draft.done = true;
            let error = ProviderError::read(data).unwrap_or_default();
            draft.error.get_or_insert(error);
        }
        _ if event.object.filled() == Some("response") => {
            end(draft, &serde_json::from_slice(data)?, "completed");
        }
        _ if event.kind.0.is_none() && name.is_empty() => {
            draft.error = draft.error.take().or_else(|| ProviderError::read(data));
        }
        // Keep-alives, tools that the provider runs itself, and events newer than this code.
        _ => {}
    }
    Ok(None)
}

/// Adds the text of an event that differs from the last one only in its text.
pub(super) fn say_more(draft: &mut ReplyDraft, text: &str) {
    if draft.items.grow_newest(text.len()) {
        draft.say(text);
    }
}

fn is_message(content: &ItemContent) -> bool {
    matches!(content, ItemContent::Message(_))
}

fn is_reasoning(content: &ItemContent) -> bool {
    matches!(content, ItemContent::Reasoning(_))
}

fn is_call(content: &ItemContent) -> bool {
    matches!(content, ItemContent::Call(_))
}

fn is_other(content: &ItemContent) -> bool {
    matches!(content, ItemContent::Other)
}

fn message(draft: &mut ReplyDraft, key: ItemKey<'_>) -> usize {
    let new = || ItemContent::Message(MessageItem::default());
    draft.items.find_or_open(key, is_message, new)
}

fn reasoning(draft: &mut ReplyDraft, key: ItemKey<'_>) -> usize {
    let new = || ItemContent::Reasoning(ReasoningItem::default());
    draft.items.find_or_open(key, is_reasoning, new)
}

fn call(draft: &mut ReplyDraft, key: ItemKey<'_>) -> usize {
    let calls = &mut draft.calls;
    draft
        .items
        .find_or_open(key, is_call, || ItemContent::Call(calls.open()))
}

/// Adds text to a message; false when there was none.
fn say(draft: &mut ReplyDraft, at: usize, part: u64, text: &str) -> bool {
    let newest = draft.items.newest_text();
    let Some(message) = draft.items.open_message(at).filter(|_| !text.is_empty()) else {
        return false;
    };
    if !message.parts.contains(&part) {
        message.parts.push(part);
    }
    let begins = message.len == 0;
    let second = begins && !draft.text.is_empty();
    if begins {
        message.from = draft.text.len() + if second { PARAGRAPH.len() } else { 0 };
    }
    message.len += text.len();
    draft.items.interleaved |= !begins && newest != Some(at);
    if second {
        draft.say(PARAGRAPH);
    }
    draft.say(text);
    true
}

/// Adds a piece of a refusal, or the whole refusal if there were no pieces.
fn refuse(draft: &mut ReplyDraft, at: usize, text: Option<&str>, piece: bool) {
    if let (Some(message), Some(text)) = (draft.items.open_message(at), text)
        && (piece || !message.refused)
    {
        message.refused = true;
        draft.refusal.push_str(text);
    }
}

/// Adds a piece of the reasoning, or a whole part if there were no pieces.
fn think(draft: &mut ReplyDraft, at: usize, raw: bool, part: u64, text: Option<&str>, piece: bool) {
    let (Some(reasoning), Some(text)) = (draft.items.open_reasoning(at), text) else {
        return;
    };
    // The model's own words and a summary of them are not both shown.
    if *reasoning.raw.get_or_insert(raw) != raw {
        return;
    }
    let begins = !reasoning.parts.contains(&part);
    if begins {
        reasoning.parts.push(part);
    } else if !piece {
        return;
    }
    if begins && !draft.reasoning.is_empty() {
        draft.think(PARAGRAPH);
    }
    draft.think(text);
}

fn set_arguments(draft: &mut ReplyDraft, call: usize, arguments: Option<&RawValue>) {
    let Some(json) = arguments.map(RawValue::get) else {
        return;
    };
    if json.starts_with('"') {
        let text = serde_json::from_str::<LenientText<'_>>(json).unwrap_or_default();
        if let Some(text) = text.filled() {
            draft.calls.set_arguments(call, text, false);
        }
    } else if json.starts_with('{') {
        draft.calls.set_arguments(call, json, true);
    }
}

/// The position of an item, which is opened if necessary, after applying what its first event says.
fn open(draft: &mut ReplyDraft, key: ItemKey<'_>, item: &Item<'_>) -> usize {
    match item.kind.filled().unwrap_or_default() {
        "message" => {
            let at = message(draft, key);
            if let (Some(message), Some(phase)) =
                (draft.items.open_message(at), item.phase.filled())
            {
                message.phase = Some(phase.to_owned());
            }
            at
        }
        "reasoning" => reasoning(draft, key),
        "function_call" => {
            let at = call(draft, key);
            if let Some(call) = draft.items.open_call(at) {
                draft.calls.set_name(call, item.name.filled());
                draft.calls.set_id(call, item.call_id.filled());
            }
            at
        }
        _ => draft
            .items
            .find_or_open(key, is_other, || ItemContent::Other),
    }
}

/// Takes from a final item what earlier events did not contain.
fn settle(draft: &mut ReplyDraft, at: usize, item: &Item<'_>) {
    if let Some(message) = draft.items.open_message(at) {
        let (from, len) = (message.from, message.len);
        let parts = parts(item.content);
        let whole: String = parts.iter().filter_map(|part| part.text.filled()).collect();
        let shown = draft.text.get(from..from + len).unwrap_or_default();
        let rest = whole.strip_prefix(shown).unwrap_or_default().to_owned();
        say(draft, at, 0, &rest);
        let refusal: String = parts
            .iter()
            .filter_map(|part| part.refusal.filled())
            .collect();
        refuse(
            draft,
            at,
            Some(refusal.as_str()).filter(|text| !text.is_empty()),
            false,
        );
    }
    if let Some(reasoning) = draft.items.open_reasoning(at) {
        let (seen, raw) = (reasoning.parts.len(), reasoning.raw);
        let (summary, own) = (parts(item.summary), parts(item.content));
        let raw = raw.unwrap_or(summary.is_empty());
        let parts = if raw { own } else { summary };
        for (part, from) in parts.iter().skip(seen).zip(UNANNOUNCED_PARTS..) {
            think(draft, at, raw, from, part.text.filled(), false);
        }
    }
    if let Some(call) = draft.items.open_call(at) {
        set_arguments(draft, call, item.arguments);
    }
    draft
        .items
        .settle(at, item.replay(), item.encrypted_content.is_some());
}

/// The response has ended: its items once more, the finish reason, and the usage.
fn end(draft: &mut ReplyDraft, response: &ResponseObject<'_>, event: &str) {
    let mut seen = [0usize; 4];
    for item in response.output.iter().flatten().flatten() {
        let (kind, is_kind): (usize, fn(&ItemContent) -> bool) =
            match item.kind.filled().unwrap_or_default() {
                "message" => (0, is_message),
                "reasoning" => (1, is_reasoning),
                "function_call" => (2, is_call),
                _ => (3, is_other),
            };
        let nth = seen.get(kind).copied().unwrap_or_default();
        if let Some(seen) = seen.get_mut(kind) {
            *seen += 1;
        }
        // Ids and positions may differ from those of the events; the order of the items of each kind does not.
        let at = match draft.items.nth(nth, is_kind) {
            Some(at) => at,
            None => open(draft, ItemKey::default(), item),
        };
        settle(draft, at, item);
    }
    if let Some(usage) = response
        .usage
        .and_then(|raw| serde_json::from_str::<ResponsesUsage>(raw.get()).ok())
    {
        draft.billed = usage.billed();
        draft.count(usage.into());
    }
    // vLLM sends `response.completed` even if the token limit was reached.
    let status = response.status.filled().unwrap_or(event);
    let reason = response
        .incomplete_details
        .as_ref()
        .and_then(|details| details.reason.filled());
    draft.done = true;
    if event == "failed" || status == "failed" {
        let error = response
            .error
            .and_then(|raw| ProviderError::read(format!("{{\"error\":{raw}}}").as_bytes()));
        draft.error.get_or_insert(error.unwrap_or_default());
        draft.response_id = response.id.filled().map(str::to_owned);
        return;
    }
    let filters = response
        .content_filters
        .and_then(|raw| serde_json::from_str::<Vec<ContentFilter>>(raw.get()).ok());
    for filter in filters.into_iter().flatten() {
        draft
            .filtered
            .extend(fired_filters(&filter.content_filter_results));
    }
    draft.stopped_early = status != "completed";
    draft.finish = Some(if draft.stopped_early {
        reason.unwrap_or(status).to_owned()
    } else {
        status.to_owned()
    });
}

fn parts(raw: Option<&RawValue>) -> Vec<ContentPart<'_>> {
    let parts = raw.and_then(|raw| serde_json::from_str::<Vec<Option<_>>>(raw.get()).ok());
    parts.into_iter().flatten().flatten().collect()
}

impl Item<'_> {
    /// Reasoning for the next request: without ids, since the server keeps no conversation, and only if it can be read there.
    fn replay(&self) -> Option<String> {
        let filled = |raw: Option<&RawValue>| {
            raw.map(|raw| raw.get().to_owned())
                .filter(|json| !matches!(json.as_str(), "null" | "[]" | "\"\""))
        };
        let (encrypted, content) = (filled(self.encrypted_content), filled(self.content));
        if encrypted.is_none() && content.is_none() {
            return None;
        }
        let mut json = String::from("{\"type\":\"reasoning\",\"summary\":");
        json.push_str(&filled(self.summary).unwrap_or_else(|| "[]".to_owned()));
        for (name, value) in [("content", content), ("encrypted_content", encrypted)] {
            if let Some(value) = value {
                json.push_str(",\"");
                json.push_str(name);
                json.push_str("\":");
                json.push_str(&value);
            }
        }
        json.push('}');
        Some(json)
    }
}

impl ResponsesUsage {
    fn billed(&self) -> Option<f64> {
        let ticks = self.cost_in_usd_ticks.0.map(|ticks| ticks as f64 / 1e10);
        ticks.or_else(|| {
            billed::charge(
                self.cost.as_ref(),
                self.is_byok.as_ref(),
                self.cost_details.as_ref(),
            )
        })
    }
}

impl From<ResponsesUsage> for RawUsage {
    fn from(usage: ResponsesUsage) -> Self {
        let input = usage.input_tokens_details.unwrap_or_default();
        let output = usage.output_tokens_details.unwrap_or_default();
        Self {
            prompt: usage.input_tokens.0,
            completion: usage.output_tokens.0,
            total: usage.total_tokens.0,
            cached: input.cached_tokens.0,
            written: input.cache_write_tokens.0,
            written_1h: None,
            reasoning: output.reasoning_tokens.0,
        }
    }
}
