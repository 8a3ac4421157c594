//! Repairs JSON with invalid encoding: bytes that are not UTF-8, lone surrogates, duplicate members, empty list items.

use serde_json::Value;

/// JSON with its encoding repaired.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepairedJson {
    pub(super) bytes: Vec<u8>,
    /// A text in it begins with the second half of the surrogate pair that was begun before.
    pub(super) is_joined: bool,
    /// The first half of a surrogate pair that ended a text in it and was left out.
    pub(super) half: Option<u32>,
}

/// `data` with invalid bytes and lone surrogate escapes replaced by U+FFFD; `None` when there are none. With `before`, the first half of a pair, the second
/// half at the beginning of a text becomes their character. When more of a text `may_follow`, a first half at its end is left out, because the second half
/// may come with the next payload.
pub(super) fn repaired(data: &[u8], before: Option<u32>, may_follow: bool) -> Option<RepairedJson> {
    let text = String::from_utf8_lossy(data);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    let mut changed = matches!(text, std::borrow::Cow::Owned(_));
    let (mut is_joined, mut half) = (false, None);
    while let Some(at) = rest.find('\\') {
        let (before_it, escape) = rest.split_at(at);
        out.push_str(before_it);
        let length = match surrogate(escape) {
            Some(0xD800..=0xDBFF)
                if matches!(escape.get(6..).and_then(surrogate), Some(0xDC00..)) =>
            {
                12
            }
            Some(code) => {
                changed = true;
                let after = escape.get(6..).unwrap_or_default();
                let first = code < 0xDC00;
                if first && may_follow && after.starts_with('"') {
                    half = Some(code);
                } else if let Some(high) = before.filter(|_| !first && out.ends_with('"')) {
                    out.push_str(&format!("\\u{high:04x}\\u{code:04x}"));
                    is_joined = true;
                } else {
                    out.push_str("\\ufffd");
                }
                rest = after;
                continue;
            }
            None => escape.ceil_char_boundary(2),
        };
        let (keep, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(keep);
        rest = after;
    }
    out.push_str(rest);
    changed.then(|| RepairedJson {
        bytes: out.into_bytes(),
        is_joined,
        half,
    })
}

/// The parser's error message for an invalid surrogate that is only detected later.
pub(super) const LONE_SURROGATE: &str = "half a surrogate pair";

/// True when a JSON text contains half a surrogate pair, which is only detected when it is decoded.
pub(super) fn has_lone_surrogate(json: &str) -> bool {
    json.contains("\\u") && repaired(json.as_bytes(), None, false).is_some()
}

/// `data` without duplicate members (the last one counts) and without null in lists; `None` when it is not JSON.
pub(super) fn plain(data: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(data).ok()?;
    drop_nulls(&mut value);
    serde_json::to_vec(&value).ok()
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(drop_nulls);
        }
        Value::Object(map) => map.values_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The surrogate in the escape at the start of `text`.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16)
        .ok()
        .filter(|code| (0xD800..=0xDFFF).contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_broken_changes() {
        let mend = |text: &[u8]| {
            let repaired = repaired(text, None, false);
            repaired.map(|repaired| String::from_utf8(repaired.bytes).unwrap())
        };
        assert_eq!(mend(br#""\ud83d\ude00 \\ud83d \n""#), None);
        assert_eq!(mend(br#""\ud83d.""#).as_deref(), Some(r#""\ufffd.""#));
        assert_eq!(
            mend(br#""\ude00 \ud83dx""#).as_deref(),
            Some(r#""\ufffd \ufffdx""#)
        );
        assert_eq!(mend(b"\"a\xFF\"").as_deref(), Some("\"a\u{fffd}\""));
        assert_eq!(mend("\"\\é\"".as_bytes()), None);
    }

    #[test]
    fn halves_in_two_payloads_are_one_character() {
        let mend = |text: &[u8], before| {
            let made = repaired(text, before, true).unwrap();
            (
                String::from_utf8(made.bytes).unwrap(),
                made.is_joined,
                made.half,
            )
        };
        let half = Some(0xd83d);
        for (text, before, made, is_joined, left_out) in [
            (r#""a\ud83d""#, None, r#""a""#, false, half),
            (r#""\ude00b""#, half, r#""\ud83d\ude00b""#, true, None),
            (r#""\ude00b""#, None, r#""\ufffdb""#, false, None),
            (r#""b\ude00""#, half, r#""b\ufffd""#, false, None),
        ] {
            let made = (made.to_owned(), is_joined, left_out);
            assert_eq!(mend(text.as_bytes(), before), made, "{text}");
        }
    }
}
