//! Thinking that has to be sent back to its server unchanged.

use serde::Serialize;

/// The thinking blocks of a message: signed, and refused by the server unless they are unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Blocks(Vec<ThinkingBlock>);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct ThinkingBlock {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip)]
    pub(super) index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<String>,
}

impl Blocks {
    /// The blocks as a JSON list; `None` if there are none.
    pub(super) fn to_json(&self) -> Option<String> {
        let whole: Vec<&ThinkingBlock> = self
            .0
            .iter()
            .filter(|block| block.signature.is_some() || block.data.is_some())
            .collect();
        (!whole.is_empty())
            .then(|| serde_json::to_string(&whole).ok())
            .flatten()
    }

    pub(super) fn push(&mut self, thought: ThinkingBlock) {
        self.0.push(thought);
    }

    pub(super) fn add(&mut self, index: u64, thinking: &str, signature: &str) {
        let Some(block) = self.0.iter_mut().rfind(|block| block.index == index) else {
            return;
        };
        if let Some(text) = &mut block.thinking {
            text.push_str(thinking);
        }
        if !signature.is_empty() {
            block.signature.get_or_insert_default().push_str(signature);
        }
    }
}
