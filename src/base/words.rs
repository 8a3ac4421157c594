//! Words of any language, and the form in which two texts are compared.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The words of `text` in their folded form: runs of letters and digits.
///
/// Scripts without spaces between words (Chinese, Japanese, Korean, Thai and their neighbours) have no such runs, so theirs are cut into overlapping pairs
/// of characters; a run of one character is a word itself.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut run = String::new();
    let mut unspaced: Vec<char> = Vec::new();
    for c in folded(text) {
        if is_unspaced(c) {
            end_run(&mut run, &mut words);
            unspaced.push(c);
        } else if c.is_alphanumeric() || is_combining_mark(c) {
            // Marks of an unspaced script belong to it.
            if !unspaced.is_empty() && is_combining_mark(c) {
                unspaced.push(c);
            } else {
                end_unspaced(&mut unspaced, &mut words);
                run.push(c);
            }
        } else {
            end_run(&mut run, &mut words);
            end_unspaced(&mut unspaced, &mut words);
        }
    }
    end_run(&mut run, &mut words);
    end_unspaced(&mut unspaced, &mut words);
    words.into_iter()
}

fn end_run(run: &mut String, words: &mut Vec<String>) {
    if !run.is_empty() {
        words.push(std::mem::take(run));
    }
}

fn end_unspaced(run: &mut Vec<char>, words: &mut Vec<String>) {
    if let [only] = run.as_slice() {
        words.push(only.to_string());
    }
    words.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
    run.clear();
}

/// True for letters of scripts whose words are not separated by spaces. Korean has spaces, but its particles stick to the words.
pub(crate) const fn is_unspaced(c: char) -> bool {
    matches!(c,
        // Thai, Lao; Myanmar; Hangul letters; Khmer.
        '\u{0e01}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        // Iteration mark and zero; kana; Bopomofo, Hangul letters; more kana.
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{318f}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        // Han; Hangul.
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The form in which facts are compared: one form of characters that look the same, no case, single spaces.
pub(crate) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Folding takes apart a few characters that belong together.
    for word in folded(text).nfkc().collect::<String>().split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A word or phrase that is looked for in texts, without regard to case and spacing.
#[derive(Debug, Clone)]
pub(crate) struct Phrase(String);

impl Phrase {
    pub(crate) fn new(text: &str) -> Self {
        Self(fold(text))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the text has the phrase in it as whole words: "cat" is in "a cat's toy" and not in "vacation". What is written without spaces between words
    /// has no whole words, so there a part of the text is enough.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let text = fold(text);
        let (Some(first), Some(last)) = (self.0.chars().next(), self.0.chars().next_back()) else {
            return false;
        };
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(&self.0)) {
            let (start, end) = (from + at, from + at + self.0.len());
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(end..).and_then(|text| text.chars().next());
            if !before.is_some_and(|before| is_one_word(before, first))
                && !after.is_some_and(|after| is_one_word(last, after))
            {
                return true;
            }
            from = start + first.len_utf8();
        }
        false
    }
}

/// Letters from which a word stands for all that begin with it.
const MIN_BEGINNING_LETTERS: usize = 4;

/// A word that is looked for in texts, and with four letters or more also the beginning of one: "weck" is in "Wecker", and "fun" is not in "fungus".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordBeginning(String);

impl WordBeginning {
    pub(crate) fn new(word: &str) -> Self {
        Self(fold(word))
    }

    /// Whether the text, which is [folded](fold), has it at the beginning of a word. What is written without spaces between words has it anywhere.
    pub(crate) fn is_in(&self, folded: &str) -> bool {
        let (Some(first), Some(last)) = (self.0.chars().next(), self.0.chars().next_back()) else {
            return false;
        };
        let is_whole = self.0.chars().count() < MIN_BEGINNING_LETTERS;
        folded.match_indices(&self.0).any(|(at, found)| {
            let before = folded.get(..at).and_then(|text| text.chars().next_back());
            let after = folded.get(at + found.len()..);
            let after = after.and_then(|text| text.chars().next());
            let begins = before.is_none_or(|before| !is_one_word(before, first));
            let ends = after.is_none_or(|after| !is_one_word(last, after));
            begins && (ends || !is_whole)
        })
    }
}

/// Whether two neighbouring characters belong to one word, as [`runs`] cuts them.
fn is_one_word(left: char, right: char) -> bool {
    let is_part = |c: char| (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c);
    is_part(left) && is_part(right)
}

/// Compatible characters as one (full-width letters, ligatures), then without case. Nearly Unicode's full case folding: what lower-casing leaves apart
/// are sharp s, the final sigma and the dot that a Turkish capital I leaves behind.
fn folded(text: &str) -> impl Iterator<Item = char> {
    let mut previous = ' ';
    text.nfkc().flat_map(char::to_lowercase).flat_map(move |c| {
        let dot = previous == 'i' && c == '\u{307}';
        previous = c;
        let (first, second) = match c {
            'ß' => ('s', Some('s')),
            'ς' => ('σ', None),
            c => (c, None),
        };
        (!dot).then_some(first).into_iter().chain(second)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        runs(text).collect()
    }

    #[test]
    fn words_are_cut_in_every_script() {
        for (text, want) in [
            (
                "The quick-brown fox, 3 times!",
                "the quick brown fox 3 times",
            ),
            ("snake_case don't", "snake case don t"),
            ("Straße Ὀδυσσεύς İzmir", "strasse ὀδυσσεύσ izmir"),
            ("ｆｕｌｌ ﬁne", "full fine"),
            ("cafe\u{301} café", "café café"),
            ("कार्यक्रम किताब", "कार्यक्रम किताब"),
            ("東京タワー", "東京 京タ タワ ワー"),
            ("木 and 森林", "木 and 森林"),
            ("作家가 tower塔", "作家 家가 tower 塔"),
            ("", ""),
            ("…!?", ""),
        ] {
            assert_eq!(words(text).join(" "), want, "{text}");
        }
        assert_eq!(words("สวัสดี").first().map(|w| w.chars().count()), Some(2));
    }

    #[test]
    fn facts_that_look_the_same_fold_to_the_same() {
        for (text, want) in [
            ("  Lives \n in\tOBAN ", "lives in oban"),
            ("Fußweg", "fussweg"),
            ("FUẞWEG", "fussweg"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
            ("οδυσσευς", "οδυσσευσ"),
            ("İstanbul", "istanbul"),
            ("Ｔｅａ\u{3000}１２", "tea 12"),
            ("E\u{301}clair", "éclair"),
        ] {
            assert_eq!(fold(text), want, "{text}");
        }
    }

    #[test]
    fn a_phrase_is_found_as_whole_words_where_there_are_words() {
        for (phrase, text, is_in) in [
            ("cat", "Has a CAT.", true),
            ("cat", "the cat's toy, my_cat", true),
            ("cat", "planned a vacation", false),
            ("cat", "studies education; likes locations", false),
            ("cat", "catalogue cat", true),
            ("cat", "concat", false),
            ("12", "in 2012", false),
            ("12", "on 12/5", true),
            ("corvid  Lighthouse", "The Corvid\nlighthouse.", true),
            ("corvid light", "corvid lighthouse", false),
            ("a a", "ba a a", true),
            ("кот", "У них кот", true),
            ("кот", "который час", false),
            ("किताब", "किताबें", false),
            ("京都", "東京都庁", true),
            ("木", "森木林", true),
            ("カヤック", "新しいカヤックを買った", true),
            ("แมว", "ฉันมีแมวสองตัว", true),
            ("고양이", "고양이가 있다", true),
            ("tower", "作家tower塔", true),
            ("c++", "likes C++.", true),
            ("--yes", "said --yes", true),
            ("", "anything", false),
        ] {
            assert_eq!(Phrase::new(phrase).is_in(text), is_in, "{phrase}: {text}");
        }
    }

    #[test]
    fn a_beginning_is_found_where_words_begin() {
        for (word, text, is_in) in [
            ("weck", "Mein Wecker", true),
            ("weck", "Zweck", false),
            ("Ärzt", "die Ärztin", true),
            ("fun", "fungus", false),
            ("fun", "fun, fungus", true),
            ("map", "road_map", true),
            ("будильн", "два будильника", true),
            ("傘", "今日は傘がいる", true),
            ("天気", "京都の天気は", true),
            ("", "anything", false),
        ] {
            assert_eq!(
                WordBeginning::new(word).is_in(&fold(text)),
                is_in,
                "{word}: {text}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_words_of_a_text_are_found_in_it(text in "[a-zäéß0-9а-я京都タワ ,.-]{0,40}") {
            for word in runs(&text) {
                prop_assert!(Phrase::new(&word).is_in(&text), "{}", word);
            }
        }

        #[test]
        fn folding_twice_changes_nothing(text in "\\PC{0,40}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }

        #[test]
        fn words_have_neither_spaces_nor_capitals(text in any::<String>()) {
            for word in runs(&text) {
                prop_assert!(!word.is_empty());
                prop_assert!(!word.contains(char::is_whitespace));
                prop_assert!(!word.chars().any(|c| c.is_ascii_uppercase()));
            }
        }
    }
}
