//! What was said becomes memory: a diary entry of the day, then facts in the knowledge graph.
//!
//! The diary is stored in one write after the last batch was summarised: whatever fails before leaves everything as it was, and the next run begins again
//! with the same rows. The graph comes after it and may fail: the facts are in the summary of the day, which the next update of that day reads again.

pub(crate) mod clean;
mod extract;
mod learn;
mod merge;
mod place;
pub(crate) mod retry_pause;
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
use crate::reply::dialogue::PendingDialogue;
use crate::reply::models::stage::StageModel;
use crate::reply::settings::ReplySettings;
use crate::reply::trace::Trace;
use crate::store::memory::{DiaryRow, DiarySource, MemoryStore};

/// How often a day is summarised anew because another process wrote its entry meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// Writes what was said into the diary, then learns from it. True when it is in the diary, by this process or by another one; false when no usable
/// summary came, and then nothing is written.
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
    let summary = match write_diary(store, model, settings, pending, now, stop)? {
        DiaryUpdate::Written(summary) => summary,
        DiaryUpdate::Known => return Ok(true),
        DiaryUpdate::Unusable => {
            trace.detail("memory", || {
                "The summary could not be used; what was said stays pending.".to_owned()
            });
            return Ok(false);
        }
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

/// What became of the diary.
enum DiaryUpdate {
    /// The new summary of the day.
    Written(String),
    /// It has all rows already.
    Known,
    /// The model gave no summary.
    Unusable,
}

/// Folds the rows that the diary does not have into the entry of the day and stores it. The entry and the names of its rows are written in one piece, so
/// a crash leaves both or none; and nothing is written when another process has written any of them meanwhile.
fn write_diary(
    store: &MemoryStore,
    model: &dyn StageModel,
    settings: &ReplySettings,
    pending: &PendingDialogue,
    now: Timestamp,
    stop: &Cancel,
) -> Outcome<DiaryUpdate> {
    let source = match pending.spoken {
        true => DiarySource::Voice,
        false => DiarySource::Text,
    };
    let Some(last) = pending.rows.last() else {
        return Ok(DiaryUpdate::Known);
    };
    // After a crash this may be an earlier day; never a later one, whatever the clock said.
    let date = last.at.min(now).to_zoned(TimeZone::UTC).date();
    for _ in 0..MAX_ATTEMPTS {
        let before = store.diary_get(date, source)?;
        let saved = store.saved_rows()?;
        let new = || pending.rows.iter().filter(|row| !saved.names(row.at));
        let texts: Vec<String> = new()
            .map(|row| redact::redact(&row.text))
            .filter(|text| !text.is_empty())
            .collect();
        if texts.is_empty() {
            return Ok(DiaryUpdate::Known);
        }
        let mut summary = before.as_ref().map(Summary::of_row);
        for batch in summary::batches(&texts) {
            stop.check()?;
            let folded = summary::fold_in(model, settings, summary.as_ref(), &batch)?;
            let Some(folded) = folded else {
                return Ok(DiaryUpdate::Unusable);
            };
            summary = Some(folded);
        }
        stop.check()?;
        let Some(summary) = summary else {
            return Ok(DiaryUpdate::Unusable);
        };
        let row = DiaryRow::new(date, source, &summary.text, &summary.topics, now);
        let said: Vec<Timestamp> = new().map(|row| row.at).collect();
        if store.diary_replace(before.as_ref(), row, &said)? {
            return Ok(DiaryUpdate::Written(summary.text));
        }
    }
    Err(
        Problem::limit("Another Marvin writes the diary entry of the day again and again.")
            .next("What was said here is kept for the next time."),
    )
}
