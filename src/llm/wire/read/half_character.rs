//! A character whose halves come in two payloads. Programs that count in UTF-16 split their streams like this; the first half waits for the second one, and
//! becomes U+FFFD where its text ends without it.

use super::dialects::apply;
use super::draft::{HalfCharacter, HalfPlace, ReplyDraft};
use super::repair_json::{RepairedJson, repaired};
use super::responses;
use crate::llm::wire::Wire;

const REPLACEMENT: char = '\u{fffd}';

/// `data` with its encoding repaired, and the half that it ends with; `None` when nothing is wrong with it.
pub(super) fn mended(
    wire: Wire,
    name: &str,
    data: &[u8],
    before: Option<HalfCharacter>,
) -> Option<(RepairedJson, Option<HalfCharacter>)> {
    let before = before.map(|half| half.code);
    // On the Responses wire only deltas go on; all others repeat a text that is whole.
    let may_follow = wire != Wire::Responses || has(data, b".delta\"");
    let open = repaired(data, before, may_follow)?;
    let Some(code) = open.half else {
        return Some((open, None));
    };
    let whole = repaired(data, before, false)?;
    let place = match alone(wire, name, &whole.bytes) {
        Some(alone) if alone.text.ends_with(REPLACEMENT) => HalfPlace::Text,
        Some(alone) if alone.reasoning.ends_with(REPLACEMENT) => match alone.text.is_empty() {
            true => HalfPlace::Thinking,
            // The text behind it ends it.
            false => return Some((whole, None)),
        },
        _ => HalfPlace::Elsewhere,
    };
    Some((open, Some(HalfCharacter { code, place })))
}

impl ReplyDraft {
    /// Ends the half before a payload that adds to the reply and does not begin with its other half.
    pub(super) fn end_half_before(&mut self, wire: Wire, name: &str, data: &[u8]) {
        let Some(half) = self.half else {
            return;
        };
        let mended = repaired(data, Some(half.code), false);
        if mended.as_ref().is_some_and(|mended| mended.is_joined) {
            return;
        }
        let data = mended.as_ref().map_or(data, |mended| &mended.bytes);
        let adds = |alone: ReplyDraft| {
            !alone.text.is_empty() || !alone.reasoning.is_empty() || !alone.calls.slots().is_empty()
        };
        if alone(wire, name, data).is_some_and(adds) {
            self.end_half(wire);
        }
    }

    /// The other half never comes.
    pub(super) fn end_half(&mut self, wire: Wire) {
        let mut utf8 = [0; 4];
        let replacement: &str = REPLACEMENT.encode_utf8(&mut utf8);
        match self.half.take().map(|half| half.place) {
            Some(HalfPlace::Text) => match wire {
                Wire::Completions => self.say_tagged(replacement),
                Wire::Responses => responses::say_more(self, replacement),
                Wire::Ollama | Wire::Anthropic => self.say(replacement),
            },
            Some(HalfPlace::Thinking) => self.think(replacement),
            Some(HalfPlace::Elsewhere) | None => {}
        }
    }
}

/// What a payload would be the whole of.
fn alone(wire: Wire, name: &str, data: &[u8]) -> Option<ReplyDraft> {
    let mut draft = ReplyDraft::default();
    apply(wire, name, data, &mut draft).ok()?;
    draft.end_text();
    Some(draft)
}

fn has(data: &[u8], part: &[u8]) -> bool {
    data.windows(part.len()).any(|window| window == part)
}
