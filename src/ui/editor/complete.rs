//! Completion of the word at the cursor.

/// Where candidates come from; what is not implemented has none.
pub trait Sources {
    /// Commands and words that work at the beginning of a line, with their `!` (`!tools`, `preferences`).
    fn commands(&self) -> Vec<String> {
        Vec::new()
    }
    /// Profile names.
    fn profiles(&self) -> Vec<String> {
        Vec::new()
    }
    /// Provider names.
    fn providers(&self) -> Vec<String> {
        Vec::new()
    }
    /// Models of a provider.
    fn models(&self, _provider: &str) -> Vec<String> {
        Vec::new()
    }
    /// Tool names.
    fn tools(&self) -> Vec<String> {
        Vec::new()
    }
    /// Parameter names of a tool.
    fn parameters(&self, _tool: &str) -> Vec<String> {
        Vec::new()
    }
    /// Paths in the folder that `typed` points into, each beginning as `typed` does up to its last `/`; folders end in `/`.
    fn paths(&self, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

/// No candidates.
impl Sources for () {}

/// The open menu of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// The candidates, best first.
    pub candidates: Vec<String>,
    /// The one that stands in the text now.
    pub selected: Option<usize>,
}
