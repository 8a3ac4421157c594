//! Events: everything a front end can be told while an answer comes about.

use std::time::Duration;

use super::message::ToolCall;
use super::usage::Turn;

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something did not go as it should, and work goes on.
    Warning,
}

/// One thing that happened. Front ends show it, logs and other programs may keep it.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A piece of the answer's visible text.
    Delta(String),
    /// A piece of the model's thinking, never part of the answer.
    Thinking(String),
    /// The tools of a round are about to run, in call order.
    ToolsStarted(Vec<ToolCall>),
    /// One of them begins, waits for the user, or goes on.
    CallState {
        /// Id of its call.
        id: String,
        /// What it does from now on.
        state: CallState,
    },
    /// One of them says how far it is.
    Progress {
        /// Id of its call.
        id: String,
        /// How far, in words.
        words: String,
    },
    /// One of them ended.
    ToolDone {
        /// Id of its call.
        id: String,
        /// The tool's name.
        name: String,
        /// It failed: what the model is told.
        failed: bool,
        /// How it ended: what the user is told.
        end: CallEnd,
        /// How long it ran; the time that it waited for the user is not counted.
        took: Duration,
        /// Outside services that answered it.
        answered_by: Vec<&'static str>,
        /// What it said.
        text: String,
    },
    /// A message of the system to the person.
    Notice(Level, String),
    /// A model call ended and was counted.
    Turn(Turn),
}

/// What a call does at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It runs.
    Running,
    /// It waits until the user has agreed to it.
    Waiting,
}

/// How a call ended, for the user. A command that fails is a result like any other for the model, but no success.
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

/// Whoever is told: the terminal interface by a channel, the non-interactive mode by writing at once.
///
/// Called from the turn's thread and from tools' threads. It must not wait for anything but its own output.
pub trait Listener: Send + Sync {
    /// Takes one event.
    fn hear(&self, event: Event);
}

/// A listener that hears nothing: for single tools and for tests of parts that need none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSink;

impl Listener for NullSink {
    fn hear(&self, _: Event) {}
}
