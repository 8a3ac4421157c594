//! The conversation: what was said and is sent to the model, and the session on disk that has it.
//!
//! It changes by a turn that has ended, by `/undo`, `/compact` and `/resume`, and by what the model is told in between. Each conversation of a process has a
//! number: what was begun in one that has been left reaches no other.

mod compaction;
pub(super) mod saved_session;
pub(super) mod start;
mod undo;

use std::time::{Duration, Instant};

use super::orders::Orders;
use super::run::Run;
use super::worker_event::AwaitedBy;
use super::worker_event::{ConversationState, WorkerEvent};
use crate::agent::system::SystemPrompt;
use crate::agent::turn::TurnLimits;
use crate::chat::budget::is_summary;
use crate::chat::message::{Message, User};
use crate::chat::repair::cut_for_cap;
use crate::chat::tokens::TokenMeter;
use crate::llm::provider::Offer;
use crate::store::chat_log::{self, LogEntry, LogRole};
use crate::store::sessions::Replay;
use crate::store::sessions::log::SessionLog;
use crate::store::sessions::record::ContextCause;
use saved_session::SavedSession;

/// How long a message waits for the end of a turn that hangs after its cancel. Nobody has typed one sooner than most of them end.
const LATE_LIMIT: Duration = Duration::from_secs(1);

/// What was said.
#[derive(Default)]
pub(super) struct Conversation {
    /// What is under way when another conversation takes the place of this one still has the old number.
    number: u64,
    messages: Vec<Message>,
    meter: TokenMeter,
    /// The system prompt as the provider has cached it.
    system: Option<SystemPrompt>,
    /// The tools as the last request had them.
    offer: Offer,
    /// The user's messages, the latest last, for `/undo`.
    sent: Vec<String>,
    /// System messages that came during an answer. Added to the messages at once they would be lost, because the turn works on its own copy.
    held_rows: Vec<String>,
    /// The turn that the session continued without, and the number of messages at that time.
    abandoned: Option<(u64, usize)>,
    /// Until then the next message waits for the end of that turn, so that the model is told what came of its calls.
    late_until: Option<Instant>,
    /// The user knows that the oldest messages are no longer sent.
    has_told_cut: bool,
    /// `/compact` summarizes it.
    is_compacting: bool,
    /// `/undo`s that are running or queued.
    undos: usize,
    saved: SavedSession,
}

impl Conversation {
    /// An empty one, to be written to this session.
    pub(super) fn new(saved: SavedSession) -> Self {
        Self {
            saved,
            ..Self::default()
        }
    }

    /// Goes on with what was said before this process.
    pub(super) fn resume_with(&mut self, replay: &Replay) {
        self.messages = replay.context();
        self.sent = replay.user_texts();
    }

    /// The session goes on without what was said in it, which the model no longer gets.
    pub(super) fn cleared(&self, orders: &mut Orders) {
        self.save(ContextCause::Change, orders);
        orders.remark("The conversation is empty: the model knows nothing of what was said.");
    }

    /// Adds a message of the user that nobody answers, and writes it: no turn may follow. `by` are provider and model. Returns what the user is told.
    pub(super) fn add_unanswered(&mut self, message: User, by: (&str, &str)) -> Option<String> {
        let message = Message::User(message);
        let log = self.saved.log().map(SessionLog::begin_turn);
        let written = log.and_then(|log| {
            let said = log.say(&self.messages, &message, by);
            said.or_else(|| log.make_durable())
        });
        self.messages.push(message);
        written
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn saved(&self) -> &SavedSession {
        &self.saved
    }

    /// Whether the user has said nothing in it yet.
    pub(super) fn is_new(&self) -> bool {
        self.sent.is_empty()
    }

    #[cfg(test)]
    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    #[cfg(test)]
    pub(super) fn sent(&self) -> &[String] {
        &self.sent
    }

    /// Messages that a person would count.
    pub(super) fn spoken(&self) -> usize {
        let spoken = self.messages.iter().filter(|message| message.is_spoken());
        spoken.count()
    }

    /// The replies of the model as it wrote them, the latest first.
    pub(super) fn replies(&self) -> impl Iterator<Item = &str> {
        let messages = self.messages.iter().rev();
        messages.filter_map(|message| match message {
            Message::Assistant(said) => Some(said.text.as_str()),
            _ => None,
        })
    }

    /// Another conversation takes the place of this one, empty as yet: nothing of what was said or begun here goes on in it.
    pub(super) fn leave(&mut self, run: &Run) {
        *self = Self {
            number: self.number + 1,
            undos: self.undos,
            is_compacting: self.is_compacting,
            saved: std::mem::take(&mut self.saved),
            ..Self::default()
        };
        run.context.reading.reset();
        self.gauge(run);
    }

    /// Begins with what was said before.
    pub(super) fn seed(&mut self, entries: &[LogEntry], run: &Run) {
        self.messages = chat_log::messages(entries);
        let limits = TurnLimits::new(run.context.coding());
        if let Some(at) = cut_for_cap(&self.messages, limits.cap) {
            self.messages.drain(..at);
        }
        self.meter = TokenMeter::default();
        self.offer = Offer::default();
        self.gauge(run);
        let yours = entries.iter().filter(|entry| entry.role == LogRole::You);
        self.sent = yours.map(|entry| entry.text.clone()).collect();
    }

    /// Updates the gauge of the context after a change that no request has counted yet.
    fn gauge(&mut self, run: &Run) {
        let tokens = self.tokens();
        run.context.gauge.set_messages(tokens);
    }

    /// Tokens of its messages. An estimate is enough: an exact count would load the tokenizer on the interface's thread.
    pub(super) fn tokens(&mut self) -> u64 {
        self.meter.measure(&self.messages, 0, u64::MAX)
    }

    /// Adds a system message, after the answer that is on its way.
    pub(super) fn tell_model(&mut self, text: String, is_answering: bool, orders: &mut Orders) {
        if is_answering {
            self.held_rows.push(text);
        } else {
            self.messages.push(Message::System { text });
            self.save(ContextCause::Change, orders);
        }
    }

    /// A turn begins with this message as it is kept on disk; returns what it works on.
    pub(super) fn begin_turn(&mut self, kept: String) -> ConversationState {
        self.sent.push(kept);
        ConversationState {
            messages: self.messages.clone(),
            meter: std::mem::take(&mut self.meter),
            system: self.system.clone(),
            offer: self.offer.clone(),
        }
    }

    /// A turn of this conversation has ended with `state`; after a crash, or without it, what was shown counts: the message and the answer so far.
    pub(super) fn end_turn(
        &mut self,
        state: Option<ConversationState>,
        shown: (String, &str),
        run: &Run,
        orders: &mut Orders,
    ) {
        let is_written = state.is_some() && self.held_rows.is_empty();
        match state {
            Some(state) => self.take(state, orders),
            None => {
                let (message, answer) = shown;
                self.messages.push(Message::user(message));
                if !answer.trim().is_empty() {
                    self.messages.push(Message::assistant(answer.to_owned()));
                }
                self.gauge(run);
            }
        }
        self.release_rows();
        if !is_written {
            self.save(ContextCause::Change, orders);
        }
    }

    /// Adds what came during an answer.
    pub(super) fn release_rows(&mut self) {
        let rows = std::mem::take(&mut self.held_rows).into_iter();
        self.messages
            .extend(rows.map(|text| Message::System { text }));
    }

    /// The session has continued without this turn.
    pub(super) fn abandon(&mut self, turn: u64) {
        self.abandoned = Some((turn, self.messages.len()));
        self.late_until = Some(Instant::now() + LATE_LIMIT);
    }

    /// Until when the next message waits for a turn that the session continued without.
    pub(super) fn late_until(&self) -> Option<Instant> {
        self.late_until
    }

    /// True once, when that turn takes too long.
    pub(super) fn gives_up_late(&mut self) -> bool {
        let now = Instant::now();
        self.late_until.take_if(|until| *until <= now).is_some()
    }

    /// An abandoned turn has ended after all. Its tool results join the conversation, unless more was said in the meantime.
    pub(super) fn ended_late(
        &mut self,
        turn: u64,
        state: Option<ConversationState>,
        orders: &mut Orders,
    ) {
        if self.abandoned.is_some_and(|(id, _)| id == turn) {
            self.late_until = None;
        }
        let now = (turn, self.messages.len());
        if self.abandoned.take_if(|then| *then == now).is_some()
            && let Some(state) = state
        {
            self.take(state, orders);
        }
        orders.send_next();
    }

    fn take(&mut self, state: ConversationState, orders: &mut Orders) {
        let (was, is) = (self.messages.first(), state.messages.first());
        // A compaction puts a summary behind the task; what was cut off begins with an older message, and has none.
        let is_cut = was != is
            && !state.messages.iter().take(2).any(is_summary)
            && is.is_some_and(|first| self.messages.contains(first));
        if is_cut && !std::mem::replace(&mut self.has_told_cut, true) {
            orders.remark(
                "The model gets only the latest messages from now on, no summary of the others.",
            );
        }
        self.messages = state.messages;
        self.meter = state.meter;
        self.system = state.system;
        self.offer = state.offer;
    }

    /// Writes what it has become without a turn. Nothing before the first message. The next message waits: its turn would take the place of the one that this
    /// is written for, which then writes nothing more.
    fn save(&self, cause: ContextCause, orders: &mut Orders) {
        let Some(turn) = self.saved.latest_turn() else {
            return;
        };
        let messages = self.messages.clone();
        let sync = move || Ok(turn.sync(&messages, cause));
        orders.write_and_report("save", AwaitedBy::NextMessage, sync, WorkerEvent::Saved);
    }
}

#[cfg(test)]
mod tests;
