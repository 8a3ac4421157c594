//! Which words of a changed line are other than before.
//!
//! Lines that share little are not compared word by word: marks all over a line say less than none.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

/// Products of the words of two lines, together for one diff; beyond it only what is between the common beginning and the common end is found.
pub(super) const MAX_COMPARISONS: usize = 2_000_000;
/// The same for two lines.
const MAX_LINE_COMPARISONS: usize = 40_000;
/// Products of the lines of two runs beyond which they are not paired when their numbers differ.
const MAX_PAIR_TESTS: usize = 400;

/// In bytes: those of the line before, and those of the line after.
type ChangedRanges = (Vec<Range<usize>>, Vec<Range<usize>>);

/// The ranges of `old` and of `new` that the other does not have; none if the lines have too little in common. `budget` is what may still be compared.
pub(super) fn ranges(old: &str, new: &str, budget: &mut usize) -> Option<ChangedRanges> {
    let (old_words, new_words) = (words(old), words(new));
    let same = |(left, right): &(&(usize, &str), &(usize, &str))| left.1 == right.1;
    let front = old_words.iter().zip(&new_words).take_while(same).count();
    let old_rest = old_words.get(front..)?;
    let new_rest = new_words.get(front..)?;
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let back = pairs.take_while(same).count();
    let old_middle = old_rest.get(..old_rest.len() - back)?;
    let new_middle = new_rest.get(..new_rest.len() - back)?;
    let cost = old_middle.len().saturating_mul(new_middle.len());
    let ops = if cost > MAX_LINE_COMPARISONS || cost > *budget {
        vec![DiffOp::Replace {
            old_index: 0,
            old_len: old_middle.len(),
            new_index: 0,
            new_len: new_middle.len(),
        }]
    } else {
        *budget -= cost;
        let texts = |words: &[(usize, &'_ str)]| {
            let texts = words.iter().map(|(_, text)| (*text).to_owned());
            texts.collect::<Vec<_>>()
        };
        capture_diff_slices(Algorithm::Myers, &texts(old_middle), &texts(new_middle))
    };
    let (mut old_ranges, mut new_ranges) = (Vec::new(), Vec::new());
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        add(&mut old_ranges, old, old_middle, op.old_range());
        add(&mut new_ranges, new, new_middle, op.new_range());
    }
    let changed = ink_of(old, &old_ranges) + ink_of(new, &new_ranges);
    (2 * changed <= ink(old) + ink(new)).then_some((old_ranges, new_ranges))
}

/// The words of a line, and what is between them, with their places.
fn words(line: &str) -> Vec<(usize, &str)> {
    line.split_word_bound_indices().collect()
}

/// Adds the range of some words. What only blanks separate from the last range goes on with it.
fn add(ranges: &mut Vec<Range<usize>>, line: &str, words: &[(usize, &str)], which: Range<usize>) {
    let words = words.get(which).unwrap_or_default();
    let (Some((start, _)), Some((last, text))) = (words.first(), words.last()) else {
        return;
    };
    let (start, end) = (*start, last + text.len());
    match ranges.last_mut() {
        Some(before) if line.get(before.end..start).is_some_and(|gap| ink(gap) == 0) => {
            before.end = end;
        }
        _ => ranges.push(start..end),
    }
}

/// Bytes that are not blank.
fn ink(text: &str) -> usize {
    let shown = text.chars().filter(|c| !c.is_whitespace());
    shown.map(char::len_utf8).sum()
}

fn ink_of(line: &str, ranges: &[Range<usize>]) -> usize {
    let texts = ranges.iter().filter_map(|range| line.get(range.clone()));
    texts.map(ink).sum()
}

/// Which of the removed lines became which of the added ones, by their numbers. As many as were removed took their places in order; of other numbers only
/// those that begin and end alike belong together.
pub(super) fn pairs(removed: &[&str], added: &[&str]) -> Vec<(usize, usize)> {
    if removed.len() == added.len() {
        return (0..removed.len()).map(|at| (at, at)).collect();
    }
    if removed.len().saturating_mul(added.len()) > MAX_PAIR_TESTS {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    let mut next = 0;
    for (from, old) in removed.iter().enumerate() {
        let mut rest = added.iter().enumerate().skip(next);
        if let Some((to, _)) = rest.find(|(_, new)| ends_agree(old, new)) {
            pairs.push((from, to));
            next = to + 1;
        }
    }
    pairs
}

/// True when the common beginning and the common end are most of both lines.
fn ends_agree(old: &str, new: &str) -> bool {
    let (old, new) = (old.trim().as_bytes(), new.trim().as_bytes());
    let same = |(left, right): &(&u8, &u8)| left == right;
    let front = old.iter().zip(new).take_while(same).count();
    let shorter = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take(shorter);
    let back = back.take_while(same).count();
    let common = front + back;
    common > 0 && 4 * common >= old.len() + new.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Both lines with brackets around what changed.
    fn marked(old: &str, new: &str) -> Option<(String, String)> {
        let (of_old, of_new) = ranges(old, new, &mut MAX_COMPARISONS.clone())?;
        Some((bracketed(old, &of_old), bracketed(new, &of_new)))
    }

    fn bracketed(line: &str, ranges: &[Range<usize>]) -> String {
        let mut out = line.to_owned();
        for range in ranges.iter().rev() {
            out.insert(range.end, ']');
            out.insert(range.start, '[');
        }
        out
    }

    #[test]
    fn the_words_that_changed_are_found_wherever_they_are() {
        for (old, new, expected_old, expected_new) in [
            (
                "let total = sum(a, b) + 1;",
                "let count = sum(a, c) + 1;",
                "let [total] = sum(a, [b]) + 1;",
                "let [count] = sum(a, [c]) + 1;",
            ),
            (
                "retry_limit: 3",
                "retry_limit: 5",
                "retry_limit: [3]",
                "retry_limit: [5]",
            ),
            (
                "read(path)",
                "read(path, limit)",
                "read(path)",
                "read(path[, limit])",
            ),
            (
                "the quick brown fox jumps",
                "the slow red fox jumps",
                "the [quick brown] fox jumps",
                "the [slow red] fox jumps",
            ),
            (
                "  indented",
                "    indented",
                "[  ]indented",
                "[    ]indented",
            ),
            (
                "Grüße aus Köln, Straße 5",
                "Grüße aus Bonn, Straße 5",
                "Grüße aus [Köln], Straße 5",
                "Grüße aus [Bonn], Straße 5",
            ),
            (
                "naïve e\u{301} x",
                "naïve e x",
                "naïve [e\u{301}] x",
                "naïve [e] x",
            ),
        ] {
            let expected = (expected_old.to_owned(), expected_new.to_owned());
            assert_eq!(marked(old, new), Some(expected));
        }
    }

    #[test]
    fn lines_that_share_little_are_not_marked() {
        for (old, new) in [
            (
                "thread::sleep(Duration::from_millis(50));",
                "server.wait_ready();",
            ),
            ("", "something"),
            ("}", "fn main() {"),
        ] {
            assert_eq!(marked(old, new), None, "{old} {new}");
        }
    }

    #[test]
    fn runs_of_different_length_are_paired_by_how_lines_begin_and_end() {
        assert_eq!(pairs(&["a", "b"], &["x", "y"]), [(0, 0), (1, 1)]);
        assert_eq!(
            pairs(
                &["let port = 80;"],
                &["// The port of tests.", "let port = 8080;"]
            ),
            [(0, 1)]
        );
        assert_eq!(pairs(&["one"], &["two", "three"]), []);
        assert_eq!(pairs(&vec!["a"; 100], &vec!["a"; 101]), []);
    }

    #[test]
    fn the_cost_is_bounded() {
        let line = |word: &str| format!("same {} same", format!("{word} x{word} ").repeat(3_000));
        let mut budget = MAX_COMPARISONS;
        let (old, new) = (line("a"), line("b"));
        assert_eq!(ranges(&old, &new, &mut budget), None);
        assert_eq!(budget, MAX_COMPARISONS, "too long to compare");
        let mut budget = 10;
        let found = ranges(
            "a long line: 1 + 2 = 3 of many",
            "a long line: 4 + 5 = 9 of many",
            &mut budget,
        );
        let (of_old, of_new) = found.unwrap();
        assert_eq!((of_old.len(), of_new.len(), budget), (1, 1, 10));
    }

    proptest! {
        #[test]
        fn what_is_not_marked_is_the_same_in_both(old in "([ab日é ,()]{0,4} ?){0,8}", new in "([ab日é ,()]{0,4} ?){0,8}") {
            if let Some((of_old, of_new)) = ranges(&old, &new, &mut MAX_COMPARISONS.clone()) {
                let rest = |line: &str, ranges: &[Range<usize>]| {
                    let mut out = line.to_owned();
                    for range in ranges.iter().rev() {
                        out.replace_range(range.clone(), "");
                    }
                    out.retain(|c| !c.is_whitespace());
                    out
                };
                prop_assert_eq!(rest(&old, &of_old), rest(&new, &of_new));
            }
        }
    }
}
