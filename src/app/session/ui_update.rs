//! Updates from the session to the interface: the same for the full screen and for plain lines.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crossbeam_channel::Sender;
use serde::{Serialize, Serializer};

use crate::base::problem::Problem;
use crate::chat::event::Event;
use crate::chat::usage::Tokens;
use crate::store::chat_log::LogEntry;
use crate::tools::engine::approval::ApprovalRequest;

/// One thing to show, in order.
///
/// As JSON it is `{"type": …, "data": …}`, as an [`Event`] is.
#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub(crate) enum UiUpdate {
    /// The end of an earlier conversation.
    Past(Vec<LogEntry>),
    /// The following messages belong to this profile.
    Profile(String),
    /// The user's message, now being sent.
    You {
        /// Its text.
        text: String,
        /// `14:30`.
        time: String,
    },
    /// The running turn says something.
    Event(Event),
    /// The answer is over.
    AnswerEnd(TurnOutcome),
    /// Something failed.
    Failed(Problem),
    /// A word of the system, Markdown nowhere.
    System(String),
    /// Something that calls the user, with the terminal's bell.
    Call(String),
    /// Text to read verbatim: a list, a report, a tool's result, the welcome.
    Listing(String),
    /// A command of the user and what it printed.
    Ran {
        /// The command.
        command: String,
        /// Its output and how it ended.
        output: String,
    },
    /// The profile's last exchange was undone: it is no longer shown, and its message may be edited.
    Undone(String),
    /// A tool waits for the user's answer.
    Ask(PendingQuestion),
    /// Open this file in the user's editor, then say [`super::Session::edited`].
    Edit(#[serde(serialize_with = "shown_path")] PathBuf),
    /// Leave, with this text.
    Leave(String),
}

/// A path that is not UTF-8 is shown as far as it is.
fn shown_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// A question that waits for the user. Dropping it means no.
#[derive(Debug, Serialize)]
pub(crate) struct PendingQuestion {
    /// The action to approve.
    pub request: ApprovalRequest,
    /// Receives the answer.
    #[serde(skip)]
    pub reply: Sender<Verdict>,
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes, this time.
    Once,
    /// Yes, and for exactly this in this session.
    Always,
    /// No.
    No,
    /// No, with a word to the model.
    NoBecause(String),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnOutcome {
    /// It is complete.
    Complete,
    /// The user stopped it; what came stays.
    Stopped,
    /// It failed; [`UiUpdate::Failed`] follows.
    Failed,
}

/// The state that a status line shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionStatus {
    /// The provider's name; `None` while it is being chosen or cannot be.
    pub provider: Option<&'static str>,
    /// The model's name.
    pub model: String,
    /// The active profile.
    pub profile: String,
    /// Messages in the conversation.
    pub messages: usize,
    /// US dollars of this session.
    pub cost: f64,
    /// A part of the dollars is an estimate.
    pub cost_estimated: bool,
    /// Tokens of this session.
    pub tokens: Tokens,
    /// Percent of the context in use, if known.
    pub context: Option<u64>,
    /// Coding mode.
    pub coding: bool,
    /// Shell mode, with its directory.
    pub shell: Option<PathBuf>,
    /// ntfy topics that are listened to.
    pub topics: usize,
    /// Running jobs, longest first.
    pub running: Vec<RunningCall>,
}

/// Something that takes time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunningCall {
    /// The command or tool that the user called; empty for an answer.
    pub what: String,
    /// Since when.
    pub since: Instant,
    /// It runs in the background.
    pub background: bool,
}
