//! What happens while the reply flow answers, for whoever watches: a status area, standard error, a log.

use serde::Serialize;

/// Something that happened in the reply flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReplyEvent {
    /// One line about what a stage found or did. It never holds a secret.
    Trace {
        /// The line, beginning with its symbol.
        text: String,
    },
    /// A piece of an answer that has not been checked yet.
    Draft { piece: String },
    /// The draft so far is no answer: a tool call, or something that is not shown.
    DraftDropped,
    /// The steps of the reply, and how far they are.
    Plan {
        /// At least two, in order. They hold no secret.
        steps: Vec<String>,
        /// So many of them are done.
        done: usize,
        /// The one after these is under way.
        is_running: bool,
    },
}
