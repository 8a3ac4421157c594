//! Maintenance: topics of the diary that mean the same become one.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::Value;

use super::clean::MaintenanceEvent;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::base::{redact, template, words};
use crate::reply::answer::json_span;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::store::memory::{DiaryRow, MemoryStore};

const SYSTEM: &str = include_str!("../../../prompts/reply/diary_topics.md");
const USER: &str = include_str!("../../../prompts/reply/diary_topics_user.md");
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_TOPIC_CHARS: usize = 60;

/// Maps topics that mean the same to one; `on_row` hears of each entry that was changed. Returns false when the model's answer was unusable; nothing is
/// changed then.
///
/// # Errors
/// The model failed, the diary cannot be read or written, or `stop` was fired.
pub(crate) fn unify(
    store: &MemoryStore,
    model: &dyn StageModel,
    stop: &Cancel,
    on_row: &mut dyn FnMut(&MaintenanceEvent),
) -> Outcome<bool> {
    let rows = store.diary_all()?;
    let mut topics: Vec<&str> = rows
        .iter()
        .flat_map(|row| row.topics.iter().map(String::as_str))
        .collect();
    topics.sort_unstable();
    topics.dedup();
    if topics.is_empty() {
        return Ok(true);
    }
    stop.check()?;
    let user = template::fill(USER, &[("topics", &topics.join("\n"))]);
    let answer = model.ask(&StageRequest {
        stage: Stage::DiaryTopics,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: TIMEOUT,
    })?;
    let Some(map) = parse(&answer) else {
        return Ok(false);
    };
    for (row, number) in rows.iter().zip(1..) {
        let mapped = mapped(&row.topics, &map);
        if mapped == row.topics {
            continue;
        }
        stop.check()?;
        let changed = DiaryRow::new(row.date, row.source, &row.summary, &mapped, store.now());
        let mut event = MaintenanceEvent::new(number, rows.len(), row.date);
        event.changed = store.diary_replace(Some(row), changed, &[])?;
        if !event.changed {
            event.error = Some("changed_meanwhile");
        }
        on_row(&event);
    }
    Ok(true)
}

/// What each topic becomes; `None` when the answer is no JSON object.
fn parse(answer: &str) -> Option<HashMap<String, Vec<String>>> {
    let value: Value = serde_json::from_str(json_span::object(answer)?).ok()?;
    let entries = value.as_object()?.iter();
    let map = entries.map(|(topic, to)| {
        let to = match to {
            Value::String(one) => vec![one.as_str()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let to = to
            .iter()
            .map(|to| clip(&redact::redact(to), MAX_TOPIC_CHARS));
        let to = to.filter(|to| !to.is_empty()).collect();
        (words::fold(topic), to)
    });
    Some(map.collect())
}

/// The topics of a row after the mapping, none twice. A topic that is mapped to nothing stays.
fn mapped(topics: &[String], map: &HashMap<String, Vec<String>>) -> Vec<String> {
    let mut known = HashSet::new();
    topics
        .iter()
        .flat_map(|topic| match map.get(&words::fold(topic)) {
            Some(to) if !to.is_empty() => to.clone(),
            _ => vec![topic.clone()],
        })
        .filter(|topic| known.insert(words::fold(topic)))
        .collect()
}
