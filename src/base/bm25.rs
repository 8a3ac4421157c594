//! How well a text fits some words, among many texts.
//!
//! BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009): rare words count more, repeated ones less and less, long texts less
//! than short ones.

use super::words;

/// How soon repetitions stop to count.
const K1: f64 = 1.2;
/// How much the length of a text counts.
const B: f64 = 0.75;
/// Letters from which endings are dropped.
const MIN_STEM_LETTERS: usize = 5;
/// Endings of English words, the longest first.
const ENDINGS: [&str; 4] = ["ing", "es", "ed", "s"];

/// What the score of each text depends on besides its own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bm25 {
    texts: f64,
    average_length: f64,
}

impl Bm25 {
    /// For texts of these lengths, in weighted words.
    pub(crate) fn new(lengths: &[u32]) -> Self {
        let words: f64 = lengths.iter().copied().map(f64::from).sum();
        let texts = lengths.len() as f64;
        Self {
            texts,
            average_length: (words / texts.max(1.0)).max(1.0),
        }
    }

    /// What a word is worth in any text, when it is in `having` of them.
    pub(crate) fn rarity(&self, having: usize) -> f64 {
        let having = having as f64;
        libm::log(1.0 + (self.texts - having + 0.5) / (having + 0.5))
    }

    /// What a word of this rarity is worth in a text of this length that has it so many times.
    pub(crate) fn score(&self, rarity: f64, times: u32, length: u32) -> f64 {
        let (times, length) = (f64::from(times), f64::from(length));
        let long = 1.0 - B + B * length / self.average_length;
        rarity * times * (K1 + 1.0) / (times + K1 * long)
    }
}

/// Calls `use_term` with each word of `text` as it is indexed and searched: in its folded form, without an English ending.
pub(crate) fn each_term(text: &str, mut use_term: impl FnMut(&str)) {
    let mut lower = String::new();
    for piece in text.split_whitespace() {
        if piece.is_ascii() {
            // Nearly all of most texts; what follows would do the same, more slowly.
            for word in piece.split(|c: char| !c.is_ascii_alphanumeric()) {
                if !word.is_empty() {
                    lower.clear();
                    lower.push_str(word);
                    lower.make_ascii_lowercase();
                    use_term(stem(&lower));
                }
            }
        } else {
            words::runs(piece).for_each(|word| use_term(stem(&word)));
        }
    }
}

/// The word without an ending, if it is a long one in Latin letters.
fn stem(word: &str) -> &str {
    let latin = |c: char| {
        c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
    };
    if word.chars().count() < MIN_STEM_LETTERS || !word.chars().all(latin) {
        return word;
    }
    ENDINGS
        .iter()
        .find_map(|ending| word.strip_suffix(ending))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn words_lose_english_endings_and_other_scripts_are_cut_in_pairs() {
        for (text, want) in [
            ("Hiking boots, walked", "hik boot walk"),
            ("the bus does", "the bus does"),
            ("Straßen über", "strassen über"),
            ("Москвы собаки", "москвы собаки"),
            ("東京タワー", "東京 京タ タワ ワー"),
            ("e-mail1s", "e mail1s"),
        ] {
            assert_eq!(terms(text).join(" "), want, "{text}");
        }
    }

    #[test]
    fn ascii_words_are_the_same_on_both_paths() {
        for text in ["Hiking boots, WALKED", "snake_case don't x2", "a..b"] {
            let slow: Vec<String> = words::runs(text)
                .map(|word| stem(&word).to_owned())
                .collect();
            assert_eq!(terms(text), slow);
        }
    }
}
