//! Repairs JSON with invalid encoding: bytes that are not UTF-8, lone surrogates, duplicate members, empty list items.

use serde_json::Value;

/// The first half of a surrogate pair at the end of a text: the second half may start the text of the next payload. Programs that count in UTF-16
/// split their streams like this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PendingSurrogate(Option<u32>);

impl PendingSurrogate {
    /// Whether there is one; then there is none any more.
    pub(super) fn take(&mut self) -> bool {
        self.0.take().is_some()
    }
}

/// `data` with invalid bytes and lone surrogate escapes replaced by U+FFFD; `None` when there are none. A pair that is split between two payloads
/// becomes its character, in the second one.
pub(super) fn repaired(data: &[u8], half: &mut PendingSurrogate) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(data);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    let mut changed = matches!(text, std::borrow::Cow::Owned(_));
    let before_this = half.0.take();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
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
                if first && after.starts_with('"') {
                    half.0 = Some(code);
                } else if let Some(high) = before_this.filter(|_| !first && out.ends_with('"')) {
                    out.push_str(&format!("\\u{high:04x}\\u{code:04x}"));
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
    changed.then(|| out.into_bytes())
}

/// The parser's error message for an invalid surrogate that is only detected later.
pub(super) const LONE_SURROGATE: &str = "half a surrogate pair";

/// True when a JSON text contains half a surrogate pair, which is only detected when it is decoded.
pub(super) fn has_lone_surrogate(json: &str) -> bool {
    json.contains("\\u") && repaired(json.as_bytes(), &mut PendingSurrogate::default()).is_some()
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
            let bytes = repaired(text, &mut PendingSurrogate::default());
            bytes.map(|bytes| String::from_utf8(bytes).unwrap())
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
        let mut half = PendingSurrogate::default();
        let mut mend = |text: &[u8]| {
            let bytes = repaired(text, &mut half);
            bytes.map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(mend(br#""a\ud83d""#).as_deref(), Some(r#""a""#));
        assert_eq!(mend(br#""\ude00b""#).as_deref(), Some(r#""\ud83d\ude00b""#));
        assert_eq!(mend(br#""\ude00b""#).as_deref(), Some(r#""\ufffdb""#));
    }
}
