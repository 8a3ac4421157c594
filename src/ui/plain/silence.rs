//! What is said while an answer is awaited and nothing is shown: one line for each wait.

use std::time::{Duration, Instant};

use crate::chat::wait::Wait;
use crate::ui::text::clean::clean_line;
use crate::ui::text::wait_words::phrase;

/// After this time without anything it is said what is awaited.
const QUIET_TIME: Duration = Duration::from_secs(1);
/// The key that ends every wait.
const CANCEL_HINT: &str = "Ctrl-C stops.";

/// The current silence, if an answer is awaited.
#[derive(Debug, Default)]
pub(super) struct Silence {
    answer: Option<AwaitedAnswer>,
    /// The next notice says when the next attempt is made.
    announces_retry: bool,
}

#[derive(Debug)]
struct AwaitedAnswer {
    since: Instant,
    cause: String,
    is_told: bool,
}

impl Silence {
    /// A message was sent.
    pub(super) fn begin(&mut self, now: Instant) {
        self.end();
        self.set("preparing the request", now);
    }

    /// The answer waits for something else now.
    pub(super) fn wait(&mut self, wait: &Wait, now: Instant) {
        // A notice of its own tells of an attempt that failed.
        self.announces_retry = matches!(wait, Wait::Retry { .. });
        if !self.announces_retry {
            self.set(&phrase(wait), now);
        }
    }

    /// The model thinks, which is not shown.
    pub(super) fn think(&mut self, now: Instant) {
        self.set("the model is thinking", now);
    }

    fn set(&mut self, cause: &str, now: Instant) {
        let answer = self.answer.get_or_insert_with(|| AwaitedAnswer {
            since: now,
            cause: String::new(),
            is_told: false,
        });
        cause.clone_into(&mut answer.cause);
    }

    /// Something is shown, or nothing is awaited any more.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// What a notice is to end with: the key, if it tells of a wait.
    pub(super) fn notice_end(&mut self) -> String {
        if !std::mem::take(&mut self.announces_retry) {
            return String::new();
        }
        if let Some(answer) = &mut self.answer {
            answer.is_told = true;
        }
        format!(" {CANCEL_HINT}")
    }

    /// When there is something to say.
    pub(super) fn due(&self) -> Option<Instant> {
        let answer = self.answer.as_ref().filter(|answer| !answer.is_told)?;
        Some(answer.since + QUIET_TIME)
    }

    pub(super) fn words(&mut self, now: Instant) -> Option<String> {
        if now < self.due()? {
            return None;
        }
        let answer = self.answer.as_mut()?;
        answer.is_told = true;
        let cause = clean_line(&answer.cause);
        let mut letters = cause.chars();
        let first = letters.next()?.to_uppercase();
        Some(format!("{first}{}. {CANCEL_HINT}", letters.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_byte() -> Wait {
        Wait::FirstByte {
            provider: "groq",
            loads: None,
        }
    }

    #[test]
    fn a_wait_is_told_once_and_after_a_second() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut silence = Silence::default();
        assert_eq!((silence.due(), silence.words(after(9_000))), (None, None));
        silence.begin(start);
        silence.wait(&Wait::Connection { provider: "groq" }, after(100));
        silence.wait(&first_byte(), after(900));
        assert_eq!(silence.due(), Some(after(1_000)));
        assert_eq!(silence.words(after(999)), None);
        let words = silence.words(after(1_000));
        assert_eq!(words.as_deref(), Some("Waiting for groq. Ctrl-C stops."));
        silence.think(after(2_000));
        assert_eq!((silence.due(), silence.words(after(9_000))), (None, None));
        // The next request is a wait of its own.
        silence.end();
        silence.wait(&first_byte(), after(10_000));
        silence.think(after(10_500));
        let words = silence.words(after(11_000));
        assert_eq!(
            words.as_deref(),
            Some("The model is thinking. Ctrl-C stops.")
        );
    }

    #[test]
    fn a_notice_of_a_failed_attempt_names_the_key_and_others_do_not() {
        let start = Instant::now();
        let mut silence = Silence::default();
        silence.begin(start);
        assert_eq!(silence.notice_end(), "");
        let retry = Wait::Retry {
            provider: "groq",
            is_rate_limit: true,
            wait: Duration::from_secs(12),
            attempt: 1,
            most: 2,
            status: None,
        };
        silence.wait(&retry, start);
        assert_eq!(silence.notice_end(), " Ctrl-C stops.");
        assert_eq!(silence.notice_end(), "");
        // That was the line of this wait.
        silence.wait(&first_byte(), start);
        assert_eq!(silence.due(), None);
    }
}
