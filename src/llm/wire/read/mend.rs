//! JSON that only its encoding keeps from being read: bytes that are not UTF-8, halves of surrogate pairs, members that are
//! there twice, nothing as an item of a list.

use serde_json::Value;

/// `data` with wrong bytes and lone surrogate escapes replaced by U+FFFD; `None` when neither was found.
pub(super) fn mended(data: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(data);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    let mut changed = matches!(text, std::borrow::Cow::Owned(_));
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match surrogate(escape) {
            Some(0xD800..=0xDBFF)
                if matches!(escape.get(6..).and_then(surrogate), Some(0xDC00..)) =>
            {
                12
            }
            Some(_) => {
                changed = true;
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
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

/// `data` with every member once (the last one counts) and without null in lists; `None` when it is no JSON.
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

/// The surrogate that `\uXXXX` at the start of `text` names.
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
        let mend = |text: &[u8]| mended(text).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(mend(br#""\ud83d\ude00 \\ud83d \n""#), None);
        assert_eq!(mend(br#""\ud83d""#).as_deref(), Some(r#""\ufffd""#));
        assert_eq!(
            mend(br#""\ude00 \ud83dx""#).as_deref(),
            Some(r#""\ufffd \ufffdx""#)
        );
        assert_eq!(mend(b"\"a\xFF\"").as_deref(), Some("\"a\u{fffd}\""));
        assert_eq!(mend("\"\\é\"".as_bytes()), None);
    }
}
