//! Which reader a wire has for its payloads.

use super::draft::ReplyDraft;
use super::template::TextSpan;
use super::{anthropic, ollama, openai, responses};
use crate::llm::wire::Wire;

/// Adds a payload to the draft; returns the place of its text if it contained nothing else.
pub(super) fn apply(
    wire: Wire,
    name: &str,
    data: &[u8],
    draft: &mut ReplyDraft,
) -> Result<Option<TextSpan>, serde_json::Error> {
    match wire {
        Wire::Completions => openai::apply(data, draft),
        Wire::Responses => responses::apply(name, data, draft),
        Wire::Ollama => ollama::apply(data, draft),
        Wire::Anthropic => anthropic::apply(data, draft),
    }
}
