//! Disk access of the session and its threads: the chat log, the input history, ntfy messages.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::Receiver;
use jiff::Timestamp;

use super::Session;
use super::inbox::WorkerEvent;
use super::log_writer::{self, PendingEntry};
use crate::agent::turn::TurnLimits;
use crate::alerts::ntfy::answer;
use crate::app::session::ui_update::UiUpdate;
use crate::app::sessions;
use crate::app::sessions::earlier::{self, ConversationStart};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::chat::repair::cut_for_cap;
use crate::chat::tokens::TokenMeter;
use crate::store::chat_log::{self, ChatLog, LogRole};
use crate::store::input_history::InputHistory;
use crate::store::subscriptions;
use crate::tools::engine::context::SessionContext;

impl Session {
    /// Reads what the conversation begins with; messages wait for it, and so does the choice of the model, whose greeting depends on it.
    pub(super) fn load_start(&mut self) {
        let cwd = sessions::folder(&self.context, &self.settings);
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        self.pending_changes += 1;
        self.scribe.put(move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let profile = context.paths.profile(&context.profile()).ok();
            let start = profile.map(|profile| earlier::start(&context, &profile, &cwd, &mut warn));
            inbox.send(WorkerEvent::Start(start.unwrap_or_default()));
        });
    }

    /// What the conversation begins with was read.
    pub(super) fn start_loaded(&mut self, start: ConversationStart) {
        self.pending_changes -= 1;
        self.begin_after(&start);
        if !start.entries.is_empty() {
            let update = UiUpdate::EarlierConversation(start.entries);
            self.updates.push(update);
        }
        self.choose(self.settings.model.clone());
    }

    /// The conversation begins with this.
    pub(super) fn begin_after(&mut self, start: &ConversationStart) {
        if start.is_apart {
            self.flow.begin_after(&start.entries);
        }
        self.seed(&start.entries);
        let offer = start.offer.clone();
        self.updates.extend(offer.map(UiUpdate::Remark));
    }

    pub(super) fn seed(&mut self, entries: &[chat_log::LogEntry]) {
        self.messages = chat_log::messages(entries);
        if let Some(at) = cut_for_cap(&self.messages, TurnLimits::new(self.context.coding()).cap) {
            self.messages.drain(..at);
        }
        self.meter = TokenMeter::default();
        self.gauge();
        let yours = entries.iter().filter(|entry| entry.role == LogRole::You);
        self.sent_messages = yours.map(|entry| entry.text.clone()).collect();
    }

    /// Updates the gauge of the context after a change of the conversation that no request has counted yet.
    pub(super) fn gauge(&mut self) {
        // An estimate is enough: an exact count would load the tokenizer on the interface's thread.
        let tokens = self.meter.measure(&self.messages, 0, u64::MAX);
        self.context.gauge.set_messages(tokens);
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn remember(&mut self, line: &str) {
        let (history, inbox, line) = (
            self.input_history(),
            Arc::clone(&self.inbox),
            line.to_owned(),
        );
        self.scribe.put(move || {
            let mut entries = history.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(problem) = entries.add(&line) {
                inbox.send(WorkerEvent::Notice(problem.one_line()));
            }
        });
    }

    pub(super) fn input_history(&mut self) -> Arc<Mutex<InputHistory>> {
        if let Some(history) = &self.history {
            return Arc::clone(history);
        }
        let path = self
            .context
            .paths
            .profile(&self.context.profile())
            .map(|profile| profile.history());
        let updates = &mut self.updates;
        let opened = InputHistory::open(path.unwrap_or_default(), &mut |words| {
            updates.push(UiUpdate::System(words));
        });
        let history = Arc::new(Mutex::new(opened));
        self.history = Some(Arc::clone(&history));
        history
    }

    pub(super) fn poll_news(&mut self) {
        let Ok(profile) = self.context.paths.profile(&self.context.profile()) else {
            return;
        };
        let updates = &mut self.updates;
        let mut warn = |text| updates.push(UiUpdate::System(text));
        let file = profile.ntfy_subscriptions();
        self.topics = subscriptions::read(&file, &self.context.clock, &mut warn).len();
        let (inbox, conversation) = (Arc::clone(&self.inbox), self.conversation);
        let deliver = move |messages: Vec<String>| {
            for text in messages {
                inbox.send(if answer::is_message(&text) {
                    WorkerEvent::NtfyMessage(conversation, text)
                } else {
                    WorkerEvent::Notice(text)
                });
            }
        };
        self.ntfy_inbox.poll(
            &self.context.env,
            &profile,
            &self.context.clock,
            &Cancel::new(),
            deliver,
        );
    }

    /// Appends an entry to the chat log of `profile`; the receiver is notified when it is written.
    pub(super) fn log(&mut self, profile: &str, role: LogRole, said: String) -> Receiver<()> {
        self.log_at(profile, role, said, None)
    }

    /// As [`Session::log`], with the moment for an entry that is to become memory.
    pub(super) fn log_at(
        &mut self,
        profile: &str,
        role: LogRole,
        text: String,
        at: Option<Timestamp>,
    ) -> Receiver<()> {
        let inbox = Arc::clone(&self.inbox);
        let (writer, context) = (self.log_writer.clone(), Arc::clone(&self.context));
        let entry = PendingEntry {
            profile: profile.to_owned(),
            role,
            text,
            at,
        };
        self.scribe.put_and_tell(move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            writer.append(&context, entry, &mut warn);
        })
    }

    /// Queues work on the log that has to be done before the next message is sent. False, with an error shown, when there is no log.
    pub(super) fn with_log(&mut self, act: impl FnOnce(ChatLog) + Send + 'static) -> bool {
        match log_writer::open(&self.context, &self.context.profile()) {
            Ok(log) => {
                self.pending_changes += 1;
                self.scribe.put(move || act(log));
                true
            }
            Err(problem) => {
                self.updates.push(UiUpdate::Failed(problem));
                false
            }
        }
    }

    /// Prepares a text on a thread and then shows it.
    pub(super) fn list(
        &mut self,
        make: impl FnOnce(&SessionContext) -> Outcome<String> + Send + 'static,
    ) {
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let started = self.work("list", move || {
            inbox.send(WorkerEvent::Listing(make(&context)));
        });
        self.listings += usize::from(started);
    }

    /// Runs `work` on a new thread; false, with an error shown, when none can be started.
    pub(super) fn work(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> bool {
        let started = thread::Builder::new().name(name.to_owned()).spawn(work);
        if let Err(reason) = started {
            self.updates.push(UiUpdate::Failed(Problem::system(
                "Cannot start a thread",
                reason,
            )));
            return false;
        }
        true
    }
}
