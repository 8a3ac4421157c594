//! TEXT values: escaping, unescaping, and folding lines at 75 octets.

use crate::base::text::{self, clip};

/// Maximum octets of a physical line (RFC 5545 section 3.1).
const MAX_LINE_OCTETS: usize = 75;
/// Maximum characters of a text that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// Escapes a text value. Line breaks become `\n`; other control characters, which the format forbids, are dropped.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => out.push_str("\\n"),
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Unescapes a value. Unknown escapes are left unchanged, backslash included.
pub(crate) fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(c @ ('\\' | ';' | ',')) => out.push(c),
            Some('n' | 'N') => out.push('\n'),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

/// The beginning of a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    clip(&text::one_line(text), MAX_SHOWN_CHARS)
}

/// Adds a content line, folded, with its line break.
pub(crate) fn push_line(out: &mut String, line: &str) {
    let mut width = 0;
    for c in line.chars() {
        if width + c.len_utf8() > MAX_LINE_OCTETS {
            out.push_str("\r\n ");
            width = 1;
        }
        out.push(c);
        width += c.len_utf8();
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::super::line::{ContentLines, unfold};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unknown_escapes_are_left_unchanged() {
        assert_eq!(
            unescape("a\\,b\\;c\\\\d\\ne\\Nf\\\"\\x\\"),
            "a,b;c\\d\ne\nf\\\"\\x\\"
        );
        assert_eq!(escape("a\r\nb\rc\0\x07"), "a\\nb\\nc");
    }

    proptest! {
        #[test]
        fn an_escaped_text_unescapes_to_itself(text in "[^\r\n\u{2028}\u{2029}\u{0}-\u{1f}\u{7f}-\u{9f}]{0,200}") {
            prop_assert_eq!(unescape(&escape(&text)), text);
        }

        #[test]
        fn folded_lines_are_short_and_unfold_to_the_original(text in "[^\r\n]{1,300}") {
            let line = format!("X:{text}");
            let mut out = String::new();
            push_line(&mut out, &line);
            prop_assert!(out.split("\r\n").all(|part| part.len() <= MAX_LINE_OCTETS));
            let bytes = out.as_bytes();
            let lines: Vec<_> = ContentLines::new(bytes, 0..bytes.len()).collect();
            prop_assert_eq!(lines.len(), 1);
            let got = unfold(bytes, &lines[0]);
            prop_assert_eq!(got.as_ref(), line.as_bytes());
        }
    }
}
