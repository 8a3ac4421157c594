//! Messages from workers to the session: one queue for all, and a wake-up when it is not empty.
//!
//! Pieces of text that wait for the session are joined, so that an interface that reads thirty times a second never holds up a stream of five
//! thousand pieces, and the queue stays as small as the text itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::agent::model_target::ModelTarget;
use crate::agent::system::SystemPrompt;
use crate::app::session::ui_update::PendingQuestion;
use crate::base::problem::Outcome;
use crate::chat::event::{Event, EventSink};
use crate::chat::message::Message;
use crate::chat::tokens::TokenMeter;
use crate::llm::failure::Failure;
use crate::store::chat_log::LogEntry;
use crate::tools::Effect;
use crate::tools::engine::registry::FinishedCall;

/// Something a worker says.
pub(super) enum WorkerEvent {
    /// The running turn says something.
    Event(u64, Event),
    /// A tool of a turn waits for the user.
    Question(PendingQuestion),
    /// The turn is over.
    Ended(u64, Box<TurnEnd>),
    /// A provider was chosen, or cannot be.
    Chosen(Outcome<Box<ModelTarget>>),
    /// A command of the user ended.
    Command {
        /// Which.
        id: u64,
        /// Its output and how it ended.
        outcome: Outcome<String>,
    },
    /// Requested text: a list, a report, a tool's result.
    Listing(Outcome<String>),
    /// A word of the system.
    Notice(String),
    /// A message from outside that the user subscribed to.
    News(String),
    /// Something that calls the user: an alarm, the end of a timer.
    Call(String),
    /// The end of the log, as the start of the conversation.
    Loaded(Vec<LogEntry>),
    /// A tool that the user called ended.
    Called {
        /// Which.
        id: u64,
        /// Its result.
        ended: Box<FinishedCall>,
    },
    /// The profile is switched on disk.
    Switched(Outcome<ProfileSwitch>),
    /// The last exchange is out of the log.
    Undone(Outcome<()>),
}

/// How a turn ended.
#[derive(Debug)]
pub(super) struct TurnEnd {
    /// The conversation with all that came; `None` after a breakdown.
    pub(super) talk: Option<TalkState>,
    /// Effects that tools requested of the session.
    pub(super) effects: Vec<Effect>,
    /// Why there is no answer.
    pub(super) failure: Option<Failure>,
}

/// What one turn of a conversation leaves to the next.
#[derive(Debug, Default)]
pub(super) struct TalkState {
    /// The messages.
    pub(super) messages: Vec<Message>,
    /// Their token count.
    pub(super) meter: TokenMeter,
    /// The system prompt that the provider has cached.
    pub(super) system: Option<SystemPrompt>,
}

/// A profile that is active now.
#[derive(Debug)]
pub(super) struct ProfileSwitch {
    /// Its name.
    pub(super) name: String,
    /// It did not exist before.
    pub(super) created: bool,
    /// The end of its conversation.
    pub(super) entries: Vec<LogEntry>,
    /// The message that caused the switch, to be sent once more.
    pub(super) resend: Option<String>,
}

/// The queue.
pub(super) struct Inbox {
    notes: Mutex<VecDeque<WorkerEvent>>,
    bell: Sender<()>,
}

impl Inbox {
    /// An empty queue and its bell: one message waits in it whenever notes wait.
    pub(super) fn new() -> (Arc<Self>, Receiver<()>) {
        let (bell, rung) = bounded(1);
        let inbox = Self {
            notes: Mutex::default(),
            bell,
        };
        (Arc::new(inbox), rung)
    }

    /// Adds a note and rings.
    pub(super) fn send(&self, note: WorkerEvent) {
        let mut notes = self.lock();
        match (notes.back_mut(), note) {
            (
                Some(WorkerEvent::Event(turn, Event::Delta(before))),
                WorkerEvent::Event(same, Event::Delta(more)),
            )
            | (
                Some(WorkerEvent::Event(turn, Event::Thinking(before))),
                WorkerEvent::Event(same, Event::Thinking(more)),
            ) if *turn == same => before.push_str(&more),
            (_, note) => notes.push_back(note),
        }
        drop(notes);
        // A bell that is ringing already needs no second ring.
        let _ = self.bell.try_send(());
    }

    /// Everything that waits.
    pub(super) fn take(&self) -> VecDeque<WorkerEvent> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<WorkerEvent>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes a turn's events on, with its number.
pub(super) struct EventRelay {
    pub(super) inbox: Arc<Inbox>,
    pub(super) turn: u64,
}

impl EventSink for EventRelay {
    fn emit(&self, event: Event) {
        self.inbox.send(WorkerEvent::Event(self.turn, event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_pieces_of_one_turn_are_joined_and_the_bell_rings_once() {
        let (inbox, rung) = Inbox::new();
        let say =
            |turn, text: &str| inbox.send(WorkerEvent::Event(turn, Event::Delta(text.to_owned())));
        say(1, "a");
        say(1, "b");
        inbox.send(WorkerEvent::Event(1, Event::Thinking("t".to_owned())));
        say(1, "c");
        say(2, "d");
        assert_eq!(rung.len(), 1);
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
}
