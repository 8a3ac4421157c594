//! Finds matching lines in a saved article, with context.

use regex::{Regex, RegexBuilder};

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, plural};

/// Maximum matching lines that are shown.
const MAX_HITS: usize = 15;
/// Maximum characters of a line that are shown: around the match, or from the start in a context line.
const MAX_LINE_CHARS: usize = 300;
const BESIDE: usize = 160;
/// Maximum characters of a pattern.
const MAX_PATTERN_CHARS: usize = 1_000;
/// Maximum size of the compiled pattern in bytes.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// A pattern, and why it is used as plain text if it is not a regular expression.
pub(super) struct LinePattern {
    regex: Regex,
    pub(super) plain: Option<String>,
}

impl LinePattern {
    /// Compiles a pattern; it ignores case.
    ///
    /// # Errors
    /// `Input` for an empty one and for one that is too long.
    pub(super) fn new(text: &str) -> Outcome<Self> {
        if text.is_empty() {
            return Err(Problem::input("The pattern is empty.")
                .next("Give text or a regular expression to look for."));
        }
        if text.chars().nth(MAX_PATTERN_CHARS).is_some() {
            return Err(Problem::input(format!(
                "The pattern has more than {MAX_PATTERN_CHARS} characters."
            ))
            .next("Look for less."));
        }
        let build = |pattern: &str| {
            RegexBuilder::new(pattern)
                .case_insensitive(true)
                .size_limit(MAX_REGEX_BYTES)
                .build()
        };
        match build(text) {
            Ok(regex) => Ok(Self { regex, plain: None }),
            Err(reason) => {
                let reason = reason.to_string();
                let reason = reason.lines().last().unwrap_or_default();
                let reason = reason.trim().trim_start_matches("error: ").to_owned();
                let regex = build(&regex::escape(text)).map_err(|_| {
                    Problem::input("The pattern cannot be searched for.").next("Look for less.")
                })?;
                Ok(Self {
                    regex,
                    plain: Some(reason),
                })
            }
        }
    }
}

/// The number of matching lines, and the first of them as text; `None` without matches.
pub(super) fn matching(text: &str, pattern: &LinePattern) -> Option<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let hits: Vec<usize> = (0..lines.len())
        .filter(|n| {
            lines
                .get(*n)
                .is_some_and(|line| pattern.regex.is_match(line))
        })
        .collect();
    let width = lines.len().to_string().len();
    let mut out = String::new();
    let mut next = 0;
    for (index, hit) in hits.iter().take(MAX_HITS).enumerate() {
        let after = hits.get(index + 1).filter(|_| index + 1 < MAX_HITS);
        let from = hit.saturating_sub(1).max(next);
        if from > next && !out.is_empty() {
            out.push_str("…\n");
        }
        for n in from..=hit + 1 {
            let Some(line) = lines.get(n) else {
                continue;
            };
            // The next line is shown as a hit of its own.
            if n > *hit && after == Some(&n) {
                break;
            }
            let (mark, shown) = match n == *hit {
                true => (">", clip_around(line, &pattern.regex)),
                false => (" ", clip(line, BESIDE)),
            };
            let row = format!("{mark} {:>width$}  {shown}", n + 1);
            out.push_str(row.trim_end());
            out.push('\n');
            next = n + 1;
        }
    }
    (!hits.is_empty()).then_some((hits.len(), out))
}

/// The number of matching lines, as text.
pub(super) fn count_line(count: usize) -> String {
    let lines = plural(count, "line");
    match count > MAX_HITS {
        true => format!("{lines}, the first {MAX_HITS} are shown"),
        false => lines,
    }
}

/// A long line, cut around the match.
fn clip_around(line: &str, regex: &Regex) -> String {
    if line.chars().nth(MAX_LINE_CHARS).is_none() {
        return line.to_owned();
    }
    let pos = regex.find(line).map_or(0, |found| found.start());
    let before = line.get(..pos).unwrap_or_default();
    let lead = before.chars().rev().take(MAX_LINE_CHARS / 3);
    let start = pos - lead.map(char::len_utf8).sum::<usize>();
    let cut = if start > 0 { "…" } else { "" };
    format!(
        "{cut}{}",
        clip(line.get(start..).unwrap_or_default(), MAX_LINE_CHARS)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, pattern: &str) -> Option<(usize, String)> {
        matching(text, &LinePattern::new(pattern).unwrap())
    }

    #[test]
    fn hits_have_one_line_of_context() {
        let text = "one\ntwo\nthree\nfour\nfive\nsix\nTwo\nTWO two";
        assert_eq!(
            shown(text, "tw[o]").unwrap(),
            (
                3,
                "  1  one\n> 2  two\n  3  three\n…\n  6  six\n> 7  Two\n> 8  TWO two\n".to_owned()
            )
        );
        assert_eq!(shown(text, "seven"), None);
        assert_eq!(
            shown("a\nb\na\nb", "a").unwrap().1,
            "> 1  a\n  2  b\n> 3  a\n  4  b\n"
        );
    }

    #[test]
    fn fifteen_hits_are_shown_and_all_are_counted() {
        let text = "x\n".repeat(40);
        let (count, out) = shown(&text, "x").unwrap();
        assert_eq!((count, out.matches('>').count()), (40, 15));
        assert_eq!(count_line(40), "40 lines, the first 15 are shown");
        assert_eq!(count_line(1), "1 line");
    }

    #[test]
    fn an_invalid_expression_is_plain_text() {
        let pattern = LinePattern::new("C++ (").unwrap();
        assert!(
            pattern
                .plain
                .as_deref()
                .is_some_and(|reason| !reason.is_empty())
        );
        assert_eq!(matching("in c++ (and\nC", &pattern).unwrap().0, 1);
        assert!(
            LinePattern::new("a{1000}{1000}{1000}")
                .unwrap()
                .plain
                .is_some()
        );
        assert!(LinePattern::new("").is_err() && LinePattern::new(&"a".repeat(1_001)).is_err());
        assert!(LinePattern::new("über").unwrap().regex.is_match("ÜBER"));
    }

    #[test]
    fn long_lines_are_clipped_around_the_match() {
        let text = format!("{}needle{}", "é".repeat(2_000), "z".repeat(2_000));
        let (_, out) = shown(&text, "needle").unwrap();
        assert!(
            out.contains("éneedlez") && out.chars().count() < 330,
            "{out}"
        );
    }

    proptest! {
        #[test]
        fn any_pattern_is_accepted(text in "([a-c\u{e9}]{0,4}\n?){0,40}", pattern in "[a-c.*+(\\[\\\\]{1,6}") {
            if let Some((count, out)) = shown(&text, &pattern) {
                prop_assert!(count > 0);
                prop_assert_eq!(out.lines().filter(|line| line.starts_with('>')).count(), count.min(15));
            }
        }
    }
}
