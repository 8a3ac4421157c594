//! A call that cannot be run: the model is asked once to write it in the form that works here.

use super::TurnOutcome;
use crate::base::template::fill;
use crate::base::text::clip;
use crate::chat::message::{Assistant, Message};
use crate::reply::models::protocol::ToolProtocol;

const TEXT: &str = include_str!("../../prompts/reply/repair_text.md");
const NATIVE: &str = include_str!("../../prompts/reply/repair_native.md");
/// Tools that are named.
const MAX_NAMES: usize = 5;
/// Characters of what was written that go back to the model.
const MAX_WRITTEN: usize = 600;

/// What the next request says, and what the reply is if that does not help.
pub(super) struct Repair {
    rows: [Message; 2],
    said: Option<String>,
}

impl Repair {
    /// The request after an answer with a call that cannot be run. `example` is a call as it is written here, `said` what else was in the answer.
    pub(super) fn new(
        written: &str,
        protocol: ToolProtocol,
        tools: &[String],
        example: &str,
        said: Option<String>,
    ) -> Self {
        let template = match protocol {
            ToolProtocol::Text => TEXT,
            ToolProtocol::Native => NATIVE,
        };
        let names = tools.iter().take(MAX_NAMES).map(String::as_str);
        let names: Vec<&str> = names.collect();
        let slots = [("names", names.join(", ")), ("example", example.to_owned())];
        let slots = slots
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let request = fill(template, &slots);
        let rows = [
            Message::Assistant(Assistant::new(clip(written, MAX_WRITTEN), Vec::new())),
            Message::user(request.trim_end()),
        ];
        Self { rows, said }
    }

    /// The rows at the end of the next request.
    pub(super) fn rows(&self) -> &[Message] {
        &self.rows
    }

    /// How the reply ends when the request failed.
    pub(super) fn end(self) -> TurnOutcome {
        Self::ending(self.said)
    }

    /// With what was said beside the call, or with the words for an answer that is never shown.
    pub(super) fn ending(said: Option<String>) -> TurnOutcome {
        said.map_or(TurnOutcome::Malformed, TurnOutcome::Answer)
    }
}
