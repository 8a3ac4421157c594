//! One turn on a thread of its own: attachments, the agent loop, and what is saved when it ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::Receiver;
use jiff::Timestamp;

use super::attachments::attach::Attachments;
use super::disk_writer::DiskQueue;
use super::inbox::{EventRelay, Inbox};
use super::worker_event::{ConversationState, TurnEnd, WorkerEvent};
use crate::agent::turn::{Conversation, TurnLimits};
use crate::app::{images, profile, sessions};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::scrub;
use crate::base::template::fill;
use crate::base::variables::MARVIN_MCP_WAIT;
use crate::chat::event::{Event, EventSink, Level};
use crate::chat::message::{Message, User};
use crate::disk::git_head;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::{Effort, Offer};
use crate::mcp::session::SessionServers;
use crate::model_call::model_target::{ModelSwitch, ModelTarget};
use crate::model_call::user_facts::{CallerPrompt, UserFacts};
use crate::reply::engine::{ReplyEnd, ReplyEngine, ReplyInput};
use crate::reply::prompts;
use crate::store::chat_log::ChatLog;
use crate::store::sessions::SessionId;
use crate::store::sessions::log::TurnLog;
use crate::store::sessions::record::{ContextCause, Spent};
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::turns::{StopHooks, message_begins, prompt_is_sent};
use crate::tools::engine::offering::{self, Recipient};
use crate::tools::session::skills;

/// Entries at the end of the chat log that may belong to this conversation or were not remembered.
const RESTORED: usize = 200;
/// How long the request waits for the user's message to be written: another process may hold the lock of the log.
const SAVED: Duration = Duration::from_secs(6);

/// What a calling program wants of a turn.
#[derive(Default)]
pub(in crate::app) struct TurnCaller {
    /// Of the system prompt.
    pub(in crate::app) prompt: CallerPrompt,
    /// Says whether the model changes while the turn runs, if it may.
    pub(in crate::app) switch: Option<Arc<dyn ModelSwitch>>,
    /// The message is no line that somebody has typed: it calls no skill and no prompt of a server.
    pub(in crate::app) is_verbatim: bool,
}

/// Everything a turn needs; it shares nothing that changes with the session.
pub(in crate::app) struct TurnJob {
    pub(in crate::app) context: Arc<SessionContext>,
    pub(in crate::app) target: Arc<ModelTarget>,
    pub(in crate::app) mode: TurnMode,
    pub(in crate::app) before: ConversationState,
    pub(in crate::app) message: TurnMessage,
    /// The commands that run in the background, one per line.
    pub(in crate::app) jobs: String,
    pub(in crate::app) stop: Cancel,
    /// Notified when the message is in the chat log, if it goes there.
    pub(in crate::app) logged: Option<Receiver<()>>,
    /// For writes that the turn does not wait for; without it they are done at once.
    pub(in crate::app) disk: Option<DiskQueue>,
    pub(in crate::app) record: TurnRecord,
    pub(in crate::app) caller: TurnCaller,
    /// The message takes the reply flow instead of the plain loop.
    pub(in crate::app) flow: Option<FlowTurn>,
}

/// How a turn answers.
#[derive(Debug, Clone, Copy)]
pub(in crate::app) struct TurnMode {
    pub(in crate::app) coding: bool,
    /// It is the only turn of a run: nobody can be asked, and nothing follows it.
    pub(in crate::app) is_one_shot: bool,
    pub(in crate::app) effort: Option<Effort>,
    /// Requests to the model, if the caller limits them.
    pub(in crate::app) max_requests: Option<usize>,
}

/// A message on its way to the model.
#[derive(Default)]
pub(in crate::app) struct TurnMessage {
    /// As typed.
    pub(in crate::app) text: String,
    /// What was read to go with it.
    pub(in crate::app) attached: Option<Attachments>,
    pub(in crate::app) voice: TurnVoice,
}

/// What a turn writes to the session's file.
pub(in crate::app) struct TurnRecord {
    /// Writes it.
    pub(in crate::app) log: Option<TurnLog>,
    pub(in crate::app) session: Option<SessionId>,
    /// The message as it is kept on disk.
    pub(in crate::app) kept: Message,
    /// What the session cost before this process began to write it.
    pub(in crate::app) spent_before: Spent,
}

/// What a turn tells the user of what it could not do.
pub(in crate::app) type Notice = Arc<dyn Fn(String) + Send + Sync>;

/// What voice has to do with a turn.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::app) struct TurnVoice {
    /// The message was heard.
    pub(in crate::app) is_spoken: bool,
    /// In this language (ISO 639-1), if it is known.
    pub(in crate::app) language: Option<&'static str>,
    /// The answer is read aloud.
    pub(in crate::app) read_aloud: bool,
    /// The only language of the voice that reads it, by its English name.
    pub(in crate::app) voice_language: Option<&'static str>,
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

/// Takes back what was allowed for the turn when it ends, however it does.
struct TurnRules(Arc<SessionContext>);

impl Drop for TurnRules {
    fn drop(&mut self) {
        self.0.permissions.end_turn();
    }
}

/// What a turn of the reply flow needs beside the rest.
pub(in crate::app) struct FlowTurn {
    pub(in crate::app) engine: Arc<ReplyEngine>,
    /// When the message was sent.
    pub(in crate::app) at: Timestamp,
    /// What was said before it, if the conversation has become another one.
    pub(in crate::app) begun: Option<Vec<Message>>,
    /// What the user saw beside the conversation since the last message, and when.
    pub(in crate::app) notes: Vec<(Timestamp, String)>,
}

impl TurnJob {
    /// Runs the turn on a thread of its own. It reports exactly one [`WorkerEvent::TurnEnded`], even when it panics.
    pub(super) fn start(self, id: u64, inbox: Arc<Inbox>) {
        let ended = Arc::clone(&inbox);
        let started = thread::Builder::new()
            .name("turn".to_owned())
            .spawn(move || {
                let listener: Arc<dyn EventSink> = Arc::new(EventRelay {
                    inbox: Arc::clone(&inbox),
                    turn: id,
                    log: self.record.log.clone().filter(|_| self.flow.is_none()),
                });
                let end = catch_unwind(AssertUnwindSafe(|| self.run(listener)));
                let words = "Marvin crashed while answering. This is a bug in Marvin.";
                let end = end.unwrap_or_else(|_| failed(Problem::internal(words)));
                inbox.send(WorkerEvent::TurnEnded(id, Box::new(end)));
            });
        if let Err(reason) = started {
            let problem = Problem::system("Cannot start a thread for the answer", reason);
            ended.send(WorkerEvent::TurnEnded(id, Box::new(failed(problem))));
        }
    }

    fn run(self, listener: Arc<dyn EventSink>) -> TurnEnd {
        let relay = Arc::clone(&listener);
        let notice: Notice =
            Arc::new(move |words| relay.emit(Event::Notice(Level::Warning, words)));
        self.answer(listener, &notice)
    }

    /// Answers the message; `listener` gets what happens meanwhile.
    pub(in crate::app) fn answer(
        mut self,
        listener: Arc<dyn EventSink>,
        notice: &Notice,
    ) -> TurnEnd {
        let ctx = ToolContext::new(Arc::clone(&self.context), self.stop.clone(), listener);
        let session = self.record.session.as_ref().map(|id| {
            let path = self.record.log.as_ref().map(TurnLog::path);
            let path = path.map_or_else(String::new, |path| path.display().to_string());
            (id.to_string(), path)
        });
        let has_earlier = !self.before.messages.is_empty();
        let _rules = TurnRules(Arc::clone(&self.context));
        skills::offer(&self.context);
        message_begins(&ctx, session, has_earlier, &self.target.model);
        let hook_words = match prompt_is_sent(&ctx, &self.message.text) {
            Ok(words) => words,
            Err(problem) => return self.not_sent(problem),
        };
        self.join_servers(notice);
        if let Err(problem) = self.expand_prompt() {
            return self.not_sent(problem);
        }
        let skill = match self.caller.is_verbatim {
            true => None,
            false => skills::told_with(&self.context, &self.message.text),
        };
        let added: Vec<String> = skill.into_iter().chain(hook_words).collect();
        self.log_message(notice);
        if let Some(logged) = &self.logged {
            let _ = logged.recv_timeout(SAVED);
        }
        let person = self.person(notice);
        if self.message.attached.is_none() && !self.mode.is_one_shot {
            self.context.reading.reset();
        }
        if self.flow.is_some() {
            return self.run_flow(&ctx, &person, added, notice);
        }
        let ConversationState {
            mut messages,
            meter,
            mut system,
            offer: offered,
        } = std::mem::take(&mut self.before);
        if let Some(system) = &mut system
            && system.fits(&self.context, &person, self.mode.coding)
            && let Some(text) = system.news(&self.context, &person)
        {
            messages.push(Message::System { text });
        }
        let mut user = self.user();
        for words in added {
            user.text.push_str("\n\n");
            user.text.push_str(&words);
        }
        let told = self.message.voice.note();
        messages.extend(told.map(|text| Message::System { text }));
        messages.push(Message::User(user));
        // Built for each message, because tools may have been registered since the last one.
        let offer = self.offer(notice).following(&offered);
        let mut conversation = Conversation::new(
            Arc::clone(&self.target),
            offer,
            &person,
            messages,
            self.mode.coding,
        );
        conversation.effort = self.mode.effort;
        conversation.limits = self.limits();
        conversation.switch.clone_from(&self.caller.switch);
        conversation.meter = meter;
        conversation.system = system;
        conversation.log = self.record.log.clone();
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
            self.forget_message(&mut conversation.messages, notice);
        }
        conversation.save(&ctx, ContextCause::Change);
        self.end_log(&ctx, failure.as_ref(), notice);
        TurnEnd {
            conversation: Some(ConversationState {
                messages: conversation.messages,
                meter: conversation.meter,
                system: conversation.system,
                offer: conversation.offer,
            }),
            effects: conversation.effects,
            is_stop: false,
            is_taken_back: conversation.is_taken_back,
            answered: None,
            failure,
        }
    }

    /// Has the flow answer as long as a hook keeps the turn from ending; returns its last answer, and adds what was said before it to `said`.
    fn flow_answer(
        &self,
        ctx: &ToolContext,
        flow: &FlowTurn,
        input: &ReplyInput<'_>,
        said: &mut Vec<Message>,
    ) -> Result<ReplyEnd, Failure> {
        let mut stops = StopHooks::default();
        let mut end = flow.engine.answer(ctx, &self.target, input)?;
        // Who was told that the turn ended is not asked whether it may.
        while !end.is_stop
            && ctx.session.hooks.end().is_none()
            && let Some(words) = stops.objection(ctx, &end.text)
        {
            said.push(Message::assistant(scrub(&end.text)));
            said.push(Message::user(scrub(&words)));
            let input = ReplyInput {
                text: &words,
                at: flow.engine.stamp(self.context.clock.now().timestamp()),
                ..input.clone()
            };
            let next = flow.engine.answer(ctx, &self.target, &input)?;
            end.effects.extend(next.effects);
            end = ReplyEnd {
                effects: end.effects,
                ..next
            };
        }
        Ok(end)
    }

    /// Has what configured servers offer join the session.
    fn join_servers(&self, notice: &Notice) {
        let warn = &mut |words| notice(words);
        // Somebody who is there need not wait: what comes later is offered with the next message.
        let patience = match self.mode.is_one_shot {
            true => MARVIN_MCP_WAIT.read(&self.context.env, warn),
            false => 0,
        };
        let servers = self.context.modules.get::<SessionServers>();
        let told = servers.join(&self.context, Duration::from_secs(patience), &self.stop);
        told.into_iter().for_each(|words| notice(words));
    }

    /// Puts what a server's prompt says in the place of a line that calls it.
    fn expand_prompt(&mut self) -> Outcome<()> {
        // `/skill:NAME` looks like a prompt of a server.
        if self.caller.is_verbatim || skills::is_called(&self.context, &self.message.text) {
            return Ok(());
        }
        let servers = self.context.modules.get::<SessionServers>();
        let said = servers.prompt(&self.context, &self.message.text, &self.stop);
        let said = said.transpose().map_err(|problem| {
            skills::missing(&self.context, &self.message.text).unwrap_or(problem)
        });
        let Some(content) = said? else {
            return Ok(());
        };
        let attached = self.message.attached.get_or_insert_default();
        for (name, bytes) in content.images {
            let image = images::from_bytes(&name, bytes.into(), &self.target)?;
            attached.images.push(image);
        }
        self.message.text = content.text;
        Ok(())
    }

    /// The end of a turn whose message a hook did not let go.
    fn not_sent(self, problem: Problem) -> TurnEnd {
        TurnEnd {
            conversation: self.flow.is_none().then_some(self.before),
            is_taken_back: true,
            ..failed(problem)
        }
    }

    /// The tools, before what the conversation has found.
    fn offer(&self, notice: &Notice) -> Offer {
        let provider = &self.target.provider;
        let recipient = Recipient {
            max_tools: self.target.info.max_tools(),
            is_model: provider.is_model(),
            keeps_tools: provider.keeps_conversation(),
        };
        offering::offer(&self.context, recipient, &mut |words| notice(words))
    }

    fn limits(&self) -> TurnLimits {
        if self.mode.is_one_shot {
            return TurnLimits {
                requests: self.mode.max_requests,
                ..TurnLimits::new(true)
            };
        }
        TurnLimits {
            until_switch: true,
            ..TurnLimits::new(self.mode.coding || is_in_repository(&self.context))
        }
    }

    /// What the model is told about the user.
    fn person(&mut self, notice: &Notice) -> UserFacts {
        let notice = Arc::clone(notice);
        let facts = profile::user_facts(
            &self.context,
            self.record.session.clone(),
            (!self.mode.is_one_shot).then(|| self.message.text.clone()),
            std::mem::take(&mut self.jobs),
            move |words| notice(words),
        );
        UserFacts {
            caller: std::mem::take(&mut self.caller.prompt),
            ..facts
        }
    }

    /// Writes the message to the session's file.
    fn log_message(&self, notice: &Notice) {
        let Some(log) = &self.record.log else {
            return;
        };
        self.enter_workspace(log);
        let by = (self.target.provider.name(), self.target.model.as_str());
        let notices = log.say(&self.before.messages, &self.record.kept, by);
        notices.into_iter().for_each(|words| notice(words));
        let (log, notice) = (log.clone(), Arc::clone(notice));
        let make_durable = move || {
            let notices = log.make_durable().into_iter();
            notices.for_each(|words| notice(words));
        };
        match &self.disk {
            // The chat log, which the request waits for, has the message too.
            Some(disk) => disk.put(make_durable),
            None => make_durable(),
        }
    }

    fn enter_workspace(&self, log: &TurnLog) {
        let workspace = self.context.workspace().into_iter();
        workspace.for_each(|workspace| log.enter(workspace));
    }

    /// The message could not be sent: neither what was told about it nor what is on disk of it stays.
    fn forget_message(&self, messages: &mut Vec<Message>, notice: &Notice) {
        let told = self.message.voice.note();
        let is_told = |message: &Message| matches!(message, Message::System { text } if Some(text) == told.as_ref());
        if messages.last().is_some_and(is_told) {
            messages.pop();
        }
        let undone = self.record.log.as_ref().and_then(TurnLog::undo);
        undone.into_iter().for_each(|words| notice(words));
    }

    /// Writes how the turn ended, and what the session cost so far. Usage that is not on disk is written too.
    fn end_log(&self, ctx: &ToolContext, failure: Option<&Failure>, notice: &Notice) {
        if let Some(log) = &self.record.log {
            // A tool may have changed the working directory.
            self.enter_workspace(log);
            let ending = sessions::turn_ending(ctx, failure);
            let spent = sessions::spent(&self.context.ledger.totals());
            let notices = log.end(ending, spent.minus(self.record.spent_before));
            notices.into_iter().for_each(|words| notice(words));
        }
        // The only turn of a run leaves that to its end.
        if !self.mode.is_one_shot {
            let notices = self.context.save_usage().into_iter();
            notices.for_each(|words| notice(words));
        }
    }

    /// The message with what goes with it.
    fn user(&mut self) -> User {
        let attached = self.message.attached.take().unwrap_or_default();
        User {
            text: format!("{}{}", self.message.text, attached.text),
            typed: attached.typed,
            images: attached.images,
        }
    }

    /// Answers through the reply flow. The plain loop's conversation gets the exchange too, so that it continues when the mode changes.
    fn run_flow(
        mut self,
        ctx: &ToolContext,
        person: &UserFacts,
        added: Vec<String>,
        notice: &Notice,
    ) -> TurnEnd {
        let Some(flow) = self.flow.take() else {
            return TurnEnd::default();
        };
        restore(&flow.engine, &self.context, flow.at, &mut |words| {
            notice(words);
        });
        if let Some(before) = &flow.begun {
            flow.engine.begin_conversation(before, flow.at);
        }
        for (at, text) in &flow.notes {
            flow.engine.add_note(text, *at);
        }
        for words in added {
            flow.engine.add_note(&words, flow.at);
        }
        let user = self.user();
        let text = user.text;
        let voice = self.message.voice;
        let input = ReplyInput {
            text: &text,
            at: flow.at,
            spoken: voice.is_spoken,
            language: voice.language,
            read_aloud: voice.read_aloud,
            voice_language: voice.voice_language,
            effort: self.mode.effort,
            person,
        };
        let mut said = vec![Message::User(User {
            text: scrub(&text),
            typed: user.typed.as_deref().map(scrub),
            images: Vec::new(),
        })];
        if let Some(log) = &self.record.log {
            // What was attached takes the place of what was typed.
            let list = self.before.messages.iter().chain(&said).cloned();
            let notices = log.sync(&list.collect::<Vec<_>>(), ContextCause::Attachment);
            notices.into_iter().for_each(|words| notice(words));
        }
        let (end, failure) = match self.flow_answer(ctx, &flow, &input, &mut said) {
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
        let ConversationState {
            mut messages,
            mut meter,
            system,
            offer,
        } = std::mem::take(&mut self.before);
        if !end.is_stop {
            messages.append(&mut said);
            if !end.text.trim().is_empty() {
                messages.push(Message::assistant(scrub(&end.text)));
            }
        }
        if let Some(log) = &self.record.log {
            let notices = match end.is_stop {
                true => log.undo(),
                false => log.sync(&messages, ContextCause::Change),
            };
            notices.into_iter().for_each(|words| notice(words));
        }
        self.end_log(ctx, failure.as_ref(), notice);
        let tokens = meter.measure(&messages, 0, u64::MAX);
        self.context.gauge.set_messages(tokens);
        TurnEnd {
            conversation: Some(ConversationState {
                messages,
                meter,
                system,
                offer,
            }),
            effects: end.effects,
            is_stop: end.is_stop,
            is_taken_back: false,
            answered: end.at,
            failure,
        }
    }
}

/// Gives a new engine what was said before the message that was sent at `now`: what the window still holds, and what a session did not remember before it
/// ended. Reads files.
fn restore(
    engine: &ReplyEngine,
    context: &SessionContext,
    now: Timestamp,
    warn: &mut dyn FnMut(String),
) {
    let Ok(profile) = context.paths.profile(&context.profile()) else {
        return;
    };
    engine.restore(context, || {
        let log = ChatLog::new(profile.chat_log(), &context.clock);
        let entries = log.last(RESTORED, warn).into_iter();
        entries
            .filter(|entry| entry.at.is_some_and(|at| at < now))
            .collect()
    });
}

/// The end of a turn that has no conversation to give back.
fn failed(problem: Problem) -> TurnEnd {
    TurnEnd {
        failure: Some(Failure::new(FailureKind::Protocol, problem)),
        ..TurnEnd::default()
    }
}

/// Whether the session works in a git repository.
fn is_in_repository(context: &SessionContext) -> bool {
    let root = context.working_dir.root();
    root.is_some_and(|root| git_head::repository(root.path()).is_some())
}
