//! The messages of OpenAI's harmony format: a header with channel and recipient, and the content behind `<|message|>`
//! (<https://developers.openai.com/cookbook/articles/openai-harmony>).

use super::RawCall;
use super::body;
use super::families::find_close;
use super::reader::Reader;
use crate::formats::lenient_json::{value, whole_value};

/// The longest header of a message in OpenAI's harmony format.
pub(super) const MAX_HEADER: usize = 200;
/// What closes a message of harmony.
pub(super) const CHANNEL_ENDS: [&str; 5] = [
    "<|end|>",
    "<|call|>",
    "<|return|>",
    "<|start|>",
    "<|channel|>",
];

impl Reader<'_> {
    /// A message of OpenAI's harmony format: a header with channel and recipient, and the content behind `<|message|>`.
    pub(super) fn channel(&mut self, at: usize, inside: usize) -> Option<usize> {
        let rest = crate::base::text::head(self.rest(inside), MAX_HEADER);
        let Some((header, _)) = rest.split_once("<|message|>") else {
            // A header alone, cut or broken.
            let end = match self.rest(inside).find('\n') {
                Some(line) if self.rest(inside).len() > MAX_HEADER => inside + line,
                _ => self.text.len(),
            };
            return self.drop(at, end);
        };
        let start = inside + header.len() + "<|message|>".len();
        let closed = find_close(self.text, start, &CHANNEL_ENDS.map(str::to_owned));
        let (end, after) = match closed {
            Some((end, after)) => (end, self.goes_on_at(end, after)),
            None => (self.text.len(), self.text.len()),
        };
        if let Some((_, to)) = header.split_once("to=") {
            let name = body::identifier(to.trim_start_matches("functions."));
            let content = self.text.get(start..end).unwrap_or_default().trim();
            let read = match closed {
                Some(_) => whole_value(content),
                None => value(content),
            };
            let calls = match read {
                Some((arguments, _)) => vec![RawCall::json(name, arguments)],
                None if content.is_empty() && closed.is_some() => {
                    vec![RawCall::json(name, serde_json::Value::Null)]
                }
                None => Vec::new(),
            };
            return self.take(at, after, calls);
        }
        if header.contains("analysis") {
            self.out.has_thought = true;
            return self.drop(at, after);
        }
        self.drop(at, start)
    }

    /// Where a message ends: the start of the next one is not taken.
    fn goes_on_at(&self, end: usize, after: usize) -> usize {
        let close = self.text.get(end..after).unwrap_or_default();
        if close == "<|start|>" || close == "<|channel|>" {
            end
        } else {
            after
        }
    }
}
