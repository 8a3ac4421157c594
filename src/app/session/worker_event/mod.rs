//! What workers report to the session, and how much they carry with it.

pub(super) mod agent;
pub(super) mod set_up;
pub(super) mod voice;

use jiff::Timestamp;

use super::attachments::attach::Attachments;
use super::queued::Queued;
use super::ui_update::{CopiedText, FoundFiles, PendingQuestion, Place};
use crate::agent::system::SystemPrompt;
use crate::app::choice::ChoiceList;
use crate::app::sessions::BegunSession;
use crate::app::sessions::earlier::ConversationStart;
use crate::app::sessions::list::SessionRow;
use crate::base::problem::Outcome;
use crate::chat::event::Event;
use crate::chat::message::Message;
use crate::chat::tokens::TokenMeter;
use crate::llm::failure::Failure;
use crate::llm::provider::Offer;
use crate::model_call::model_target::ModelTarget;
use crate::proc::clipboard::ClipboardContent;
use crate::reply::settings::ReplySettings;
use crate::store::chat_log::LogEntry;
use crate::tools::Effect;
use crate::tools::engine::registry::FinishedCall;
use agent::AgentEvent;
use set_up::SetUpEvent;
use voice::VoiceEvent;

/// Who waits until the report of some work was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AwaitedBy {
    Nobody,
    /// The next message is not sent before that.
    NextMessage,
    /// The plain interface reads no line before that.
    Interface,
}

/// A message from a worker.
pub(super) enum WorkerEvent {
    /// From the running turn.
    Event(u64, Event),
    /// A tool needs an answer of the user.
    Question(PendingQuestion),
    /// Nobody waits any more for the answer to a question.
    QuestionOver,
    TurnEnded(u64, Box<TurnEnd>),
    /// A provider was chosen, or none could be.
    Chosen(Outcome<Box<ModelTarget>>),
    /// A shell command of the user has ended.
    Command {
        id: u64,
        /// Its output and how it ended.
        outcome: Outcome<String>,
    },
    /// The last lines of a shell command of the user that runs.
    CommandOutput {
        id: u64,
        lines: String,
    },
    /// Where the session works now.
    Place(Outcome<Place>),
    /// Text that the user asked for: a list, a report, a tool's result.
    Listing(Outcome<String>),
    /// The reviews that run in the background, one line each.
    Reviews(Vec<String>),
    /// A notice of Marvin itself.
    Notice(String),
    /// A message of an ntfy topic that the user subscribed to, and the conversation that asked for it.
    NtfyMessage(u64, String),
    /// An alarm or the end of a timer.
    Alert(String),
    /// What the first conversation begins with was read.
    Start(Outcome<ConversationStart>),
    /// The end of the chat log, which a tool of this conversation has changed; `None` when it did not begin with it.
    Loaded(u64, Outcome<Option<Vec<LogEntry>>>),
    /// A tool that the user called has ended.
    ToolCalled {
        id: u64,
        ended: Box<FinishedCall>,
    },
    /// A command that waited for a model or a program has ended.
    Report {
        id: u64,
        outcome: Outcome<String>,
    },
    /// The older part of the conversation of this number was summarized; `None` when there was nothing to summarize.
    Compacted(u64, Outcome<Option<Vec<Message>>>),
    /// The conversation as it is now was written, with a notice if that went wrong.
    Saved(Outcome<Option<String>>),
    /// The active profile was changed on disk.
    Switched(Outcome<ProfileSwitch>),
    /// The last exchange of the conversation of this number was removed from the log.
    Undone(u64, Outcome<()>),
    /// The settings of the reply flow were read.
    FlowSettings(Box<FlowSettings>),
    /// From the thread that writes memory.
    Memory(Event),
    /// From the threads that listen and speak, with the number of what they do.
    Voice(u64, VoiceEvent),
    /// What a message attaches was read, or cannot be.
    Prepared(u64, Outcome<Attachments>),
    /// The clipboard was read.
    Clipboard(Outcome<ClipboardContent>),
    /// A text to copy was copied by a program, or has to be copied in another way.
    Copied(CopiedText),
    /// Files that fit what the user types.
    FilesFound(FoundFiles),
    /// A session to go on with was opened.
    SessionLoaded(Outcome<Box<BegunSession>>),
    /// The sessions to choose from.
    Sessions {
        rows: Outcome<Vec<SessionRow>>,
        at_start: bool,
    },
    /// A list to choose from.
    Choices(Outcome<Box<ChoiceList>>),
    /// From setting up a model.
    SetUp(Box<SetUpEvent>),
    /// From agents in the background.
    Agent(AgentEvent),
    /// What was pending is remembered, as far as that was possible.
    Remembered,
}

#[derive(Debug, Default)]
pub(in crate::app) struct TurnEnd {
    /// The conversation with everything that was received; `None` after a crash of the worker.
    pub(in crate::app) conversation: Option<ConversationState>,
    /// Changes of the session that tools requested.
    pub(in crate::app) effects: Vec<Effect>,
    /// The model ended the conversation: nothing of this message is kept.
    pub(in crate::app) is_stop: bool,
    /// The message could not be sent: nothing of it is kept, and it returns to the input.
    pub(in crate::app) is_taken_back: bool,
    /// When the answer was given, if it is to become memory.
    pub(in crate::app) answered: Option<Timestamp>,
    /// Why there is no answer.
    pub(in crate::app) failure: Option<Failure>,
}

/// What one turn passes on to the next.
#[derive(Debug, Default)]
pub(in crate::app) struct ConversationState {
    pub(in crate::app) messages: Vec<Message>,
    pub(in crate::app) meter: TokenMeter,
    /// The system prompt as the provider has cached it.
    pub(in crate::app) system: Option<SystemPrompt>,
    /// The tools as the last request had them.
    pub(in crate::app) offer: Offer,
}

/// The profile that is active now.
pub(super) struct ProfileSwitch {
    pub(super) name: String,
    /// It was created by the switch.
    pub(super) created: bool,
    /// What its conversation begins with. The earlier talk is not shown again.
    pub(super) start: ConversationStart,
    /// The message that caused the switch; it is sent again.
    pub(super) resend: Option<Queued>,
}

/// The settings of the reply flow for a profile.
pub(super) struct FlowSettings {
    pub(super) profile: String,
    pub(super) settings: ReplySettings,
    pub(super) warnings: Vec<String>,
}
