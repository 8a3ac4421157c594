//! The way of a message: from the queue to the worker that answers it, and what the end of its turn changes.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, bounded};
use jiff::Timestamp;

use super::{Core, log};
use crate::app::session::attachments::attach::Attachments;
use crate::app::session::conversation::start;
use crate::app::session::log_writer::PendingEntry;
use crate::app::session::model::Backend;
use crate::app::session::orders::{Order, Orders};
use crate::app::session::queued::{Queued, QueuedKind};
use crate::app::session::run::Run;
use crate::app::session::turn_job::{TurnCaller, TurnJob, TurnMessage, TurnMode, TurnVoice};
use crate::app::session::turns::running_turn::{ArrivingAnswer, RunningTurn};
use crate::app::session::ui_update::{TurnOutcome, UiUpdate};
use crate::app::session::worker_event::TurnEnd;
use crate::base::redact::scrub;
use crate::chat::message::{Message, User};
use crate::model_call::model_target::ModelTarget;
use crate::store::chat_log::LogRole;

impl Core {
    /// Sends the next queued message, if nothing has to finish first.
    pub(super) fn send_next(&mut self, run: &Run, orders: &mut Orders) {
        let is_late = self.conversation.late_until().is_some();
        if is_late || orders.blocks_next_message() || self.project.is_open() {
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
                if !self.flow.ensure_settings(target, run, &facts, orders) {
                    return;
                }
                Some(Arc::clone(target))
            }
        };
        match (self.turns.take_next(), target) {
            (Some(queued), Some(target)) => self.prepare(queued, target, run, orders),
            (Some(change), None) => {
                // In the session of the old profile, before the new one is read.
                self.save_waiting(run, orders);
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
    pub(in crate::app::session) fn begin_turn(
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
        let (stop, with_session) = run.child_stop();
        let saved = self.conversation.saved();
        if !run.is_one_shot {
            saved.note_waiting(waiting);
        }
        // In a conversation the file has at first what was typed, and the turn adds what was read.
        let said = match &attached {
            Some(attached) if run.is_one_shot => Message::User(User {
                text: scrubbed(&text),
                typed: attached.typed.as_deref().map(scrubbed),
                images: attached.images.clone(),
            }),
            _ => Message::user(kept.clone()),
        };
        // Files that an editor put beside it are not part of what becomes memory.
        let kept = match &said {
            Message::User(said) if run.is_one_shot && flow.is_some() => said.title().to_owned(),
            _ => kept,
        };
        let is_logged = !run.is_one_shot || flow.is_some();
        let logged = is_logged.then(|| log_message(&profile, kept.clone(), at, orders));
        let job = TurnJob {
            context: Arc::clone(&run.context),
            target,
            mode: TurnMode {
                coding: run.context.coding(),
                is_one_shot: run.is_one_shot,
                effort: self.model.effort(),
                max_requests: None,
            },
            caller: TurnCaller::default(),
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
            logged,
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
    pub(in crate::app::session) fn abandon(
        &mut self,
        turn: RunningTurn,
        run: &Run,
        orders: &mut Orders,
    ) {
        let id = turn.id;
        self.turn_ended(turn, TurnEnd::default(), run, orders);
        self.conversation.abandon(id);
    }

    /// The turn of a session without an interface has ended: what was said stays known, what the reply flow answered is logged and will be remembered, and
    /// nothing else follows from it.
    pub(in crate::app::session) fn end_turn_alone(
        &mut self,
        id: u64,
        end: TurnEnd,
        run: &Run,
        orders: &mut Orders,
    ) {
        run.context.reading.reset();
        let Some(turn) = self.turns.take_ended(id) else {
            return;
        };
        let last = (end.conversation.as_ref()).and_then(|state| state.messages.last());
        if let (Some(at), Some(Message::Assistant(said))) = (end.answered, last) {
            let text = said.text.clone();
            log(&turn.profile, LogRole::Assistant, text, Some(at), orders);
        }
        let shown = (turn.for_memory(&turn.message), turn.answer.text());
        (self.conversation).end_turn(end.conversation, shown, run, &mut Orders::default());
        if turn.flow.is_some() {
            if end.is_stop || end.is_taken_back {
                (self.conversation).forget_exchange(&turn.profile, run, orders);
            }
            let model = self.memory_model(run);
            self.flow.watch_memory(model, run);
        }
    }

    pub(super) fn turn_ended(
        &mut self,
        turn: RunningTurn,
        end: TurnEnd,
        run: &Run,
        orders: &mut Orders,
    ) {
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
        self.workplace.read_place(run, orders);
        orders.send_next();
    }
}

/// Has the user's message written to the chat log; the receiver is notified when it is there.
fn log_message(
    profile: &str,
    text: String,
    at: Option<Timestamp>,
    orders: &mut Orders,
) -> Receiver<()> {
    let (told, logged) = bounded(1);
    orders.push(Order::Log(PendingEntry {
        profile: profile.to_owned(),
        role: LogRole::You,
        text,
        at,
        told: Some(told),
    }));
    logged
}
