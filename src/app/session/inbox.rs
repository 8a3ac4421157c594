//! Messages from workers to the session: one queue, and a wake-up when it is not empty.
//!
//! Adjacent pieces of streamed text are joined while they wait. An interface that reads thirty times a second never slows down a stream of five
//! thousand pieces, and the queue is no larger than the text.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};
use jiff::Timestamp;

use crate::agent::system::SystemPrompt;
use crate::app::session::Queued;
use crate::app::session::attach::Attachments;
use crate::app::session::choice::ChoiceList;
use crate::app::session::set_up::event::SetUpEvent;
use crate::app::session::ui_update::{CopiedText, FoundFiles, PendingQuestion, Place};
use crate::app::session::voice::event::VoiceEvent;
use crate::app::sessions::BegunSession;
use crate::app::sessions::earlier::ConversationStart;
use crate::app::sessions::list::SessionRow;
use crate::base::problem::Outcome;
use crate::chat::event::{Event, EventSink};
use crate::chat::message::Message;
use crate::chat::reply_event::ReplyEvent;
use crate::chat::tokens::TokenMeter;
use crate::llm::failure::Failure;
use crate::model_call::model_target::ModelTarget;
use crate::proc::clipboard::ClipboardContent;
use crate::reply::settings::ReplySettings;
use crate::store::chat_log::LogEntry;
use crate::store::sessions::log::TurnLog;
use crate::tools::Effect;
use crate::tools::engine::registry::FinishedCall;

/// A message from a worker.
pub(super) enum WorkerEvent {
    /// From the running turn.
    Event(u64, Event),
    /// A tool needs an answer of the user.
    Question(PendingQuestion),
    /// A turn has ended.
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
    CommandOutput { id: u64, lines: String },
    /// Where the session works now.
    Place(Place),
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
    Start(ConversationStart),
    /// The end of the chat log, which a tool of this conversation has changed; `None` when it did not begin with it.
    Loaded(u64, Option<Vec<LogEntry>>),
    /// A tool that the user called has ended.
    ToolCalled { id: u64, ended: Box<FinishedCall> },
    /// A command that waited for a model or a program has ended.
    Report { id: u64, outcome: Outcome<String> },
    /// The older part of the conversation of this number was summarized; `None` when there was nothing to summarize.
    Compacted(u64, Outcome<Option<Vec<Message>>>),
    /// The compacted conversation was written.
    Saved,
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
    Choices(Box<ChoiceList>),
    /// From setting up a model.
    SetUp(Box<SetUpEvent>),
    /// What was pending is remembered, as far as that was possible.
    Remembered,
}

/// How a turn ended.
#[derive(Debug, Default)]
pub(super) struct TurnEnd {
    /// The conversation with everything that was received; `None` after a crash of the worker.
    pub(super) conversation: Option<ConversationState>,
    /// Changes of the session that tools requested.
    pub(super) effects: Vec<Effect>,
    /// The model ended the conversation: nothing of this message is kept.
    pub(super) is_stop: bool,
    /// The message could not be sent: nothing of it is kept, and it returns to the input.
    pub(super) is_taken_back: bool,
    /// When the answer was given, if it is to become memory.
    pub(super) answered: Option<Timestamp>,
    /// Why there is no answer.
    pub(super) failure: Option<Failure>,
}

/// What one turn passes on to the next.
#[derive(Debug, Default)]
pub(super) struct ConversationState {
    pub(super) messages: Vec<Message>,
    pub(super) meter: TokenMeter,
    /// The system prompt as the provider has cached it.
    pub(super) system: Option<SystemPrompt>,
}

/// The profile that is active now.
#[derive(Debug)]
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

pub(super) struct Inbox {
    notes: Mutex<VecDeque<WorkerEvent>>,
    wake: Sender<()>,
}

impl Inbox {
    /// An empty queue, and a channel that holds one item whenever the queue is not empty.
    pub(super) fn new() -> (Arc<Self>, Receiver<()>) {
        let (wake, woken) = bounded(1);
        let inbox = Self {
            notes: Mutex::default(),
            wake,
        };
        (Arc::new(inbox), woken)
    }

    /// Adds an event and wakes the session.
    pub(super) fn send(&self, note: WorkerEvent) {
        let mut notes = self.lock();
        let older = notes.iter_mut().rev().take(REPLACED_WITHIN);
        if let Some(older) = older.into_iter().find(|older| is_replaced(older, &note)) {
            // The reader has not seen the older lines, and a flood of them must not fill the queue.
            *older = note;
            return;
        }
        match (notes.back_mut(), note) {
            (
                Some(WorkerEvent::Event(turn, Event::Delta(before))),
                WorkerEvent::Event(same, Event::Delta(more)),
            )
            | (
                Some(WorkerEvent::Event(turn, Event::Thinking(before))),
                WorkerEvent::Event(same, Event::Thinking(more)),
            ) if *turn == same => before.push_str(&more),
            (
                Some(WorkerEvent::Event(turn, Event::Reply(ReplyEvent::Draft { piece: before }))),
                WorkerEvent::Event(same, Event::Reply(ReplyEvent::Draft { piece: more })),
            ) if *turn == same => before.push_str(&more),
            (_, note) => notes.push_back(note),
        }
        drop(notes);
        // A full channel already means a wake-up.
        let _ = self.wake.try_send(());
    }

    /// Empties the queue.
    pub(super) fn take(&self) -> VecDeque<WorkerEvent> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<WorkerEvent>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of the newest messages are searched for lines that newer ones replace: more than there are calls at once.
const REPLACED_WITHIN: usize = 32;

/// Whether `newer` has the lines of the same program.
fn is_replaced(older: &WorkerEvent, newer: &WorkerEvent) -> bool {
    match (older, newer) {
        (
            WorkerEvent::Event(turn, Event::Output { id, .. }),
            WorkerEvent::Event(same_turn, Event::Output { id: same, .. }),
        ) => turn == same_turn && id == same,
        (WorkerEvent::CommandOutput { id, .. }, WorkerEvent::CommandOutput { id: same, .. }) => {
            id == same
        }
        _ => false,
    }
}

/// Forwards a turn's events together with its number.
pub(super) struct EventRelay {
    pub(super) inbox: Arc<Inbox>,
    pub(super) turn: u64,
    /// Writes the answer while it arrives. The reply flow has none: only its whole answer is free of secrets.
    pub(super) log: Option<TurnLog>,
}

impl EventSink for EventRelay {
    fn emit(&self, event: Event) {
        if let (Some(log), Event::Delta(piece)) = (&self.log, &event)
            && let Some(notice) = log.stream(piece)
        {
            self.inbox.send(WorkerEvent::Notice(notice));
        }
        self.inbox.send(WorkerEvent::Event(self.turn, event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_pieces_of_one_turn_are_joined_and_the_bell_rings_once() {
        let (inbox, woken) = Inbox::new();
        let say =
            |turn, text: &str| inbox.send(WorkerEvent::Event(turn, Event::Delta(text.to_owned())));
        say(1, "a");
        say(1, "b");
        inbox.send(WorkerEvent::Event(1, Event::Thinking("t".to_owned())));
        say(1, "c");
        say(2, "d");
        assert_eq!(woken.len(), 1);
        let texts: Vec<String> = inbox
            .take()
            .into_iter()
            .map(|note| match note {
                WorkerEvent::Event(turn, Event::Delta(text) | Event::Thinking(text)) => {
                    format!("{turn}{text}")
                }
                _ => "something else".to_owned(),
            })
            .collect();
        assert_eq!(texts, ["1ab", "1t", "1c", "2d"]);
        assert!(inbox.take().is_empty());
    }

    #[test]
    fn newer_lines_of_a_program_replace_older_ones_that_wait() {
        let (inbox, _woken) = Inbox::new();
        for n in 0..10_000 {
            for id in ["a", "b"] {
                let (id, lines) = (id.to_owned(), n.to_string());
                inbox.send(WorkerEvent::Event(1, Event::Output { id, lines }));
            }
            let lines = n.to_string();
            inbox.send(WorkerEvent::CommandOutput { id: 7, lines });
        }
        let left = inbox.take();
        assert_eq!(left.len(), 3);
        for note in left {
            match note {
                WorkerEvent::Event(_, Event::Output { lines, .. })
                | WorkerEvent::CommandOutput { lines, .. } => assert_eq!(lines, "9999"),
                _ => panic!("something else"),
            }
        }
    }
}
