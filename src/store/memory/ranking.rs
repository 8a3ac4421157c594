//! The order of what a search finds, and the words that are looked for.

use std::cmp::Ordering;
use std::ops::Range;

use crate::base::words;

/// Letters from which endings are dropped.
const MIN_STEM_LETTERS: usize = 5;
/// Endings of English words, the longest first.
const ENDINGS: [&str; 4] = ["ing", "es", "ed", "s"];

/// The best `k` of the rows in `range` that have a score, with it, the best first; of equal ones the later.
pub(super) fn best_rows(scores: &[f64], range: Range<usize>, k: usize) -> Vec<(usize, f64)> {
    let hits = scores.iter().copied().enumerate();
    let hits = hits.take(range.end).skip(range.start).rev();
    best(hits.filter(|(_, score)| *score > 0.0), k, |a, b| {
        b.1.total_cmp(&a.1).then(b.0.cmp(&a.0))
    })
}

/// The first `k` of `hits` in an order, in that order. For few of many: only those that are better than what is kept cost more than one comparison.
pub(super) fn best<T>(
    hits: impl Iterator<Item = T>,
    k: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> Vec<T> {
    let mut best: Vec<T> = Vec::new();
    for hit in hits {
        if best.len() >= k && best.last().is_none_or(|last| order(last, &hit).is_le()) {
            continue;
        }
        let at = best.partition_point(|kept| order(kept, &hit).is_le());
        best.insert(at, hit);
        best.truncate(k);
    }
    best
}

/// Calls `use_term` with each word of `text` as it is indexed and searched: in its folded form, without an English ending.
pub(super) fn each_term(text: &str, mut use_term: impl FnMut(&str)) {
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
