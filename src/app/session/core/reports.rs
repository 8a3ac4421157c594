//! What workers report, and the part that it is for.

use super::{Core, log};
use crate::app::session::jobs;
use crate::app::session::jobs::agents::EndedAgent;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::UiUpdate;
use crate::app::session::worker_event::WorkerEvent;
use crate::app::session::worker_event::agent::AgentEvent;
use crate::app::session::worker_event::set_up::SetUpEvent;
use crate::app::sessions::model_notes;
use crate::base::problem::Outcome;
use crate::chat::event::Event;
use crate::store::chat_log::LogRole;

impl Core {
    pub(in crate::app::session) fn handle(
        &mut self,
        event: WorkerEvent,
        run: &Run,
        orders: &mut Orders,
    ) {
        let facts = self.facts();
        let is_answering = facts.is_answering;
        match event {
            WorkerEvent::Event(id, event) => self.turn_event(id, event, run, orders),
            WorkerEvent::Question(question) => orders.show(UiUpdate::Ask(question)),
            WorkerEvent::QuestionOver => orders.show(UiUpdate::AskOver),
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
                self.workplace.read_place(run, orders);
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
            WorkerEvent::Saved(saved) => {
                match saved {
                    Ok(notice) => {
                        let notice = notice.into_iter();
                        notice.for_each(|words| self.notices.add(words, is_answering, orders));
                    }
                    Err(problem) => orders.fail(problem),
                }
                orders.send_next();
            }
            WorkerEvent::Loaded(conversation, entries) => {
                match entries {
                    Ok(Some(entries)) if conversation == facts.conversation => {
                        self.conversation.seed(&entries, run);
                    }
                    Ok(_) => {}
                    Err(problem) => orders.fail(problem),
                }
                orders.send_next();
            }
            WorkerEvent::Compacted(conversation, outcome) => {
                (self.conversation).compacted(conversation, outcome, run, orders);
                orders.send_next();
            }
            WorkerEvent::Undone(conversation, outcome) => {
                let undone = (self.conversation).undone(conversation, outcome, run, orders);
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
            WorkerEvent::Agent(event) => self.agent_event(event, run, orders),
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

    fn agent_event(&mut self, event: AgentEvent, run: &Run, orders: &mut Orders) {
        let agents = &mut self.jobs.agents;
        match event {
            AgentEvent::Launch(launch) => {
                agents.launch(*launch, self.conversation.number(), run, orders);
            }
            AgentEvent::Happened(number, event) => agents.follow(number, &event, orders),
            AgentEvent::Asks(questions) => agents.ask(questions, orders),
            AgentEvent::Unanswered(number) => agents.unanswered(number, orders),
            AgentEvent::Ended(number, outcome) => {
                if let Some(ended) = agents.ended(number, outcome) {
                    self.agent_ended(&ended, run, orders);
                }
            }
        }
    }

    /// An agent in the background has ended. What it says becomes part of the conversation.
    fn agent_ended(&mut self, ended: &EndedAgent, run: &Run, orders: &mut Orders) {
        let entry = ended.entry();
        let kept = (self.flow).for_conversation(&entry, run, &self.facts());
        log(&ended.profile, LogRole::System, kept, None, orders);
        let text = model_notes::agent(&ended.head, &ended.report);
        self.tell_model(ended.conversation, text, run, orders);
        (self.notices).add(entry, self.turns.is_answering(), orders);
        self.workplace.read_place(run, orders);
        orders.send_next();
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
        self.workplace.read_place(run, orders);
        orders.send_next();
    }
}
