//! Maintenance: removes from the diary what earlier summaries should not have kept, sentences in which the assistant fails.

use jiff::civil::Date;
use serde::Serialize;

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, ProblemKind};
use crate::base::template;
use crate::base::text::single_spaced;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::settings::ReplySettings;
use crate::store::memory::{DiaryRow, MemoryStore};

const SYSTEM: &str = include_str!("../../../prompts/reply/diary_clean.md");
const USER: &str = include_str!("../../../prompts/reply/diary_clean_user.md");
/// What the text of an entry is put between.
const MARKERS: [&str; 2] = [
    "<<<BEGIN UNTRUSTED DIARY ENTRY>>>",
    "<<<END UNTRUSTED DIARY ENTRY>>>",
];
/// What ends a sentence, in several scripts.
const SENTENCE_ENDS: [char; 9] = ['.', '!', '?', '…', '。', '！', '？', '।', '؟'];

/// What became of one entry of the diary. It never has text in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MaintenanceEvent {
    /// Its number, from 1, and how many there are.
    pub row: usize,
    pub rows: usize,
    #[serde(serialize_with = "as_text")]
    pub date: Date,
    pub changed: bool,
    /// Nothing would have been left, so it stayed as it was.
    pub would_empty: bool,
    /// Why it stayed as it was: the kind of problem.
    pub error: Option<&'static str>,
}

fn as_text<S: serde::Serializer>(date: &Date, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(date)
}

impl MaintenanceEvent {
    pub(super) fn new(row: usize, rows: usize, date: Date) -> Self {
        Self {
            row,
            rows,
            date,
            changed: false,
            would_empty: false,
            error: None,
        }
    }
}

/// The name of a kind of problem, for events without text.
const fn class(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Timeout => "timeout",
        ProblemKind::Network => "network",
        ProblemKind::Auth => "auth",
        ProblemKind::Limit => "limit",
        ProblemKind::System => "system",
        ProblemKind::Config => "config",
        _ => "model",
    }
}

/// Cleans each entry; `on_row` hears of each as it is done.
///
/// # Errors
/// The diary cannot be read, or `stop` was fired. Entries that were done stay done.
pub(crate) fn clean(
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    stop: &Cancel,
    on_row: &mut dyn FnMut(&MaintenanceEvent),
) -> Outcome<()> {
    let rows = store.diary_all()?;
    for (row, number) in rows.iter().zip(1..) {
        stop.check()?;
        let mut event = MaintenanceEvent::new(number, rows.len(), row.date);
        match clean_row(store, model, settings, row) {
            Ok(RowResult::Unchanged) => {}
            Ok(RowResult::Changed) => event.changed = true,
            Ok(RowResult::WouldEmpty) => event.would_empty = true,
            Ok(RowResult::NotVerbatim) => event.error = Some("not_verbatim"),
            Ok(RowResult::Busy) => event.error = Some("changed_meanwhile"),
            Err(problem) if problem.is_cancelled() => return Err(problem),
            Err(problem) => event.error = Some(class(problem.kind)),
        }
        on_row(&event);
    }
    Ok(())
}

enum RowResult {
    Unchanged,
    Changed,
    WouldEmpty,
    /// The model wrote something of its own.
    NotVerbatim,
    /// Another process changed the entry.
    Busy,
}

fn clean_row(
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    row: &DiaryRow,
) -> Outcome<RowResult> {
    let shown = row.summary.replace("<<<", "< < <");
    let [begin, end] = MARKERS;
    let user = template::fill(USER, &[("begin", begin), ("entry", &shown), ("end", end)]);
    let answer = model.ask(&StageRequest {
        stage: Stage::DiaryClean,
        system: SYSTEM.trim_end(),
        user: &user,
        limit: settings.summariser_limit,
    })?;
    let cleaned = without_wrapping(&answer);
    if cleaned.is_empty() {
        return Ok(RowResult::WouldEmpty);
    }
    if cleaned == single_spaced(&row.summary) {
        return Ok(RowResult::Unchanged);
    }
    if !is_part(&cleaned, &row.summary) {
        return Ok(RowResult::NotVerbatim);
    }
    let changed = DiaryRow::new(row.date, row.source, &cleaned, &row.topics, store.now());
    match store.diary_replace(Some(row), changed, &[])? {
        true => Ok(RowResult::Changed),
        false => Ok(RowResult::Busy),
    }
}

/// The answer without fences and without the markers around the entry, on one line.
fn without_wrapping(answer: &str) -> String {
    let lines = answer.lines().filter(|line| {
        let line = line.trim();
        !line.starts_with("```") && !line.starts_with("<<<")
    });
    single_spaced(&lines.collect::<Vec<_>>().join(" "))
}

/// True when each sentence of `cleaned` is one of `original`, and in its order: nothing was added or reworded.
fn is_part(cleaned: &str, original: &str) -> bool {
    let original = single_spaced(original);
    let mut rest = original.as_str();
    for sentence in cleaned.split_inclusive(SENTENCE_ENDS) {
        let sentence = sentence.trim();
        match rest.find(sentence) {
            Some(at) => rest = rest.get(at + sentence.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sentences_of_the_entry_are_a_part_of_it() {
        let entry =
            "The user grows tomatoes. The assistant could not say why. They use v1.2 of the app.";
        for (cleaned, part) in [
            ("The user grows tomatoes. They use v1.2 of the app.", true),
            (entry, true),
            ("They use v1.2 of the app. The user grows tomatoes.", false),
            ("The user grows tomatoes and beans.", false),
            ("The user grows potatoes.", false),
        ] {
            assert_eq!(is_part(cleaned, entry), part, "{cleaned}");
        }
        assert!(is_part("用户养猫。", "用户养猫。助手不知道。"));
    }

    #[test]
    fn fences_and_echoed_markers_are_no_part_of_an_answer() {
        let answer = "```text\n<<<BEGIN UNTRUSTED DIARY ENTRY>>>\nA  walk.\n<<<END UNTRUSTED DIARY ENTRY>>>\n```";
        assert_eq!(without_wrapping(answer), "A walk.");
        assert_eq!(without_wrapping("``` \n<<<END"), "");
    }
}
