//! JSON as people write it into settings: with comments (`//`, `/* */`), commas after the last item, and a byte order mark.

use serde_json::Value;

/// A text in which all that JSON does not have are blanks. Every place in it is the one of the original.
pub(crate) struct Blanked {
    pub text: String,
    /// Where the commas after last items were.
    pub last_commas: Vec<usize>,
}

/// Reads a text; an error has the line and the column of the original.
///
/// # Errors
/// It is no JSON, comments and last commas apart.
pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&blanked(text).text)
}

/// The text without what JSON does not have.
pub(crate) fn blanked(text: &str) -> Blanked {
    let mut bytes = text.as_bytes().to_vec();
    let mut last_commas = Vec::new();
    // The last byte that was neither blank nor comment, and where it is.
    let mut last = (b'[', 0);
    let mut at = 0;
    if text.starts_with('\u{feff}') {
        blank(&mut bytes, 0..3);
        at = 3;
    }
    while let Some(byte) = bytes.get(at).copied() {
        match (byte, bytes.get(at + 1)) {
            (b'"', _) => {
                last = (b'"', at);
                at = string_end(&bytes, at);
                continue;
            }
            (b'/', Some(b'/')) => {
                let rest = bytes.get(at..).unwrap_or_default();
                let length = rest.iter().position(|byte| *byte == b'\n');
                let end = at + length.unwrap_or(rest.len());
                blank(&mut bytes, at..end);
                at = end;
                continue;
            }
            (b'/', Some(b'*')) => {
                let rest = bytes.get(at + 2..).unwrap_or_default();
                // One that is never closed stays, and is an error.
                if let Some(length) = rest.windows(2).position(|pair| pair == b"*/") {
                    let end = at + 2 + length + 2;
                    blank(&mut bytes, at..end);
                    at = end;
                    continue;
                }
                last = (byte, at);
            }
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            // Only behind an item: `[,]` stays an error.
            (b',', _) if b"[{,:".contains(&last.0) => last = (b'[', at),
            (b'}' | b']', _) => {
                if let (b',', comma) = last {
                    blank(&mut bytes, comma..comma + 1);
                    last_commas.push(comma);
                }
                last = (byte, at);
            }
            _ => last = (byte, at),
        }
        at += 1;
    }
    Blanked {
        // Whole characters have become blanks.
        text: String::from_utf8_lossy(&bytes).into_owned(),
        last_commas,
    }
}

/// Everything but ends of lines becomes a blank.
fn blank(bytes: &mut [u8], range: std::ops::Range<usize>) {
    for byte in bytes.get_mut(range).unwrap_or_default() {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Behind the string that begins at `at`, or the end of the text.
pub(super) fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_last_commas_are_passed_over_and_places_stay() {
        let text = "\u{feff}{ // one, } \n \"a\": [1, 2, /* ä, ] */ ],\n \"b\": \"// no /* comment,]\",\n}";
        assert_eq!(
            parse(text).unwrap(),
            json!({"a": [1, 2], "b": "// no /* comment,]"})
        );
        assert_eq!(blanked(text).text.len(), text.len());
        for (text, line, column) in [
            ("{\n /* a\n b */ \"a\": x}", 3, 12),
            ("[1,,]", 1, 4),
            ("{\"a\": 1 /* never closed", 1, 9),
            ("[,]", 1, 2),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line(), error.column()), (line, column), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_blanked_without_harm(text in "[{}\\[\\],:\"\\\\/*a1 \\nä]{0,60}") {
            let blanked = blanked(&text);
            prop_assert_eq!(blanked.text.len(), text.len());
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert_eq!(blanked.text, text);
            }
        }
    }
}
