//! The place of a fact: down from its branch, one choice at each level.

use std::fmt::Write as _;
use std::time::Duration;

use super::extract::Fact;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::base::template;
use crate::base::text::single_spaced;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::store::memory::{MAX_DEPTH, MemoryStore, Node};

const SYSTEM: &str = include_str!("../../../prompts/reply/graph_pick.md");
const USER: &str = include_str!("../../../prompts/reply/graph_pick_user.md");
const TIMEOUT: Duration = Duration::from_secs(15);

/// The id of the node that the fact belongs to: as deep as the model knows the way.
pub(super) fn node_of(
    store: &MemoryStore,
    model: &dyn StageModel,
    fact: &Fact,
    stop: &Cancel,
) -> Outcome<String> {
    let mut id = fact.branch.id().to_owned();
    for _ in 1..MAX_DEPTH {
        let children = store.children(&id)?;
        if children.is_empty() || stop.is_fired() {
            break;
        }
        match picked(model, &fact.text, &children) {
            Some(child) => id.clone_from(&child.id),
            None => break,
        }
    }
    Ok(id)
}

fn picked<'a>(model: &dyn StageModel, fact: &str, children: &'a [Node]) -> Option<&'a Node> {
    let mut list = String::new();
    for (node, number) in children.iter().zip(1..) {
        let description = single_spaced(&node.description);
        let _ = writeln!(list, "{number}. {}: {description}", node.name);
    }
    let user = template::fill(USER, &[("fact", fact), ("places", list.trim_end())]);
    let answer = model.ask(&StageRequest {
        stage: Stage::GraphPick,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: TIMEOUT,
    });
    number(&answer.ok()?, children.len()).and_then(|number| children.get(number - 1))
}

/// The number from 1 to `most` that an answer begins with.
pub(super) fn number(answer: &str, most: usize) -> Option<usize> {
    let answer = answer.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '-');
    let end = answer.find(|c: char| !c.is_ascii_digit());
    let number: usize = answer.get(..end.unwrap_or(answer.len()))?.parse().ok()?;
    (1..=most).contains(&number).then_some(number)
}
