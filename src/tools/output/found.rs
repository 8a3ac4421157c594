//! What a service has found: fields of its JSON as text, and its results as a list.

use serde_json::Value;

use super::labeled::plain;
use crate::base::json::JsonExt;
use crate::base::text::{clip, one_line, plural, thousands};

/// Maximum characters of a title or name.
const MAX_NAME_CHARS: usize = 300;

/// A title or name at `path`, on one line.
pub(crate) fn name(value: &Value, path: &str) -> Option<String> {
    value.text(path).map(short_line)
}

/// At most as much of a text on one line as a title or name may have.
pub(crate) fn short_line(text: &str) -> String {
    clip(&one_line(text), MAX_NAME_CHARS)
}

/// A text at `path` on one line, its entities decoded.
pub(crate) fn text_at(value: &Value, path: &str) -> Option<String> {
    value.text(path).map(plain)
}

/// A number of things at `path`.
pub(crate) fn count(value: &Value, path: &str) -> Option<u64> {
    u64::try_from(value.whole(path)?).ok()
}

/// The objects in a list; anything else in it is passed over.
pub(crate) fn objects<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let items = value.list(path).iter();
    items.filter(|item| item.is_object()).collect()
}

/// The parts that there are, with `between` between them.
pub(crate) fn joined(parts: impl IntoIterator<Item = Option<String>>, between: &str) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(between)
}

/// `5 of 1,200 games`, or `5 games` where no more are known of.
pub(crate) fn shown_of(shown: usize, total: Option<u64>, noun: &str) -> String {
    match total.filter(|total| *total > shown as u64) {
        Some(total) => format!("{shown} of {} {noun}s", thousands(total)),
        None => plural(shown, noun),
    }
}

/// The results, numbered, each on a line or with further lines of its own.
pub(crate) fn numbered(results: impl IntoIterator<Item = String>) -> String {
    let lines = results.into_iter().zip(1..);
    let lines: Vec<String> = lines.map(|(line, n)| format!("{n:>2}. {line}")).collect();
    lines.join("\n")
}

/// A length in milliseconds as `4:05`, or `1:04:05`; `None` when it is unknown.
pub(crate) fn track_length(value: &Value, path: &str) -> Option<String> {
    let millis = value.whole(path).filter(|millis| *millis > 0)?;
    let seconds = millis.saturating_add(500) / 1_000;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    Some(match minutes {
        0..60 => format!("{minutes}:{seconds:02}"),
        _ => format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lengths_are_minutes_and_seconds() {
        let length = |millis: Value| track_length(&json!({"length": millis}), "length");
        assert_eq!(length(json!(178_000)).as_deref(), Some("2:58"));
        assert_eq!(length(json!("59999")).as_deref(), Some("1:00"));
        assert_eq!(length(json!(3_725_000)).as_deref(), Some("1:02:05"));
        assert_eq!(
            (length(json!(null)), length(json!(0)), length(json!(-5))),
            (None, None, None)
        );
        assert!(length(json!(i64::MAX)).is_some());
    }

    #[test]
    fn a_list_says_how_many_of_how_many_it_shows() {
        for (shown, total, head) in [
            (1, None, "1 game"),
            (2, Some(2), "2 games"),
            (2, Some(1_234), "2 of 1,234 games"),
            // A service that counts wrong.
            (3, Some(2), "3 games"),
        ] {
            assert_eq!(shown_of(shown, total, "game"), head);
        }
        let lines = (0..10).map(|n| format!("line {n}"));
        let list = numbered(lines);
        assert!(list.starts_with(" 1. line 0\n 2. line 1\n"), "{list}");
        assert!(list.ends_with("\n10. line 9"), "{list}");
    }

    #[test]
    fn what_a_service_leaves_out_is_left_out() {
        let value = json!({"n": "7", "less": -1, "list": [1, {"a": 1}, null], "name": "A\n b"});
        assert_eq!((count(&value, "n"), count(&value, "less")), (Some(7), None));
        assert_eq!(objects(&value, "list"), [&json!({"a": 1})]);
        assert_eq!(name(&value, "name").as_deref(), Some("A b"));
        let parts = [Some("a".to_owned()), None, name(&value, "other")];
        assert_eq!(joined(parts, ", "), "a");
    }
}
