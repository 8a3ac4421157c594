//! Events: everything a front end is informed about during a turn.

use std::time::Duration;

use super::message::ToolCall;
use super::usage::Turn;

/// Severity of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something went wrong, but work continues.
    Warning,
}

/// One thing that happened. Front ends show it; logs and other programs may record it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A piece of the answer's visible text.
    Delta(String),
    /// A piece of the model's thinking, never part of the answer.
    Thinking(String),
    /// The tools of a round are about to run, in call order.
    ToolsStarted(Vec<ToolCall>),
    /// A call starts, waits for the user, or continues.
    CallState {
        /// Id of its call.
        id: String,
        /// Its new state.
        state: CallState,
    },
    /// A call reports progress.
    Progress {
        /// Id of its call.
        id: String,
        /// Progress as a sentence.
        words: String,
    },
    /// A call ended.
    ToolDone {
        /// Id of its call.
        id: String,
        /// The tool's name.
        name: String,
        /// It failed, as far as the model is concerned.
        failed: bool,
        /// How it ended, for display to the user.
        end: CallEnd,
        /// Its run time, without the time it waited for the user.
        took: Duration,
        /// Outside services that it got answers from.
        answered_by: Vec<&'static str>,
        /// Its result.
        text: String,
    },
    /// A message of the program to the user.
    Notice(Level, String),
    /// A model call ended and was counted.
    Turn(Turn),
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It runs.
    Running,
    /// It waits until the user has agreed to it.
    Waiting,
}

/// How a call ended, for the user. For the model a failing command is an ordinary result, but it is not a success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallEnd {
    /// It did what it should.
    #[default]
    Success,
    /// Its program ended with this status, which is not 0.
    ExitCode(i32),
    /// A signal ended its program.
    Signal(i32),
    /// Its time was up.
    Timeout,
    /// The user did not agree to it.
    Declined,
    /// The user stopped it.
    Stopped,
    /// It failed in another way.
    Failure,
}

/// Receives events: the terminal interface through a channel, the non-interactive mode by writing at once.
///
/// Called from the turn's thread and from tool threads. It must not block on anything but its own output.
pub trait Listener: Send + Sync {
    /// Takes one event.
    fn hear(&self, event: Event);
}

/// A listener that ignores everything: for single tools, and for tests that need no events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSink;

impl Listener for NullSink {
    fn hear(&self, _: Event) {}
}
