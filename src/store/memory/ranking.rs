//! The order of what a search finds.

use std::cmp::Ordering;
use std::ops::Range;

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
