//! What the threads of setting up a model report.

use crate::app::choice::ChoiceList;
use crate::base::problem::{Outcome, Problem};
use crate::llm::catalog::ProviderSpec;

/// From the threads that look and check.
pub(in crate::app::session) enum SetUpEvent {
    /// What can be chosen; `None` at a start after the user chose to work without a model.
    Menu {
        list: Outcome<Option<ChoiceList>>,
        is_first: bool,
    },
    /// A check has ended.
    Checked { id: u64, checked: Checked },
}

/// What a check found.
pub(in crate::app::session) enum Checked {
    /// The user stopped it.
    Stopped,
    /// It broke off, and why.
    Failed(Problem),
    /// The key works, and is in this file.
    Key(&'static ProviderSpec, String),
    KeyRefused(&'static ProviderSpec, Problem),
    Copilot,
    NotSignedIn(Problem),
    /// The server answers, and has these models.
    Server(OwnServer, Vec<String>),
    ServerNeedsKey(OwnServer, Problem),
    NoServer(Problem),
}

/// A server that speaks like OpenAI.
#[derive(Clone, Default)]
pub(in crate::app::session) struct OwnServer {
    pub(in crate::app::session) base: String,
    pub(in crate::app::session) key: Option<String>,
}

impl std::fmt::Debug for OwnServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnServer")
            .field("base", &self.base)
            .field("has_key", &self.key.is_some())
            .finish()
    }
}
