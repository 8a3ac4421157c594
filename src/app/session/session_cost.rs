//! What a session has cost in all its runs, and what this run has spent.

use crate::chat::usage::{credits, dollars};
use crate::store::sessions::record::Spent;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SessionCost {
    pub(crate) session: Spent,
    /// What this process has spent, where that is another amount: the session goes on from an earlier process, or is not the first of this one.
    pub(crate) run: Option<Spent>,
}

impl SessionCost {
    /// `, $0.0123 ($0.0004 in this run)`; nothing when it was free.
    pub(super) fn words(self) -> String {
        let session = spent_words(self.session);
        let run = self.run.map(spent_words);
        match run.filter(|run| *run != session) {
            _ if session.is_empty() => String::new(),
            None => format!(", {session}"),
            Some(run) if run.is_empty() => format!(", {session} (nothing in this run)"),
            Some(run) => format!(", {session} ({run} in this run)"),
        }
    }
}

/// `$0.0123, 2 AI credits`; empty when nothing was spent.
pub(super) fn spent_words(spent: Spent) -> String {
    let cost = match spent.cost > 0.0 {
        true => dollars(spent.cost, spent.estimated),
        false => String::new(),
    };
    let separator = if cost.is_empty() { "" } else { ", " };
    format!("{cost}{}", credits(separator, spent.credits))
}
