//! What a reviewer's report says of its subject: the words that pass it, where they count, and how they are kept from reviewers who must not know them.

use super::severity::{self, Severity};
use crate::base::text::replaced_in_any_case;
use crate::pipeline::child::ChildReport;

/// The word of a reviewer who found something.
pub(crate) const FAILED: &str = "REVIEW_FAILED";
/// The word that passes a document.
pub(crate) const VERIFIED: &str = "SPEC_VERIFIED";
/// The word that passes code.
pub(crate) const CLEAN: &str = "REVIEW_CLEAN";
/// The word that says that code does what the documents ask for.
pub(crate) const CONFORMANT: &str = "SPEC_CONFORMANT";
/// A shorter report is none: so little cannot be the result of reading.
pub(crate) const MIN_REPORT_CHARS: usize = 200;

/// Everything that passes a subject.
pub(crate) const PASSING_WORDS: [&str; 7] = [
    VERIFIED,
    CLEAN,
    CONFORMANT,
    "no issues found",
    "all issues fixed",
    "no corrections needed",
    "production-ready",
];
/// What stands in the place of each in texts that must not name it.
const INSTEAD: [&str; 7] = [
    "(verdict)",
    "(verdict)",
    "(verdict)",
    "no issue named",
    "issues called fixed",
    "no correction named",
    "ready for production",
];

/// A reviewer's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing is left to correct.
    Satisfied,
    /// There are findings.
    Findings,
}

/// The verdict of a report. An adversarial round never passes. Otherwise a passing word has to stand alone on the last line, and the failing word must
/// not occur: "no issues found in the introduction" passes nothing. A report that marks how severe its findings are fails by its blockers, whichever of the
/// two words it ends with; without one of them it is not whole.
pub(crate) fn verdict(report: &ChildReport, adversarial: bool) -> Verdict {
    let found = severity::findings(&report.text);
    let has_blocker = || found.iter().any(|one| one.severity == Severity::Blocker);
    let last = report.last_line();
    let passes = !adversarial
        && !has_blocker()
        && match is_passing(last) {
            true => !report.text.contains(FAILED),
            false => !found.is_empty() && is_marker(last, FAILED),
        };
    match passes {
        true => Verdict::Satisfied,
        false => Verdict::Findings,
    }
}

/// Whether a line is a marker and nothing else.
pub(crate) fn is_marker(line: &str, marker: &str) -> bool {
    bare(line) == marker
}

fn is_passing(line: &str) -> bool {
    let line = bare(line);
    PASSING_WORDS
        .iter()
        .any(|word| match word.contains(char::is_lowercase) {
            true => line.eq_ignore_ascii_case(word),
            false => line == *word,
        })
}

/// A line without what models put around a word to emphasize it.
fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || "*_`#>\"'.!".contains(c))
}

/// Whether a report is one: long enough to be the result of reading.
pub(crate) fn is_review(report: &ChildReport) -> bool {
    report.text.trim().chars().count() >= MIN_REPORT_CHARS
}

/// `text` without any passing word.
pub(crate) fn without_passing_words(text: &str) -> String {
    let mut out = text.to_owned();
    for (word, instead) in PASSING_WORDS.into_iter().zip(INSTEAD) {
        out = replaced_in_any_case(&out, word, instead);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, adversarial: bool) -> Verdict {
        let report = ChildReport {
            text: text.to_owned(),
            ..ChildReport::default()
        };
        verdict(&report, adversarial)
    }

    #[test]
    fn an_adversarial_round_never_passes() {
        for text in ["x\nSPEC_VERIFIED", "REVIEW_CLEAN", "", "No issues found"] {
            assert_eq!(of(text, true), Verdict::Findings, "{text}");
        }
    }

    #[test]
    fn a_passing_word_counts_alone_on_the_last_line_only() {
        for text in [
            "Checked everything.\n\nSPEC_VERIFIED\n\n",
            "x\n**SPEC_VERIFIED**",
            "x\n`REVIEW_CLEAN`.",
            "x\nNo issues found.",
            "x\nPRODUCTION-READY",
            "x\r\nSPEC_CONFORMANT\r\n",
        ] {
            assert_eq!(of(text, false), Verdict::Satisfied, "{text}");
        }
        for text in [
            "",
            "SPEC_VERIFIED\nbut section 3 is wrong",
            "x\nNo issues found in section 2.",
            "REVIEW_FAILED\nSPEC_VERIFIED",
            "I would not say REVIEW_FAILED.\nSPEC_VERIFIED",
            "x\nNot SPEC_VERIFIED",
            "x\nspec_verified",
            "x\nREVIEW_FAILED",
            "x\nSPEC_VERIFIED SPEC_VERIFIED",
        ] {
            assert_eq!(of(text, false), Verdict::Findings, "{text}");
        }
    }

    #[test]
    fn blockers_decide_where_findings_are_marked() {
        for (text, expected) in [
            (
                "- [MAJOR] a\n- [MINOR] b\nREVIEW_FAILED",
                Verdict::Satisfied,
            ),
            ("- [MINOR] b\nREVIEW_CLEAN", Verdict::Satisfied),
            ("- [BLOCKER] a\nREVIEW_FAILED", Verdict::Findings),
            (
                "- [BLOCKER] a\n- [MINOR] b\nREVIEW_CLEAN",
                Verdict::Findings,
            ),
            // Cut off, or no word of its own: nobody knows what else there is.
            ("- [MINOR] b", Verdict::Findings),
            ("- [MINOR] b\nREVIEW_FAILED was close.", Verdict::Findings),
            ("It is wrong.\nREVIEW_FAILED", Verdict::Findings),
            (
                "REVIEW_FAILED\n- [MINOR] b\nREVIEW_CLEAN",
                Verdict::Findings,
            ),
        ] {
            assert_eq!(of(text, false), expected, "{text}");
            assert_eq!(of(text, true), Verdict::Findings, "{text}");
        }
    }

    #[test]
    fn two_hundred_reports_with_severities_end_as_their_blockers_say() {
        const FINDINGS: [&str; 4] = ["", "- [MINOR] a", "* **[MAJOR]** b", "1. [BLOCKER] c"];
        const ENDS: [&str; 4] = ["", "REVIEW_CLEAN", "**REVIEW_FAILED**", "REVIEW_FAILED\n\n"];
        let mut count = 0;
        for first in 0..4 {
            for second in 0..4 {
                for third in 0..4 {
                    for (at, end) in ENDS.iter().enumerate() {
                        let found = [first, second, third];
                        let lines: Vec<&str> = found.iter().map(|n| FINDINGS[*n]).collect();
                        let text = format!("Read.\n{}\n{end}", lines.join("\nMore.\n"));
                        let expected = match at {
                            _ if found.contains(&3) => Verdict::Findings,
                            0 => Verdict::Findings,
                            1 => Verdict::Satisfied,
                            _ if found == [0, 0, 0] => Verdict::Findings,
                            _ => Verdict::Satisfied,
                        };
                        assert_eq!(of(&text, false), expected, "{text}");
                        count += 1;
                    }
                }
            }
        }
        assert!(count >= 200);
    }

    #[test]
    fn passing_words_vanish_in_any_case() {
        let text =
            "SPEC_VERIFIED spec_Verified, Production-Ready; All issues fixed. ünï REVIEW_CLEAN";
        let out = without_passing_words(text).to_ascii_lowercase();
        for word in PASSING_WORDS {
            assert!(!out.contains(&word.to_ascii_lowercase()), "{out}");
        }
        assert!(out.contains("ünï"), "{out}");
        assert_eq!(without_passing_words("REVIEW_FAILED"), "REVIEW_FAILED");
    }
}
