//! What was said becomes memory: a diary entry of the day, then facts in the knowledge graph.

/// What was said and is not in the diary yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PendingDialogue {
    /// `User: …` and `Assistant: …`, the oldest first.
    pub rows: Vec<String>,
    /// When the latest of them was said.
    pub through: jiff::Timestamp,
}
