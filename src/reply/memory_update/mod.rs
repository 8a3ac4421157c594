//! What was said becomes memory: a diary entry of the day, then facts in the knowledge graph.
//!
//! The diary is stored in one write after the last batch was summarised: whatever fails before leaves everything as it was, and the next run begins again
//! with the same rows. The graph comes after it and may fail: the facts are in the summary of the day, which the next update of that day reads again.

pub(crate) mod clean;
mod extract;
mod learn;
mod merge;
mod place;
mod row_vectors;
mod split;
mod summary;
#[cfg(test)]
mod tests;
pub(crate) mod topics;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use self::summary::Summary;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact;
use crate::reply::settings::ReplySettings;
use crate::reply::stage::StageModel;
use crate::reply::trace::Trace;
use crate::store::memory::{DiaryRow, DiarySource, MemoryStore};

/// How often a day is summarised anew because another process wrote its entry meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// What was said and is not in the diary yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PendingDialogue {
    /// `User: …` and `Assistant: …`, the oldest first.
    pub rows: Vec<String>,
    /// When the latest of them was said.
    pub through: Timestamp,
    /// It was spoken rather than typed.
    pub spoken: bool,
}

/// Writes what was said into the diary, then learns from it. True when it is in the diary; false when no usable summary came, and then nothing is
/// written.
///
/// # Errors
/// The model, the lock or the disk failed, or `stop` was fired, before the diary was written; then nothing is.
pub(crate) fn run(
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    pending: &PendingDialogue,
    trace: &Trace,
    now: Timestamp,
    stop: &Cancel,
) -> Outcome<bool> {
    if !settings.memory_enabled {
        return Ok(false);
    }
    let rows: Vec<String> = pending
        .rows
        .iter()
        .map(|row| redact::redact(row))
        .filter(|row| !row.is_empty())
        .collect();
    if rows.is_empty() {
        return Ok(true);
    }
    let Some(summary) = write_diary(store, model, settings, pending, &rows, now, stop)? else {
        trace.detail("memory", || {
            "The summary could not be used; what was said stays pending.".to_owned()
        });
        return Ok(false);
    };
    if let Err(problem) = learn::learn(store, model, &summary, trace, stop) {
        trace.detail("memory", || {
            format!(
                "The knowledge graph was not updated: {}",
                problem.one_line()
            )
        });
    }
    if let Err(problem) = row_vectors::add(store, model, settings, stop) {
        trace.detail("memory", || {
            format!("The diary got no vectors: {}", problem.one_line())
        });
    }
    Ok(true)
}

/// Folds the rows into the entry of the day and stores it; returns the new summary, or `None` when the model gave none.
fn write_diary(
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    pending: &PendingDialogue,
    rows: &[String],
    now: Timestamp,
    stop: &Cancel,
) -> Outcome<Option<String>> {
    let source = match pending.spoken {
        true => DiarySource::Voice,
        false => DiarySource::Text,
    };
    // After a crash this may be an earlier day; never a later one, whatever the clock said.
    let date = pending.through.min(now).to_zoned(TimeZone::UTC).date();
    for _ in 0..MAX_ATTEMPTS {
        let before = store.diary_get(date, source)?;
        let mut summary = before.as_ref().map(Summary::of_row);
        for batch in summary::batches(rows) {
            stop.check()?;
            let folded = summary::fold_in(model, settings, summary.as_ref(), &batch)?;
            let Some(folded) = folded else {
                return Ok(None);
            };
            summary = Some(folded);
        }
        stop.check()?;
        let Some(summary) = summary else {
            return Ok(None);
        };
        let row = DiaryRow::new(date, source, &summary.text, &summary.topics, now);
        if store.diary_replace(before.as_ref(), row, Some(pending.through))? {
            return Ok(Some(summary.text));
        }
    }
    Err(
        Problem::limit("Another Marvin writes the diary entry of the day again and again.")
            .next("What was said here is kept for the next time."),
    )
}
