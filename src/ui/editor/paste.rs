//! Sanitizes pasted and recalled text into lines without control characters.

use std::borrow::Cow;

/// `text` with `\n` line ends and without terminal sequences, control characters and bidirectional overrides.
///
/// Newlines and tabs stay, and so do joiners: emoji and Persian need them.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\r' || unwanted(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            '\r' => {
                out.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push('\n');
                after
            }
            '\x1b' => after.strip_prefix('[').and_then(csi).unwrap_or(after),
            '\u{9b}' => csi(after).unwrap_or(after),
            c => {
                if !unwanted(c) {
                    out.push(c);
                }
                after
            }
        };
    }
    Cow::Owned(out)
}

fn unwanted(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Stands for a folded paste in the input.
        super::folded::MARK => true,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => true,
        c => c.is_control(),
    }
}

/// The rest after a control sequence, if `text` begins inside one: parameters, intermediates and the final byte.
fn csi(text: &str) -> Option<&str> {
    let inner = text
        .trim_start_matches(|c| matches!(c, '0'..='?'))
        .trim_start_matches(|c| matches!(c, ' '..='/'));
    inner.strip_prefix(|c| matches!(c, '@'..='~'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_ends_become_newlines() {
        assert_eq!(clean("a\r\nb\rc\nd\u{2028}e"), "a\nb\nc\nd\ne");
    }

    #[test]
    fn terminal_sequences_and_overrides_are_removed() {
        assert_eq!(
            clean("\x1b[1;31mred\x1b[0m \x1b[201~x\x07\u{9b}2Jy\u{202e}z\0"),
            "red xyz"
        );
        assert_eq!(
            clean("\x1b]0;t\x1b["),
            "]0;t[",
            "what is no sequence stays as text"
        );
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        let text = "a\tb\n👩\u{200d}👧 می\u{200c}خواهم";
        assert!(matches!(clean(text), Cow::Borrowed(same) if same == text));
    }

    proptest! {
        #[test]
        fn no_control_characters_remain(text in "(\\PC|[\\x00-\\x1f\\x7f-\\x9f\u{2028}-\u{202e}]|\x1b\\[[0-9;]{0,3}[a-zA-Z]){0,40}") {
            let clean = clean(&text).into_owned();
            prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            let again = super::clean(&clean).into_owned();
            prop_assert_eq!(again, clean);
        }
    }
}
