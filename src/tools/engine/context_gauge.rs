//! How full the model's context is.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tokens in the model's context and the thresholds of its window; the loop writes, tools read.
#[derive(Debug, Default)]
pub struct ContextGauge {
    used: AtomicU64,
    /// Of these, what goes with every request beside the messages.
    beside: AtomicU64,
    warn: AtomicU64,
    hard: AtomicU64,
}

impl ContextGauge {
    /// Records the state before a round; `beside` of the tokens are the system prompt and the tools.
    pub fn set(&self, used: u64, beside: u64, warn: u64, hard: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.beside.store(beside, Ordering::Relaxed);
        self.warn.store(warn, Ordering::Relaxed);
        self.hard.store(hard, Ordering::Relaxed);
    }

    /// Records that the messages come to so many tokens now; the rest stays as it was.
    pub fn set_messages(&self, tokens: u64) {
        let beside = self.beside.load(Ordering::Relaxed);
        self.used.store(tokens + beside, Ordering::Relaxed);
    }

    /// Records what goes with every request beside the messages; it counts from the next [`ContextGauge::set_messages`] on.
    pub fn set_beside(&self, tokens: u64) {
        self.beside.store(tokens, Ordering::Relaxed);
    }

    /// Characters that fit below the warning threshold, at a careful three bytes a token; `None` when nobody counts.
    pub fn room(&self) -> Option<usize> {
        let warn = self.warn.load(Ordering::Relaxed);
        let left = warn
            .saturating_sub(self.used.load(Ordering::Relaxed))
            .saturating_mul(3);
        (warn > 0).then(|| usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Bytes that one result may have so that an empty context would hold it; `None` when nobody counts.
    pub fn largest_result(&self) -> Option<usize> {
        let warn = self.warn.load(Ordering::Relaxed);
        (warn > 0).then(|| usize::try_from(warn.saturating_mul(3)).unwrap_or(usize::MAX))
    }

    /// Tokens in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Percent of the hard limit in use; `None` when nobody counts.
    pub fn percent(&self) -> Option<u64> {
        let hard = self.hard.load(Ordering::Relaxed);
        (hard > 0).then(|| self.used().saturating_mul(100) / hard)
    }

    /// True when the hard limit is reached.
    pub fn is_full(&self) -> bool {
        let hard = self.hard.load(Ordering::Relaxed);
        hard > 0 && self.used.load(Ordering::Relaxed) >= hard
    }

    /// Adds the tokens of a result that was just handed out, so that calls of one round see each other.
    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64 / 3, Ordering::Relaxed);
    }
}
