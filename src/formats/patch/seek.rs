//! Finds lines in a file although a model's copy of them differs a little: four passes, the strictest first. The time grows with the file and with the lines
//! sought, never with their product.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The lines of a file, to be searched.
pub(super) struct LineIndex<'a> {
    pub(super) lines: Vec<&'a str>,
    passes: [OnceCell<Pass<'a>>; KEYS.len()],
}

/// The part of a line compared in a pass: lines with the same key are equal.
type LineKey = fn(&str) -> Cow<'_, str>;

const KEYS: [LineKey; 4] = [
    |line| line.into(),
    |line| line.trim_end().into(),
    |line| line.trim().into(),
    |line| ascii_punctuation(line).collect(),
];

/// The lines as numbers; lines that are equal in this pass have the same number.
struct Pass<'a> {
    numbers: HashMap<Cow<'a, str>, usize>,
    lines: Vec<usize>,
}

impl<'a> Pass<'a> {
    fn new(lines: &[&'a str], key: LineKey) -> Self {
        let mut numbers = HashMap::new();
        let number = |line: &&'a str| {
            let next = numbers.len();
            *numbers.entry(key(line)).or_insert(next)
        };
        let lines = lines.iter().map(number).collect();
        Self { numbers, lines }
    }
}

impl<'a> LineIndex<'a> {
    pub(super) fn new(lines: Vec<&'a str>) -> Self {
        let passes = Default::default();
        Self { lines, passes }
    }

    /// The first place at or after `from` where `wanted` matches; with `at_end` only the end of the file, as in the original `apply_patch` program.
    /// An empty `wanted` matches at `from`.
    pub(super) fn seek(&self, wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
        let last = self.last(wanted, from)?;
        if wanted.is_empty() {
            return Some(from);
        }
        let from = if at_end { last } else { from };
        let mut passes = KEYS.iter().zip(&self.passes);
        passes.find_map(|(key, pass)| self.places(*key, pass, wanted, from).next())
    }

    /// The place at or after `from` that is nearest to `near`, the later of two equally near ones. A stricter pass wins over a nearer
    /// place.
    pub(super) fn seek_near(&self, wanted: &[&str], from: usize, near: usize) -> Option<usize> {
        let last = self.last(wanted, from)?;
        let near = near.clamp(from, last);
        if self.fits(wanted, near, KEYS[0]) {
            return Some(near);
        }
        KEYS.iter().zip(&self.passes).find_map(|(key, pass)| {
            let mut best: Option<usize> = None;
            for at in self.places(*key, pass, wanted, from) {
                if best.is_none_or(|best| at.abs_diff(near) <= best.abs_diff(near)) {
                    best = Some(at);
                }
                if at >= near {
                    break;
                }
            }
            best
        })
    }

    /// The last place where `wanted` fits, unless it is before `from`.
    fn last(&self, wanted: &[&str], from: usize) -> Option<usize> {
        let last = self.lines.len().checked_sub(wanted.len())?;
        (from <= last).then_some(last)
    }

    fn fits(&self, wanted: &[&str], index: usize, key: LineKey) -> bool {
        let found = self
            .lines
            .get(index..index + wanted.len())
            .unwrap_or_default();
        found.iter().zip(wanted).all(|(a, b)| key(a) == key(b))
    }

    /// Where `wanted` matches at or after `from`, in one pass.
    fn places<'s>(
        &'s self,
        key: LineKey,
        pass: &'s OnceCell<Pass<'a>>,
        wanted: &[&str],
        from: usize,
    ) -> impl Iterator<Item = usize> + use<'s, 'a> {
        let pass = pass.get_or_init(|| Pass::new(&self.lines, key));
        let number = |line: &&str| pass.numbers.get(&key(line)).copied();
        // `None` when one of the lines occurs nowhere in the file.
        let wanted: Option<Vec<usize>> = wanted.iter().map(number).collect();
        let lines = pass.lines.get(from..).unwrap_or_default();
        let found = wanted.map(|wanted| places(lines, wanted));
        found.into_iter().flatten().map(move |at| from + at)
    }
}

/// Offsets of `part` in `text`, in order, overlapping ones included; none for an empty part (Knuth-Morris-Pratt).
pub(super) fn places<T: PartialEq>(text: &[T], part: Vec<T>) -> impl Iterator<Item = usize> {
    // The failure function of Knuth, Morris and Pratt: for every prefix, its longest proper suffix that is also a prefix.
    let mut borders = vec![0];
    let mut border = 0;
    for item in part.iter().skip(1) {
        border = extend_match(&part, &borders, border, item);
        borders.push(border);
    }
    let mut fit = 0;
    text.iter().enumerate().filter_map(move |(index, item)| {
        fit = extend_match(&part, &borders, fit, item);
        (fit > 0 && fit == part.len()).then(|| index + 1 - fit)
    })
}

/// The longest prefix that ends with `item`, given the length matched before it.
fn extend_match<T: PartialEq>(part: &[T], borders: &[usize], mut fit: usize, item: &T) -> usize {
    loop {
        if part.get(fit) == Some(item) {
            return fit + 1;
        }
        match fit.checked_sub(1).and_then(|at| borders.get(at)) {
            Some(border) => fit = *border,
            None => return 0,
        }
    }
}

/// The characters of a line with typographic dashes, quotes and spaces as ASCII.
pub(super) fn ascii_punctuation(line: &str) -> impl Iterator<Item = char> {
    line.trim().chars().map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seek(lines: &[&str], wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
        LineIndex::new(lines.to_vec()).seek(wanted, from, at_end)
    }

    fn near(lines: &[&str], wanted: &[&str], from: usize, near: usize) -> Option<usize> {
        LineIndex::new(lines.to_vec()).seek_near(wanted, from, near)
    }

    #[test]
    fn stricter_passes_win_over_nearer_places() {
        let lines = ["  a", "a ", "a"];
        assert_eq!(seek(&lines, &["a"], 0, false), Some(2));
        assert_eq!(seek(&lines[..2], &["a"], 0, false), Some(1));
        assert_eq!(seek(&lines[..1], &["a"], 0, false), Some(0));
        assert_eq!(
            seek(&["x — “y”\u{a0}z"], &["x - \"y\" z"], 0, false),
            Some(0)
        );
        assert_eq!(seek(&lines, &["b"], 0, false), None);
    }

    #[test]
    fn the_nearest_place_is_never_before_the_start() {
        let lines = ["a", "b", "a", "b", "a"];
        assert_eq!(near(&lines, &["a"], 0, 3), Some(4));
        assert_eq!(near(&lines, &["a"], 0, 2), Some(2));
        assert_eq!(near(&lines, &["b"], 0, 9), Some(3));
        assert_eq!(near(&lines, &["a"], 3, 0), Some(4));
        assert_eq!(near(&lines, &["b", "a"], 0, 0), Some(1));
        assert_eq!(near(&lines, &["c"], 0, usize::MAX / 2), None);
        assert_eq!(near(&[" a", "a "], &["a"], 0, 0), Some(1));
    }

    #[test]
    fn bounds() {
        let lines = ["a", "b", "a"];
        assert_eq!(seek(&lines, &["a"], 1, false), Some(2));
        assert_eq!(seek(&lines, &["a"], 0, true), Some(2));
        assert_eq!(seek(&lines, &["b"], 0, true), None);
        assert_eq!(seek(&lines, &["a"], 3, true), None);
        assert_eq!(seek(&lines, &["a"; 4], 0, false), None);
        assert_eq!(seek(&[], &[], 0, false), Some(0));
        assert_eq!(seek(&lines, &["a"], 9, false), None);
    }

    #[test]
    fn a_file_of_identical_lines_takes_linear_time() {
        let (lines, wanted) = (vec![" a"; 60_000], vec!["a"; 30_000]);
        let begun = crate::base::cpu_time::CpuTime::now();
        let unlike = [wanted.as_slice(), &["b"]].concat();
        assert_eq!(seek(&lines, &unlike, 0, false), None);
        assert_eq!(near(&lines, &unlike, 9, 50_000), None);
        let sought = LineIndex::new(lines);
        for at in 0..30_000 {
            assert_eq!(sought.seek(&["a"], at, false), Some(at));
        }
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    proptest! {
        #[test]
        fn every_place_is_found(text in "[ab]{0,12}", part in "[ab]{1,4}") {
            let begins = |at: &usize| text.get(*at..).unwrap().starts_with(&part);
            let wanted: Vec<usize> = (0..text.len()).filter(begins).collect();
            let found: Vec<usize> = places(text.as_bytes(), part.clone().into_bytes()).collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn the_nearest_is_nearest(text in "[abA ]{0,9}", part in "[abA ]{1,3}", from in 0usize..9, at in 0usize..9) {
            let split = |text: &str| text.chars().map(|c| c.to_string().replace('A', "a ")).collect::<Vec<_>>();
            let (text, part) = (split(&text), split(&part));
            let lines: Vec<&str> = text.iter().map(String::as_str).collect();
            let wanted: Vec<&str> = part.iter().map(String::as_str).collect();
            let all = |key: LineKey| (from..lines.len()).filter(|at| {
                lines.get(*at..at + wanted.len()).is_some_and(|found| found.iter().zip(&wanted).all(|(a, b)| key(a) == key(b)))
            }).collect::<Vec<_>>();
            let places = KEYS.iter().map(|key| all(*key)).find(|places| !places.is_empty()).unwrap_or_default();
            let first = places.first().copied();
            let nearest = places.iter().copied().min_by_key(|place| (place.abs_diff(at), usize::MAX - place));
            prop_assert_eq!(seek(&lines, &wanted, from, false), first);
            prop_assert_eq!(near(&lines, &wanted, from, at), nearest);
        }
    }
}
