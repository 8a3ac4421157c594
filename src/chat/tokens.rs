//! How many tokens a conversation has: a cheap estimate, and exact counts only near a threshold.

use super::image;
use super::message::Message;
use super::vocabulary;

/// Tokens of overhead for every message.
const PER_MESSAGE: u64 = 4;
/// Longer texts are estimated even near a threshold: an exact count would take seconds and change nothing.
const MAX_EXACT_BYTES: usize = 1 << 20;

/// No text that says anything has fewer tokens than one for so many bytes.
const MAX_BYTES_PER_TOKEN: usize = 8;

/// Counts a text exactly; loading its tables costs a tenth of a second and 50 MB, so it is called only when needed.
pub(crate) type Exact = fn(&str) -> u64;

/// The exact count in the o200k encoding: right for OpenAI's models, close for others.
pub fn o200k(text: &str) -> u64 {
    vocabulary::count(text).map_or_else(|| estimate(text.len()), |count| count as u64)
}

/// Bytes divided by four, rounded up: measured a little low on code and prose, far too high on padding.
pub(crate) fn estimate(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

#[derive(Debug, Clone, Copy)]
struct CountedMessage {
    len: usize,
    tokens: u64,
    exact: bool,
}

impl CountedMessage {
    fn is_too_long(&self) -> bool {
        self.len > MAX_EXACT_BYTES
    }

    fn minimum(&self) -> u64 {
        match self.exact {
            true => self.tokens,
            false => (self.len / MAX_BYTES_PER_TOKEN) as u64,
        }
    }
}

/// Running count of a conversation: each message is counted once, and again only if it changed length.
#[derive(Debug)]
pub(crate) struct TokenMeter {
    counted: Vec<CountedMessage>,
    exact: Exact,
}

impl Default for TokenMeter {
    fn default() -> Self {
        Self::new(o200k)
    }
}

impl TokenMeter {
    /// A meter that uses `exact` near a threshold.
    pub(crate) fn new(exact: Exact) -> Self {
        Self {
            counted: Vec::new(),
            exact,
        }
    }

    /// Tokens of `messages` and of `overhead` further bytes (system prompt, tool schemas).
    ///
    /// Below 80 % of `threshold` the estimate is returned, and when messages that are too long to be counted exactly have reached it and make up nearly all of
    /// the conversation. Otherwise every message that has only an estimate is counted exactly, once.
    pub(crate) fn measure(&mut self, messages: &[Message], overhead: usize, threshold: u64) -> u64 {
        let same = self
            .counted
            .iter()
            .zip(messages)
            .take_while(|(counted, message)| counted.len == message.len())
            .count();
        self.counted.truncate(same);
        for message in messages.iter().skip(same) {
            let len = message.len();
            self.counted.push(CountedMessage {
                len,
                tokens: estimate(len) + PER_MESSAGE,
                exact: false,
            });
        }
        let rough = self.total() + estimate(overhead);
        if rough.saturating_mul(10) < threshold.saturating_mul(8) {
            return rough;
        }
        let too_long = self.counted.iter().filter(|counted| counted.is_too_long());
        let too_long: u64 = too_long.map(|counted| counted.tokens).sum();
        let others = rough.saturating_sub(too_long);
        if too_long >= threshold && others < too_long / 10 {
            return rough;
        }
        for (counted, message) in self.counted.iter_mut().zip(messages) {
            if !counted.exact && !counted.is_too_long() {
                counted.tokens = exact_count(message, self.exact) + PER_MESSAGE;
                counted.exact = true;
            }
        }
        self.total() + estimate(overhead)
    }

    /// Tokens of each message of the last measurement.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.counted.iter().map(|counted| counted.tokens).collect()
    }

    /// Tokens of a message, counted exactly unless it is too long for that.
    pub(crate) fn count(&self, message: &Message) -> u64 {
        PER_MESSAGE
            + match message.len() > MAX_EXACT_BYTES {
                true => estimate(message.len()),
                false => exact_count(message, self.exact),
            }
    }

    /// Tokens of a message, exact if those of the last measurement are.
    pub(crate) fn recount(&self, message: &Message) -> u64 {
        match self.counted.iter().any(|counted| counted.exact) {
            true => self.count(message),
            false => PER_MESSAGE + estimate(message.len()),
        }
    }

    /// Tokens that the messages of the last measurement have at least: long texts are not counted exactly, and may be padding.
    pub(crate) fn minimum(&self) -> u64 {
        self.counted.iter().map(CountedMessage::minimum).sum()
    }

    /// The same of the message at `at` alone.
    pub(crate) fn minimum_at(&self, at: usize) -> u64 {
        self.counted.get(at).map_or(0, CountedMessage::minimum)
    }

    fn total(&self) -> u64 {
        self.counted.iter().map(|counted| counted.tokens).sum()
    }
}

fn exact_count(message: &Message, exact: Exact) -> u64 {
    match message {
        Message::System { text } => exact(text),
        Message::User(user) => exact(&user.text) + image::tokens(&user.images),
        Message::Assistant(assistant) => {
            let calls: u64 = assistant
                .calls
                .iter()
                .map(|call| exact(&call.name) + exact(&call.args))
                .sum();
            exact(&assistant.text)
                + calls
                + assistant
                    .provider_state
                    .as_ref()
                    .map_or(0, |keep| estimate(keep.json.len()))
        }
        Message::Tool(output) => {
            exact(&output.text) + exact(&output.name) + image::tokens(&output.images)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static COUNTED: AtomicUsize = AtomicUsize::new(0);

    fn counting(text: &str) -> u64 {
        COUNTED.fetch_add(1, Ordering::SeqCst);
        text.len() as u64
    }

    #[test]
    fn small_conversations_never_load_the_tokenizer() {
        let mut meter = TokenMeter::new(counting);
        let mut talk = vec![Message::user("x".repeat(400))];
        assert_eq!(meter.measure(&talk, 0, 1000), 104);
        assert_eq!(COUNTED.load(Ordering::SeqCst), 0);
        talk.push(Message::user("x".repeat(4000)));
        assert_eq!(meter.measure(&talk, 0, 1000), 404 + 4004);
        assert_eq!(COUNTED.load(Ordering::SeqCst), 2);
        meter.measure(&talk, 0, 1000);
        assert_eq!(COUNTED.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn what_was_not_counted_has_a_minimum() {
        let mut meter = TokenMeter::new(|_| 1);
        let long = Message::user("x".repeat(MAX_EXACT_BYTES + 8));
        meter.measure(&[long, Message::user("a")], 0, 300_000);
        assert_eq!(meter.minimum(), (MAX_EXACT_BYTES / 8 + 1) as u64 + 5);
    }

    #[test]
    fn a_text_that_is_over_the_threshold_by_itself_never_loads_the_tokenizer() {
        let mut meter = TokenMeter::new(|_| panic!("counted exactly"));
        let long = Message::user("x".repeat(MAX_EXACT_BYTES + 1));
        let rough = estimate(long.len()) + PER_MESSAGE;
        let talk = [Message::user("four"), long];
        assert_eq!(meter.measure(&talk, 0, rough), 1 + PER_MESSAGE + rough);
    }

    #[test]
    fn a_cut_conversation_is_counted_again() {
        let mut meter = TokenMeter::new(counting);
        meter.measure(
            &[Message::user("a".repeat(40)), Message::user("b".repeat(80))],
            0,
            1 << 30,
        );
        assert_eq!(
            meter.measure(&[Message::user("b".repeat(80))], 8, 1 << 30),
            24 + 2
        );
    }

    #[test]
    fn the_real_tokenizer_counts() {
        assert_eq!(o200k("hello world"), 2);
    }
}
