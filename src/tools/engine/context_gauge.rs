//! How full the model's context is.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tokens in the model's context and the thresholds of its window. The agent loop writes, tools read.
#[derive(Debug, Default)]
pub struct ContextGauge {
    used: AtomicU64,
    /// The system prompt and the tools, which are sent with every request in addition to the messages.
    overhead: AtomicU64,
    warn: AtomicU64,
    hard: AtomicU64,
}

impl ContextGauge {
    /// Sets the state before a round; `overhead` is the share of the system prompt and the tools.
    pub fn set(&self, used: u64, overhead: u64, warn: u64, hard: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.overhead.store(overhead, Ordering::Relaxed);
        self.warn.store(warn, Ordering::Relaxed);
        self.hard.store(hard, Ordering::Relaxed);
    }

    /// Updates the tokens of the messages; everything else stays.
    pub fn set_messages(&self, tokens: u64) {
        let overhead = self.overhead.load(Ordering::Relaxed);
        self.used.store(tokens + overhead, Ordering::Relaxed);
    }

    /// Sets what is sent in addition to the messages; takes effect with the next [`ContextGauge::set_messages`].
    pub fn set_overhead(&self, tokens: u64) {
        self.overhead.store(tokens, Ordering::Relaxed);
    }

    /// Tokens of what is sent in addition to the messages.
    pub fn overhead(&self) -> u64 {
        self.overhead.load(Ordering::Relaxed)
    }

    /// Characters left below the warning threshold, at a cautious three bytes per token; `None` when tokens are not counted.
    pub fn room(&self) -> Option<usize> {
        let warn = self.warn.load(Ordering::Relaxed);
        let left = warn
            .saturating_sub(self.used.load(Ordering::Relaxed))
            .saturating_mul(3);
        (warn > 0).then(|| usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The largest result in bytes that an empty context could hold; `None` when tokens are not counted.
    pub fn largest_result(&self) -> Option<usize> {
        let warn = self.warn.load(Ordering::Relaxed);
        (warn > 0).then(|| usize::try_from(warn.saturating_mul(3)).unwrap_or(usize::MAX))
    }

    /// Tokens in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The most tokens that there may be; `None` when they are not counted.
    pub fn most(&self) -> Option<u64> {
        let hard = self.hard.load(Ordering::Relaxed);
        (hard > 0).then_some(hard)
    }

    /// Percentage of the hard limit in use; `None` when tokens are not counted.
    pub fn percent(&self) -> Option<u64> {
        let hard = self.hard.load(Ordering::Relaxed);
        (hard > 0).then(|| self.used().saturating_mul(100) / hard)
    }

    /// Whether the hard limit is reached.
    pub fn is_full(&self) -> bool {
        let hard = self.hard.load(Ordering::Relaxed);
        hard > 0 && self.used.load(Ordering::Relaxed) >= hard
    }

    /// Adds a result that was just returned, so that calls of one round take each other into account.
    pub fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes as u64 / 3, Ordering::Relaxed);
    }
}
