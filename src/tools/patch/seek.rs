//! Finding lines in a file although a model's copy of them differs a little: four passes, the strictest first.

/// The first place at or after `from` where `wanted` stands in `lines`; with `at_end` only the end of the file will do, as for
/// the released program. Nothing wanted is found at `from`.
pub(super) fn seek(lines: &[&str], wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let from = if at_end && !wanted.is_empty() {
        from.max(last)
    } else {
        from
    };
    PASSES
        .iter()
        .find_map(|same| (from..=last).find(|at| fits(lines, wanted, *at, *same)))
}

/// The place at or after `from` that is nearest to `near`, the later of two equally near ones. A stricter pass wins over a nearer place.
pub(super) fn seek_near(
    lines: &[&str],
    wanted: &[&str],
    from: usize,
    near: usize,
) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let near = near.min(last);
    let inside = |at: &usize| (from..=last).contains(at);
    PASSES.iter().find_map(|same| {
        let places = (0..=last).flat_map(|far| {
            let before = near.checked_sub(far).filter(|_| far > 0);
            [near.checked_add(far), before].into_iter().flatten()
        });
        places
            .filter(inside)
            .find(|at| fits(lines, wanted, *at, *same))
    })
}

type Same = fn(&str, &str) -> bool;

const PASSES: [Same; 4] = [
    |a, b| a == b,
    |a, b| a.trim_end() == b.trim_end(),
    |a, b| a.trim() == b.trim(),
    |a, b| plain(a).eq(plain(b)),
];

fn fits(lines: &[&str], wanted: &[&str], at: usize, same: Same) -> bool {
    lines
        .get(at..at + wanted.len())
        .is_some_and(|found| found.iter().zip(wanted).all(|(a, b)| same(a, b)))
}

/// The characters of a line with typographic dashes, quotes and spaces as ASCII.
pub(super) fn plain(line: &str) -> impl Iterator<Item = char> {
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
    fn the_nearest_place_is_taken_never_before_the_first_allowed() {
        let lines = ["a", "b", "a", "b", "a"];
        assert_eq!(seek_near(&lines, &["a"], 0, 3), Some(4));
        assert_eq!(seek_near(&lines, &["a"], 0, 2), Some(2));
        assert_eq!(seek_near(&lines, &["b"], 0, 9), Some(3));
        assert_eq!(seek_near(&lines, &["a"], 3, 0), Some(4));
        assert_eq!(seek_near(&lines, &["b", "a"], 0, 0), Some(1));
        assert_eq!(seek_near(&lines, &["c"], 0, usize::MAX / 2), None);
        assert_eq!(seek_near(&[" a", "a "], &["a"], 0, 0), Some(1));
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
}
