//! Messages and their answers: the queue, the running turn, and how a turn ends.

use std::sync::Arc;
use std::time::Instant;

use super::attach::Attachments;
use super::inbox::{ConversationState, TurnEnd, WorkerEvent};
use super::{BackendState, Queued, QueuedKind, RunningTurn, Session};
use super::{log_writer, turn};
use crate::app::session::ui_update::{TurnOutcome, UiUpdate};
use crate::app::setup;
use crate::base::problem::Problem;
use crate::base::redact::scrub;
use crate::base::text::{clip, one_line};
use crate::chat::budget::is_summary;
use crate::chat::message::Message;
use crate::llm::copilot;
use crate::llm::failure::FailureKind;
use crate::model_call::model_target::ModelTarget;
use crate::store::chat_log::LogRole;
use crate::store::sessions::log::SessionLog;
use crate::store::sessions::record::ContextCause;
use crate::tools::Effect;

/// Characters of a message that was not sent, in the notice about it.
const MAX_UNSENT_CHARS: usize = 60;

impl Session {
    /// Sends the next queued message, if nothing has to finish first.
    pub(super) fn send_next(&mut self) {
        let is_busy = self.turn.is_some() || self.preparation.is_some();
        if is_busy || self.pending_changes > 0 || self.exiting {
            return;
        }
        let is = |kind| move |queued: &mut Queued| queued.kind == kind;
        if let Some(queued) = self.queue.pop_front_if(is(QueuedKind::ChangeProfile)) {
            self.save_waiting();
            return self.switch(queued.text, None);
        }
        if let Some(queued) = self.queue.pop_front_if(is(QueuedKind::ToCopilot)) {
            let target = self.copilot();
            return self.prepare(queued, target);
        }
        match &self.backend {
            BackendState::Choosing => {}
            BackendState::Failed(reason) => {
                let reason = reason.clone();
                self.failed |= !self.queue.is_empty();
                while let Some(queued) = self.queue.pop_front_if(is(QueuedKind::Message)) {
                    let time = self.context.clock.hour_minute();
                    self.updates.push(UiUpdate::UserMessage {
                        text: queued.text,
                        time,
                        spoken: queued.spoken.is_some(),
                    });
                    let problem = Problem::config(reason.clone())
                        .next("/model PROVIDER chooses another one for this session.");
                    self.updates.push(UiUpdate::Failed(problem));
                }
                if !self.queue.is_empty() {
                    self.send_next();
                }
            }
            BackendState::Ready(target) => {
                let target = Arc::clone(target);
                if !self.queue.is_empty() && !self.knows_flow(&target) {
                    return;
                }
                if let Some(queued) = self.queue.pop_front() {
                    self.prepare(queued, target);
                }
            }
        }
    }

    /// The messages that wait to be sent, as they are kept.
    fn waiting(&self) -> Vec<String> {
        let prepared = self.preparation.iter().map(|one| &one.queued);
        let waiting = prepared.chain(&self.queue);
        waiting
            .map(|queued| self.for_history(&queued.typed()))
            .collect()
    }

    /// The messages that still waited when the user left.
    pub(super) fn unsent_notice(&self) -> Option<String> {
        not_sent(&self.waiting())
    }

    /// Tells the session which messages wait; they are written with the next one.
    fn note_waiting(&self) {
        if let Some(log) = &self.saved.log {
            log.set_waiting(self.waiting());
        }
    }

    /// Writes which messages wait: they must outlive a process that is killed.
    pub(super) fn save_waiting(&mut self) {
        self.note_waiting();
        if let Some(turn) = self.saved.log.as_ref().map(SessionLog::latest_turn) {
            let inbox = Arc::clone(&self.inbox);
            self.scribe.put(move || {
                if let Some(notice) = turn.save_waiting() {
                    inbox.send(WorkerEvent::Notice(notice));
                }
            });
        }
    }

    /// Copilot: the one that answers anyway, or one for single messages, which keeps its process.
    fn copilot(&mut self) -> Arc<ModelTarget> {
        if let BackendState::Ready(target) = &self.backend
            && target.provider.name() == copilot::NAME
        {
            return Arc::clone(target);
        }
        let (spending, env) = (&self.spending, &self.context.env);
        let updates = &mut self.updates;
        let made = self.copilot.get_or_insert_with(|| {
            let mut warn = |text| updates.push(UiUpdate::System(text));
            Arc::new(setup::copilot(spending, env, &mut warn))
        });
        Arc::clone(made)
    }

    /// Sends a message; `attached` was read for it.
    pub(super) fn begin(
        &mut self,
        queued: Queued,
        target: Arc<ModelTarget>,
        attached: Option<Attachments>,
    ) {
        let Queued {
            text,
            resent,
            spoken,
            ..
        } = queued;
        let id = self.number();
        let (stop, with_session) = self.stop_all.child();
        let time = self.context.clock.hour_minute();
        self.updates.push(UiUpdate::UserMessage {
            text: text.clone(),
            time,
            spoken: spoken.is_some(),
        });
        let lines = attached.iter().flat_map(|attached| &attached.lines);
        self.updates.extend(lines.cloned().map(UiUpdate::System));
        let profile = self.context.profile();
        let flow = self.flow_engine(&target).map(|engine| {
            let notes = std::mem::take(&mut self.flow.notes).into_iter();
            let notes = notes.map(|(at, text)| (engine.stamp(at), text)).collect();
            let now = self.context.clock.now().timestamp();
            let at = engine.stamp(now);
            let window = self
                .flow_settings()
                .map(|settings| settings.dialogue_window);
            let begun = self.flow.begun.take();
            let begun = begun.map(|before| before.messages(window.unwrap_or_default(), now));
            turn::FlowTurn {
                engine,
                at,
                begun,
                notes,
            }
        });
        let at = flow.as_ref().map(|flow| flow.at);
        self.note_waiting();
        // What becomes memory holds no secrets.
        let kept = if flow.is_some() {
            scrub(&text)
        } else {
            text.clone()
        };
        // The log has the images' names and sizes.
        let images = attached.iter().flat_map(|attached| &attached.images);
        let kept = images.fold(kept, |kept, image| format!("{kept}\n{}", image.marker()));
        let saved = self.log_at(&profile, LogRole::You, kept.clone(), at);
        let job = turn::TurnJob {
            id,
            context: Arc::clone(&self.context),
            target,
            coding: self.context.coding(),
            effort: self.effort,
            messages: self.messages.clone(),
            meter: std::mem::take(&mut self.meter),
            system: self.system.clone(),
            text: text.clone(),
            attached,
            jobs: match at {
                Some(_) => scrub(&self.background().join("\n")),
                None => self.background().join("\n"),
            },
            stop: stop.clone(),
            inbox: Arc::clone(&self.inbox),
            saved,
            disk: self.scribe.handle(),
            log: self.saved.log.as_ref().map(SessionLog::begin_turn),
            session: self.saved.log.as_ref().map(|log| log.id().clone()),
            kept: kept.clone(),
            spent_before: self.saved.spent_before,
            flow,
            voice: turn::TurnVoice {
                is_spoken: spoken.is_some(),
                language: spoken.and_then(|spoken| Some(spoken.language?.code)),
                read_aloud: self.reads_aloud(),
                voice_language: self.voice_language(),
            },
        };
        self.turn = Some(RunningTurn {
            id,
            conversation: self.conversation,
            stop,
            _with_session: with_session,
            since: Instant::now(),
            message: text,
            spoken,
            profile,
            flow: at,
            resent,
            text: String::new(),
            latest: 0,
            after_tools: false,
            cancelled: None,
        });
        self.sent_messages.push(kept);
        if let Err(problem) = job.start() {
            self.turn = None;
            self.updates.push(UiUpdate::Failed(problem));
        }
    }

    /// A cancelled turn hangs where cancellation cannot reach it: the session continues with what was shown so far.
    pub(super) fn abandon(&mut self) {
        if let Some(turn) = self.turn.take() {
            let id = turn.id;
            let end = TurnEnd {
                conversation: None,
                effects: Vec::new(),
                is_stop: false,
                is_taken_back: false,
                answered: None,
                failure: None,
            };
            self.end(turn, end);
            self.abandoned = Some((id, self.messages.len()));
        }
    }

    /// An abandoned turn has ended after all. Its tool results join the conversation, unless more was said in the meantime.
    pub(super) fn ended_late(&mut self, id: u64, end: TurnEnd) {
        let now = (id, self.messages.len());
        if self.turn.is_none()
            && self.abandoned.take_if(|then| *then == now).is_some()
            && let Some(conversation) = end.conversation
        {
            self.take(conversation);
        }
    }

    fn take(&mut self, conversation: ConversationState) {
        let (was, is) = (self.messages.first(), conversation.messages.first());
        // A compaction puts a summary behind the task; what was cut off begins with an older message, and has none.
        let is_cut = was != is
            && !conversation.messages.iter().take(2).any(is_summary)
            && is.is_some_and(|first| self.messages.contains(first));
        if is_cut && !std::mem::replace(&mut self.has_told_cut, true) {
            let words =
                "The model gets only the latest messages from now on, no summary of the others.";
            self.updates.push(UiUpdate::Remark(words.to_owned()));
        }
        self.messages = conversation.messages;
        self.meter = conversation.meter;
        self.system = conversation.system;
    }

    pub(super) fn end(&mut self, turn: RunningTurn, end: TurnEnd) {
        let stopped = turn.cancelled.is_some();
        let outcome = match (&end.failure, stopped) {
            (None, false) => TurnOutcome::Complete,
            (Some(failure), false) if !failure.problem.is_cancelled() => TurnOutcome::Failed,
            (None, true) if end.conversation.is_some() => TurnOutcome::Complete,
            _ => TurnOutcome::Stopped,
        };
        let failed = end
            .conversation
            .as_ref()
            .filter(|_| outcome == TurnOutcome::Failed);
        let words = failed.and_then(|conversation| words_of_refusal(conversation, &turn));
        let is_known = end.conversation.is_some();
        let is_current = turn.conversation == self.conversation;
        match end.conversation {
            _ if !is_current => {}
            Some(conversation) => self.take(conversation),
            None => {
                let message = match turn.flow {
                    Some(_) => scrub(&turn.message),
                    None => turn.message.clone(),
                };
                self.messages.push(Message::user(message));
                if !turn.text.trim().is_empty() {
                    self.messages.push(Message::assistant(turn.text.clone()));
                }
                self.gauge();
            }
        }
        let rows = std::mem::take(&mut self.held_system_rows);
        let is_saved = is_known && rows.is_empty();
        self.messages
            .extend(rows.into_iter().map(|text| Message::System { text }));
        if !is_saved && is_current {
            self.save_messages(ContextCause::Change);
        }
        let text = turn.text + words.as_deref().unwrap_or_default();
        if !text.trim().is_empty() {
            let failure = end.failure.as_ref().map(|failure| &failure.kind);
            let mark = match (outcome, failure) {
                (TurnOutcome::Complete, _) => "",
                (TurnOutcome::Stopped, _) => "\n\n[stopped]",
                (TurnOutcome::Failed, Some(FailureKind::Declined)) => "\n\n[refused by the model]",
                (TurnOutcome::Failed, Some(FailureKind::Filtered)) => {
                    "\n\n[ended by a content filter]"
                }
                (TurnOutcome::Failed, Some(FailureKind::Unfinished)) => "\n\n[incomplete]",
                (TurnOutcome::Failed, _) => "\n\n[cut by a failure]",
            };
            let text = if turn.flow.is_some() {
                scrub(&text)
            } else {
                text
            };
            self.log_at(&turn.profile, LogRole::Assistant, text + mark, end.answered);
        }
        if is_current && (end.is_stop || end.is_taken_back) {
            self.forget_exchange(&turn.profile);
        }
        self.end_speech(turn.id, outcome);
        self.failed = outcome == TurnOutcome::Failed;
        // The turn may have started one.
        self.watch_reviews();
        self.updates.push(UiUpdate::AnswerEnd(outcome));
        let notices = std::mem::take(&mut self.held_notices);
        self.updates
            .extend(notices.into_iter().map(UiUpdate::System));
        if let (TurnOutcome::Failed, Some(failure)) = (outcome, end.failure) {
            self.updates.push(UiUpdate::Failed(*failure.problem));
        }
        if end.is_taken_back {
            self.updates.push(UiUpdate::Unsent(turn.message.clone()));
        }
        if turn.flow.is_some()
            && let Some(engine) = self.flow.engine()
        {
            self.watch_memory(&engine);
        }
        let again = (!turn.resent).then_some(Queued {
            resent: true,
            spoken: turn.spoken,
            ..Queued::new(QueuedKind::Message, turn.message)
        });
        if is_current {
            self.effects(end.effects, again);
        }
        self.read_place();
        self.send_next();
    }

    /// The model ended the conversation: the message leaves no trace in the log.
    fn forget_exchange(&mut self, profile: &str) {
        let Some(message) = self.sent_messages.pop() else {
            return;
        };
        let writer = self.log_writer.clone();
        let (profile, inbox) = (profile.to_owned(), Arc::clone(&self.inbox));
        let Ok(log) = log_writer::open(&self.context, &profile) else {
            return;
        };
        self.scribe.put(move || {
            if !writer.take_back(&profile, &message) {
                let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
                // Another Marvin has written since: then it stays.
                let _ = log.undo_last_exchange(Some(&message), &mut warn);
            }
        });
    }

    /// Applies the effects that tools requested. `said` is the message to send again if the profile has changed.
    pub(super) fn effects(&mut self, effects: Vec<Effect>, message: Option<Queued>) {
        for effect in effects {
            match effect {
                Effect::WorkingDir(dir) => {
                    let words = format!("Working directory: {}", dir.display());
                    self.updates.push(UiUpdate::Remark(words));
                }
                Effect::Exit(words) => {
                    self.exiting = true;
                    self.updates.push(UiUpdate::Leave(words));
                }
                Effect::HistoryCompacted => self.reload(),
                Effect::SwitchProfile(name) => self.switch(name, message.clone()),
            }
        }
    }
}

/// Tells of messages that waited and were not sent.
pub(super) fn not_sent(texts: &[String]) -> Option<String> {
    let first = one_line(&clip(texts.first()?, MAX_UNSENT_CHARS));
    Some(match texts.len() {
        1 => format!("A message that waited was not sent: \"{first}\"."),
        more => {
            format!("{more} messages that waited were not sent, the first of them \"{first}\".")
        }
    })
}

/// What a model that declines says is told with the error instead of being shown as its answer: the rest of the last message behind the shown text.
fn words_of_refusal(conversation: &ConversationState, turn: &RunningTurn) -> Option<String> {
    let Some(Message::Assistant(last)) = conversation.messages.last() else {
        return None;
    };
    let shown = turn.text.get(turn.latest..)?;
    let rest = last.text.strip_prefix(shown)?;
    if rest.is_empty() {
        return None;
    }
    let apart = turn.text.is_empty() || rest.starts_with('\n');
    Some(format!("{}{rest}", if apart { "" } else { "\n\n" }))
}
