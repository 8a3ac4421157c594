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
/// After these a plural ends in "es".
const BEFORE_ES: [&str; 5] = ["ss", "x", "zz", "ch", "sh"];

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

/// The word without an English ending, if it is a long one in Latin letters: of a plural, of "doing" and "done", and the silent e, which the others lose.
fn stem(word: &str) -> &str {
    let latin = |c: char| {
        c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
    };
    if !is_long(word) || !word.chars().all(latin) {
        return word;
    }
    let word = singular(word);
    let word = match is_long(word) {
        true => (word.strip_suffix("ing").or_else(|| word.strip_suffix("ed"))).unwrap_or(word),
        false => word,
    };
    match is_long(word) {
        true => word.strip_suffix('e').unwrap_or(word),
        false => word,
    }
}

fn is_long(word: &str) -> bool {
    word.chars().count() >= MIN_STEM_LETTERS
}

/// The word without the ending of a plural: "class", "status" and "boxes" have others than "files".
fn singular(word: &str) -> &str {
    let without_es = word.strip_suffix("es");
    let without_es = without_es.filter(|rest| BEFORE_ES.iter().any(|end| rest.ends_with(end)));
    let is_none = word.ends_with("ss") || word.ends_with("us");
    without_es
        .or_else(|| word.strip_suffix('s').filter(|_| !is_none))
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
    fn the_forms_of_a_word_have_one_stem() {
        for forms in [
            "issue issues issuing issued",
            "release releases released releasing",
            "create creates created creating",
            "message messages",
            "image images",
            "invoice invoices",
            "place places",
            "file files",
            "case cases",
            "need needs",
            "note notes",
            "setting settings",
            "box boxes",
            "match matches",
            "cache caches",
            "class classes",
            "address addresses",
            "status statuses",
            "branch branches",
        ] {
            let stems = terms(forms);
            assert!(stems.iter().all(|own| *own == stems[0]), "{stems:?}");
        }
        assert_eq!(terms("note not files fill").len(), 4);
        assert_ne!(terms("note"), terms("not"));
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
