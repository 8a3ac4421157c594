//! A list of words as one text. As a table, each word would be an address that is relocated at every start, and a line to scroll past.

/// Words with blanks between them.
#[derive(Clone, Copy)]
pub(crate) struct WordList(pub(crate) &'static str);

impl WordList {
    pub(crate) fn iter(self) -> std::str::SplitAsciiWhitespace<'static> {
        self.0.split_ascii_whitespace()
    }

    pub(crate) fn has(self, word: &str) -> bool {
        self.iter().any(|own| own == word)
    }

    /// [`WordList::has`], whatever the case of ASCII letters.
    pub(crate) fn has_in_any_case(self, word: &str) -> bool {
        self.iter().any(|own| own.eq_ignore_ascii_case(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_in_a_list() {
        const LIST: WordList = WordList(
            "one two-three \
             four",
        );
        assert_eq!(
            LIST.iter().collect::<Vec<_>>(),
            ["one", "two-three", "four"]
        );
        for (word, exact, any_case) in [
            ("one", true, true),
            ("four", true, true),
            ("Two-Three", false, true),
            ("two", false, false),
            ("one two-three", false, false),
            ("", false, false),
        ] {
            assert_eq!(LIST.has(word), exact, "{word}");
            assert_eq!(LIST.has_in_any_case(word), any_case, "{word}");
        }
    }
}
