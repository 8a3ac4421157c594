//! Fuzzy matching of paths: a query fits when its characters occur in the path in their order, and fits the better the more of them stand together or at
//! the beginning of a word.

use std::cmp::Reverse;

/// Longer queries and paths are compared by their first characters only: nobody types more, and the time grows with the product of both.
const MAX_QUERY_CHARS: usize = 64;
const MAX_PATH_CHARS: usize = 512;

/// Points for a character directly after the one before.
const CONSECUTIVE: i32 = 10;
/// Points for the first character of a part of the path.
const PART_START: i32 = 8;
/// Points for the first character of a word within a part.
const WORD_START: i32 = 6;
/// Points for a character of the last part, the file's own name.
const IN_NAME: i32 = 2;
/// Points for a character in the same case.
const SAME_CASE: i32 = 1;

/// How well a path fits; the greater fits better. Of two that fit equally well, the one with fewer parts comes first, then the shorter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fit {
    score: i32,
    parts: Reverse<usize>,
    length: Reverse<usize>,
}

/// A query, prepared for many paths.
#[derive(Debug, Clone)]
pub(crate) struct FuzzyQuery {
    chars: Vec<char>,
    /// The same in lower case.
    lower: Vec<char>,
}

/// Room for the comparison, which many paths share.
#[derive(Debug, Default)]
pub(crate) struct FuzzyScratch {
    path: Vec<char>,
    lower: Vec<char>,
    bonus: Vec<i32>,
    /// By position in the path: the best score with the query's character of this row there, of this row and of the one before.
    row: Vec<Option<i32>>,
    above: Vec<Option<i32>>,
}

impl FuzzyQuery {
    pub(crate) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().take(MAX_QUERY_CHARS).collect();
        let lower = chars.iter().copied().map(lower).collect();
        Self { chars, lower }
    }

    /// How well `path` fits; `None` when it does not. Every path fits an empty query.
    pub(crate) fn fit(&self, path: &str, scratch: &mut FuzzyScratch) -> Option<Fit> {
        if !self.is_in(path) {
            return None;
        }
        let trimmed = path.trim_end_matches('/');
        Some(Fit {
            score: self.score(path, scratch)?,
            parts: Reverse(trimmed.bytes().filter(|byte| *byte == b'/').count()),
            length: Reverse(path.len()),
        })
    }

    /// Whether all characters occur in their order: most paths are sorted out here.
    fn is_in(&self, path: &str) -> bool {
        let mut wanted = self.lower.iter();
        let Some(mut next) = wanted.next() else {
            return true;
        };
        for c in path.chars().take(MAX_PATH_CHARS) {
            if lower(c) == *next {
                match wanted.next() {
                    Some(more) => next = more,
                    None => return true,
                }
            }
        }
        false
    }

    /// The best score of all ways to find the query in the path.
    fn score(&self, path: &str, scratch: &mut FuzzyScratch) -> Option<i32> {
        if self.lower.is_empty() {
            return Some(0);
        }
        let FuzzyScratch {
            path: chars,
            lower: folded,
            bonus,
            row,
            above,
        } = scratch;
        chars.clear();
        chars.extend(path.chars().take(MAX_PATH_CHARS));
        folded.clear();
        folded.extend(chars.iter().copied().map(lower));
        bonuses(chars, bonus);
        above.clear();
        for (at, (wanted, typed)) in self.lower.iter().zip(&self.chars).enumerate() {
            row.clear();
            // The best of the row above that ends before this position.
            let mut best_above: Option<i32> = (at == 0).then_some(0);
            let places = folded.iter().zip(chars.iter()).zip(bonus.iter());
            for (place, ((found, shown), bonus)) in places.enumerate() {
                let adjacent = place.checked_sub(1).and_then(|before| above.get(before));
                let adjacent = adjacent.copied().flatten().map(|score| score + CONSECUTIVE);
                let before = best_above.max(adjacent);
                let here = before
                    .filter(|_| found == wanted)
                    .map(|score| score + bonus + if shown == typed { SAME_CASE } else { 0 });
                row.push(here);
                if at > 0 {
                    best_above = best_above.max(above.get(place).copied().flatten());
                }
            }
            std::mem::swap(row, above);
        }
        above.iter().copied().flatten().max()
    }
}

/// What each position of the path is worth.
fn bonuses(path: &[char], out: &mut Vec<i32>) {
    out.clear();
    let last = path.iter().rposition(|c| *c != '/').unwrap_or_default();
    let name = path
        .get(..last)
        .and_then(|before| before.iter().rposition(|c| *c == '/'))
        .map_or(0, |slash| slash + 1);
    let mut before = '/';
    for (place, c) in path.iter().enumerate() {
        let start = match before {
            '/' => PART_START,
            _ if !before.is_alphanumeric() && c.is_alphanumeric() => WORD_START,
            _ if before.is_lowercase() && c.is_uppercase() => WORD_START,
            _ if !before.is_numeric() && c.is_numeric() => WORD_START,
            _ => 0,
        };
        out.push(start + if place >= name { IN_NAME } else { 0 });
        before = *c;
    }
}

/// One character in lower case; the few that become several keep their first.
fn lower(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit(query: &str, path: &str) -> Option<Fit> {
        FuzzyQuery::new(query).fit(path, &mut FuzzyScratch::default())
    }

    #[test]
    fn the_better_path_comes_first() {
        for (query, better, worse) in [
            // Letters that stand together.
            ("main", "src/main.rs", "m/a/i/n"),
            ("chat", "src/chat/mod.rs", "src/cache/atoms.rs"),
            // Beginnings of words, of parts and of humps.
            ("cl", "src/change_log.md", "src/oracle.md"),
            ("fb", "FooBar.java", "offbeat.java"),
            ("sm", "src/main.rs", "lib/plasma.rs"),
            ("tp", "tests/pty.rs", "tests/setup.rs"),
            // The file's own name.
            ("log", "src/log.rs", "log/of/a/journey/end.rs"),
            ("readme", "README.md", "docs/readme/old/picture.svg"),
            // The shorter and the less deep one.
            ("mod", "src/mod.rs", "src/ui/text/mod.rs"),
            ("a", "a", "ab"),
            ("", "z.rs", "a/b.rs"),
            // The case, where nothing else decides.
            ("Make", "Makefile", "makefile"),
            // Across parts.
            ("src/ma", "src/main.rs", "src/domain/a.rs"),
            ("uitui", "src/ui/tui/app.rs", "src/build/it/ui.rs"),
            ("été", "été.txt", "é/t/é/x.txt"),
        ] {
            let (one, two) = (fit(query, better), fit(query, worse));
            assert!(one > two && two.is_some(), "{query:?}: {one:?} {two:?}");
        }
    }

    #[test]
    fn only_a_path_with_all_letters_in_order_fits() {
        for (query, path) in [
            ("ba", "ab"),
            ("aa", "a"),
            ("x", ""),
            ("main.rs", "src/main"),
        ] {
            assert_eq!(fit(query, path), None, "{query:?} {path:?}");
        }
        for (query, path) in [
            ("", ""),
            ("MAIN", "src/main.rs"),
            ("ÉTÉ", "été"),
            ("日本", "日 本.txt"),
        ] {
            assert!(fit(query, path).is_some(), "{query:?} {path:?}");
        }
    }

    fn is_subsequence(query: &str, path: &str) -> bool {
        let mut rest = path.chars().map(lower);
        query
            .chars()
            .map(lower)
            .all(|wanted| rest.any(|c| c == wanted))
    }

    proptest! {
        #[test]
        fn exactly_the_subsequences_fit(query in "[a-cA-C/_é]{0,6}", path in "[a-cA-C/_é ]{0,20}") {
            prop_assert_eq!(fit(&query, &path).is_some(), is_subsequence(&query, &path));
        }

        #[test]
        fn anything_can_be_compared(query in any::<String>(), path in any::<String>()) {
            let _ = fit(&query, &path);
        }

        #[test]
        fn the_whole_path_fits_best_of_its_length(path in "[a-c/_]{1,12}", other in "[a-c/_]{1,12}") {
            if other.len() == path.len() {
                let own = fit(&path, &path).map(|fit| fit.score);
                prop_assert!(own >= fit(&path, &other).map(|fit| fit.score));
            }
        }

        #[test]
        fn a_longer_query_fits_no_more_paths(query in "[a-c/]{0,5}", more in "[a-c/]", path in "[a-c/]{0,15}") {
            let longer = format!("{query}{more}");
            prop_assert!(fit(&longer, &path).is_none() || fit(&query, &path).is_some());
        }

        #[test]
        fn room_that_was_used_changes_nothing(query in "[a-c/]{0,5}", before in "[a-c/]{0,15}", path in "[a-c/]{0,15}") {
            let mut scratch = FuzzyScratch::default();
            let _ = FuzzyQuery::new("abc").fit(&before, &mut scratch);
            prop_assert_eq!(FuzzyQuery::new(&query).fit(&path, &mut scratch), fit(&query, &path));
        }
    }
}
