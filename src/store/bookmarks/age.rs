//! Sorts bookmarks by age: after manual edits or an import the file is not necessarily in order.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::Value;

use crate::base::shared_sort::SharedSort as _;

/// True when the records are clearly in the order in which they were saved, judged without parsing them: each has a date in Marvin's format, and none
/// is earlier than the one before. Then most of them need not be parsed.
pub(super) fn in_order(records: &[&str]) -> bool {
    let key = Finder::new(b"\"saved_at\"");
    let mut before = "";
    records.iter().all(|raw| {
        let Some(date) = written(raw, &key) else {
            return false;
        };
        let same_form = before.is_empty() || before.len() == date.len();
        let fits = same_form && date.ends_with('Z') && before <= date;
        before = date;
        fits
    })
}

/// The unescaped string under the key, if the record has one.
fn written<'a>(raw: &'a str, key: &Finder<'_>) -> Option<&'a str> {
    let pos = key.find(raw.as_bytes())? + key.needle().len();
    let value = raw.get(pos..)?.trim_start().strip_prefix(':')?.trim_start();
    let text = value.strip_prefix('"')?;
    text.get(..text.find(['"', '\\'])?)
}

/// Sorts records newest first; they are given in reverse file order. A record without a date counts as old as the one before it in the file.
pub(super) fn newest_first<'a>(mut last_first: Vec<&'a str>, zone: &TimeZone) -> Vec<&'a str> {
    last_first.reverse();
    let mut before = Timestamp::MIN;
    let mut dated: Vec<(Timestamp, &str)> = last_first
        .into_iter()
        .map(|raw| {
            before = date(raw, zone).unwrap_or(before);
            (before, raw)
        })
        .collect();
    // Of two records with the same date, the later one in the file is newer.
    dated.reverse();
    dated.shared_sort_by_key(|(date, _)| std::cmp::Reverse(*date));
    dated.into_iter().map(|(_, raw)| raw).collect()
}

/// The date key, in both layouts of the file.
#[derive(Deserialize)]
struct Dates {
    #[serde(default)]
    saved_at: Value,
    #[serde(default)]
    created: Value,
}

fn date(raw: &str, zone: &TimeZone) -> Option<Timestamp> {
    let dates: Dates = serde_json::from_str(raw).ok()?;
    [dates.saved_at, dates.created]
        .iter()
        .find_map(|value| match value {
            Value::String(text) => moment(text.trim(), zone),
            Value::Number(seconds) => Timestamp::from_second(seconds.as_f64()? as i64).ok(),
            _ => None,
        })
}

/// Parses a time; a local time without a zone is in the user's.
fn moment(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let local = || {
        let time = text.parse::<DateTime>().ok()?;
        Some(time.to_zoned(zone.clone()).ok()?.timestamp())
    };
    text.parse::<Timestamp>().ok().or_else(local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_wherever_it_stands() {
        let records = [
            r#"{"url":"b","saved_at":"2026-02-01T10:00:00.000Z"}"#,
            r#"{"url":"after b"}"#,
            r#"{"url":"a","created":"2020-05-01T08:00:00"}"#,
            r#"{"url":"c","saved_at":"2026-02-01T12:30:00+01:00"}"#,
            r#"{"url":"d","saved_at":1700000000}"#,
            r#"{"url":"e","saved_at":"2021-01-01"}"#,
            "7",
        ];
        assert!(!in_order(&records));
        let last_first: Vec<&str> = records.iter().rev().copied().collect();
        let order: Vec<usize> = newest_first(last_first, &TimeZone::UTC)
            .iter()
            .map(|raw| records.iter().position(|one| one == raw).unwrap())
            .collect();
        assert_eq!(order, [3, 1, 0, 4, 6, 5, 2]);
    }

    #[test]
    fn a_file_in_order_is_seen_as_such() {
        let one = r#"{"url":"a", "saved_at" : "2026-02-01T10:00:00.000Z"}"#;
        let two = r#"{"url":"b","saved_at":"2026-02-01T10:00:00.001Z"}"#;
        assert!(in_order(&[]) && in_order(&[one, two, two]));
        assert!(!in_order(&[two, one]));
        assert!(!in_order(&[one, r#"{"url":"c"}"#]));
        assert!(!in_order(&[one, r#"{"saved_at":"2026-02-01"}"#]));
    }
}
