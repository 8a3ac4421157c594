//! The knowledge graph learns from a summary.

use std::collections::HashSet;

use super::merge::same_form;
use super::{extract, merge, place, split};
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::base::text::{clip, plural};
use crate::base::words;
use crate::reply::models::stage::StageModel;
use crate::reply::trace::Trace;
use crate::store::memory::MemoryStore;

/// Facts that the trace names, and the characters of each line.
const MAX_TRACED_FACTS: usize = 6;
const MAX_TRACE_CHARS: usize = 90;

/// What came of a summary.
#[derive(Debug, Default)]
struct Learned {
    /// Facts and the names of their nodes.
    facts: Vec<(String, String)>,
    /// Facts that were known.
    duplicates: usize,
}

/// Extracts facts from the summary and puts each in its place.
///
/// # Errors
/// The model found no facts because it failed; the memory cannot be read or written. What was learned before that stays.
pub(super) fn learn(
    store: &MemoryStore,
    model: &dyn StageModel,
    summary: &str,
    trace: &Trace,
    stop: &Cancel,
) -> Outcome<()> {
    stop.check()?;
    let facts = extract::facts(model, summary)?;
    if facts.is_empty() {
        return Ok(());
    }
    let mut by_node: Vec<(String, Vec<String>)> = Vec::new();
    for fact in facts {
        stop.check()?;
        let id = place::node_of(store, model, &fact, stop)?;
        match by_node.iter_mut().find(|(node, _)| *node == id) {
            Some((_, facts)) => facts.push(fact.text),
            None => by_node.push((id, vec![fact.text])),
        }
    }
    let mut learned = Learned::default();
    let mut outcome = Ok(());
    for (id, facts) in by_node {
        outcome = stop
            .check()
            .and_then(|()| add(store, model, &id, facts, &mut learned));
        if outcome.is_err() {
            break;
        }
    }
    tell(&learned, trace);
    outcome.and_then(|()| store.flush())
}

/// Adds facts to a node.
fn add(
    store: &MemoryStore,
    model: &dyn StageModel,
    id: &str,
    facts: Vec<String>,
    learned: &mut Learned,
) -> Outcome<()> {
    let Some(node) = store.node(id)? else {
        return Ok(());
    };
    let known: HashSet<String> = node.facts().map(words::fold).collect();
    let count = facts.len();
    let new: Vec<String> = facts
        .into_iter()
        .filter(|fact| !known.contains(&words::fold(fact)))
        .collect();
    learned.duplicates += count - new.len();
    if new.is_empty() {
        return Ok(());
    }
    let old: Vec<&str> = node.facts().collect();
    let merged = match old.is_empty() {
        true => None,
        // A model that fails costs nothing: the facts are appended.
        false => merge::merged(model, &old, &new).unwrap_or_default(),
    };
    let added = match merged {
        Some(facts) if store.replace_facts(id, &node.data, &facts)? => {
            let there: HashSet<String> = facts.iter().map(|fact| same_form(fact)).collect();
            let found = new.into_iter();
            found
                .filter(|fact| there.contains(&same_form(fact)))
                .collect()
        }
        // Nothing usable, or another process was quicker and its facts must stay.
        _ => store.append(id, &new)?,
    };
    let added = added.into_iter().map(|fact| (fact, node.name.clone()));
    learned.facts.extend(added);
    store.touch(id)?;
    // A node that stays too large is no reason to stop.
    let _ = split::split_if_large(store, model, id);
    Ok(())
}

fn tell(learned: &Learned, trace: &Trace) {
    let skipped = match learned.duplicates {
        0 => String::new(),
        count => format!(" ({} skipped)", plural(count, "duplicate")),
    };
    if learned.facts.is_empty() {
        trace.line(format!("🧠 Knowledge graph: nothing new{skipped}"));
        return;
    }
    let facts = plural(learned.facts.len(), "new fact");
    trace.line(format!("🧠 Knowledge graph: learned {facts}{skipped}"));
    for (fact, node) in learned.facts.iter().take(MAX_TRACED_FACTS) {
        trace.line(clip(&format!("  {fact} → {node}"), MAX_TRACE_CHARS));
    }
}
