//! Chat completions: adds one chunk, or one complete response, to the draft.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::billed;
use super::called_function::{CalledFunction, add_call};
use super::calls::CallFragment;
use super::draft::{RawUsage, ReplyDraft, is_limit};
use super::template::TextSpan;
use crate::llm::wire::errors::{ProviderError, fired_filters};
use crate::llm::wire::read::lenient::{LenientContent, LenientCount, LenientText};
use crate::llm::wire::read::repair_json;

/// The fields of a chunk that matter; each may be missing or null.
#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionChunk<'a> {
    #[serde(borrow)]
    choices: Option<FirstChoice<'a>>,
    /// Some small servers answer with nothing but this.
    content: LenientContent<'a>,
    error: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    x_groq: Option<&'a RawValue>,
}

/// The choice with index 0 of a list that may be empty or hold several.
#[derive(Default)]
struct FirstChoice<'a>(Option<Choice<'a>>);

#[derive(Deserialize, Default)]
#[serde(default)]
struct Choice<'a> {
    index: LenientCount,
    #[serde(borrow)]
    delta: Option<DeltaMessage<'a>>,
    message: Option<DeltaMessage<'a>>,
    /// The text of a completion without roles, from servers that know no other.
    text: LenientContent<'a>,
    finish_reason: LenientText<'a>,
    native_finish_reason: LenientText<'a>,
    error: Option<&'a RawValue>,
    /// Azure: each filter with what it found.
    content_filter_results: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DeltaMessage<'a> {
    #[serde(borrow)]
    content: LenientContent<'a>,
    reasoning_content: LenientContent<'a>,
    reasoning: LenientContent<'a>,
    /// As Ollama calls it.
    thinking: LenientContent<'a>,
    refusal: LenientText<'a>,
    tool_calls: Option<Vec<DeltaCall<'a>>>,
    reasoning_details: Option<&'a RawValue>,
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct DeltaCall<'a> {
    index: LenientCount,
    #[serde(borrow)]
    id: LenientText<'a>,
    function: Option<CalledFunction<'a>>,
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionUsage {
    prompt_tokens: LenientCount,
    completion_tokens: LenientCount,
    total_tokens: LenientCount,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek (<https://api-docs.deepseek.com/guides/kv_cache>).
    prompt_cache_hit_tokens: LenientCount,
    /// Moonshot.
    cached_tokens: LenientCount,
    /// Mistral, older versions.
    num_cached_tokens: LenientCount,
    /// OpenRouter: US dollars. An object with Perplexity.
    cost: Option<Value>,
    /// OpenRouter.
    is_byok: Option<Value>,
    /// OpenRouter.
    cost_details: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: LenientCount,
    cache_write_tokens: LenientCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: LenientCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Groq {
    usage: Option<CompletionUsage>,
}

impl<'de: 'a, 'a> Deserialize<'de> for FirstChoice<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = FirstChoice<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<FirstChoice<'de>, A::Error> {
                while let Some(choice) = seq.next_element::<Option<Choice<'de>>>()? {
                    if let Some(choice) = choice.filter(|choice| choice.index.0.unwrap_or(0) == 0) {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        return Ok(FirstChoice(Some(choice)));
                    }
                }
                Ok(FirstChoice(None))
            }
        }
        from.deserialize_seq(Take)
    }
}

/// Adds one JSON payload to the draft; returns the place of its text if it contained nothing else.
pub(super) fn apply(
    data: &[u8],
    draft: &mut ReplyDraft,
) -> Result<Option<TextSpan>, serde_json::Error> {
    let chunk: CompletionChunk<'_> = serde_json::from_slice(data)?;
    // Arguments are decoded last, when it is too late for repairs.
    if chunk
        .choices
        .as_ref()
        .is_some_and(FirstChoice::arguments_have_lone_surrogate)
    {
        return Err(serde::de::Error::custom(repair_json::LONE_SURROGATE));
    }
    draft.events += 1;
    // Before the choices, because an error chunk may have some.
    if chunk.error.is_some() || chunk.choices.is_none() {
        draft.error = draft.error.take().or_else(|| ProviderError::read(data));
    }
    let groq = || chunk.x_groq.and_then(|raw| read::<Groq>(raw)?.usage);
    if let Some(counts) = chunk.usage.and_then(read::<CompletionUsage>).or_else(groq) {
        let charge = billed::charge(
            counts.cost.as_ref(),
            counts.is_byok.as_ref(),
            counts.cost_details.as_ref(),
        );
        draft.billed = charge.or(draft.billed);
        draft.count(counts.into());
    }
    let other = chunk.error.is_some() || chunk.usage.is_some() || chunk.x_groq.is_some();
    let Some(choice) = chunk.choices.and_then(|choices| choices.0) else {
        if draft.error.is_none() {
            draft.say_tagged(&chunk.content.text);
        }
        return Ok(None);
    };
    let only = !other && choice.has_only_delta();
    if choice.error.is_some() && draft.error.is_none() {
        let wrapped = choice.error.map(|raw| format!("{{\"error\":{raw}}}"));
        draft.error = wrapped.and_then(|json| ProviderError::read(json.as_bytes()));
    }
    if let Some(results) = choice.content_filter_results.and_then(read::<Value>) {
        draft.filtered.extend(fired_filters(&results));
    }
    if let Some(word) = choice.finish_reason.filled() {
        word.clone_into(draft.finish.get_or_insert_default());
    }
    // OpenRouter says "tool_calls" for a call that the token limit cut off, and puts the truth here.
    draft.limit |= choice.native_finish_reason.filled().is_some_and(is_limit);
    match (choice.delta, choice.message) {
        (Some(delta), _) => {
            apply_message(&delta, draft);
            if only {
                return Ok(delta.text_span(data));
            }
        }
        // A response that was not streamed. Perplexity sends the whole message in addition to each delta.
        (None, Some(message)) if draft.text.is_empty() && draft.calls.slots().is_empty() => {
            apply_message(&message, draft);
        }
        (None, Some(_)) => {}
        (None, None) => draft.say_tagged(&choice.text.text),
    }
    Ok(None)
}

impl FirstChoice<'_> {
    /// Whether the arguments of some call contain half a surrogate pair.
    fn arguments_have_lone_surrogate(&self) -> bool {
        let parts = self
            .0
            .iter()
            .flat_map(|choice| [&choice.delta, &choice.message]);
        let calls = parts
            .flatten()
            .flat_map(|part| part.tool_calls.iter().flatten());
        calls
            .filter_map(|call| call.function.as_ref())
            .any(CalledFunction::has_lone_surrogate)
    }
}

impl Choice<'_> {
    /// Whether it contains nothing but its delta.
    fn has_only_delta(&self) -> bool {
        self.message.is_none()
            && self.finish_reason.filled().is_none()
            && self.native_finish_reason.filled().is_none()
            && self.text.text.is_empty()
            && self.error.is_none()
    }
}

impl DeltaMessage<'_> {
    /// The position in `data` of its text or thinking, if it has only one of them and nothing else.
    fn text_span(&self, data: &[u8]) -> Option<TextSpan> {
        let plain = self.refusal.filled().is_none()
            && self.tool_calls.is_none()
            && self.reasoning_details.is_none()
            && self.extra_content.is_none()
            && self.content.thinking.is_empty();
        let texts = [
            (&self.content, false),
            (&self.reasoning_content, true),
            (&self.reasoning, true),
            (&self.thinking, true),
        ];
        let mut filled = texts.iter().filter(|(content, _)| !content.text.is_empty());
        let (content, thinking) = filled.next()?;
        (plain && filled.next().is_none())
            .then(|| TextSpan::of(&content.text, data, *thinking))
            .flatten()
    }
}

fn apply_message(part: &DeltaMessage<'_>, draft: &mut ReplyDraft) {
    let thinking = [&part.reasoning_content, &part.reasoning, &part.thinking]
        .into_iter()
        .map(|content| &*content.text)
        .find(|text| !text.is_empty())
        .unwrap_or(&part.content.thinking);
    draft.think_apart(thinking);
    draft.say_tagged(&part.content.text);
    if let Some(refusal) = part.refusal.filled() {
        draft.refusal.push_str(refusal);
    }
    if let Some(list) = part.reasoning_details
        && list.get() != "[]"
    {
        draft.details.push(list.get().to_owned());
    }
    if let Some(extra) = part.extra_content {
        draft.merge_extra_content(extra.get());
    }
    for call in part.tool_calls.iter().flatten() {
        let piece = CallFragment {
            index: call.index.0,
            id: call.id.filled(),
            extra: call.extra_content.map(RawValue::get),
            ..CallFragment::default()
        };
        add_call(&mut draft.calls, call.function.as_ref(), piece);
    }
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

impl From<CompletionUsage> for RawUsage {
    fn from(counts: CompletionUsage) -> Self {
        let prompt = counts.prompt_tokens_details.unwrap_or_default();
        let completion = counts.completion_tokens_details.unwrap_or_default();
        let cached = [
            prompt.cached_tokens,
            counts.prompt_cache_hit_tokens,
            counts.cached_tokens,
            counts.num_cached_tokens,
        ];
        Self {
            prompt: counts.prompt_tokens.0,
            completion: counts.completion_tokens.0,
            total: counts.total_tokens.0,
            cached: cached.iter().find_map(|count| count.0),
            written: prompt.cache_write_tokens.0,
            written_1h: None,
            reasoning: completion.reasoning_tokens.0,
        }
    }
}
