//! Search in the diary: BM25 over an inverted index in memory.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use super::row::DiaryRow;
use crate::base::bm25::{Bm25, each_term};
use crate::base::words;

/// A topic counts as often as so many words of the summary.
const TOPIC_WEIGHT: u32 = 2;
/// Letters from which a word also finds those that begin with it.
const MIN_PREFIX_LETTERS: usize = 4;

/// Where a term occurs: row and weighted count, by row.
type Postings = Vec<(u32, u32)>;

/// The words of all rows.
#[derive(Debug)]
pub(super) struct DiaryIndex {
    /// Terms in order, so that those with a common beginning are neighbours.
    terms: Vec<(String, Postings)>,
    /// Weighted number of words of each row.
    lengths: Vec<u32>,
    bm25: Bm25,
}

impl DiaryIndex {
    pub(super) fn new(rows: &[DiaryRow]) -> Self {
        let mut terms: HashMap<String, Postings> = HashMap::new();
        let mut lengths = Vec::with_capacity(rows.len());
        for (row, number) in rows.iter().zip(0_u32..) {
            let mut length = 0_u32;
            let mut count = |term: &str, weight: u32| {
                length = length.saturating_add(weight);
                let postings = match terms.get_mut(term) {
                    Some(postings) => postings,
                    None => terms.entry(term.to_owned()).or_default(),
                };
                match postings.last_mut() {
                    Some((last, times)) if *last == number => *times += weight,
                    _ => postings.push((number, weight)),
                }
            };
            each_term(&row.summary, |term| count(term, 1));
            for topic in &row.topics {
                each_term(topic, |term| count(term, TOPIC_WEIGHT));
            }
            lengths.push(length);
        }
        let mut terms: Vec<_> = terms.into_iter().collect();
        terms.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self {
            terms,
            bm25: Bm25::new(&lengths),
            lengths,
        }
    }

    /// How well each row fits the words; 0 for one that has none of them.
    pub(super) fn scores(&self, words: &[String]) -> Vec<f64> {
        let mut wanted: Vec<String> = Vec::new();
        for word in words {
            each_term(word, |term| {
                if !wanted.iter().any(|known| known == term) {
                    wanted.push(term.to_owned());
                }
            });
        }
        let mut scores = vec![0.0; self.lengths.len()];
        let mut counts = Vec::new();
        for term in &wanted {
            let mut found = self.matching(term).map(|(_, postings)| postings);
            match (found.next(), found.next()) {
                (None, _) => {}
                (Some(only), None) => self.add_scores(only, &mut scores),
                (Some(first), Some(second)) => {
                    counts.clear();
                    counts.resize(self.lengths.len(), 0);
                    for (row, times) in [first, second].into_iter().chain(found).flatten() {
                        if let Some(count) = counts.get_mut(*row as usize) {
                            *count += times;
                        }
                    }
                    let merged = counts.iter().zip(0_u32..);
                    let merged = merged.filter(|(times, _)| **times > 0);
                    let merged: Postings = merged.map(|(times, row)| (row, *times)).collect();
                    self.add_scores(&merged, &mut scores);
                }
            }
        }
        scores
    }

    /// Adds what a term is worth to each row that has it.
    fn add_scores(&self, postings: &Postings, scores: &mut [f64]) {
        let rarity = self.bm25.rarity(postings.len());
        for (row, times) in postings {
            let row = *row as usize;
            if let (Some(score), Some(length)) = (scores.get_mut(row), self.lengths.get(row)) {
                *score += self.bm25.score(rarity, *times, *length);
            }
        }
    }

    /// The terms that a term of the query stands for.
    fn matching<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a (String, Postings)> {
        let letters = wanted.chars().count();
        let unspaced = wanted.chars().next().is_some_and(words::is_unspaced);
        let first = self
            .terms
            .partition_point(|(term, _)| term.as_str() < wanted);
        let prefix = letters >= MIN_PREFIX_LETTERS && !unspaced;
        let neighbours = self
            .terms
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |(term, _)| term == wanted || prefix && term.starts_with(wanted));
        // A word of one character is a part of the pairs that longer words are cut into.
        let inside = (letters == 1 && unspaced).then_some(&self.terms);
        let inside = inside
            .into_iter()
            .flatten()
            .filter(move |(term, _)| term != wanted && term.contains(wanted));
        neighbours.chain(inside)
    }
}

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
