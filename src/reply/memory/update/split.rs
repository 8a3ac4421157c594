//! A node with too many facts is split into several below it.

use std::time::Duration;

use serde_json::Value;

use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::base::{redact, template};
use crate::reply::answer::json_span;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::store::memory::{MAX_DEPTH, MemoryStore, NewNode, SPLIT_TOKENS};

const SYSTEM: &str = include_str!("../../../prompts/reply/graph_split.md");
const USER: &str = include_str!("../../../prompts/reply/graph_split_user.md");
const TIMEOUT: Duration = Duration::from_secs(45);
const PARTS: std::ops::RangeInclusive<usize> = 2..=5;
/// Characters of the line that stays in the node.
const MAX_SUMMARY_CHARS: usize = 500;

/// What the model makes of a node.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NodeSplit {
    pub summary: String,
    pub nodes: Vec<NewNode>,
}

/// Splits the node if it is too large and the model knows how; true when it did.
pub(super) fn split_if_large(
    store: &MemoryStore,
    model: &dyn StageModel,
    id: &str,
) -> Outcome<bool> {
    let Some(node) = store.node(id)?.filter(|node| node.tokens > SPLIT_TOKENS) else {
        return Ok(false);
    };
    // The root is above, too.
    if store.ancestors(id)?.len() >= MAX_DEPTH {
        return Ok(false);
    }
    let user = template::fill(USER, &[("name", &node.name), ("facts", &node.data)]);
    let answer = model.ask(&StageRequest {
        stage: Stage::GraphSplit,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: TIMEOUT,
    })?;
    match parse(&answer, node.facts().count()) {
        Some(parts) => store.split(id, &node.data, &parts.summary, &parts.nodes),
        None => Ok(false),
    }
}

/// The parts in an answer about a node of `lines` facts; `None` when they are too few or too many, or lose more than half of the facts.
pub(super) fn parse(answer: &str, lines: usize) -> Option<NodeSplit> {
    let value: Value = serde_json::from_str(json_span::object(answer)?).ok()?;
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
        redact::redact(text)
    };
    let children = value.get("children")?.as_array()?;
    let nodes: Vec<NewNode> = children
        .iter()
        .map(|child| NewNode {
            name: text(child, "name"),
            description: text(child, "description"),
            facts: facts(child.get("facts")),
        })
        .collect();
    let whole = nodes
        .iter()
        .all(|node| !node.name.is_empty() && !node.facts.is_empty());
    let kept: usize = nodes.iter().map(|node| node.facts.len()).sum();
    let usable = whole && PARTS.contains(&nodes.len()) && kept * 2 >= lines;
    usable.then(|| NodeSplit {
        summary: clip(&text(&value, "summary"), MAX_SUMMARY_CHARS),
        nodes,
    })
}

/// The facts of a part: a list, or lines of one text.
fn facts(value: Option<&Value>) -> Vec<String> {
    let lines: Vec<&str> = match value {
        Some(Value::Array(entries)) => entries.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => text.lines().collect(),
        _ => Vec::new(),
    };
    let facts = lines.into_iter().map(redact::redact);
    facts.filter(|fact| !fact.is_empty()).collect()
}
