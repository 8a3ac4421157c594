//! One turn on a thread of its own: attachments, the agent loop, and what is saved when it ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::Receiver;
use jiff::Timestamp;

use super::attach::Attachments;
use super::disk_writer::DiskQueue;
use super::flow;
use super::inbox::{ConversationState, EventRelay, Inbox, TurnEnd, WorkerEvent};
use crate::agent::system::SystemPrompt;
use crate::agent::turn::{Conversation, TurnLimits};
use crate::app::{profile, sessions};
use crate::base::cancel::Cancel;
use crate::base::problem::Problem;
use crate::base::redact::scrub;
use crate::base::template::fill;
use crate::chat::event::{Event, EventSink, Level};
use crate::chat::message::{Message, User};
use crate::chat::tokens::TokenMeter;
use crate::disk::git_head;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::Effort;
use crate::model_call::model_target::ModelTarget;
use crate::model_call::user_facts::UserFacts;
use crate::reply::engine::{ReplyEnd, ReplyEngine, ReplyInput};
use crate::reply::prompts;
use crate::store::sessions::SessionId;
use crate::store::sessions::log::TurnLog;
use crate::store::sessions::record::{ContextCause, Spent};
use crate::tools::engine::context::{SessionContext, ToolContext};

/// How long the request waits for the user's message to be written: another process may hold the lock of the log.
const SAVED: Duration = Duration::from_secs(6);

/// Everything a turn needs; it shares nothing that changes with the session.
pub(super) struct TurnJob {
    pub(super) id: u64,
    pub(super) context: Arc<SessionContext>,
    pub(super) target: Arc<ModelTarget>,
    pub(super) coding: bool,
    pub(super) effort: Option<Effort>,
    /// The conversation before the message.
    pub(super) messages: Vec<Message>,
    pub(super) meter: TokenMeter,
    /// The system prompt of the previous turns.
    pub(super) system: Option<SystemPrompt>,
    /// The message as typed.
    pub(super) text: String,
    /// What was read to go with it.
    pub(super) attached: Option<Attachments>,
    /// The commands that run in the background, one per line.
    pub(super) jobs: String,
    pub(super) stop: Cancel,
    pub(super) inbox: Arc<Inbox>,
    /// Notified when the message is in the log.
    pub(super) saved: Receiver<()>,
    /// For writes that the turn does not wait for.
    pub(super) disk: DiskQueue,
    /// Writes the turn to the session's file.
    pub(super) log: Option<TurnLog>,
    /// The session.
    pub(super) session: Option<SessionId>,
    /// The message as it is kept on disk.
    pub(super) kept: String,
    /// What the session cost before this process began to write it.
    pub(super) spent_before: Spent,
    /// The message takes the reply flow instead of the plain loop.
    pub(super) flow: Option<FlowTurn>,
    pub(super) voice: TurnVoice,
}

/// What voice has to do with a turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TurnVoice {
    /// The message was heard.
    pub(super) is_spoken: bool,
    /// In this language (ISO 639-1), if it is known.
    pub(super) language: Option<&'static str>,
    /// The answer is read aloud.
    pub(super) read_aloud: bool,
    /// The only language of the voice that reads it, by its English name.
    pub(super) voice_language: Option<&'static str>,
}

impl TurnVoice {
    /// What the model is told about a message and its answer in the plain loop.
    fn note(self) -> Option<String> {
        let language = self
            .voice_language
            .map(|language| fill(prompts::LANGUAGE_FIXED, &[("language", language)]));
        let parts = [
            self.is_spoken.then_some(prompts::INPUT_SPOKEN),
            self.read_aloud.then_some(prompts::STYLE_SPOKEN),
            language.as_deref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().map(str::trim).collect();
        (!parts.is_empty()).then(|| format!("About the next message: {}", parts.join(" ")))
    }
}

/// What a turn of the reply flow needs beside the rest.
pub(super) struct FlowTurn {
    pub(super) engine: Arc<ReplyEngine>,
    /// When the message was sent.
    pub(super) at: Timestamp,
    /// What was said before it, if the conversation has become another one.
    pub(super) begun: Option<Vec<Message>>,
    /// What the user saw beside the conversation since the last message, and when.
    pub(super) notes: Vec<(Timestamp, String)>,
}

impl TurnJob {
    /// Starts the turn's thread. It sends exactly one [`WorkerEvent::Ended`], even when it panics.
    pub(super) fn start(self) -> Result<(), Problem> {
        let (inbox, id) = (Arc::clone(&self.inbox), self.id);
        thread::Builder::new()
            .name("turn".to_owned())
            .spawn(move || {
                let end =
                    catch_unwind(AssertUnwindSafe(|| self.run())).unwrap_or_else(|_| TurnEnd {
                        conversation: None,
                        effects: Vec::new(),
                        is_stop: false,
                        is_taken_back: false,
                        answered: None,
                        failure: Some(Failure::new(
                            FailureKind::Protocol,
                            Problem::internal(
                                "Marvin crashed while answering. This is a bug in Marvin.",
                            ),
                        )),
                    });
                inbox.send(WorkerEvent::TurnEnded(id, Box::new(end)));
            })
            .map(drop)
            .map_err(|error| Problem::system("Cannot start a thread for the answer", error))
    }

    fn run(mut self) -> TurnEnd {
        let listener: Arc<dyn EventSink> = Arc::new(EventRelay {
            inbox: Arc::clone(&self.inbox),
            turn: self.id,
            log: self.log.clone().filter(|_| self.flow.is_none()),
        });
        let ctx = ToolContext::new(
            Arc::clone(&self.context),
            self.stop.clone(),
            Arc::clone(&listener),
        );
        let notice = move |message: String| listener.emit(Event::Notice(Level::Warning, message));
        if let Some(log) = &self.log {
            let by = (self.target.provider.name(), self.target.model.as_str());
            let said = Message::user(std::mem::take(&mut self.kept));
            self.context
                .workspace()
                .into_iter()
                .for_each(|workspace| log.enter(workspace));
            log.say(&self.messages, &said, by)
                .into_iter()
                .for_each(&notice);
            // The chat log, which the request waits for, has the message too.
            let (log, notice) = (log.clone(), notice.clone());
            let work = move || log.make_durable().into_iter().for_each(&notice);
            self.disk.put(work);
        }
        let _ = self.saved.recv_timeout(SAVED);
        let person = profile::user_facts(
            &self.context,
            self.session.clone(),
            Some(self.text.clone()),
            std::mem::take(&mut self.jobs),
            notice.clone(),
        );
        if self.attached.is_none() {
            self.context.reading.reset();
        }
        if self.flow.is_some() {
            return self.run_flow(&ctx, &person, &notice);
        }
        let mut messages = std::mem::take(&mut self.messages);
        let mut system = self.system.take();
        if let Some(system) = &mut system
            && system.fits(&self.context, &person, self.coding)
            && let Some(text) = system.news(&self.context, &person)
        {
            messages.push(Message::System { text });
        }
        let user = self.message();
        messages.extend(self.voice.note().map(|text| Message::System { text }));
        messages.push(Message::User(user));
        // Built for each message, because tools may have been registered since the last one.
        let offer =
            (self.context.registry()).offer(&self.context.policy, self.target.info.max_tools());
        let mut conversation =
            Conversation::new(&self.target, &offer, &person, messages, self.coding);
        conversation.effort = self.effort;
        conversation.limits = TurnLimits {
            until_switch: true,
            ..TurnLimits::new(self.coding || is_in_repository(&self.context))
        };
        conversation.meter = std::mem::take(&mut self.meter);
        conversation.system = system;
        conversation.log = self.log.clone();
        conversation.save(&ctx, ContextCause::Attachment);
        let failure = conversation.answer(&ctx).err();
        if let Some(so_far) = failure.as_ref().map(|failure| &failure.partial)
            && !so_far.text.trim().is_empty()
        {
            conversation
                .messages
                .push(Message::assistant(so_far.text.clone()));
        }
        if conversation.is_taken_back {
            self.forget_message(&mut conversation.messages, &notice);
        }
        conversation.save(&ctx, ContextCause::Change);
        self.end_log(&ctx, failure.as_ref());
        if let Some(message) = self.context.save_usage() {
            notice(message);
        }
        TurnEnd {
            conversation: Some(ConversationState {
                messages: conversation.messages,
                meter: conversation.meter,
                system: conversation.system,
            }),
            effects: conversation.effects,
            is_stop: false,
            is_taken_back: conversation.is_taken_back,
            answered: None,
            failure,
        }
    }

    /// The message could not be sent: neither what was told about it nor what is on disk of it stays.
    fn forget_message(&self, messages: &mut Vec<Message>, notice: &dyn Fn(String)) {
        let told = self.voice.note();
        let is_told = |message: &Message| matches!(message, Message::System { text } if Some(text) == told.as_ref());
        if messages.last().is_some_and(is_told) {
            messages.pop();
        }
        let undone = self.log.as_ref().and_then(TurnLog::undo);
        undone.into_iter().for_each(notice);
    }

    /// Writes how the turn ended, and what the session cost so far.
    fn end_log(&self, ctx: &ToolContext, failure: Option<&Failure>) {
        let Some(log) = &self.log else {
            return;
        };
        // A tool may have changed the working directory.
        self.context
            .workspace()
            .into_iter()
            .for_each(|workspace| log.enter(workspace));
        let ending = sessions::turn_ending(ctx, failure);
        let spent = sessions::spent(&self.context.ledger.totals()).minus(self.spent_before);
        if let Some(notice) = log.end(ending, spent) {
            ctx.listener.emit(Event::Notice(Level::Warning, notice));
        }
    }

    /// The message with what goes with it.
    fn message(&mut self) -> User {
        let attached = self.attached.take().unwrap_or_default();
        User {
            text: format!("{}{}", self.text, attached.text),
            images: attached.images,
        }
    }

    /// Answers through the reply flow. The plain loop's conversation gets the exchange too, so that it continues when the mode changes.
    fn run_flow(
        mut self,
        ctx: &ToolContext,
        person: &UserFacts,
        notice: &dyn Fn(String),
    ) -> TurnEnd {
        let Some(flow) = self.flow.take() else {
            return TurnEnd::default();
        };
        flow::restore(&flow.engine, &self.context, flow.at, &mut |message| {
            notice(message);
        });
        if let Some(before) = &flow.begun {
            flow.engine.begin_conversation(before, flow.at);
        }
        for (at, text) in &flow.notes {
            flow.engine.add_note(text, *at);
        }
        let text = self.message().text;
        let input = ReplyInput {
            text: &text,
            at: flow.at,
            spoken: self.voice.is_spoken,
            language: self.voice.language,
            read_aloud: self.voice.read_aloud,
            voice_language: self.voice.voice_language,
            effort: self.effort,
            person,
        };
        let (end, failure) = match flow.engine.answer(ctx, &self.target, &input) {
            Ok(end) => (end, None),
            Err(failure) => {
                let effects = flow.engine.take_effects();
                let end = ReplyEnd {
                    effects,
                    ..ReplyEnd::default()
                };
                (end, Some(failure))
            }
        };
        let mut messages = std::mem::take(&mut self.messages);
        if !end.is_stop {
            messages.push(Message::user(scrub(&text)));
            if !end.text.trim().is_empty() {
                messages.push(Message::assistant(scrub(&end.text)));
            }
        }
        if let Some(log) = &self.log {
            let notices = match end.is_stop {
                true => log.undo(),
                false => log.sync(&messages, ContextCause::Change),
            };
            notices.into_iter().for_each(notice);
        }
        self.end_log(ctx, failure.as_ref());
        let mut meter = self.meter;
        let tokens = meter.measure(&messages, 0, u64::MAX);
        self.context.gauge.set_messages(tokens);
        if let Some(message) = self.context.save_usage() {
            notice(message);
        }
        TurnEnd {
            conversation: Some(ConversationState {
                messages,
                meter,
                system: self.system,
            }),
            effects: end.effects,
            is_stop: end.is_stop,
            is_taken_back: false,
            answered: end.at,
            failure,
        }
    }
}

/// Whether the session works in a git repository.
fn is_in_repository(context: &SessionContext) -> bool {
    let root = context.working_dir.root();
    root.is_some_and(|root| git_head::repository(root.path()).is_some())
}
