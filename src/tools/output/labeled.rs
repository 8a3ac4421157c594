//! A result as labelled lines: lines without a value are omitted, and long values are shortened.

use crate::base::text::{clip, escape_controls, single_spaced};
use crate::formats::html;

/// The lines collected so far.
#[derive(Debug, Default)]
pub(crate) struct LabeledText(String);

impl LabeledText {
    /// Starts with the heading `title`.
    pub(crate) fn new(title: &str) -> Self {
        let mut lines = Self::default();
        lines.line(title);
        lines
    }

    /// Adds a line, unless it is empty.
    pub(crate) fn line(&mut self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            self.0.push_str(text);
            self.0.push('\n');
        }
    }

    /// Adds `label: value`, when there is a value.
    pub(crate) fn row(&mut self, label: &str, value: impl Into<Option<String>>) {
        if let Some(value) = value.into().filter(|value| !value.trim().is_empty()) {
            self.line(&format!("{label}: {value}"));
        }
    }

    /// Adds `label: a, b, c`, unless the list is empty.
    pub(crate) fn words(&mut self, label: &str, words: &[String]) {
        self.row(label, words.join(", "));
    }

    /// The lines.
    pub(crate) fn text(self) -> String {
        self.0.trim_end().to_owned()
    }
}

/// A service's text on one line: entities decoded, no control characters.
pub(crate) fn plain(text: &str) -> String {
    let encoded = text.contains('&') && text.contains(';') && !text.contains('<');
    let text = if encoded {
        html::line(text)
    } else {
        single_spaced(text)
    };
    escape_controls(&text)
}

/// At most `max` characters of `text`, cut between words, with `…` if anything was cut.
pub(crate) fn cut(text: &str, max: usize) -> String {
    let text = text.trim();
    let Some((at, _)) = text.char_indices().nth(max) else {
        return text.to_owned();
    };
    let head = text.get(..at).unwrap_or_default();
    let whole = text
        .get(at..)
        .is_some_and(|rest| rest.starts_with(char::is_whitespace));
    // A single word longer than half of it is cut.
    let end = match head.rfind(char::is_whitespace) {
        Some(end) if !whole && end >= at / 2 => end,
        _ => at,
    };
    let head = head.get(..end).unwrap_or_default().trim_end();
    format!("{}…", head.trim_end_matches([',', ';', ':', '-', '–']))
}

/// The user's query, quoted for a message.
pub(crate) fn quoted(query: &str) -> String {
    format!("\"{}\"", clip(&plain(query), 80))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_missing_value_has_no_line() {
        let mut lines = LabeledText::new("A title");
        lines.row("Empty", String::new());
        lines.row("None", None);
        lines.words("Words", &[]);
        lines.row("Some", "thing".to_owned());
        lines.line("");
        assert_eq!(lines.text(), "A title\nSome: thing");
    }

    #[test]
    fn foreign_text_becomes_one_safe_line() {
        for (text, wanted) in [
            ("Tom &amp; Jerry", "Tom & Jerry"),
            ("a\r\n  b\tc", "a b c"),
            ("R&D; <3 Labs", "R&D; <3 Labs"),
            ("x\u{1b}[31my", "x\\x1b[31my"),
        ] {
            assert_eq!(plain(text), wanted);
        }
    }

    #[test]
    fn long_text_is_cut_between_words() {
        for (text, max, wanted) in [
            ("one two three", 20, "one two three"),
            ("one two three", 9, "one two…"),
            ("one two three", 7, "one two…"),
            ("one, two", 5, "one…"),
            ("unbreakable", 4, "unbr…"),
            ("über größe", 8, "über…"),
        ] {
            assert_eq!(cut(text, max), wanted, "{text} {max}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_is_never_longer_and_never_splits_a_character(text in "\\PC{0,60}", max in 1usize..40) {
            let cut = cut(&text, max);
            prop_assert!(cut.chars().count() <= max + 1);
            prop_assert!(text.trim().starts_with(cut.trim_end_matches('…')) || text.contains('…'));
        }

        #[test]
        fn any_text_becomes_one_line(text in ".{0,60}") {
            let line = plain(&text);
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
