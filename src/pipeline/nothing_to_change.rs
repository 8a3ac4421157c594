//! A fixer for whom nothing is to be changed: it says why, and ends with a word. That is an answer and no failure; whoever judges next is told the reasons.

use super::child::ChildReport;
pub(crate) use super::child::idle::MARKER;
use super::child::idle::unexplained;
use super::review::verdict::is_marker;
use crate::base::text::clip;

/// Characters of the reasons that are passed on.
const MAX_REASONS_CHARS: usize = 4_000;

/// Why a child leaves everything as it is; `None` when it does not say so, or not why.
pub(crate) fn reasons(report: &ChildReport) -> Option<String> {
    if !is_marker(report.last_line(), MARKER) {
        return None;
    }
    let (reasons, _) = report.text.trim_end().rsplit_once('\n')?;
    let reasons = reasons.trim();
    (!reasons.is_empty()).then(|| clip(reasons, MAX_REASONS_CHARS))
}

/// Whether a fixer has done its work: something is changed, or it says why nothing is. Otherwise `missing`, or what it left out.
///
/// # Errors
/// It has not.
pub(crate) fn check(report: &ChildReport, has_changed: bool, missing: &str) -> Result<(), String> {
    if has_changed || reasons(report).is_some() {
        return Ok(());
    }
    Err(match is_marker(report.last_line(), MARKER) {
        true => format!("{MARKER} needs reasons before it: say for each finding why it is wrong."),
        false => unexplained(missing),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> ChildReport {
        ChildReport {
            text: text.to_owned(),
            ..ChildReport::default()
        }
    }

    #[test]
    fn the_word_counts_alone_on_the_last_line_and_with_reasons() {
        for (text, expected) in [
            (
                "Section 2 says it.\nNOTHING_TO_CHANGE\n\n",
                Some("Section 2 says it."),
            ),
            ("It is so.\n\n**NOTHING_TO_CHANGE**", Some("It is so.")),
            ("NOTHING_TO_CHANGE", None),
            ("\n\nNOTHING_TO_CHANGE\n", None),
            ("It is so. NOTHING_TO_CHANGE", None),
            ("NOTHING_TO_CHANGE\nbut I could", None),
            ("", None),
        ] {
            assert_eq!(reasons(&report(text)).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_fixer_changes_something_or_says_why_not() {
        let missing = "No file has changed.";
        let check = |text: &str, changed| check(&report(text), changed, missing);
        assert_eq!(check("Done.", true), Ok(()));
        assert_eq!(check("It is so.\nNOTHING_TO_CHANGE", false), Ok(()));
        let idle = check("Done.", false).unwrap_err();
        assert!(idle.starts_with(missing) && idle.contains(MARKER), "{idle}");
        let bare = check("NOTHING_TO_CHANGE", false).unwrap_err();
        assert!(
            bare.contains("needs reasons") && bare.contains(MARKER),
            "{bare}"
        );
    }
}
