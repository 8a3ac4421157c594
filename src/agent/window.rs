//! Keeps a conversation within the model's window: before each request, before the results of a round enter, and after a server has found it too long.

use super::overhead::Overhead;
use super::turn::{Conversation, last_text};
use crate::base::text::plural;
use crate::chat::budget::ContextBudget;
use crate::chat::compaction::{self, CompactionGoal, open_task};
use crate::chat::event::{Event, Level};
use crate::chat::message::{Message, ToolOutput};
use crate::llm::failure::Failure;
use crate::model_call::compaction::{cap_results, compact};
use crate::model_call::limits::{self, RequestSize, limit_after};
use crate::store::sessions::record::ContextCause;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::hooks::turns::{objects_to_compaction, session_is_compacted};

impl Conversation<'_> {
    /// The thresholds of the model's window.
    pub(super) fn budget(&self) -> ContextBudget {
        ContextBudget::for_window(self.target.prompt_limit())
    }

    fn goal(&self) -> CompactionGoal {
        CompactionGoal::new(self.budget(), self.overhead.tokens())
    }

    /// Counts the tokens of the messages and of what goes with them in the next request, compacts the conversation when it is too full, and tells the tools how
    /// much room is left.
    ///
    /// # Errors
    /// The user's message alone exceeds the window.
    pub(super) fn fit(&mut self, ctx: &ToolContext, is_last: bool) -> Result<(), Failure> {
        let schemas = match self.offers_tools(is_last) {
            true => self.offer.tokens(),
            false => 0,
        };
        // The schemas take part of the window too.
        let overhead = Overhead {
            bytes: self.system_prompt(&ctx.session).text.len() + 4 * schemas,
            schemas,
        };
        self.overhead = overhead;
        if !self.target.provider.is_model() {
            // Nothing has a window here: each message is answered for itself.
            ctx.session.gauge.set(0, 0, 0, 0);
            return Ok(());
        }
        let budget = self.budget();
        let mut used = self
            .meter
            .measure(&self.messages, overhead.bytes, budget.warn);
        if self.target.provider.keeps_conversation() {
            // It says itself how full it is.
            return Ok(());
        }
        if used >= budget.compact {
            // A message that does not fit anyway is no reason to drop what was said before.
            if let Some(open) = open_task(&self.messages) {
                let counts = self.meter.counts();
                self.check_window(
                    counts.get(open).copied().unwrap_or_default(),
                    self.meter.minimum_at(open),
                )?;
            }
            if !self.puts_off_compaction(ctx) {
                self.compact(ctx);
            }
            used = self
                .meter
                .measure(&self.messages, overhead.bytes, budget.warn);
            self.check_window(used.saturating_sub(overhead.tokens()), self.meter.minimum())?;
        }
        let gauge = &ctx.session.gauge;
        gauge.set(used, overhead.tokens(), budget.warn, budget.hard);
        Ok(())
    }

    /// Refuses messages of `about` so many tokens, `at_least` so many, when the window cannot hold them.
    fn check_window(&self, about: u64, at_least: u64) -> Result<(), Failure> {
        let size = RequestSize {
            about: about + self.overhead.tokens(),
            at_least: at_least + self.overhead.tokens(),
            schemas: self.overhead.schemas,
        };
        limits::check_window(&self.target, size)
    }

    /// Whether a hook objects to a compaction, and for the first time.
    fn puts_off_compaction(&mut self, ctx: &ToolContext) -> bool {
        let puts_off = !self.is_compaction_put_off && objects_to_compaction(ctx);
        self.is_compaction_put_off = puts_off;
        puts_off
    }

    /// Compacts the conversation; true when that changed it.
    fn compact(&mut self, ctx: &ToolContext) -> bool {
        let goal = self.goal();
        match compact(ctx, &mut self.messages, &mut self.meter, goal) {
            Ok(true) => {
                if let Some(words) = session_is_compacted(ctx, &self.target.model)
                    && let Some(text) = last_text(&mut self.messages)
                {
                    text.push_str("\n\n");
                    text.push_str(&words);
                }
                self.save(ctx, ContextCause::Compaction);
                // Compaction has invalidated the provider's cache anyway.
                self.system = None;
                self.offer.forget_found();
                self.append_found(&ctx.session);
                true
            }
            Ok(false) => false,
            Err(problem) => {
                let words = format!(
                    "The conversation was not compacted, because its backup failed: {problem}"
                );
                ctx.listener.emit(Event::Notice(Level::Warning, words));
                false
            }
        }
    }

    /// Makes the conversation shorter after the server has found it too long. False when that cannot help.
    pub(super) fn shrink(&mut self, ctx: &ToolContext, failure: &Failure) -> bool {
        let may_shrink = failure.is_too_long()
            && failure.nothing_shown()
            && !self.target.provider.keeps_conversation();
        if !may_shrink {
            return false;
        }
        let overhead = self.overhead.tokens();
        let warn = self.budget().warn;
        let used = self
            .meter
            .measure(&self.messages, self.overhead.bytes, warn);
        let limit = limit_after(used, &failure.problem.what);
        // Where the tools alone are too large, a shorter conversation is too.
        if limit <= overhead.saturating_mul(10) / 8 {
            return false;
        }
        self.target.learn_limit(limit);
        self.compact(ctx)
    }

    /// Shortens the results of a round, which are the last messages, when there is no room for all of them. The user has seen them whole, and the session has
    /// them.
    pub(super) fn cap_round(&mut self, ctx: &ToolContext, count: usize) -> bool {
        let provider = &self.target.provider;
        if provider.keeps_conversation() || !provider.is_model() {
            return false;
        }
        let (warn, goal) = (self.budget().warn, self.goal());
        let first = self.messages.len().saturating_sub(count);
        let (before, round) = self.messages.split_at_mut(first);
        self.meter.measure(before, self.overhead.bytes, warn);
        let room = compaction::room_for_results(before, &self.meter.counts(), goal);
        let mut results: Vec<&mut ToolOutput> = round
            .iter_mut()
            .filter_map(|message| match message {
                Message::Tool(output) => Some(output),
                _ => None,
            })
            .collect();
        let shortened = cap_results(ctx, &mut results, room);
        if shortened > 0 {
            let words = format!(
                "{} of this round {} shortened for the model, whose window has no room for more.",
                plural(shortened, "result"),
                if shortened == 1 { "was" } else { "were" },
            );
            ctx.listener.emit(Event::Notice(Level::Info, words));
        }
        shortened > 0
    }

    /// Takes the user's message back when it is the reason for a failure: kept in the conversation it would be the reason of the next one too.
    pub(super) fn take_back(&mut self, failure: &Failure) {
        if let Some(open) = open_task(&self.messages).filter(|_| failure.is_too_long()) {
            self.messages.remove(open);
            self.is_taken_back = true;
        }
    }
}
