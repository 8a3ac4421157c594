//! A reply as it arrives. Every dialect adds to it; at the end it becomes a reply or a failure.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::Calls;
use super::output_items::{OutputItems, SavedOutput};
use super::template::Template;
use super::think::{ThinkPart, ThinkSplitter};
use crate::base::word_list::WordList;
use crate::chat::message::ProviderState;
use crate::chat::usage::Tokens;
use crate::llm::catalog::ProviderSpec;
use crate::llm::provider::{Delta, FinishReason, Reply};
use crate::llm::wire::errors::ProviderError;
use crate::llm::wire::read::{details, thinking};

/// The first half of a character whose other half has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HalfCharacter {
    pub(super) code: u32,
    pub(super) place: HalfPlace,
}

/// What it is the end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HalfPlace {
    Text,
    Thinking,
    /// Arguments of a call, or something that is not shown: nobody misses it.
    Elsewhere,
}

/// Tokens as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RawUsage {
    pub(super) prompt: Option<u64>,
    pub(super) completion: Option<u64>,
    pub(super) total: Option<u64>,
    /// The part of the prompt that was read from the cache.
    pub(super) cached: Option<u64>,
    /// The part of the prompt that was written to the cache.
    pub(super) written: Option<u64>,
    /// The part of `written` that is cached for an hour.
    pub(super) written_1h: Option<u64>,
    /// The part of the completion that is reasoning.
    pub(super) reasoning: Option<u64>,
}

/// The reply so far, in a form close to the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReplyDraft {
    pub(super) text: String,
    pub(super) reasoning: String,
    /// Why the model declines, where the wire has a field for that.
    pub(super) refusal: String,
    /// What a content filter objects to.
    pub(super) filtered: Vec<String>,
    pub(super) calls: Calls,
    /// The finish reason that came last.
    pub(super) finish: Option<String>,
    pub(super) usage: Option<RawUsage>,
    /// What the provider charges, in US dollars.
    pub(super) billed: Option<f64>,
    pub(super) error: Option<ProviderError>,
    /// The id of a response that failed.
    pub(super) response_id: Option<String>,
    /// `extra_content` of the message, as JSON.
    pub(super) extra_content: Option<String>,
    /// The lists of `reasoning_details`, as JSON.
    pub(super) details: Vec<String>,
    pub(super) blocks: thinking::Blocks,
    /// The items of a reply over the Responses wire.
    pub(super) items: OutputItems,
    /// The end marker was read.
    pub(super) done: bool,
    /// The body ended within an event.
    pub(super) torn: bool,
    /// The upstream provider reports that the token limit was reached.
    pub(super) limit: bool,
    /// The Responses wire reports that the reply is incomplete; `finish` is the reason.
    pub(super) stopped_early: bool,
    /// The reply was not streamed.
    pub(super) whole: bool,
    /// JSON payloads read.
    pub(super) events: usize,
    pub(super) template: Template,
    /// The half of a character at its end.
    pub(super) half: Option<HalfCharacter>,
    splitter: ThinkSplitter,
    /// Signatures of its thinking, one after the other.
    signatures: String,
    /// What was added and not returned yet.
    queued: Vec<QueuedDelta>,
}

/// A range of one of the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct QueuedDelta {
    kind: QueuedKind,
    range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueuedKind {
    Text,
    Reasoning,
    Signature,
}

/// Opaque members that are sent back with the message.
#[derive(Serialize)]
struct OpaqueMembers<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    /// Anthropic's thinking blocks; the writer puts them first.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_blocks: Option<&'a RawValue>,
    /// The items of a reply over the Responses wire; only the writer of that wire sends them.
    #[serde(skip_serializing_if = "Option::is_none")]
    responses: Option<SavedOutput>,
}

impl ReplyDraft {
    /// Adds visible text.
    pub(super) fn say(&mut self, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        self.queue(QueuedKind::Text, from..self.text.len());
    }

    pub(super) fn think(&mut self, thinking: &str) {
        let from = self.reasoning.len();
        self.reasoning.push_str(thinking);
        self.queue(QueuedKind::Reasoning, from..self.reasoning.len());
    }

    /// Adds a piece of the signature of the thinking before it.
    pub(super) fn sign(&mut self, signature: &str) {
        let from = self.signatures.len();
        self.signatures.push_str(signature);
        self.queue(QueuedKind::Signature, from..self.signatures.len());
    }

    /// Adds text that may start with thinking between `<think>` tags.
    pub(super) fn say_tagged(&mut self, text: &str) {
        self.split(|splitter, part| splitter.feed(text, part));
    }

    /// Adds thinking from a field of its own; tags in the text are then just text.
    pub(super) fn think_apart(&mut self, thinking: &str) {
        if thinking.is_empty() {
            return;
        }
        if self.reasoning.is_empty() {
            self.split(ThinkSplitter::off);
        }
        self.think(thinking);
    }

    /// Releases text that might have been the start of a tag.
    pub(super) fn end_text(&mut self) {
        self.split(ThinkSplitter::finish);
    }

    fn split(&mut self, step: impl FnOnce(&mut ThinkSplitter, &mut dyn FnMut(ThinkPart<'_>))) {
        let mut splitter = std::mem::take(&mut self.splitter);
        step(&mut splitter, &mut |part| match part {
            ThinkPart::Text(text) => self.say(text),
            ThinkPart::Thinking(thinking) => self.think(thinking),
        });
        self.splitter = splitter;
    }

    /// Remembers an added range; adjacent ranges of the same kind are one delta.
    fn queue(&mut self, kind: QueuedKind, added: Range<usize>) {
        if added.is_empty() {
            return;
        }
        match self.queued.last_mut() {
            Some(last) if last.kind == kind => last.range.end = added.end,
            _ => self.queued.push(QueuedDelta { kind, range: added }),
        }
    }

    /// Returns what was added since the last call, in order.
    pub(super) fn deltas(&mut self) -> impl Iterator<Item = Delta<'_>> {
        let (text, reasoning, signatures) = (&self.text, &self.reasoning, &self.signatures);
        self.queued.drain(..).map(move |queued| {
            let range = queued.range;
            match queued.kind {
                QueuedKind::Text => Delta::Text(text.get(range).unwrap_or_default()),
                QueuedKind::Reasoning => Delta::Thinking(reasoning.get(range).unwrap_or_default()),
                QueuedKind::Signature => {
                    Delta::Signature(signatures.get(range).unwrap_or_default())
                }
            }
        })
    }

    /// Keeps the latest counts; a later chunk without counts does not erase them. Servers send them in the last chunk, in one after it, in every
    /// chunk, or never.
    pub(super) fn count(&mut self, usage: RawUsage) {
        if usage != RawUsage::default() {
            self.usage = Some(usage);
        }
    }

    /// Keeps `extra_content` of the message (Gemini's thought signature); several are merged.
    pub(super) fn merge_extra_content(&mut self, json: &str) {
        let merged = self.extra_content.take().and_then(|have| {
            let mut have: Value = serde_json::from_str(&have).ok()?;
            merge(&mut have, serde_json::from_str(json).ok()?);
            serde_json::to_string(&have).ok()
        });
        self.extra_content = Some(merged.unwrap_or_else(|| json.to_owned()));
    }

    pub(super) fn reply(self, row: &ProviderSpec, model: &str) -> Reply {
        let finish = self.finish_reason();
        let keep = self.provider_state(row, model);
        let usage = self.tokens();
        let (calls, cut_calls) = self.calls.finish(&finish, row.name);
        Reply {
            text: self.text,
            thinking: self.reasoning,
            calls,
            cut_calls,
            provider_state: keep,
            usage,
            billed: self.billed,
            finish,
            ..Reply::default()
        }
    }

    /// The partial reply of a failure; without calls, so that none of them can run.
    pub(super) fn partial(self) -> Reply {
        let finish = self.finish_reason();
        let usage = self.tokens();
        Reply {
            text: self.text,
            thinking: self.reasoning,
            usage,
            billed: self.billed,
            finish,
            ..Reply::default()
        }
    }

    fn tokens(&self) -> Option<Tokens> {
        let usage = self.usage?;
        let input = usage.prompt.unwrap_or(0);
        // Gemini and xAI do not count thinking as part of the completion but as part of the total; it is charged.
        let rest = usage.total.unwrap_or(0).saturating_sub(input);
        let output = usage.completion.unwrap_or(0).max(rest);
        // A part must not exceed the whole, whatever a server says.
        let cached = usage.cached.unwrap_or(0).min(input);
        let written = usage.written.unwrap_or(0).min(input - cached);
        Some(Tokens {
            input,
            output,
            cached,
            written,
            written_1h: usage.written_1h.unwrap_or(0).min(written),
            reasoning: usage.reasoning.unwrap_or(0).min(output),
            estimated: false,
        })
    }

    fn finish_reason(&self) -> FinishReason {
        if !self.refusal.is_empty() {
            return FinishReason::Refused(self.refusal.clone());
        }
        if self.limit {
            return FinishReason::Length;
        }
        match self.finish.as_deref() {
            // The status, where no reason is given.
            Some("incomplete") if self.stopped_early => FinishReason::Incomplete(String::new()),
            None | Some("") => FinishReason::Unknown,
            Some(
                "stop" | "STOP" | "completed" | "tool_calls" | "function_call" | "end_turn"
                | "tool_use" | "stop_sequence" | "eos" | "COMPLETE",
            ) => FinishReason::Done,
            Some("model_context_window_exceeded") => FinishReason::WindowFull,
            Some(word) if is_limit(word) => FinishReason::Length,
            Some(word) if is_filter(word) => FinishReason::Filtered(self.filter_words(word)),
            Some("refusal") => FinishReason::Refused(String::new()),
            Some(word) if self.stopped_early || is_early(word) => {
                FinishReason::Incomplete(word.to_owned())
            }
            Some(word) => FinishReason::Other(word.to_owned()),
        }
    }

    /// What the filter that ended the reply with `word` objects to.
    fn filter_words(&self, word: &str) -> String {
        let mut all = self.filtered.clone();
        // Google's names of filters; the compatible endpoint also writes them behind the general word.
        let own = word.strip_prefix("content_filter").unwrap_or(word);
        let own = own
            .trim_matches([':', ' '])
            .to_lowercase()
            .replace('_', " ");
        if !own.is_empty() && own != "sensitive" {
            all.push(own);
        }
        all.dedup();
        all.join("; ")
    }

    fn provider_state(&self, row: &ProviderSpec, model: &str) -> Option<ProviderState> {
        let raw = |json: &Option<String>| {
            let json = json.clone()?;
            RawValue::from_string(json).ok()
        };
        let extra = raw(&self.extra_content);
        let details = raw(&details::joined(&self.details, !self.whole));
        let blocks = raw(&self.blocks.to_json());
        let thinking = row.quirks.returns_reasoning
            && !self.calls.slots().is_empty()
            && !self.reasoning.is_empty();
        let call_id = |at: usize| Some(self.calls.slots().get(at)?.id.clone());
        let responses = self.items.saved(model, call_id);
        let nothing =
            extra.is_none() && details.is_none() && blocks.is_none() && responses.is_none();
        if nothing && !thinking {
            return None;
        }
        let keep = OpaqueMembers {
            extra_content: extra.as_deref(),
            reasoning_details: details.as_deref(),
            reasoning_content: thinking.then_some(self.reasoning.as_str()),
            thinking_blocks: blocks.as_deref(),
            responses,
        };
        Some(ProviderState {
            provider: row.name.to_owned(),
            json: serde_json::to_string(&keep).ok()?,
        })
    }
}

/// True for a finish reason that means the limit of tokens.
pub(super) fn is_limit(word: &str) -> bool {
    [
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    ]
    .iter()
    .any(|limit| word.eq_ignore_ascii_case(limit))
}

/// True for a finish reason that means a content filter: OpenAI's word, those of Gemini (<https://ai.google.dev/api/generate-content#FinishReason>), which
/// its compatible endpoint passes on, and those of Bedrock and Z.ai.
fn is_filter(word: &str) -> bool {
    const WORDS: WordList = WordList(
        "content_filter content_filtered guardrail_intervened sensitive safety recitation \
         blocklist prohibited_content spii model_armor image_safety image_prohibited_content \
         image_recitation",
    );
    let lower = word.to_lowercase();
    WORDS.has(&lower) || lower.starts_with("content_filter:")
}

/// True for a finish reason by which a server says that the reply is not complete: Anthropic pauses a turn, Ollama only loads or unloads the model,
/// DeepSeek has no resources left, vLLM aborts. Other unknown words say nothing: many compatible servers have their own for an ordinary end.
fn is_early(word: &str) -> bool {
    [
        "pause_turn",
        "load",
        "unload",
        "insufficient_system_resource",
        "abort",
    ]
    .contains(&word)
}

/// Adds `more` to `have`, object by object; later values win.
fn merge(have: &mut Value, more: Value) {
    match (have, more) {
        (Value::Object(have), Value::Object(more)) => {
            for (name, value) in more {
                match have.get_mut(&name) {
                    Some(old) => merge(old, value),
                    None => {
                        have.insert(name, value);
                    }
                }
            }
        }
        (have, more) => *have = more,
    }
}
