//! The core of a session: its parts, what concerns several of them, and what the user did. [`reports`] hands on what workers report, [`turn`] is the way of a
//! message, [`succession`] how one conversation takes the place of another.
//!
//! What has to be waited for, or written, is an order; the core starts none of it itself.

mod reports;
mod succession;
mod turn;

use jiff::Timestamp;

use super::commands::{self, CommandCall, InputLine, Parts};
use super::conversation::{Conversation, start};
use super::facts::Facts;
use super::flow::Flow;
use super::flow::memory_writer::MemoryModel;
use super::jobs::Jobs;
use super::lists::theme;
use super::log_writer::PendingEntry;
use super::model::Model;
use super::notices::Notices;
use super::orders::{CoreRequest, Order, Orders};
use super::project_question::ProjectQuestion;
use super::queued::{Queued, QueuedKind, Spoken};
use super::run::Run;
use super::said_before::SaidBefore;
use super::turns::Turns;
use super::ui_update::UiUpdate;
use super::voice::Voice;
use super::workplace::Workplace;
use crate::app::choice::ChoiceKind;
use crate::base::problem::Outcome;
use crate::store::chat_log::LogRole;
use crate::tools::Effect;
use crate::tools::session::skills;

/// The parts of a session.
pub(super) struct Core {
    pub(super) conversation: Conversation,
    pub(super) turns: Turns,
    pub(super) jobs: Jobs,
    pub(super) model: Model,
    pub(super) flow: Flow,
    pub(super) voice: Voice,
    pub(super) workplace: Workplace,
    pub(super) project: ProjectQuestion,
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
            project: ProjectQuestion::default(),
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
            || orders.blocks_interface()
            || self.model.is_being_chosen()
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
        let input = match commands::read(line) {
            InputLine::Mistake(_) if skills::is_called(&run.context, line) => InputLine::Message,
            input => input,
        };
        if !facts.is_shell && matches!(input, InputLine::Message) {
            let message = Queued::new(QueuedKind::Message, line.to_owned());
            orders.request(CoreRequest::Queue(message));
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
                    project: &mut self.project,
                };
                command.run(parts, CommandCall::new(run, &facts, orders))
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
            ChoiceKind::Trust => {
                self.project.choose(id, run, orders);
                Ok(())
            }
            _ => {
                self.model.choose_row(kind, id, run, &facts, orders);
                Ok(())
            }
        };
        show_failure(done, orders);
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

    fn see_to(&mut self, request: CoreRequest, run: &Run, orders: &mut Orders) {
        match request {
            CoreRequest::SendNext => self.send_next(run, orders),
            CoreRequest::Queue(queued) => {
                self.turns.push(queued);
                self.send_next(run, orders);
                if self.turns.has_waiting() {
                    orders.request(CoreRequest::SaveWaiting);
                }
            }
            CoreRequest::SaveWaiting => self.save_waiting(run, orders),
            CoreRequest::TellModel { conversation, text } => {
                self.tell_model(conversation, text, run, orders);
            }
            CoreRequest::Job {
                command,
                background,
                work,
            } => {
                let number = self.conversation.number();
                (self.jobs).start((command, background), work, number, run, orders);
            }
            CoreRequest::NewSession if run.is_one_shot => {
                self.leave_conversation(run);
                self.flow.begin_after(SaidBefore::Session(Vec::new()));
                self.conversation.cleared(orders);
            }
            CoreRequest::NewSession => self.new_session(run, orders),
            CoreRequest::Heard(transcript) => {
                let kept = self.flow.for_history(&transcript.text, run, &self.facts());
                self.remember(kept, run, orders);
                let language = transcript.language;
                self.turns.push(Queued {
                    spoken: Some(Spoken { language }),
                    ..Queued::new(QueuedKind::Message, transcript.text)
                });
            }
            CoreRequest::Effects(effects) => self.apply(effects, None, run, orders),
            CoreRequest::Listen => {
                let is_idle =
                    !self.turns.is_leaving() && !self.is_busy(orders) && !self.notices.has_held();
                self.voice.listen_on(is_idle, run, orders);
            }
        }
    }

    /// Writes which messages wait.
    fn save_waiting(&self, run: &Run, orders: &mut Orders) {
        let waiting = self.waiting(run);
        let saved = self.conversation.saved();
        saved.note_waiting(waiting);
        saved.save_waiting(run, orders);
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
                // The turn has ended.
                Effect::Answered => {}
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
        (self.conversation).tell_model(text, facts.is_answering, orders);
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
