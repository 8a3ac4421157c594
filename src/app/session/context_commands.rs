//! `/compact`: changes what the model has before it.

use std::sync::Arc;

use super::inbox::WorkerEvent;
use super::{BackendState, Session};
use crate::app::session::ui_update::UiUpdate;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{plural, thousands};
use crate::chat::budget::ContextBudget;
use crate::chat::compaction::CompactionGoal;
use crate::chat::event::NullSink;
use crate::chat::message::Message;
use crate::chat::tokens::TokenMeter;
use crate::model_call::compaction::compact;
use crate::store::sessions::record::ContextCause;
use crate::tools::engine::context::ToolContext;

impl Session {
    /// Summarizes the older part of the conversation, on a thread: a backup is written first.
    pub(super) fn compact_conversation(&mut self) {
        if self.refuses_during_an_answer("compact the conversation") {
            return;
        }
        let (stop, with_session) = self.stop_all.child();
        let ctx = ToolContext::new(Arc::clone(&self.context), stop, Arc::new(NullSink));
        let mut messages = self.messages.clone();
        let window = match &self.backend {
            BackendState::Ready(target) => target.prompt_limit(),
            BackendState::Choosing | BackendState::Failed(_) => u64::MAX,
        };
        let overhead = self.context.gauge.overhead();
        let goal = CompactionGoal::new(ContextBudget::for_window(window), overhead).now();
        let (inbox, conversation) = (Arc::clone(&self.inbox), self.conversation);
        let started = self.work("compact", move || {
            let _with_session = with_session;
            let outcome = compact(&ctx, &mut messages, &mut TokenMeter::default(), goal)
                .map(|any| any.then_some(messages));
            inbox.send(WorkerEvent::Compacted(conversation, outcome));
        });
        self.pending_changes += usize::from(started);
        self.is_compacting = started;
    }

    /// The conversation was summarized.
    pub(super) fn compacted(&mut self, conversation: u64, outcome: Outcome<Option<Vec<Message>>>) {
        self.pending_changes -= 1;
        self.is_compacting = false;
        if conversation != self.conversation {
            return self.send_next();
        }
        let update = match outcome {
            Ok(Some(messages)) => {
                let tokens = self.meter.measure(&self.messages, 0, u64::MAX);
                let before = plural(self.messages.len(), "message");
                let before = format!("{before} (about {} tokens)", thousands(tokens));
                self.messages = messages;
                self.meter = TokenMeter::default();
                self.gauge();
                self.save_messages(ContextCause::Compaction);
                let tokens = self.meter.measure(&self.messages, 0, u64::MAX);
                let count = self.messages.len();
                UiUpdate::Remark(format!(
                    "Compacted {before} to {count} (about {}).",
                    thousands(tokens)
                ))
            }
            Ok(None) => UiUpdate::Remark(
                "There is nothing to compact: the conversation is short.".to_owned(),
            ),
            Err(problem) => UiUpdate::Failed(problem),
        };
        self.updates.push(update);
        self.send_next();
    }

    /// True, with the reason shown, while an answer is on its way.
    fn refuses_during_an_answer(&mut self, what: &str) -> bool {
        if self.turn.is_none() {
            return false;
        }
        let problem = Problem::refused("An answer is on its way.")
            .next(format!("Stop it with Esc or Ctrl-C, then {what}."));
        self.updates.push(UiUpdate::Failed(problem));
        true
    }
}
