//! A call that was written in text, or planned.

use serde_json::{Map, Value};

/// A call as the tools know it. The name is the model's own where no tool has it.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenCall {
    /// The tool's name, else what was written.
    pub name: String,
    /// Under the tool's own keys.
    pub args: Map<String, Value>,
}
