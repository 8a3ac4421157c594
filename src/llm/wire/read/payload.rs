//! One JSON payload of a reply, in the dialect of its wire.

use super::dialects::apply;
use super::draft::ReplyDraft;
use super::{half_character, repair_json, responses};
use crate::llm::wire::Wire;
use crate::llm::wire::errors::ProviderError;

/// One JSON payload, which is repaired and parsed again if only its text encoding is invalid.
pub(super) fn payload(
    wire: Wire,
    name: &str,
    data: &[u8],
    draft: &mut ReplyDraft,
) -> Result<(), serde_json::Error> {
    draft.end_half_before(wire, name, data);
    if let Some((text, thinking)) = draft.template.read(data) {
        draft.events += 1;
        match (wire, thinking) {
            (Wire::Completions, false) => draft.say_tagged(&text),
            (Wire::Completions, true) => draft.think_apart(&text),
            (Wire::Responses, _) => responses::say_more(draft, &text),
            (_, false) => draft.say(&text),
            (_, true) => draft.think(&text),
        }
        return Ok(());
    }
    if data.trim_ascii().is_empty() {
        return Ok(());
    }
    let error = match apply(wire, name, data, draft) {
        Ok(Some(place)) => {
            draft.template.learn(data, &place);
            return Ok(());
        }
        Ok(None) => return Ok(()),
        Err(error) => error,
    };
    let mended = half_character::mended(wire, name, data, draft.half);
    let data = mended.as_ref().map_or(data, |(mended, _)| &mended.bytes);
    if let Some((mended, half)) = &mended
        && apply(wire, name, data, draft).is_ok()
    {
        if mended.is_joined || half.is_some() {
            draft.half = *half;
        }
        return Ok(());
    }
    if let Some(plain) = repair_json::plain(data)
        && apply(wire, name, &plain, draft).is_ok()
    {
        return Ok(());
    }
    // JSON with another shape than a reply may still be an error.
    let error = ProviderError::read(data).ok_or(error)?;
    draft.events += 1;
    draft.error.get_or_insert(error);
    Ok(())
}
