//! Keeps the requests of a reply within the model's window: what was said before goes first, the oldest of it, then the longest results are shortened.

use super::TurnLoop;
use crate::chat::budget::ContextBudget;
use crate::chat::compaction::{CompactionGoal, shorten_to};
use crate::chat::message::Message;
use crate::llm::failure::Failure;
use crate::model_call::compaction::back_up;

/// Bytes of a message around its text.
const BYTES_PER_MESSAGE: usize = 16;

/// About how many tokens so many bytes have, rather too many: the tables of the exact count are those of other models, and take longer to load than a small
/// model to answer.
fn about_tokens(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(2).div_ceil(7)
}

fn tokens(message: &Message) -> u64 {
    about_tokens(message.len() + BYTES_PER_MESSAGE)
}

impl TurnLoop<'_> {
    /// Shortens what is too long for the model's window. True when that changed something.
    pub(super) fn make_room(&mut self) -> bool {
        let window = self.input.chat.window();
        if window == u64::MAX {
            return false;
        }
        let overhead = about_tokens(self.chat.overhead(&self.tools));
        let room = CompactionGoal::new(ContextBudget::for_window(window), overhead).limit;
        let sum = |messages: &[Message]| messages.iter().map(tokens).sum::<u64>();
        let own = sum(&self.rows) + tokens(&self.message);
        let before = self.history.len();
        while own + sum(&self.history) > room && !self.history.is_empty() {
            // A request begins with what the user said, and no result is without its call.
            let mut next = self.history.iter().skip(1);
            let next = next.position(|message| matches!(message, Message::User(_)));
            let count = next.map_or(self.history.len(), |at| at + 1);
            self.history.drain(..count);
        }
        let dropped = before - self.history.len();
        if dropped > 0 {
            let line =
                format!("🧹 The model's window is full: {dropped} earlier messages left out");
            self.input.trace.line(line);
        }
        if own <= room || self.rows.is_empty() {
            return dropped > 0;
        }
        let mut all = vec![self.message.clone()];
        all.append(&mut self.rows);
        let ctx = self.input.ctx;
        // Without the file a tool can still be asked for the rest.
        let whole = back_up(ctx, &ctx.session.clock.stamp(), &all).unwrap_or_default();
        let changed = shorten_to(&mut all, room, &whole, &tokens);
        let mut all = all.into_iter();
        if let Some(message) = all.next() {
            self.message = message;
        }
        self.rows = all.collect();
        if changed {
            let line = "🧹 The model's window is full: the longest results are shortened";
            self.input.trace.line(line);
        }
        changed || dropped > 0
    }

    /// Makes room after the server found a request too long; false when that cannot help.
    pub(super) fn make_more_room(&mut self, failure: &Failure) -> bool {
        if !failure.is_too_long() || !failure.nothing_shown() {
            return false;
        }
        let overhead = about_tokens(self.chat.overhead(&self.tools));
        let messages = self.history.iter().chain(&self.rows).map(tokens);
        let used = overhead + tokens(&self.message) + messages.sum::<u64>();
        self.input.chat.learn_limit(used, failure);
        self.make_room()
    }
}
