//! Facts in a summary.

use std::time::Duration;

use serde_json::Value;

use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::base::{redact, template, words};
use crate::reply::answer::json_span;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::store::memory::Branch;

const SYSTEM: &str = include_str!("../../../prompts/reply/graph_extract.md");
const USER: &str = include_str!("../../../prompts/reply/graph_extract_user.md");
const TIMEOUT: Duration = Duration::from_secs(30);
/// Facts of one summary, and their characters: more is no list of facts.
const MAX_FACTS: usize = 40;
const MAX_FACT_CHARS: usize = 400;

/// Something to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub branch: Branch,
    pub text: String,
}

/// The facts that the model finds in a summary; none of them twice.
pub(super) fn facts(model: &dyn StageModel, summary: &str) -> Outcome<Vec<Fact>> {
    let user = template::fill(USER, &[("summary", summary)]);
    let answer = model.ask(&StageRequest {
        stage: Stage::GraphExtract,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: TIMEOUT,
    })?;
    Ok(parse(&answer))
}

pub(super) fn parse(answer: &str) -> Vec<Fact> {
    let list = json_span::array(answer).and_then(|span| serde_json::from_str(span).ok());
    let Some(Value::Array(entries)) = list else {
        return Vec::new();
    };
    let mut facts: Vec<Fact> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for entry in &entries {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let fact = clip(&redact::redact(text("fact")), MAX_FACT_CHARS);
        if fact.is_empty() || facts.len() >= MAX_FACTS || !known.insert(words::fold(&fact)) {
            continue;
        }
        let branch = Branch::of_id(&text("branch").trim().to_lowercase());
        facts.push(Fact {
            branch: branch.unwrap_or(Branch::User),
            text: fact,
        });
    }
    facts
}
