//! Updates from the session to the interface: the same for the full screen and for plain lines.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crossbeam_channel::Sender;
use serde::{Serialize, Serializer};

use crate::app::choice::{ChoiceList, LinePrompt};
use crate::app::session::session_cost::SessionCost;
use crate::app::sessions::list::SessionRow;
use crate::app::sessions::transcript::TranscriptEntry;
use crate::app::theme_choice::ThemeChoice;
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::chat::event::Event;
use crate::chat::usage::Tokens;
use crate::store::chat_log::LogEntry;
use crate::tools::engine::approval::ApprovalRequest;

/// A text that the user copies.
#[derive(Debug, Serialize)]
pub(crate) struct CopiedText {
    pub(crate) text: String,
    /// What it is, a reply or a block of code.
    pub(crate) what: String,
    /// What to say when it is copied.
    pub(crate) words: String,
    /// It is on the clipboard; else the terminal is to be told.
    pub(crate) is_done: bool,
}

/// A program that talks to the user itself.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ProgramToRun {
    #[serde(serialize_with = "shown_path")]
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
}

/// One update, to be shown in order.
///
/// Its JSON form is `{"type": …, "data": …}`, like that of an [`Event`].
#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub(crate) enum UiUpdate {
    /// The end of an earlier conversation.
    EarlierConversation(Vec<LogEntry>),
    /// Another session takes the place of what is on the screen: what was said in it, the oldest first.
    SessionOpened(Vec<TranscriptEntry>),
    /// The user may choose one of these sessions: `/resume ID` follows.
    ChooseSession {
        rows: Vec<SessionRow>,
        /// Nothing was said yet: who chooses none leaves.
        at_start: bool,
    },
    /// The user may choose a row; the command of the list follows.
    Choose(ChoiceList),
    /// The same, and nobody asked for it: it must not take keys that were meant for something else.
    Offer(ChoiceList),
    /// The messages that follow belong to this profile.
    Profile(String),
    /// The user's message, as it is being sent.
    UserMessage {
        text: String,
        /// Such as `14:30`.
        time: String,
        /// It was heard rather than typed.
        spoken: bool,
    },
    /// A recording goes on.
    Voice(VoiceUpdate),
    /// From the running turn.
    Event(Event),
    AnswerEnd(TurnOutcome),
    Failed(Problem),
    /// A notice of Marvin itself; plain text, not Markdown.
    System(String),
    /// One short line about the session that answers what the user did: another model, folder or mode.
    Remark(String),
    /// An alarm or similar: shown with the terminal's bell.
    Alert(String),
    /// Text to show verbatim: a list, a report, a tool's result, the welcome.
    Listing(String),
    /// The help of this topic, with the tables of the interface.
    Help(&'static str),
    /// A shell command of the user and its output.
    CommandOutput {
        command: String,
        /// Its output and how it ended.
        output: String,
        /// It ran in the background: other things were shown since it was typed.
        background: bool,
    },
    /// The user wants to see what the model thinks, or no longer.
    ToggleThinking,
    /// Other colours.
    Theme(ThemeChoice),
    /// The last exchange was undone: it disappears, and the message returns to the input.
    Undone(String),
    /// A message that was not sent, with [`UiUpdate::Failed`] or after the user stopped it: it returns to the input.
    Unsent(String),
    /// Text from the clipboard for the input.
    Insert(String),
    /// An image from the clipboard, by the name that attaches it.
    Mention(String),
    /// The end of [`Session::copy_with`](super::Session::copy_with).
    Copied(CopiedText),
    /// The status has changed by itself: the folder or its branch, or what an agent does.
    StatusChanged,
    /// Files that fit the name that the user types.
    FilesFound(FoundFiles),
    /// A tool needs an answer of the user.
    Ask(PendingQuestion),
    /// A question needs no answer any more: those are to go whose [`PendingQuestion::over`] has fired.
    AskOver,
    /// Open this file in the user's editor, then call [`super::Session::edited`].
    Edit(#[serde(serialize_with = "shown_path")] PathBuf),
    /// Ask for one line, then call [`super::Session::answer_prompt`].
    Prompt(LinePrompt),
    /// Let this program have the terminal until it ends, then call [`super::Session::program_ended`].
    RunProgram(ProgramToRun),
    /// End the program and print this text.
    Leave(String),
}

/// Replaces bytes that are not UTF-8.
fn shown_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// The best matches of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FoundFiles {
    /// What was searched for.
    pub query: String,
    /// The best first, folders ending in `/`; not all of very many.
    pub paths: Vec<String>,
    /// How many paths fit.
    pub count: usize,
    /// False while more may come.
    pub is_complete: bool,
}

/// A question for the user. Dropping it means no.
#[derive(Debug, Serialize)]
pub(crate) struct PendingQuestion {
    pub request: ApprovalRequest,
    #[serde(skip)]
    pub reply: Sender<ApprovalAnswer>,
    /// Fires when nobody waits for the answer any more.
    #[serde(skip)]
    pub over: Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApprovalAnswer {
    Once,
    /// Yes, now and whenever the same request comes again in this session.
    Always,
    No,
    /// No, with an explanation for the model; to a question that takes text, that text.
    NoBecause(String),
    /// No answer.
    Dismissed,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnOutcome {
    Complete,
    /// The user stopped it; the part that was received stays.
    Stopped,
    /// [`UiUpdate::Failed`] follows with the reason.
    Failed,
}

/// The state that a status line shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionStatus {
    /// Who answers; `None` while nobody is chosen.
    pub model: Option<AnsweringModel>,
    pub profile: String,
    pub messages: usize,
    pub cost: SessionCost,
    pub tokens: Tokens,
    /// Percentage of the context window in use, if known.
    pub context: Option<u64>,
    pub coding: bool,
    /// The directory of shell mode, while it is on.
    pub shell: Option<PathBuf>,
    /// Where the session works; `None` without a working directory.
    pub place: Option<Place>,
    /// Number of ntfy topics subscribed to.
    pub topics: usize,
    /// Running calls, the oldest first.
    pub running: Vec<RunningCall>,
    /// `None` while voice mode is off and nothing is recorded.
    pub voice: Option<VoiceStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnsweringModel {
    pub provider: &'static str,
    pub name: String,
}

/// What happens to a recording, for an interface that writes lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VoiceUpdate {
    /// It starts.
    Recording {
        /// The longest time; `None` in voice mode.
        seconds: Option<u64>,
    },
    /// How loud it is.
    Level {
        /// From zero to [`crate::voice::activity::METER_STEPS`].
        step: u8,
    },
    /// It is over and being written down.
    Transcribing,
    /// It was written down, dropped, or has failed.
    Ended,
}

/// Voice, as a status line shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VoiceStatus {
    pub is_on: bool,
    /// It waits until the user has sent what they type.
    pub is_paused: bool,
    pub phase: Option<VoicePhase>,
}

/// What voice is doing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum VoicePhase {
    Recording {
        since: Instant,
        /// The longest time; `None` in voice mode.
        seconds: Option<u64>,
        /// The latest steps of the meter, the newest last.
        levels: Vec<u8>,
    },
    Transcribing {
        since: Instant,
    },
    Speaking,
}

/// Something that is running.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunningCall {
    /// The command or tool that the user called; empty for an answer.
    pub name: String,
    pub since: Instant,
    pub background: bool,
    /// The last lines that a command has written.
    pub output: String,
}

/// Where the session works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder's own name.
    pub folder: String,
    /// The branch that is checked out there, or the commit.
    pub branch: Option<String>,
}
