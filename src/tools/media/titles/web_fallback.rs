//! The fallback without a service's key: a web search, with a note on what a key would add.

use crate::base::problem::{Outcome, ProblemKind};
use crate::net::services::{KEY_ADVICE, Service};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::web_links;
use crate::tools::web::browsing;

/// How many web results are shown.
const MAX_RESULTS: usize = 10;

/// A service's key, and where to get one.
pub(crate) struct ServiceKey {
    pub(crate) service: &'static Service,
    /// Where to get a key.
    pub(crate) page: &'static str,
    /// The benefit of the key.
    pub(crate) benefit: &'static str,
}

impl ServiceKey {
    /// The key's value, when it is set.
    pub(crate) fn value(&self, ctx: &ToolContext) -> Option<String> {
        self.service.key_in(&ctx.session.env)
    }

    pub(crate) fn variable(&self) -> &'static str {
        self.service.key.unwrap_or_default()
    }

    /// How to set it.
    pub(crate) fn hint(&self) -> String {
        web_links::how_to_get_key(self.page, self.variable())
    }
}

/// Web results for `query`, below a note about the missing key.
pub(crate) fn web(ctx: &ToolContext, key: &ServiceKey, query: &str) -> Outcome<String> {
    let found = browsing::instead(ctx, query, MAX_RESULTS).map_err(|error| {
        // A cancellation or an unusable query has nothing to do with the key.
        match error.kind {
            ProblemKind::Cancelled | ProblemKind::Input => error,
            _ => error
                .next(format!(
                    "The web was searched because {} is not set. {}",
                    key.variable(),
                    key.hint()
                ))
                .next(KEY_ADVICE),
        }
    })?;
    Ok(format!(
        "{} is not set, so this is what the web says. A free key from {} gives {}.\n\n{found}",
        key.variable(),
        key.page,
        key.benefit
    ))
}
