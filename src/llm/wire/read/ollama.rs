//! Reads one line of Ollama's own `/api/chat` into the draft (<https://github.com/ollama/ollama/blob/main/docs/api.md>).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::called_function::{CalledFunction, add_call};
use super::calls::CallFragment;
use super::draft::{RawUsage, ReplyDraft};
use super::template::TextSpan;
use crate::llm::wire::errors::ProviderError;
use crate::llm::wire::read::lenient::{LenientCount, LenientText};
use crate::llm::wire::read::repair_json;

#[derive(Deserialize, Default)]
#[serde(default)]
struct OllamaChunk<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    message: Option<OllamaMessage<'a>>,
    /// Some small servers answer with nothing but this.
    content: LenientText<'a>,
    /// The shape of chat completions: the server is not Ollama.
    choices: Option<serde::de::IgnoredAny>,
    done: Option<bool>,
    done_reason: LenientText<'a>,
    prompt_eval_count: LenientCount,
    eval_count: LenientCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OllamaMessage<'a> {
    #[serde(borrow)]
    content: LenientText<'a>,
    thinking: LenientText<'a>,
    tool_calls: Option<Vec<OllamaCall<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OllamaCall<'a> {
    #[serde(borrow)]
    id: LenientText<'a>,
    function: Option<CalledFunction<'a>>,
}

impl OllamaMessage<'_> {
    fn text_span(&self, data: &[u8]) -> Option<TextSpan> {
        match (self.content.filled(), self.thinking.filled()) {
            (Some(text), None) => TextSpan::of(text, data, false),
            (None, Some(text)) => TextSpan::of(text, data, true),
            _ => None,
        }
    }
}

/// Adds one JSON payload to the draft; returns the place of its text if it contained nothing else.
pub(super) fn apply(
    data: &[u8],
    draft: &mut ReplyDraft,
) -> Result<Option<TextSpan>, serde_json::Error> {
    let line: OllamaChunk<'_> = serde_json::from_slice(data)?;
    if line.choices.is_some() {
        return super::openai::apply(data, draft).map(|_| None);
    }
    let calls = line
        .message
        .iter()
        .flat_map(|message| message.tool_calls.iter().flatten());
    let mut functions = calls.filter_map(|call| call.function.as_ref());
    if functions.any(CalledFunction::has_lone_surrogate) {
        return Err(serde::de::Error::custom(repair_json::LONE_SURROGATE));
    }
    draft.events += 1;
    if line.error.is_some() || line.message.is_none() && line.done.is_none() {
        draft.error = draft.error.take().or_else(|| ProviderError::read(data));
    }
    if line.message.is_none() && draft.error.is_none() {
        draft.say(line.content.filled().unwrap_or_default());
    }
    if let Some(message) = &line.message {
        draft.think(message.thinking.filled().unwrap_or_default());
        draft.say(message.content.filled().unwrap_or_default());
        for call in message.tool_calls.iter().flatten() {
            // Calls are never split, so the index is not needed; older versions sent 0 for every call.
            let piece = CallFragment {
                id: call.id.filled(),
                ..CallFragment::default()
            };
            add_call(&mut draft.calls, call.function.as_ref(), piece);
        }
    }
    if let Some(word) = line.done_reason.filled() {
        draft.finish = Some(word.to_owned());
    }
    let (prompt, completion) = (line.prompt_eval_count.0, line.eval_count.0);
    if prompt.is_some() || completion.is_some() {
        draft.count(RawUsage {
            prompt,
            completion,
            total: Some(prompt.unwrap_or(0).saturating_add(completion.unwrap_or(0))),
            ..RawUsage::default()
        });
    }
    draft.done |= line.done == Some(true);
    let only = line.error.is_none()
        && line.done != Some(true)
        && line.done_reason.filled().is_none()
        && prompt.is_none()
        && completion.is_none();
    Ok(line
        .message
        .filter(|message| only && message.tool_calls.is_none())
        .and_then(|message| message.text_span(data)))
}
