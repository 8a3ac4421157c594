//! How severe a finding is, as reviewers mark it: a line such as `- [BLOCKER] src/main.rs:3 panics on an empty file.`

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::text::{clip, counted, one_line};

/// Characters of a finding that are recorded.
const MAX_TEXT_CHARS: usize = 300;

/// How severe a finding is.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    /// The work cannot stay like that: the only one that keeps a review going.
    #[default]
    Blocker,
    /// It should be corrected, and the work can go on.
    Major,
    /// A small fault.
    Minor,
}

/// All of them, with the words of a report.
const WORDS: [(&str, Severity); 3] = [
    ("BLOCKER", Severity::Blocker),
    ("MAJOR", Severity::Major),
    ("MINOR", Severity::Minor),
];

/// A finding of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportedFinding {
    pub severity: Severity,
    /// The rest of its line, cleaned and cut.
    pub text: String,
}

/// The findings of a report that have a severity. What the report quotes, in a block of code or after a `>`, is no finding of its own.
pub(crate) fn findings(report: &str) -> Vec<ReportedFinding> {
    let lines: Vec<&str> = report.lines().map(str::trim).collect();
    let mut found = Vec::new();
    let mut rest = &lines[..];
    while let Some((line, after)) = rest.split_first() {
        rest = after;
        if let Some(mark) = ["```", "~~~"].iter().find(|mark| line.starts_with(**mark)) {
            // A block that is never closed hides nothing.
            if let Some(end) = after.iter().position(|line| line.starts_with(mark)) {
                rest = after.get(end + 1..).unwrap_or_default();
            }
        } else if let Some((severity, text)) = marked(line) {
            // Some models write the mark as a heading, and the finding below it.
            let text = match text {
                "" => after.first().copied().unwrap_or_default(),
                text => text,
            };
            found.push(ReportedFinding {
                severity,
                text: recorded(text),
            });
        }
    }
    found
}

/// `2 blockers, 1 major`; `None` of none.
pub(super) fn by_severity(all: impl Iterator<Item = Severity>) -> Option<String> {
    let mut counts = BTreeMap::new();
    for severity in all {
        *counts.entry(severity).or_insert(0_u64) += 1;
    }
    let words = counts.iter().map(|(severity, count)| match severity {
        Severity::Blocker => counted(*count, "blocker"),
        Severity::Major => format!("{count} major"),
        Severity::Minor => format!("{count} minor"),
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The beginning of a text as it is recorded.
pub(super) fn recorded(line: &str) -> String {
    one_line(&clip(line, MAX_TEXT_CHARS))
}

/// The severity that a line is marked with, and what follows: `[BLOCKER]` at its beginning, after what models put before an item and around a word.
fn marked(line: &str) -> Option<(Severity, &str)> {
    let before = |c: char| c.is_ascii_digit() || c.is_whitespace() || "-*+.)#_`".contains(c);
    let rest = line.trim_start_matches(before).strip_prefix('[')?;
    let (word, rest) = rest.split_once(']')?;
    let word = word.trim_matches(|c: char| c.is_whitespace() || "*_`".contains(c));
    let (_, severity) = WORDS
        .iter()
        .find(|(own, _)| word.eq_ignore_ascii_case(own))?;
    let after = |c: char| c.is_whitespace() || "*_`:".contains(c);
    Some((*severity, rest.trim_start_matches(after)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(report: &str) -> Vec<(Severity, String)> {
        let found = findings(report).into_iter();
        found.map(|one| (one.severity, one.text)).collect()
    }

    #[test]
    fn a_mark_counts_at_the_beginning_of_a_line_in_whatever_a_model_puts_around_it() {
        for line in [
            "- [BLOCKER] It is wrong.",
            "[BLOCKER] It is wrong.",
            "* **[BLOCKER]** It is wrong.",
            "  3. `[Blocker]`: It is wrong.",
            "### [ BLOCKER ] It is wrong.",
            "- [**BLOCKER**] It is wrong.",
            "[BLOCKER]\r\n  It is wrong.",
        ] {
            assert_eq!(
                of(line),
                [(Severity::Blocker, "It is wrong.".to_owned())],
                "{line}"
            );
        }
        for line in [
            "There is no [BLOCKER] here.",
            "> - [BLOCKER] It was wrong.",
            "- [BLOCKERS] two",
            "- BLOCKER: It is wrong.",
            "- [x] done",
            "[",
            "- [BLOCKER",
        ] {
            assert_eq!(of(line), [], "{line}");
        }
    }

    #[test]
    fn what_a_block_of_code_quotes_is_no_finding_and_an_open_block_hides_none() {
        let quoted = "- [MAJOR] One.\n```md\n- [BLOCKER] quoted\n```\n- [MINOR] Two.";
        assert_eq!(
            of(quoted),
            [
                (Severity::Major, "One.".to_owned()),
                (Severity::Minor, "Two.".to_owned())
            ]
        );
        let open = "- [MINOR] One.\n```\n- [BLOCKER] Two.";
        assert_eq!(of(open).len(), 2);
    }

    #[test]
    fn a_long_finding_is_cut_and_a_colour_is_no_part_of_it() {
        let found = findings(&format!("- [MINOR] \u{1b}[31m{}", "x".repeat(1_000)));
        let text = &found[0].text;
        assert!(text.chars().count() < 330 && !text.contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn any_text_gives_findings_and_never_a_panic(text in r"([ \-\[\]`>~#*\n\r]|BLOCKER|MAJOR|MINOR|\PC){0,60}") {
            prop_assert!(findings(&text).len() <= text.lines().count());
        }
    }
}
