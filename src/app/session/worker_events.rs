//! Handles the events of the session's workers.

use std::sync::Arc;

use super::inbox::WorkerEvent;
use super::job::Job;
use super::{BackendState, Session, advice, welcome};
use crate::app::model_lists::ModelLists;
use crate::app::session::ui_update::UiUpdate;
use crate::app::sessions::model_notes;
use crate::app::setup;
use crate::app::summarize::summarizer;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::Event;
use crate::model_call::model_target::ModelTarget;

impl Session {
    pub(super) fn note(&mut self, note: WorkerEvent) {
        match note {
            WorkerEvent::Event(id, event) => self.event(id, event),
            WorkerEvent::Question(question) => self.updates.push(UiUpdate::Ask(question)),
            WorkerEvent::TurnEnded(id, end) => {
                if let Some(turn) = self.turn.take_if(|turn| turn.id == id) {
                    self.end(turn, *end);
                } else {
                    self.ended_late(id, *end);
                }
            }
            WorkerEvent::Chosen(outcome) => self.chosen(outcome),
            WorkerEvent::Command { id, outcome } => {
                self.command_ended(id, outcome);
                self.read_place();
            }
            WorkerEvent::CommandOutput { id, lines } => {
                if let Some(job) = self.jobs.iter_mut().find(|job| job.id == id) {
                    job.output = lines;
                }
            }
            WorkerEvent::Place(place) => self.place_read(place),
            WorkerEvent::ToolCalled { id, ended } => {
                let is_current = |job: &Job| job.id == id && job.conversation == self.conversation;
                let has_effects = self.jobs.iter().any(is_current);
                self.jobs.retain(|job| job.id != id);
                self.updates.push(UiUpdate::Listing(ended.output.text));
                if has_effects {
                    self.effects(ended.effects, None);
                }
                self.read_place();
                self.send_next();
            }
            WorkerEvent::Report { id, outcome } => {
                self.jobs.retain(|job| job.id != id);
                self.updates
                    .push(outcome.map_or_else(UiUpdate::Failed, UiUpdate::Listing));
                self.send_next();
            }
            WorkerEvent::Listing(outcome) => {
                self.listings -= 1;
                self.updates
                    .push(outcome.map_or_else(UiUpdate::Failed, UiUpdate::Listing));
            }
            WorkerEvent::NtfyMessage(conversation, words) => {
                self.tell_model(conversation, model_notes::push_message(&words));
                self.note(WorkerEvent::Notice(words));
            }
            // A notice during an answer is shown after it.
            WorkerEvent::Notice(words) if self.turn.is_some() => self.held_notices.push(words),
            WorkerEvent::Alert(words) => self.updates.push(UiUpdate::Alert(words)),
            WorkerEvent::Notice(words) => self.updates.push(UiUpdate::System(words)),
            WorkerEvent::Reviews(lines) => self.reviews_running(lines),
            WorkerEvent::Start(start) => self.start_loaded(start),
            WorkerEvent::Saved => {
                self.pending_changes -= 1;
                self.send_next();
            }
            WorkerEvent::Loaded(conversation, entries) => {
                self.pending_changes -= 1;
                if let Some(entries) = entries.filter(|_| conversation == self.conversation) {
                    self.seed(&entries);
                }
                self.send_next();
            }
            WorkerEvent::Compacted(conversation, outcome) => {
                self.compacted(conversation, outcome);
            }
            WorkerEvent::Switched(outcome) => self.switched(outcome),
            WorkerEvent::Undone(conversation, outcome) => self.undone(conversation, outcome),
            WorkerEvent::FlowSettings(loaded) => self.flow_settings_loaded(*loaded),
            WorkerEvent::Memory(Event::Notice(_, words)) => self.note(WorkerEvent::Notice(words)),
            // Nobody waits for memory.
            WorkerEvent::Memory(Event::Wait(_)) => {}
            WorkerEvent::Memory(event) => self.updates.push(UiUpdate::Event(event)),
            WorkerEvent::Voice(id, event) => self.voice_event(id, event),
            WorkerEvent::Prepared(id, outcome) => self.prepared(id, outcome),
            WorkerEvent::Clipboard(outcome) => self.pasted(outcome),
            WorkerEvent::Copied(copied) => self.updates.push(UiUpdate::Copied(copied)),
            WorkerEvent::FilesFound(found) => self.updates.push(UiUpdate::FilesFound(found)),
            WorkerEvent::SessionLoaded(begun) => self.session_loaded(begun),
            WorkerEvent::Sessions { rows, at_start } => self.sessions_listed(rows, at_start),
            WorkerEvent::Choices(list) => self.choices_listed(*list),
            WorkerEvent::SetUp(event) => self.set_up_event(*event),
            WorkerEvent::Remembered => {}
        }
    }

    pub(super) fn event(&mut self, id: u64, event: Event) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.id == id) else {
            return;
        };
        match &event {
            Event::Delta(piece) => {
                if std::mem::take(&mut turn.after_tools) && !turn.text.is_empty() {
                    turn.text.push_str("\n\n");
                    turn.latest = turn.text.len();
                }
                turn.text.push_str(piece);
            }
            Event::ToolsStarted(_) => turn.after_tools = true,
            Event::ToolDone { .. }
            | Event::Thinking(_)
            | Event::CallState { .. }
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::Wait(_)
            | Event::Notice(..)
            | Event::Turn(_)
            | Event::Pipeline(_)
            | Event::Reply(_) => {}
        }
        if turn.cancelled.is_none() {
            self.speak_event(id, &event);
        }
        self.updates.push(UiUpdate::Event(event));
    }

    pub(super) fn chosen(&mut self, outcome: Outcome<Box<ModelTarget>>) {
        self.pending_changes -= 1;
        match outcome {
            Ok(target) => {
                let Some(target) = self.ask_for_model(target) else {
                    // Messages wait for the choice.
                    return;
                };
                self.set_up_chosen(true);
                self.adopt(target);
            }
            Err(problem) => {
                self.set_up_chosen(false);
                // When a change fails, the previous provider stays.
                if matches!(self.backend, BackendState::Choosing) {
                    let mut problem = Problem::config(problem.one_line());
                    advice::in_chat(&mut problem);
                    self.backend = BackendState::Failed(problem.what);
                }
                self.updates.push(UiUpdate::Failed(problem));
            }
        }
        self.greeted = true;
        self.send_next();
    }

    /// The target answers from now on.
    pub(super) fn adopt(&mut self, target: Box<ModelTarget>) {
        let lists = self.context.modules.get::<ModelLists>();
        lists.set_own(target.provider.name(), target.efforts());
        let words = target.words();
        if self.greeted {
            self.updates.push(UiUpdate::Remark(words));
        } else {
            self.greet(&target);
        }
        let target = Arc::from(target);
        let summarizer = summarizer(&target);
        self.context.set_summarizer(summarizer);
        let agents = setup::agents(&self.settings, &target);
        self.context.set_agents(agents);
        self.backend = BackendState::Ready(target);
        self.greeted = true;
        self.send_next();
    }

    pub(super) fn greet(&mut self, target: &ModelTarget) {
        let offline = !target.provider.is_model();
        if self.sent_messages.is_empty() || offline {
            let words = welcome::words(self, target);
            self.updates.push(UiUpdate::Listing(words));
        } else {
            let profile = self.context.profile();
            let words = format!(
                "Resumed: profile {profile}, {} ({}).",
                target.provider.name(),
                target.model
            );
            self.updates.push(UiUpdate::Remark(words));
        }
    }
}
