//! The tools of an offer as JSON, written to the end of a body. The schemas are text already and only have to be joined.

use crate::llm::provider::{Offer, Offered};

const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
const DEFERRED_MARK: &str = ",\"defer_loading\":true";

/// The tools of a request in the order in which they are sent.
pub(crate) struct SentTools<'a> {
    /// Those that the model sees.
    pub direct: Vec<&'a Offered>,
    /// Those that it sees when a result refers to them. Found ones are among them still, so that a search changes none of what was sent.
    pub deferred: &'a [Offered],
}

impl<'a> SentTools<'a> {
    pub(crate) fn of(offer: &'a Offer, defers: bool) -> Self {
        let deferred = match defers {
            true => &*offer.waiting,
            false => &[],
        };
        let waits = |tool: &Offered| deferred.iter().any(|own| own.name == tool.name);
        Self {
            direct: offer.tools.iter().filter(|tool| !waits(tool)).collect(),
            deferred,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Offered> {
        self.direct.iter().copied().chain(self.deferred)
    }
}

/// In the format of OpenAI and Ollama; the last one carries the cache breakpoint of `marks`.
pub(super) fn functions(out: &mut Vec<u8>, tools: &[Offered], marks: bool) {
    let mut left = tools.len();
    list(out, tools, |out, tool| {
        put(out, "{\"type\":\"function\",\"function\":{");
        members(out, tool, "parameters");
        left -= 1;
        put(out, "}");
        put(out, if marks && left == 0 { CACHE_MARK } else { "" });
        put(out, "}");
    });
}

/// In the format of Responses; `strict` is set to false where the server would otherwise make every optional argument required.
pub(super) fn responses(out: &mut Vec<u8>, tools: &[Offered], strict: bool) {
    list(out, tools, |out, tool| {
        put(out, "{\"type\":\"function\",");
        members(out, tool, "parameters");
        put(out, if strict { ",\"strict\":false}" } else { "}" });
    });
}

/// In Anthropic's format; the last one that does not wait carries the cache breakpoint of `marks`, which one that waits must not have.
pub(super) fn anthropic(out: &mut Vec<u8>, tools: &SentTools<'_>, marks: bool) {
    let mut left = tools.direct.len();
    list(out, tools.iter(), |out, tool| {
        put(out, "{");
        members(out, tool, "input_schema");
        match left {
            0 => put(out, DEFERRED_MARK),
            1 if marks => put(out, CACHE_MARK),
            _ => {}
        }
        left = left.saturating_sub(1);
        put(out, "}");
    });
}

fn list<'a>(
    out: &mut Vec<u8>,
    tools: impl IntoIterator<Item = &'a Offered>,
    mut each: impl FnMut(&mut Vec<u8>, &Offered),
) {
    put(out, "[");
    for (index, tool) in tools.into_iter().enumerate() {
        put(out, if index == 0 { "" } else { "," });
        each(out, tool);
    }
    put(out, "]");
}

fn members(out: &mut Vec<u8>, tool: &Offered, parameters: &str) {
    // A name that providers accept has nothing to escape.
    put(out, "\"name\":\"");
    put(out, &tool.name);
    put(out, "\",\"description\":");
    put(out, &tool.about_json);
    put(out, ",\"");
    put(out, parameters);
    put(out, "\":");
    put(out, &tool.params_json);
}

fn put(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}
