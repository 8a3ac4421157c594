//! `/undo`: the last exchange is removed from the log, the conversation and the screen, or from none of them.

use std::sync::Arc;

use super::Conversation;
use crate::app::session::facts::Facts;
use crate::app::session::log_writer;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::UiUpdate;
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::chat::image::without_markers;
use crate::chat::message::Message;

/// The chat log ends with something else, or has nothing.
fn is_not_there(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::Missing | ProblemKind::Refused)
}

impl Conversation {
    /// Takes back the last exchange, on disk at first.
    ///
    /// # Errors
    /// There is none, or something is under way.
    pub(in crate::app::session) fn undo(
        &mut self,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> Outcome<()> {
        self.may_be_changed(facts, "take it back")?;
        // One at a time: only after one undo is it known which message is the last.
        if self.undos > 0 {
            self.undos += 1;
            return Ok(());
        }
        self.begin_undo(run, orders)
    }

    fn begin_undo(&mut self, run: &Run, orders: &mut Orders) -> Outcome<()> {
        let Some(message) = self.sent.last().cloned() else {
            return Err(Problem::missing("There is nothing to take back."));
        };
        let profile = run.context.profile();
        let log = log_writer::open(&run.context, &profile)?;
        let (inbox, writer) = (Arc::clone(&run.inbox), run.log_writer.clone());
        let (session_log, conversation) = (self.saved.log().cloned(), self.number);
        // What was said before the session was resumed is not at the end of the chat log, and what nobody was there for is not in it.
        let is_alone = run.is_one_shot && !run.has_person;
        let is_elsewhere = is_alone || self.sent.len() <= self.saved.resumed_messages();
        // Without an interface it has only what the reply flow answered.
        let may_be_elsewhere = run.is_one_shot;
        let undo = move || {
            let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
            let undone = if is_elsewhere || writer.take_back(&profile, &message) {
                Ok(())
            } else {
                log.undo_last_exchange(Some(&message), &mut warn).map(drop)
            };
            match undone {
                Err(problem) if may_be_elsewhere && is_not_there(&problem) => {}
                undone => undone?,
            }
            session_log.map_or(Ok(()), |log| log.undo())
        };
        let report = move |undone| WorkerEvent::Undone(conversation, undone);
        orders.write_and_report("undo", AwaitedBy::NextMessage, undo, report);
        self.undos = 1;
        Ok(())
    }

    /// The last exchange of `conversation` was removed from the disk, or could not be. Returns the message that is gone from this conversation too, with what
    /// was attached.
    pub(in crate::app::session) fn undone(
        &mut self,
        conversation: u64,
        outcome: Outcome<()>,
        run: &Run,
        orders: &mut Orders,
    ) -> Option<String> {
        let more = std::mem::take(&mut self.undos).saturating_sub(1);
        if conversation != self.number {
            return None;
        }
        if let Err(problem) = outcome {
            orders.fail(problem);
            return None;
        }
        let said = self.sent.pop().unwrap_or_default();
        self.saved.limit_resumed(self.sent.len());
        let is_user = |message: &Message| matches!(message, Message::User(_));
        let gone = self.messages.iter().rposition(is_user);
        let gone = gone.map_or_else(Vec::new, |index| self.messages.split_off(index));
        self.gauge(run);
        orders.show(UiUpdate::Undone(without_markers(&said).to_owned()));
        let is_result = |message: &Message| matches!(message, Message::Tool(_));
        if gone.iter().any(is_result) {
            orders.remark("What its tools have changed stays changed.");
        }
        if more > 0 {
            match self.begin_undo(run, orders) {
                // The undos that are queued behind this one need it to succeed.
                Ok(()) => self.undos = more,
                Err(problem) => orders.fail(problem),
            }
        }
        match gone.into_iter().next() {
            Some(Message::User(user)) => Some(user.text),
            _ => Some(said),
        }
    }

    /// The message of the last turn leaves no trace in the log of `profile`.
    pub(in crate::app::session) fn forget_exchange(
        &mut self,
        profile: &str,
        run: &Run,
        orders: &mut Orders,
    ) {
        let Some(message) = self.sent.pop() else {
            return;
        };
        let Ok(log) = log_writer::open(&run.context, profile) else {
            return;
        };
        let writer = run.log_writer.clone();
        let (profile, inbox) = (profile.to_owned(), Arc::clone(&run.inbox));
        orders.write(move || {
            if !writer.take_back(&profile, &message) {
                let mut warn = |text| inbox.send(WorkerEvent::Notice(text));
                // Another Marvin has written since: then it stays.
                let _ = log.undo_last_exchange(Some(&message), &mut warn);
            }
        });
    }
}
