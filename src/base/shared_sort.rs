//! Sorting by an order of the caller's, with one piece of machine code for all of them.
//!
//! The standard library compiles its sort anew for each type and each order: five kilobytes a place, half a megabyte in all. Here only the
//! comparison and the moves are compiled for each; positions are what is sorted.

use std::cmp::Ordering;

/// Stable sorts of a slice. For numbers, texts and what else has an order of its own the slice's `sort` is as small.
pub(crate) trait SharedSort<T> {
    /// Sorts by `compare`.
    fn shared_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by what `key` returns, which is called for each comparison.
    fn shared_sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.shared_sort_by(|one, other| key(one).cmp(&key(other)));
    }
}

impl<T> SharedSort<T> for [T] {
    fn shared_sort_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let swaps = swaps(
            self.len(),
            &mut |one, other| match (self.get(one), self.get(other)) {
                (Some(one), Some(other)) => compare(one, other),
                _ => Ordering::Equal,
            },
        );
        for (one, other) in swaps {
            self.swap(one, other);
        }
    }
}

/// The swaps that, one after another, bring `len` items in order.
fn swaps(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..len).collect();
    #[allow(clippy::disallowed_methods, reason = "the one place that all share")]
    order.sort_by(|one, other| compare(*one, *other));
    // Follows each cycle of the permutation: the item that belongs at `at` is fetched, and its own place is the next one to fill.
    let mut swaps = Vec::new();
    for start in 0..len {
        let mut at = start;
        while let Some(from) = order.get_mut(at).map(|slot| std::mem::replace(slot, at))
            && from != start
            && from != at
        {
            swaps.push((at, from));
            at = from;
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_orders_as_the_standard_library_does(list in prop::collection::vec((0u8..6, any::<u16>()), 0..80)) {
            let (mut own, mut expected) = (list.clone(), list);
            own.shared_sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            #[allow(clippy::disallowed_methods, reason = "what it is compared with")]
            expected.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
            prop_assert_eq!(own, expected);
        }
    }
}
