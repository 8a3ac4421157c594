//! `/compact`: summarizes the older part of the conversation.

use std::sync::Arc;

use super::Conversation;
use crate::app::session::facts::Facts;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::problem::Outcome;
use crate::base::text::{plural, thousands};
use crate::chat::budget::ContextBudget;
use crate::chat::compaction::CompactionGoal;
use crate::chat::event::NullSink;
use crate::chat::message::Message;
use crate::chat::tokens::TokenMeter;
use crate::llm::provider::Offer;
use crate::model_call::compaction::compact;
use crate::store::sessions::record::ContextCause;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::hooks::turns::{COMPACTED, is_compacted_by_hand, session_starts};

const COMPACT: &str = "compact the conversation";

impl Conversation {
    /// Summarizes the older part, on a thread: a backup is written first.
    ///
    /// # Errors
    /// Something is under way.
    pub(in crate::app::session) fn compact(
        &mut self,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> Outcome<()> {
        self.may_be_changed(facts, COMPACT)?;
        self.no_undo(COMPACT)?;
        let (stop, with_session) = run.child_stop();
        let ctx = ToolContext::new(Arc::clone(&run.context), stop, Arc::new(NullSink));
        let mut messages = self.messages.clone();
        let window = facts.target.as_ref().map(|target| target.prompt_limit());
        let budget = ContextBudget::for_window(window.unwrap_or(u64::MAX));
        let goal = CompactionGoal::new(budget, run.context.gauge.overhead()).now();
        let conversation = self.number;
        let model = facts.target.as_ref();
        let model = model.map_or_else(String::new, |target| target.model.clone());
        let make = move || {
            let _with_session = with_session;
            is_compacted_by_hand(&ctx);
            let any = compact(&ctx, &mut messages, &mut TokenMeter::default(), goal)?;
            if any {
                session_starts(&ctx, COMPACTED, &model);
            }
            Ok(any.then_some(messages))
        };
        let report = move |outcome| WorkerEvent::Compacted(conversation, outcome);
        orders.work("compact", AwaitedBy::NextMessage, make, report);
        self.is_compacting = true;
        Ok(())
    }

    /// The conversation of this number was summarized.
    pub(in crate::app::session) fn compacted(
        &mut self,
        conversation: u64,
        outcome: Outcome<Option<Vec<Message>>>,
        run: &Run,
        orders: &mut Orders,
    ) {
        self.is_compacting = false;
        if conversation != self.number {
            return;
        }
        match outcome {
            Ok(Some(messages)) => {
                let tokens = self.meter.measure(&self.messages, 0, u64::MAX);
                let before = plural(self.messages.len(), "message");
                let before = format!("{before} (about {} tokens)", thousands(tokens));
                self.messages = messages;
                self.meter = TokenMeter::default();
                self.offer = Offer::default();
                self.gauge(run);
                self.save(ContextCause::Compaction, orders);
                let tokens = self.meter.measure(&self.messages, 0, u64::MAX);
                let count = self.messages.len();
                orders.remark(format!(
                    "Compacted {before} to {count} (about {}).",
                    thousands(tokens)
                ));
            }
            Ok(None) => orders.remark("There is nothing to compact: the conversation is short."),
            Err(problem) => orders.fail(problem),
        }
    }
}
