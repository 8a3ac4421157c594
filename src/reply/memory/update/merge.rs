//! New facts are merged with those that a node has.

use std::time::Duration;

use serde_json::Value;

use crate::base::problem::Outcome;
use crate::base::{redact, template, words};
use crate::reply::answer::json_span;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};

const SYSTEM: &str = include_str!("../../../prompts/reply/graph_merge.md");
const USER: &str = include_str!("../../../prompts/reply/graph_merge_user.md");
const TIMEOUT: Duration = Duration::from_secs(20);
/// Lines that a merge may add beyond what it got.
const SPARE_LINES: usize = 2;
/// From so many facts on a merge that leaves less than a quarter of them is a model that answered with the new ones alone.
const MANY_FACTS: usize = 8;

/// What the model makes of old and new facts; `None` when it cannot be trusted.
pub(super) fn merged(
    model: &dyn StageModel,
    old: &[&str],
    new: &[String],
) -> Outcome<Option<Vec<String>>> {
    let user = template::fill(
        USER,
        &[("known", &old.join("\n")), ("new", &new.join("\n"))],
    );
    let answer = model.ask(&StageRequest {
        stage: Stage::GraphMerge,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: TIMEOUT,
    })?;
    Ok(parse(&answer, old.len(), new.len()))
}

pub(super) fn parse(answer: &str, old: usize, new: usize) -> Option<Vec<String>> {
    let value: Value = serde_json::from_str(json_span::object(answer)?).ok()?;
    let facts: Vec<String> = value
        .get("facts")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .map(redact::redact)
        .filter(|fact| !fact.is_empty())
        .collect();
    let too_few = old >= MANY_FACTS && facts.len() * 4 < old;
    let usable = !facts.is_empty() && facts.len() <= old + new + SPARE_LINES && !too_few;
    usable.then_some(facts)
}

/// A fact as two are compared: folded, without what ends a sentence.
pub(super) fn same_form(fact: &str) -> String {
    words::fold(fact)
        .trim_end_matches(|c: char| c.is_whitespace() || ".!?;,…。！？।".contains(c))
        .to_owned()
}
