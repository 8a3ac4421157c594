//! What both interfaces say of a tool call: its key arguments, how it ended and after what time, and which lines of its result.
//!
//! Called by the full screen and the plain lines, so that they say the same. It reads parameters from the registry and knows no tool by name.

mod key_arguments;

use std::time::Duration;

use crate::chat::display::Display;
use crate::chat::event::CallEnd;
use crate::chat::message::{ToolCall, ToolOutput};
use crate::formats::duration;
use crate::store::sessions::record::CallRecord;
use crate::tools::engine::registry::Registry;
use crate::ui::text::clean::{clean, clean_line};
use crate::ui::text::width;

/// Rows of a change that are shown while it is folded.
pub(crate) const DIFF_ROWS: usize = 40;
/// Lines of a program that failed which are shown while its result is folded.
const LAST_WORDS: usize = 3;
/// Minimum columns of a row that names the services that answered.
const ROOM_FOR_SERVICES: usize = 60;

#[derive(Debug, Clone)]
pub(crate) struct CallHeading {
    name: String,
    /// On one line.
    pub(crate) key_arguments: String,
}

impl CallHeading {
    pub(crate) fn of(call: &ToolCall, registry: &Registry) -> Self {
        Self {
            name: clean_line(&call.name),
            key_arguments: key_arguments::of(call, registry),
        }
    }

    /// A call of which only the name is known.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: clean_line(name),
            key_arguments: String::new(),
        }
    }

    /// The call runs with other arguments.
    pub(crate) fn change(&mut self, args: &str, registry: &Registry) {
        let call = ToolCall::new("", self.name.as_str(), args);
        self.key_arguments = key_arguments::of(&call, registry);
    }

    /// Name and key arguments.
    pub(crate) fn line(&self) -> String {
        format!("{}  {}", self.name, self.key_arguments)
    }
}

/// How a call ended, and its result.
#[derive(Debug, Clone)]
pub(crate) struct CallOutcome {
    kind: OutcomeKind,
    /// The result, cleaned.
    pub(crate) text: String,
    /// Outside services that answered it.
    answered_by: String,
    /// Cleaned when it is drawn.
    display: Option<Display>,
}

/// How a call ended, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutcomeKind {
    Known(CallEnd, Duration),
    /// The session's file does not say: it was no success for the model, or it was one.
    Unknown {
        failed: bool,
    },
    /// Marvin ended before the call did.
    NoResult,
}

/// The lines of a folded result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Excerpt<'a> {
    Nothing,
    /// The first one says what went wrong.
    Reason(&'a str),
    /// The last ones of a program that failed: what went wrong is at the end. Its exit status is on the row of the call.
    LastWords {
        /// Lines that were left out before them.
        hidden: usize,
        lines: Vec<&'a str>,
    },
}

impl CallOutcome {
    pub(crate) fn new(end: CallEnd, took: Duration, text: &str, display: Option<Display>) -> Self {
        if let Some(Display::Text { text }) = &display {
            return Self::new(end, took, text, None);
        }
        Self {
            kind: OutcomeKind::Known(end, took),
            text: clean(text).into_owned(),
            answered_by: String::new(),
            display,
        }
    }

    pub(crate) fn answered_by(self, services: &[impl AsRef<str>]) -> Self {
        let services: Vec<&str> = services.iter().map(AsRef::as_ref).collect();
        Self {
            answered_by: clean_line(&services.join(", ")),
            ..self
        }
    }

    /// A call that did not end before its turn.
    pub(crate) fn stopped() -> Self {
        Self::new(CallEnd::Stopped, Duration::ZERO, "stopped", None)
    }

    /// A call of a session that goes on, with what its file has of the result and of what the user saw.
    pub(crate) fn past(output: Option<&ToolOutput>, record: Option<&CallRecord>) -> Self {
        let text = output.map_or("", |output| &output.text);
        if let Some(record) = record {
            let took = Duration::from_millis(record.took_ms);
            return Self::new(record.end, took, text, record.display.clone())
                .answered_by(&record.answered_by);
        }
        let kind = match output {
            Some(output) => OutcomeKind::Unknown {
                failed: output.failed,
            },
            None => OutcomeKind::NoResult,
        };
        Self {
            kind,
            ..Self::new(CallEnd::Success, Duration::ZERO, text, None)
        }
    }

    pub(crate) fn is_failure(&self) -> bool {
        match self.kind {
            OutcomeKind::Known(end, _) => end != CallEnd::Success,
            OutcomeKind::Unknown { failed } => failed,
            OutcomeKind::NoResult => false,
        }
    }

    pub(crate) fn change(&self) -> Option<&Display> {
        let is_success = matches!(self.kind, OutcomeKind::Known(CallEnd::Success, _));
        self.display.as_ref().filter(|_| is_success)
    }

    /// How it ended, in a row of so many columns: `✓ 0.4s`, `✗ exit 1 12s`.
    pub(crate) fn words(&self, columns: usize) -> String {
        let (end, time) = match self.kind {
            OutcomeKind::Known(end, took) => (end, format_duration(took)),
            OutcomeKind::Unknown { failed: true } => return "✗".to_owned(),
            OutcomeKind::Unknown { failed: false } => return String::new(),
            OutcomeKind::NoResult => return "no result".to_owned(),
        };
        match end {
            CallEnd::Success if !self.answered_by.is_empty() && columns >= ROOM_FOR_SERVICES => {
                let services = width::clip(&self.answered_by, columns / 3);
                format!("✓ {services} {time}")
            }
            CallEnd::Success => format!("✓ {time}"),
            CallEnd::ExitCode(code) => format!("✗ exit {code} {time}"),
            CallEnd::Signal(signal) => format!("✗ signal {signal} {time}"),
            CallEnd::Timeout => format!("✗ timeout {time}"),
            CallEnd::Failure => format!("✗ failed {time}"),
            // It did not run, or not to its end: a duration would mean nothing.
            CallEnd::Declined => "✗ declined".to_owned(),
            CallEnd::Stopped => "✗ stopped".to_owned(),
        }
    }

    /// What of the result is shown while it is folded.
    pub(crate) fn excerpt(&self) -> Excerpt<'_> {
        match self.kind {
            OutcomeKind::Known(CallEnd::Failure, _) | OutcomeKind::Unknown { failed: true } => {
                Excerpt::Reason(self.text.lines().next().unwrap_or_default())
            }
            OutcomeKind::Known(CallEnd::ExitCode(_) | CallEnd::Signal(_) | CallEnd::Timeout, _) => {
                last_words(&self.text)
            }
            _ => Excerpt::Nothing,
        }
    }
}

fn last_words(text: &str) -> Excerpt<'_> {
    let mut said: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && *line != "stderr:")
        .collect();
    // The last one says how it ended.
    said.pop();
    let hidden = said.len().saturating_sub(LAST_WORDS);
    Excerpt::LastWords {
        hidden,
        lines: said.split_off(hidden),
    }
}

/// A duration as people read it: `0.4s`, `12s`, `3m 05s`.
fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        // By the milliseconds, which is what a session's file has.
        0..10 => {
            let tenths = (time.as_millis() + 50) / 100;
            format!("{}.{}s", tenths / 10, tenths % 10)
        }
        10.. => duration::compact(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_the_model_alone_is_not_on_the_screen() {
        let shown = Display::Text {
            text: "for\u{7} all".to_owned(),
        };
        let outcome = CallOutcome::new(CallEnd::Success, Duration::ZERO, "for models", Some(shown));
        assert_eq!(outcome.text, clean("for\u{7} all"));
        assert!(outcome.change().is_none());
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(format_duration(Duration::from_millis(412)), "0.4s");
        assert_eq!(format_duration(Duration::from_micros(150_900)), "0.2s");
        assert_eq!(format_duration(Duration::from_millis(150)), "0.2s");
        assert_eq!(format_duration(Duration::from_secs(185)), "3m 05s");
    }

    #[test]
    fn services_are_named_where_there_is_room() {
        let outcome = CallOutcome::new(CallEnd::Success, Duration::from_secs(2), "", None)
            .answered_by(&["nominatim", "osrm"]);
        assert_eq!(outcome.words(80), "✓ nominatim, osrm 2.0s");
        assert_eq!(outcome.words(40), "✓ 2.0s");
    }

    #[test]
    fn the_last_words_of_a_program_leave_out_its_ending() {
        let text = "one\ntwo\n\nstderr:\nthree\nfour\nexit code: 2\n";
        let outcome = CallOutcome::new(CallEnd::ExitCode(2), Duration::ZERO, text, None);
        let lines = vec!["two", "three", "four"];
        assert_eq!(outcome.excerpt(), Excerpt::LastWords { hidden: 1, lines });
    }
}
