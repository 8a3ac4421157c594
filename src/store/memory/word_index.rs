//! The words of the diary's rows, and how well each row fits some of them.
//!
//! BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009): rare words count more, repeated ones less and less, long rows less
//! than short ones.
//!
//! Each term has a list of the rows that it is in, as pairs of numbers: the distance from the row before, and how often it is there. A number is written as
//! LEB128, seven bits a byte, so that the words of a hundred thousand rows take some megabytes. The lists lie in memory, or stay in the file of an index, and
//! then only those of the words that are looked for are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::row::DiaryRow;
use crate::base::bm25::{Bm25, each_term};
use crate::base::words;

/// A topic counts as often as so many words of the summary.
const TOPIC_WEIGHT: u32 = 2;
/// Letters from which a word also finds those that begin with it.
const MIN_PREFIX_LETTERS: usize = 4;

/// Where a term occurs: row and weighted count, by row.
type Postings = Vec<(u32, u32)>;

#[derive(Debug)]
pub(super) struct WordIndex {
    /// Weighted number of words of each row.
    pub(super) lengths: Vec<u32>,
    bm25: Bm25,
    /// In order, so that those with a common beginning are neighbours.
    pub(super) terms: Vec<Term>,
    /// The texts of the terms, one after the other.
    pub(super) texts: String,
    lists: Lists,
}

/// A term: where its text and its list end, which begin where those of the term before end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Term {
    pub text_end: u32,
    pub list_end: u32,
    /// Of the list.
    pub checksum: u32,
}

/// The lists of all terms, one after the other.
#[derive(Debug)]
pub(super) enum Lists {
    Memory(Vec<u8>),
    /// From a place in a file on.
    File(File, u64),
}

impl WordIndex {
    pub(super) fn new(rows: &[DiaryRow]) -> Self {
        let mut builder = WordIndexBuilder::default();
        rows.iter().for_each(|row| builder.add(row));
        builder.finish()
    }

    /// The index of these parts; `None` when they do not fit each other.
    pub(super) fn of_parts(
        lengths: Vec<u32>,
        terms: Vec<Term>,
        texts: String,
        lists: Lists,
    ) -> Option<Self> {
        let mut before = Term::default();
        for term in &terms {
            let is_text = texts.is_char_boundary(term.text_end as usize);
            if term.text_end < before.text_end || term.list_end < before.list_end || !is_text {
                return None;
            }
            before = *term;
        }
        Some(Self {
            bm25: Bm25::new(&lengths),
            lengths,
            terms,
            texts,
            lists,
        })
    }

    /// The bytes of all lists, where they are in memory.
    pub(super) fn lists(&self) -> Option<&[u8]> {
        match &self.lists {
            Lists::Memory(bytes) => Some(bytes),
            Lists::File(..) => None,
        }
    }

    /// How well each row fits the words; 0 for one that has none of them. `None` when the lists in the file are not those that were written.
    pub(super) fn scores(&self, words: &[String]) -> Option<Vec<f64>> {
        let mut wanted: Vec<String> = Vec::new();
        for word in words {
            each_term(word, |term| {
                if !wanted.iter().any(|known| known == term) {
                    wanted.push(term.to_owned());
                }
            });
        }
        let mut scores = vec![0.0; self.lengths.len()];
        let mut counts: Vec<u32> = Vec::new();
        for wanted in &wanted {
            match self.matching(wanted).as_slice() {
                [] => {}
                [only] => self.add_scores(&self.postings(*only)?, &mut scores),
                several => {
                    counts.clear();
                    counts.resize(self.lengths.len(), 0);
                    for term in several {
                        for (row, times) in self.postings(*term)? {
                            if let Some(count) = counts.get_mut(row as usize) {
                                *count = count.saturating_add(times);
                            }
                        }
                    }
                    let merged = counts.iter().zip(0_u32..);
                    let merged = merged.filter(|(times, _)| **times > 0);
                    let merged: Postings = merged.map(|(times, row)| (row, *times)).collect();
                    self.add_scores(&merged, &mut scores);
                }
            }
        }
        Some(scores)
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

    /// The numbers of the terms that a term of the query stands for.
    fn matching(&self, wanted: &str) -> Vec<usize> {
        let letters = wanted.chars().count();
        let unspaced = wanted.chars().next().is_some_and(words::is_unspaced);
        let prefix = letters >= MIN_PREFIX_LETTERS && !unspaced;
        let fits = |term: &str| term == wanted || prefix && term.starts_with(wanted);
        let first = self.first_from(wanted);
        let neighbours = (first..self.terms.len()).take_while(|term| fits(self.text(*term)));
        let mut found: Vec<usize> = neighbours.collect();
        if letters == 1 && unspaced {
            // A word of one character is a part of the pairs that longer words are cut into.
            let inside = |term: &str| term != wanted && term.contains(wanted);
            found.extend((0..self.terms.len()).filter(|term| inside(self.text(*term))));
        }
        found
    }

    /// The number of the first term that is not before `wanted`.
    fn first_from(&self, wanted: &str) -> usize {
        let (mut low, mut high) = (0, self.terms.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.text(middle) < wanted {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The term before this one, which says where its text and list begin.
    fn before(&self, term: usize) -> Term {
        let before = term
            .checked_sub(1)
            .and_then(|before| self.terms.get(before));
        before.copied().unwrap_or_default()
    }

    fn text(&self, term: usize) -> &str {
        let from = self.before(term).text_end as usize;
        let end = self
            .terms
            .get(term)
            .map_or(from, |term| term.text_end as usize);
        self.texts.get(from..end).unwrap_or_default()
    }

    fn postings(&self, term: usize) -> Option<Postings> {
        let from = self.before(term).list_end;
        let Term {
            list_end, checksum, ..
        } = *self.terms.get(term)?;
        let list: Cow<'_, [u8]> = match &self.lists {
            Lists::Memory(bytes) => bytes.get(from as usize..list_end as usize)?.into(),
            Lists::File(file, start) => {
                let mut list = vec![0; list_end.checked_sub(from)? as usize];
                file.read_exact_at(&mut list, start + u64::from(from))
                    .ok()?;
                if short_checksum(&list) != checksum {
                    return None;
                }
                list.into()
            }
        };
        let mut rest = &*list;
        let (mut postings, mut row) = (Postings::new(), 0_u32);
        while !rest.is_empty() {
            row = row.checked_add(number(&mut rest)?)?;
            postings.push((row, number(&mut rest)?));
        }
        Some(postings)
    }
}

/// Collects the words of rows, one row after the other.
#[derive(Debug, Default)]
pub(super) struct WordIndexBuilder {
    numbers: HashMap<String, usize>,
    lists: Vec<ListBuilder>,
    lengths: Vec<u32>,
}

/// The list of a term.
#[derive(Debug, Default)]
struct ListBuilder {
    bytes: Vec<u8>,
    /// The last row in `bytes`.
    written: u32,
    /// The row that is read, and how often the term was in it so far.
    row: u32,
    times: u32,
}

impl ListBuilder {
    fn count(&mut self, row: u32, weight: u32) {
        if self.row != row {
            self.write();
            self.row = row;
        }
        self.times = self.times.saturating_add(weight);
    }

    fn write(&mut self) {
        if self.times > 0 {
            push_number(&mut self.bytes, self.row - self.written);
            push_number(&mut self.bytes, self.times);
            self.written = self.row;
            self.times = 0;
        }
    }
}

impl WordIndexBuilder {
    pub(super) fn add(&mut self, row: &DiaryRow) {
        let Ok(number) = u32::try_from(self.lengths.len()) else {
            return;
        };
        let Self { numbers, lists, .. } = self;
        let mut length = 0_u32;
        let mut count = |term: &str, weight: u32| {
            length = length.saturating_add(weight);
            let at = match numbers.get(term) {
                Some(at) => *at,
                None => {
                    numbers.insert(term.to_owned(), lists.len());
                    lists.push(ListBuilder::default());
                    lists.len() - 1
                }
            };
            if let Some(list) = lists.get_mut(at) {
                list.count(number, weight);
            }
        };
        each_term(&row.summary, |term| count(term, 1));
        for topic in &row.topics {
            each_term(topic, |term| count(term, TOPIC_WEIGHT));
        }
        self.lengths.push(length);
    }

    pub(super) fn finish(mut self) -> WordIndex {
        let mut numbers: Vec<(String, usize)> = self.numbers.into_iter().collect();
        numbers.sort_unstable();
        let (mut terms, mut texts, mut bytes) =
            (Vec::with_capacity(numbers.len()), String::new(), Vec::new());
        let end = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        for (text, number) in numbers {
            let Some(list) = self.lists.get_mut(number) else {
                continue;
            };
            list.write();
            // Each list goes as it is copied: both together would need twice the memory.
            let list = std::mem::take(&mut list.bytes);
            texts.push_str(&text);
            bytes.extend_from_slice(&list);
            terms.push(Term {
                text_end: end(texts.len()),
                list_end: end(bytes.len()),
                checksum: short_checksum(&list),
            });
        }
        WordIndex {
            bm25: Bm25::new(&self.lengths),
            lengths: self.lengths,
            terms,
            texts,
            lists: Lists::Memory(bytes),
        }
    }
}

/// Tells bytes that were written from others; of eight at a time, because it is taken of megabytes. Not for secrets.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut eight = [0; 8];
        for (to, from) in eight.iter_mut().zip(chunk) {
            *to = *from;
        }
        sum = (sum ^ u64::from_le_bytes(eight)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 32;
    }
    sum
}

fn short_checksum(bytes: &[u8]) -> u32 {
    // Its lower half.
    checksum(bytes) as u32
}

fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number from the beginning of `bytes`; `None` when there is none that fits.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..32).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_cut_ones_are_refused() {
        for wanted in [0, 1, 127, 128, 300, 1 << 21, u32::MAX] {
            let mut bytes = Vec::new();
            push_number(&mut bytes, wanted);
            let mut rest = bytes.as_slice();
            assert_eq!(number(&mut rest), Some(wanted));
            assert!(rest.is_empty());
            assert_eq!(number(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(number(&mut [0x80; 9].as_slice()), None);
    }

    #[test]
    fn another_byte_is_another_checksum() {
        let bytes: Vec<u8> = (0..40).collect();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(checksum(&bytes), checksum(&other), "{at}");
            assert_ne!(checksum(&bytes), checksum(&bytes[..at]), "{at}");
        }
    }
}
