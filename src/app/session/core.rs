//! The core of a session: what concerns several parts. How a line becomes a turn, how a turn ends, how one conversation takes the place of another.
//!
//! What has to be waited for, or written, is an order; the core starts none of it itself.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::bounded;
use jiff::Timestamp;

use super::attachments::attach::Attachments;
use super::choice::ChoiceKind;
use super::commands::{self, Call, InputLine, Parts};
use super::conversation::{Conversation, start};
use super::facts::Facts;
use super::flow::Flow;
use super::flow::memory_writer::MemoryModel;
use super::jobs::{self, Jobs};
use super::lists::theme;
use super::log_writer::PendingEntry;
use super::model::{Backend, Model};
use super::notices::Notices;
use super::orders::{Order, Orders, Request};
use super::queued::{Queued, QueuedKind, Spoken};
use super::run::Run;
use super::said_before::SaidBefore;
use super::turn_job::{TurnJob, TurnMessage, TurnMode, TurnVoice};
use super::turns::Turns;
use super::turns::running_turn::{ArrivingAnswer, RunningTurn};
use super::ui_update::{TurnOutcome, UiUpdate};
use super::voice::Voice;
use super::worker_event::set_up::SetUpEvent;
use super::worker_event::{ProfileSwitch, TurnEnd, WorkerEvent};
use super::workplace::Workplace;
use crate::app::sessions::earlier::ConversationStart;
use crate::app::sessions::{BegunSession, model_notes};
use crate::base::problem::Outcome;
use crate::base::redact::scrub;
use crate::base::text::one_line;
use crate::chat::event::Event;
use crate::chat::message::{Message, User};
use crate::model_call::model_target::ModelTarget;
use crate::model_call::user_facts::CallerPrompt;
use crate::store::chat_log::LogRole;
use crate::store::sessions::Replay;
use crate::tools::Effect;

/// The parts of a session.
pub(super) struct Core {
    pub(super) conversation: Conversation,
    pub(super) turns: Turns,
    pub(super) jobs: Jobs,
    pub(super) model: Model,
    pub(super) flow: Flow,
    pub(super) voice: Voice,
    pub(super) workplace: Workplace,
    pub(super) notices: Notices,
}

impl Core {
    /// With nothing under way.
    pub(super) fn new(conversation: Conversation, turns: Turns, model: Model) -> Self {
        Self {
            conversation,
            turns,
            model,
            jobs: Jobs::default(),
            flow: Flow::default(),
            voice: Voice::default(),
            workplace: Workplace::default(),
            notices: Notices::default(),
        }
    }

    /// What the parts are told of each other.
    pub(super) fn facts(&self) -> Facts {
        Facts {
            target: self.model.target().cloned(),
            spending: Some(self.model.spending().clone()),
            is_shell: self.workplace.shell().is_some(),
            is_answering: self.turns.is_answering(),
            has_waiting: self.turns.has_waiting(),
            is_new: self.conversation.is_new(),
            conversation: self.conversation.number(),
        }
    }

    /// The messages that wait to be sent, as they are kept.
    pub(super) fn waiting(&self, run: &Run) -> Vec<String> {
        let facts = self.facts();
        let waiting = self.turns.waiting();
        let kept = waiting.map(|text| self.flow.for_history(&text, run, &facts));
        kept.collect()
    }

    pub(super) fn memory_model(&self, run: &Run) -> MemoryModel {
        MemoryModel {
            choice: self.model.choice(run),
            spending: self.model.spending().clone(),
        }
    }

    /// Whether the user waits for something.
    pub(super) fn is_busy(&self, orders: &Orders) -> bool {
        self.turns.is_busy()
            || orders.hold_interface()
            || self.model.is_open()
            || self.jobs.is_busy()
            || self.voice.is_busy()
    }
}

/// What the user did.
impl Core {
    /// A line that is not empty: a command or a message.
    pub(super) fn submit(&mut self, line: &str, run: &Run, orders: &mut Orders) {
        let facts = self.facts();
        let kept = self.flow.for_history(line, run, &facts);
        let input = commands::read(line);
        if !facts.is_shell && matches!(input, InputLine::Message) {
            let message = Queued::new(QueuedKind::Message, line.to_owned());
            orders.request(Request::Queue(message));
            // The request of a message waits until that is in the chat log; the history comes after it.
            self.settle(run, orders);
            self.remember(kept, run, orders);
            return;
        }
        self.remember(kept, run, orders);
        let done = match input {
            _ if facts.is_shell && line.eq_ignore_ascii_case("exit") => {
                self.workplace.toggle_shell(run, orders);
                Ok(())
            }
            InputLine::Command(command) if !facts.is_shell || command.in_shell_mode => {
                let parts = Parts {
                    conversation: &mut self.conversation,
                    flow: &mut self.flow,
                    jobs: &mut self.jobs,
                    model: &mut self.model,
                    voice: &mut self.voice,
                    workplace: &mut self.workplace,
                };
                command.run(parts, Call::new(run, &facts, orders))
            }
            InputLine::Mistake(problem) if !facts.is_shell => Err(problem),
            _ => self.workplace.shell_line(line, run, orders),
        };
        show_failure(done, orders);
    }

    /// Keeps a line in the history of inputs, and looks for news.
    fn remember(&mut self, line: String, run: &Run, orders: &mut Orders) {
        orders.push(Order::Remember(line));
        self.notices.poll(self.conversation.number(), run, orders);
    }

    /// Stops what runs: recording and speech, the running answer, else the last command that the user waits for. Messages that wait go back to the input.
    /// False when there was nothing.
    pub(super) fn cancel(&mut self, orders: &mut Orders) -> bool {
        let had_waiting = self.turns.return_waiting(orders);
        let had_voice = self.voice.cancel(orders);
        let is_stopped = self.turns.stop() || had_waiting || had_voice || self.jobs.stop_last();
        is_stopped || self.turns.is_answering()
    }

    /// Does what the command of the list does with the chosen row.
    pub(super) fn choose(&mut self, kind: ChoiceKind, id: &str, run: &Run, orders: &mut Orders) {
        let facts = self.facts();
        let done = match kind {
            ChoiceKind::Sessions => self.conversation.resume(id, run, &facts, orders),
            ChoiceKind::Themes => theme::change(id, run, orders),
            _ => {
                self.model.choose_row(kind, id, run, &facts, orders);
                Ok(())
            }
        };
        show_failure(done, orders);
    }
}

/// What workers report.
impl Core {
    pub(super) fn handle(&mut self, event: WorkerEvent, run: &Run, orders: &mut Orders) {
        let facts = self.facts();
        let is_answering = facts.is_answering;
        match event {
            WorkerEvent::Event(id, event) => self.turn_event(id, event, run, orders),
            WorkerEvent::Question(question) => orders.show(UiUpdate::Ask(question)),
            WorkerEvent::TurnEnded(id, end) => match self.turns.take_ended(id) {
                Some(turn) => self.turn_ended(turn, *end, run, orders),
                None if is_answering => {}
                None => self.conversation.ended_late(id, end.conversation, orders),
            },
            WorkerEvent::Chosen(outcome) => self.model.chosen(outcome, run, &facts, orders),
            WorkerEvent::SetUp(event) => {
                if let SetUpEvent::Checked { id, .. } = &*event {
                    self.jobs.ended(*id);
                }
                self.model.set_up_event(*event, run, &facts, orders);
            }
            WorkerEvent::Command { id, outcome } => self.command_ended(id, outcome, run, orders),
            WorkerEvent::CommandOutput { id, lines } => self.jobs.wrote(id, lines),
            WorkerEvent::ToolCalled { id, ended } => {
                let job = self.jobs.ended(id);
                jobs::tool_called(job.as_ref(), *ended, facts.conversation, orders);
                self.workplace.read_place(run);
                orders.send_next();
            }
            WorkerEvent::Report { id, outcome } => {
                self.jobs.ended(id);
                orders.listing(outcome);
                orders.send_next();
            }
            WorkerEvent::Place(place) => self.workplace.place_read(place, run, orders),
            WorkerEvent::Reviews(lines) => self.workplace.reviews_running(lines),
            WorkerEvent::Listing(outcome) => orders.listing(outcome),
            WorkerEvent::Choices(Ok(list)) => orders.show(UiUpdate::Choose(*list)),
            WorkerEvent::Choices(Err(problem)) => orders.fail(problem),
            WorkerEvent::Sessions { rows, at_start } => match rows {
                Ok(rows) if rows.is_empty() => orders.system("There is no other session yet."),
                Ok(rows) => orders.show(UiUpdate::ChooseSession { rows, at_start }),
                Err(problem) => orders.fail(problem),
            },
            WorkerEvent::Notice(words) | WorkerEvent::Memory(Event::Notice(_, words)) => {
                self.notices.add(words, is_answering, orders);
            }
            WorkerEvent::NtfyMessage(conversation, words) => {
                (self.notices).push_message(conversation, words, is_answering, orders);
            }
            WorkerEvent::Alert(words) => orders.show(UiUpdate::Alert(words)),
            WorkerEvent::Start(start) => self.start_loaded(start, run, orders),
            WorkerEvent::Saved => orders.send_next(),
            WorkerEvent::Loaded(conversation, entries) => {
                if let Some(entries) = entries.filter(|_| conversation == facts.conversation) {
                    self.conversation.seed(&entries, run);
                }
                orders.send_next();
            }
            WorkerEvent::Compacted(conversation, outcome) => {
                (self.conversation).compacted(conversation, outcome, run, orders);
                orders.send_next();
            }
            WorkerEvent::Undone(conversation, outcome) => {
                let undone = (self.conversation).undone(conversation, outcome, run, &facts, orders);
                if let Some(said) = undone {
                    self.flow.undo(&said);
                }
                orders.send_next();
            }
            WorkerEvent::Switched(outcome) => self.profile_switched(outcome, run, orders),
            WorkerEvent::SessionLoaded(begun) => self.session_loaded(begun, run, orders),
            WorkerEvent::FlowSettings(loaded) => self.flow.loaded(*loaded, run, &facts, orders),
            // Nobody waits for memory.
            WorkerEvent::Memory(Event::Wait(_)) | WorkerEvent::Remembered => {}
            WorkerEvent::Memory(event) => orders.show(UiUpdate::Event(event)),
            WorkerEvent::Voice(id, event) => self.voice.handle(id, event, orders),
            WorkerEvent::Prepared(id, outcome) => {
                if let Some((prepared, attached)) = self.turns.prepared(id, outcome, orders) {
                    self.begin_turn(
                        prepared.queued,
                        prepared.target,
                        Some(attached),
                        run,
                        orders,
                    );
                }
            }
            WorkerEvent::Clipboard(outcome) => self.turns.pasted(outcome, orders),
            WorkerEvent::Copied(copied) => orders.show(UiUpdate::Copied(copied)),
            WorkerEvent::FilesFound(found) => orders.show(UiUpdate::FilesFound(found)),
        }
    }

    fn turn_event(&mut self, id: u64, event: Event, run: &Run, orders: &mut Orders) {
        let Some(turn) = self.turns.follow(id, &event) else {
            return;
        };
        if turn.cancelled.is_none() {
            (self.voice).speak_event(id, &event, run, orders);
        }
        orders.show(UiUpdate::Event(event));
    }

    /// A shell command of the user has ended. Its output becomes part of the conversation.
    fn command_ended(&mut self, id: u64, outcome: Outcome<String>, run: &Run, orders: &mut Orders) {
        let Some(job) = self.jobs.ended(id) else {
            return;
        };
        let output = match outcome {
            Ok(output) => output,
            Err(problem) if problem.is_cancelled() => "[stopped]".to_owned(),
            Err(problem) => problem.one_line(),
        };
        let entry = format!("$ {}\n{}", job.command, output.trim_end());
        let entry = (self.flow).for_conversation(&entry, run, &self.facts());
        log(&job.profile, LogRole::System, entry, None, orders);
        let text = model_notes::command(&job.command, &output);
        self.tell_model(job.conversation, text, run, orders);
        orders.show(job.ending(output));
        self.workplace.read_place(run);
        orders.send_next();
    }
}

/// What parts order.
impl Core {
    /// Sees to what parts requested.
    pub(super) fn settle(&mut self, run: &Run, orders: &mut Orders) {
        while let Some((request, waiting)) = orders.next_request() {
            self.see_to(request, run, orders);
            orders.put_back(waiting);
        }
    }

    fn see_to(&mut self, request: Request, run: &Run, orders: &mut Orders) {
        match request {
            Request::SendNext => self.send_next(run, orders),
            Request::Queue(queued) => {
                self.turns.push(queued);
                self.send_next(run, orders);
                if self.turns.has_waiting() {
                    orders.request(Request::SaveWaiting);
                }
            }
            Request::SaveWaiting => {
                let waiting = self.waiting(run);
                let saved = self.conversation.saved();
                saved.note_waiting(waiting);
                saved.save_waiting(run, orders);
            }
            Request::TellModel { conversation, text } => {
                self.tell_model(conversation, text, run, orders);
            }
            Request::Job {
                command,
                background,
                work,
            } => {
                let number = self.conversation.number();
                (self.jobs).start((command, background), work, number, run, orders);
            }
            Request::NewSession => self.new_session(run, orders),
            Request::Heard(transcript) => {
                let kept = self.flow.for_history(&transcript.text, run, &self.facts());
                self.remember(kept, run, orders);
                let language = transcript.language;
                self.turns.push(Queued {
                    spoken: Some(Spoken { language }),
                    ..Queued::new(QueuedKind::Message, transcript.text)
                });
            }
            Request::Effects(effects) => self.apply(effects, None, run, orders),
            Request::Listen => {
                let is_idle =
                    !self.turns.is_leaving() && !self.is_busy(orders) && !self.notices.has_held();
                self.voice.listen_on(is_idle, run, orders);
            }
        }
    }

    /// Applies the effects that tools requested. `again` is the message to send again if the profile has changed.
    fn apply(
        &mut self,
        effects: Vec<Effect>,
        again: Option<Queued>,
        run: &Run,
        orders: &mut Orders,
    ) {
        for effect in effects {
            match effect {
                Effect::WorkingDir(dir) => {
                    let words = format!("Working directory: {}", dir.display());
                    orders.remark(words);
                }
                Effect::Exit(words) => {
                    self.turns.leave();
                    orders.show(UiUpdate::Leave(words));
                }
                Effect::HistoryCompacted => self.conversation.reload(run, orders),
                Effect::SwitchProfile(name) => {
                    start::switch_profile(name, again.clone(), run, orders);
                }
            }
        }
    }

    /// Adds a system message to the conversation; nothing if `conversation` was left.
    fn tell_model(&mut self, conversation: u64, text: String, run: &Run, orders: &mut Orders) {
        let facts = self.facts();
        if conversation != facts.conversation {
            return;
        }
        let text = self.flow.for_conversation(&text, run, &facts);
        let now = run.context.clock.now().timestamp();
        self.flow.note(now, &text);
        (self.conversation).tell_model(text, facts.is_answering, run, orders);
    }
}

/// From the queue to the end of a turn.
impl Core {
    /// Sends the next queued message, if nothing has to finish first.
    fn send_next(&mut self, run: &Run, orders: &mut Orders) {
        if orders.hold_messages() {
            return;
        }
        let Some(kind) = self.turns.next_kind() else {
            return;
        };
        let facts = self.facts();
        let target = match (kind, self.model.backend()) {
            (QueuedKind::ChangeProfile, _) => None,
            (QueuedKind::ToCopilot, _) => Some(self.model.copilot(run, orders)),
            (QueuedKind::Message, Backend::Choosing) => return,
            (QueuedKind::Message, Backend::Failed(reason)) => {
                self.turns.refuse_messages(reason, run, orders);
                return orders.send_next();
            }
            (QueuedKind::Message, Backend::Ready(target)) => {
                if !self.flow.is_known(target, run, &facts, orders) {
                    return;
                }
                Some(Arc::clone(target))
            }
        };
        match (self.turns.take_next(), target) {
            (Some(queued), Some(target)) => self.prepare(queued, target, run, orders),
            (Some(change), None) => {
                orders.request(Request::SaveWaiting);
                start::switch_profile(change.text, None, run, orders);
            }
            (None, _) => {}
        }
    }

    /// Sends `queued`: at once, or as soon as what it attaches was read.
    fn prepare(
        &mut self,
        queued: Queued,
        target: Arc<ModelTarget>,
        run: &Run,
        orders: &mut Orders,
    ) {
        if !self.turns.must_read(&queued) {
            return self.begin_turn(queued, target, None, run, orders);
        }
        let facts = self.facts();
        let takes_images = self.flow.engine_for(&target, run, &facts).is_none();
        (self.turns).prepare(queued, target, takes_images, run, orders);
    }

    /// Sends a message; `attached` was read for it.
    pub(super) fn begin_turn(
        &mut self,
        queued: Queued,
        target: Arc<ModelTarget>,
        attached: Option<Attachments>,
        run: &Run,
        orders: &mut Orders,
    ) {
        let waiting = self.waiting(run);
        let facts = self.facts();
        let Queued {
            text,
            resent,
            spoken,
            ..
        } = queued;
        orders.show(UiUpdate::UserMessage {
            text: text.clone(),
            time: run.context.clock.hour_minute(),
            spoken: spoken.is_some(),
        });
        let lines = attached.iter().flat_map(|attached| &attached.lines);
        lines.for_each(|line| orders.system(line.clone()));
        let profile = run.context.profile();
        let flow = self.flow.begin_turn(&target, run, &facts);
        let at = flow.as_ref().map(|flow| flow.at);
        // What becomes memory holds no secrets.
        let scrubbed = |text: &str| match at {
            Some(_) => scrub(text),
            None => text.to_owned(),
        };
        // The log has the images' names and sizes.
        let images = attached.iter().flat_map(|attached| &attached.images);
        let kept = images.fold(scrubbed(&text), |kept, image| {
            format!("{kept}\n{}", image.marker())
        });
        let (told, logged) = bounded(1);
        let entry = PendingEntry {
            profile: profile.clone(),
            role: LogRole::You,
            text: kept.clone(),
            at,
            told: Some(told),
        };
        orders.push(Order::Log(entry));
        let (stop, with_session) = run.child_stop();
        let saved = self.conversation.saved();
        if !run.is_one_shot {
            saved.note_waiting(waiting);
        }
        // In a conversation the file has at first what was typed, and the turn adds what was read.
        let said = match &attached {
            Some(attached) if run.is_one_shot => Message::User(User {
                text: text.clone(),
                images: attached.images.clone(),
            }),
            _ => Message::user(kept.clone()),
        };
        let job = TurnJob {
            context: Arc::clone(&run.context),
            target,
            mode: TurnMode {
                coding: run.context.coding(),
                is_one_shot: run.is_one_shot,
                effort: self.model.effort(),
                max_requests: None,
            },
            caller: CallerPrompt::default(),
            message: TurnMessage {
                text: text.clone(),
                attached,
                voice: TurnVoice {
                    is_spoken: spoken.is_some(),
                    language: spoken.and_then(|spoken| Some(spoken.language?.code)),
                    read_aloud: self.voice.reads_aloud(),
                    voice_language: self.voice.spoken_language(),
                },
            },
            jobs: scrubbed(&self.jobs.background(facts.conversation).join("\n")),
            stop: stop.clone(),
            logged: Some(logged),
            disk: None,
            record: saved.turn_record(said),
            flow,
            before: self.conversation.begin_turn(kept),
        };
        let id = run.number();
        self.turns.begin(RunningTurn {
            id,
            conversation: facts.conversation,
            stop,
            _with_session: with_session,
            since: Instant::now(),
            message: text,
            spoken,
            profile,
            flow: at,
            resent,
            answer: ArrivingAnswer::default(),
            cancelled: None,
        });
        orders.push(Order::Turn(id, Box::new(job)));
    }

    /// A cancelled turn hangs where cancellation cannot reach it: the session continues with what was shown so far.
    pub(super) fn abandon(&mut self, turn: RunningTurn, run: &Run, orders: &mut Orders) {
        let id = turn.id;
        self.turn_ended(turn, TurnEnd::default(), run, orders);
        self.conversation.abandon(id);
    }

    /// The turn of a session in which nobody is there has ended: what was said stays known, and nothing else follows from it.
    pub(super) fn end_turn_alone(&mut self, id: u64, end: TurnEnd, run: &Run) {
        if let Some(turn) = self.turns.take_ended(id) {
            let shown = (turn.message.clone(), turn.answer.text());
            let mut orders = Orders::default();
            (self.conversation).end_turn(end.conversation, shown, run, &mut orders);
        }
        run.context.reading.reset();
    }

    fn turn_ended(&mut self, turn: RunningTurn, end: TurnEnd, run: &Run, orders: &mut Orders) {
        let outcome = turn.outcome(&end);
        let logged = turn.logged_answer(&end, outcome);
        let is_current = turn.conversation == self.conversation.number();
        if is_current {
            let shown = (turn.for_memory(&turn.message), turn.answer.text());
            (self.conversation).end_turn(end.conversation, shown, run, orders);
        } else {
            self.conversation.release_rows();
        }
        if let Some(text) = logged {
            log(
                &turn.profile,
                LogRole::Assistant,
                text,
                end.answered,
                orders,
            );
        }
        if is_current && (end.is_stop || end.is_taken_back) {
            (self.conversation).forget_exchange(&turn.profile, run, orders);
        }
        self.voice.end_speech(turn.id, outcome, run, orders);
        self.turns.note_failure(outcome == TurnOutcome::Failed);
        // The turn may have started one.
        self.workplace.watch_reviews(run);
        orders.show(UiUpdate::AnswerEnd(outcome));
        self.notices.release(orders);
        if let (TurnOutcome::Failed, Some(failure)) = (outcome, end.failure) {
            orders.fail(*failure.problem);
        }
        if end.is_taken_back {
            orders.show(UiUpdate::Unsent(turn.message.clone()));
        }
        if turn.flow.is_some() {
            let model = self.memory_model(run);
            self.flow.watch_memory(model, run);
        }
        if is_current {
            self.apply(end.effects, turn.again(), run, orders);
        }
        self.workplace.read_place(run);
        orders.send_next();
    }
}

/// How one conversation takes the place of another.
impl Core {
    pub(super) fn choose_first_model(&mut self, run: &Run, orders: &mut Orders) {
        (self.model).choose(run.settings.model.choice.clone(), run, orders);
    }

    /// Nothing of what was said, noted or begun goes on in the conversation that follows.
    fn leave_conversation(&mut self, run: &Run) {
        self.conversation.leave(run);
        self.turns.leave_conversation();
        self.flow.leave_conversation();
    }

    fn start_loaded(&mut self, start: ConversationStart, run: &Run, orders: &mut Orders) {
        self.begin_after(&start, run, orders);
        if !start.entries.is_empty() {
            let update = UiUpdate::EarlierConversation(start.entries);
            orders.show(update);
        }
        self.choose_first_model(run, orders);
    }

    /// The conversation begins with this.
    fn begin_after(&mut self, start: &ConversationStart, run: &Run, orders: &mut Orders) {
        if start.is_apart {
            // The chat log holds what was said elsewhere too.
            let said = SaidBefore::Earlier(start.entries.clone());
            self.flow.begin_after(said);
        }
        self.conversation.seed(&start.entries, run);
        if let Some(words) = &start.offer {
            orders.remark(words.clone());
        }
    }

    /// Goes on with what was said in a session.
    pub(super) fn take_over(&mut self, replay: &Replay, run: &Run, orders: &mut Orders) {
        self.leave_conversation(run);
        (self.conversation).take_over(replay, run, orders);
        let said = replay.spoken().cloned().collect();
        self.flow.begin_after(SaidBefore::Session(said));
    }

    /// An empty conversation. The chat log, which is what is remembered across sessions, stays as it is.
    fn new_session(&mut self, run: &Run, orders: &mut Orders) {
        let before = (self.conversation).begin_session(run, orders);
        self.leave_conversation(run);
        self.flow.begin_after(SaidBefore::Session(Vec::new()));
        orders.show(UiUpdate::SessionOpened(Vec::new()));
        orders.remark(match before {
            Some(id) => format!("A new session. /resume {id} goes back to the one before."),
            None => "A new session.".to_owned(),
        });
    }

    fn session_loaded(
        &mut self,
        begun: Outcome<Box<BegunSession>>,
        run: &Run,
        orders: &mut Orders,
    ) {
        match begun {
            Ok(begun) => {
                (self.conversation).change_session(&begun, run, orders);
                if let Some(replay) = &begun.replay {
                    self.take_over(replay, run, orders);
                    let title = replay.name.clone().unwrap_or_else(|| replay.first());
                    let words = format!("Session {}: {}", begun.log.id().short(), one_line(&title));
                    orders.remark(words);
                }
            }
            Err(problem) => orders.fail(problem),
        }
        orders.send_next();
    }

    fn profile_switched(
        &mut self,
        outcome: Outcome<ProfileSwitch>,
        run: &Run,
        orders: &mut Orders,
    ) {
        match outcome {
            Ok(switched) => {
                let model = self.memory_model(run);
                self.flow.leave_profile(model, run);
                run.context.set_profile(&switched.name);
                (self.conversation).begin_session(run, orders);
                self.leave_conversation(run);
                let made = match switched.created {
                    true => ", which is new",
                    false => "",
                };
                let words = format!("Profile {}{made}.", switched.name);
                orders.show(UiUpdate::Profile(switched.name));
                orders.remark(words);
                self.begin_after(&switched.start, run, orders);
                if let Some(message) = switched.resend {
                    self.turns.push_front(message);
                }
            }
            Err(problem) => orders.fail(problem),
        }
        orders.send_next();
    }
}

fn show_failure(done: Outcome<()>, orders: &mut Orders) {
    if let Err(problem) = done {
        orders.fail(problem);
    }
}

fn log(profile: &str, role: LogRole, text: String, at: Option<Timestamp>, orders: &mut Orders) {
    orders.push(Order::Log(PendingEntry {
        profile: profile.to_owned(),
        role,
        text,
        at,
        told: None,
    }));
}

#[cfg(test)]
mod tests;
