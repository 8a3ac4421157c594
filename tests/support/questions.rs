//! The questions and conversations of `fixtures/reply`: what people say, and which tools answer it.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A message, and the tools of which any answers it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Two letters.
    pub language: String,
    pub text: String,
    pub tools: Vec<String>,
}

/// Some messages to the same assistant, one after the other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// Two letters.
    pub language: String,
    /// Files below the home that are there before.
    #[serde(default)]
    pub files: std::collections::BTreeMap<String, String>,
    pub turns: Vec<ConversationTurn>,
}

/// A message, and what must be true of the answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationTurn {
    pub say: String,
    /// Any of these runs; none at all when it is empty.
    pub tools: Option<Vec<String>>,
    /// Any of these is in the answer.
    #[serde(default)]
    pub has: Vec<String>,
    /// None of these is.
    #[serde(default)]
    pub lacks: Vec<String>,
}

pub fn questions() -> Vec<Question> {
    lines("questions.jsonl")
}

pub fn conversations() -> Vec<Conversation> {
    lines("conversations.jsonl")
}

/// Every third question is not looked at when words and weights are chosen: what a change brings there, it brings elsewhere too.
pub fn is_held_out(number: usize) -> bool {
    number % 3 == 2
}

fn lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reply");
    let text = fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let parsed = text.lines().zip(1..).map(|(line, number)| {
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}, line {number}: {e}"))
    });
    parsed.collect()
}
