//! A session without an interface: the same core, whose messages are answered one at a time, on the caller's thread. Where nobody is there, such a run is not
//! part of the user's conversation: the chat log has nothing of it. Where a person talks ([`OneShot::with_person`]), the reply flow may answer, and what it
//! answers is part of it.

use std::sync::Arc;
use std::time::Duration;

use super::attachments::attach::Attachments;
use super::commands::{self, CommandCall, InputLine, Parts};
use super::conversation::Conversation;
use super::conversation::saved_session::SavedSession;
use super::core::Core;
use super::model::Model;
use super::orders::{Order, Orders};
use super::queued::{Queued, QueuedKind};
use super::run::Run;
use super::said_before::SaidBefore;
use super::turn_job::{Notice, TurnCaller};
use super::turns::Turns;
use super::ui_update::UiUpdate;
use super::workers::Workers;
use crate::app::choice::ChoiceList;
use crate::app::sessions::BegunSession;
use crate::app::settings::Settings;
use crate::app::setup::Spending;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, one_line};
use crate::chat::event::{Event, EventSink, Level};
use crate::chat::image::Image;
use crate::chat::message::User;
use crate::llm::failure::{Failure, FailureKind};
use crate::llm::provider::Effort;
use crate::model_call::model_target::{ModelSwitch, ModelTarget};
use crate::model_call::user_facts::CallerPrompt;
use crate::store::sessions::Replay;
use crate::store::sessions::log::TurnLog;
use crate::store::sessions::record::Spent;
use crate::tools::Effect;
use crate::tools::engine::context::SessionContext;
use crate::tools::session::skills;

/// How often a command looks whether its work is done.
const LOOK: Duration = Duration::from_millis(5);
/// How long what a command writes may take at its end.
const WRITE_LIMIT: Duration = Duration::from_secs(2);

/// A session of single turns.
pub(crate) struct OneShot {
    run: Run,
    core: Core,
    workers: Workers,
    ways: TurnWays,
}

impl OneShot {
    /// It ends with `stop`, and is written to the session that was begun, if there is one.
    pub(crate) fn new(
        settings: Arc<Settings>,
        context: Arc<SessionContext>,
        stop: Cancel,
        begun: Option<&BegunSession>,
        (spending, effort): (Spending, Option<Effort>),
    ) -> Self {
        let saved = begun.map(|begun| SavedSession::of(begun, Spent::default()));
        let mut conversation = Conversation::new(saved.unwrap_or_default());
        if let Some(replay) = begun.and_then(|begun| begun.replay.as_ref()) {
            conversation.resume_with(replay);
        }
        let model = Model::new(spending, effort);
        Self {
            run: Run::one_shot(settings, context, stop),
            core: Core::new(conversation, Turns::default(), model),
            workers: Workers::default(),
            ways: TurnWays::default(),
        }
    }

    /// A person talks here, through a program such as an editor. `replay` is what was said before in the session.
    pub(in crate::app) fn with_person(mut self, replay: Option<&Replay>) -> Self {
        self.run.has_person = self.run.context.policy.depth == 0;
        let said = replay.into_iter().flat_map(Replay::spoken).cloned();
        let said = SaidBefore::Session(said.collect());
        self.core.flow.begin_after(said);
        self
    }

    /// Has `target` answer the message; `listener` gets what happens meanwhile. What was said before stays known. `begun` gets the token that stops it.
    ///
    /// # Errors
    /// There is no whole answer.
    pub(crate) fn answer(
        &mut self,
        target: Arc<ModelTarget>,
        (text, images): (String, Vec<Image>),
        listener: Arc<dyn EventSink>,
        notice: &Notice,
        begun: impl FnOnce(&Cancel),
    ) -> Result<(), Failure> {
        let message = (text, Attachments::of_images(images));
        self.answer_attached(target, message, listener, notice, begun)
    }

    /// The same for a message with what was read to go with it.
    ///
    /// # Errors
    /// As [`OneShot::answer`].
    pub(in crate::app) fn answer_attached(
        &mut self,
        target: Arc<ModelTarget>,
        (text, attached): (String, Attachments),
        listener: Arc<dyn EventSink>,
        notice: &Notice,
        begun: impl FnOnce(&Cancel),
    ) -> Result<(), Failure> {
        self.core.model.use_target(Arc::clone(&target), &self.run);
        let takes_flow = self.run.has_person && self.takes_flow(&target, notice);
        if takes_flow && !attached.images.is_empty() {
            return Err(Failure::new(
                FailureKind::Protocol,
                Problem::refused("The reply flow takes text only, no images.")
                    .next("With coding mode on (/code) the model answers without it."),
            ));
        }
        let mut orders = Orders::default();
        let message = Queued::new(QueuedKind::Message, text);
        (self.core).begin_turn(message, target, Some(attached), &self.run, &mut orders);
        while let Some(order) = orders.next() {
            let (id, mut job) = match order {
                Order::Turn(id, job) => (id, job),
                other => {
                    self.workers.carry_out(other, &self.run, &mut orders);
                    continue;
                }
            };
            job.mode.max_requests = self.ways.max_requests;
            job.mode.effort = self.ways.effort.or(job.mode.effort);
            job.caller = TurnCaller {
                prompt: self.ways.prompt.clone(),
                switch: self.ways.switch.clone(),
                is_verbatim: self.ways.is_verbatim,
            };
            begun(&job.stop);
            let log = job.record.log.clone().filter(|_| job.flow.is_none());
            let listener = match log {
                Some(log) => Arc::new(Written { listener, log }),
                None => listener,
            };
            let mut end = job.answer(listener, notice);
            let failure = end.failure.take();
            if takes_flow && end.effects.iter().any(Effect::switches) {
                notice("The profile stays the one that Marvin was started with.".to_owned());
            }
            self.core.end_turn_alone(id, end, &self.run, &mut orders);
            while let Some(order) = orders.next() {
                self.workers.carry_out(order, &self.run, &mut orders);
            }
            return failure.map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Whether the reply flow answers the next message; reads what decides that. Tells what happened since the last message, such as memory that could not be
    /// written.
    fn takes_flow(&mut self, target: &ModelTarget, notice: &Notice) -> bool {
        let (core, run, mut orders) = (&mut self.core, &self.run, Orders::default());
        let facts = core.facts();
        core.flow.ensure_settings(target, run, &facts, &mut orders);
        while let Some(order) = orders.next() {
            if let Order::Work(work) = order {
                work.run(&run.inbox);
            }
        }
        for (_, event) in run.inbox.take() {
            core.handle(event, run, &mut orders);
        }
        let told = orders.take_updates().into_iter().filter_map(words_of);
        told.for_each(|words| notice(words));
        core.flow.engine_for(target, run, &facts).is_some()
    }

    /// The session has ended: has what was said remembered, and waits for that. When the process ends before, the next session remembers it.
    pub(in crate::app) fn remember(mut self) {
        let model = self.core.memory_model(&self.run);
        self.core.flow.remember_now(model, &self.run);
        self.workers.finish(&self.run, WRITE_LIMIT);
    }

    /// Tokens of the conversation, about.
    pub(in crate::app) fn tokens(&mut self) -> u64 {
        self.core.conversation.tokens()
    }

    /// Runs a line that begins with a slash as a command of the conversation, where it needs no screen, and returns what it says. None when the line is a
    /// message. `further` are commands that the caller has beside them.
    pub(crate) fn command(
        &mut self,
        line: &str,
        further: &[&str],
        target: Arc<ModelTarget>,
        stop: &Cancel,
    ) -> Option<Outcome<String>> {
        let command = match commands::read(line) {
            _ if !line.starts_with('/') => return None,
            InputLine::Message => return None,
            InputLine::Mistake(_) if skills::is_called(&self.run.context, line) => return None,
            InputLine::Command(command) if command.spec().name_for_programs.is_some() => command,
            InputLine::Mistake(problem) if commands::is_for_programs(name(line)) => {
                return Some(Err(problem));
            }
            InputLine::Command(_) | InputLine::Mistake(_) => {
                let name = line.split_whitespace().next().unwrap_or_default();
                let shown = clip(&escape_controls(name), 40);
                let known = commands::for_programs().map(|(name, _)| name);
                let known: Vec<&str> = known.chain(further.iter().copied()).collect();
                let skills = skills::for_user(&self.run.context, &known);
                let skills = skills.iter().map(|(name, _)| name.as_str());
                let known = known.iter().copied().chain(skills);
                let known: Vec<String> = known.map(|name| format!("/{name}")).collect();
                let problem = Problem::input(format!("There is no command {shown} here."));
                return Some(Err(problem.next(format!("Commands: {}.", known.join(", ")))));
            }
        };
        self.core.model.use_target(target, &self.run);
        let (core, run, mut orders) = (&mut self.core, &self.run, Orders::default());
        let facts = core.facts();
        let parts = Parts {
            conversation: &mut core.conversation,
            flow: &mut core.flow,
            jobs: &mut core.jobs,
            model: &mut core.model,
            voice: &mut core.voice,
            workplace: &mut core.workplace,
            project: &mut core.project,
        };
        if let Err(problem) = command.run(parts, CommandCall::new(run, &facts, &mut orders)) {
            return Some(Err(problem));
        }
        let (workers, mut said) = (&mut self.workers, Vec::new());
        loop {
            core.settle(run, &mut orders);
            while let Some(order) = orders.next() {
                if !matches!(order, Order::Turn(..) | Order::Log(_) | Order::Remember(_)) {
                    workers.carry_out(order, run, &mut orders);
                }
            }
            said.extend(orders.take_updates().into_iter().filter_map(words_of));
            if !core.is_busy(&orders) {
                break;
            }
            if !stop.sleep(LOOK) {
                core.cancel(&mut orders);
                break;
            }
            for (awaited_by, event) in run.inbox.take() {
                orders.reported(awaited_by);
                core.handle(event, run, &mut orders);
            }
        }
        said.extend(workers.finish(run, WRITE_LIMIT));
        Some(Ok(said.join("\n")))
    }

    /// What has to be asked about the project before the first message is sent; `/trust` answers it.
    pub(in crate::app) fn project_question(&mut self) -> Option<ChoiceList> {
        let mut orders = Orders::default();
        self.core.project.begin(&self.run, &mut orders);
        let updates = orders.take_updates().into_iter();
        let mut asked = updates.filter_map(|update| match update {
            UiUpdate::Offer(list) => Some(list),
            _ => None,
        });
        asked.next()
    }

    /// Goes on with what was said in a session, without writing to it.
    pub(crate) fn resume(&mut self, replay: &Replay) {
        self.core.conversation.resume_with(replay);
    }

    /// How the messages that follow are answered.
    pub(crate) fn set_ways(&mut self, ways: TurnWays) {
        self.ways = ways;
    }

    /// How many requests to the model the next answer may take.
    pub(crate) fn limit_requests(&mut self, most: usize) {
        self.ways.max_requests = Some(most);
    }

    /// Adds a message that is not answered; `target` would answer it. Returns what the user is told.
    pub(crate) fn add(
        &mut self,
        text: String,
        images: Vec<Image>,
        target: &ModelTarget,
    ) -> Option<String> {
        let message = User {
            text,
            images,
            ..User::default()
        };
        let by = (target.provider.name(), target.model.as_str());
        self.core.conversation.add_unanswered(message, by)
    }
}

/// Writes an answer while it arrives, so that what was shown of it outlives the process.
struct Written {
    listener: Arc<dyn EventSink>,
    log: TurnLog,
}

impl EventSink for Written {
    fn emit(&self, event: Event) {
        let piece = match &event {
            Event::Delta(piece) => Some(piece.clone()),
            _ => None,
        };
        self.listener.emit(event);
        if let Some(notice) = piece.and_then(|piece| self.log.stream(&piece)) {
            self.listener.emit(Event::Notice(Level::Warning, notice));
        }
    }

    fn takes_child_lines(&self) -> bool {
        self.listener.takes_child_lines()
    }
}

/// The name of the command that a line begins with.
fn name(line: &str) -> &str {
    let first = line.split_whitespace().next().unwrap_or_default();
    first.trim_start_matches('/')
}

/// What an update says in text.
fn words_of(update: UiUpdate) -> Option<String> {
    match update {
        UiUpdate::Listing(words) | UiUpdate::System(words) | UiUpdate::Remark(words) => Some(words),
        UiUpdate::Failed(problem) => Some(problem.one_line()),
        // Nobody can choose a row here, but the command takes what it stands for.
        UiUpdate::Choose(list) => {
            let answers = list.rows.iter().filter(|row| !row.id.is_empty());
            let answers: Vec<&str> = answers.map(|row| row.id.as_str()).collect();
            let listing = list.listing.trim_end();
            Some(format!("{listing}\nAnswers: {}.", answers.join(", ")))
        }
        UiUpdate::Undone(said) => Some(format!("Taken back: {}", clip(&one_line(&said), 200))),
        _ => None,
    }
}

/// How a message is answered.
#[derive(Clone, Default)]
pub(crate) struct TurnWays {
    /// Requests to the model, if the caller limits them.
    pub(crate) max_requests: Option<usize>,
    /// Instead of the effort of the run.
    pub(crate) effort: Option<Effort>,
    /// What a calling program wants of the system prompt.
    pub(crate) prompt: CallerPrompt,
    /// Says whether the model changes while a turn runs, if it may.
    pub(crate) switch: Option<Arc<dyn ModelSwitch>>,
    /// The message calls nothing, whatever it begins with.
    pub(crate) is_verbatim: bool,
}
