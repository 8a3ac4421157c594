//! Recognises unified diffs, which some models send, and turns them into an example of the form that works.

use std::fmt::Write as _;

use crate::base::problem::Problem;

const EXAMPLE_LINES: usize = 60;

/// A problem that explains how to send the change when `text` is a unified diff; `None` otherwise. The diff is not applied: its line numbers are
/// often wrong, and the expected form is one step away.
pub fn explain_unified_diff(text: &str) -> Option<Problem> {
    if !is_unified(text) {
        return None;
    }
    let converted = convert(text);
    let total = converted.lines().count();
    let mut example: String = converted
        .lines()
        .take(EXAMPLE_LINES)
        .map(|line| format!("{line}\n"))
        .collect();
    if total > EXAMPLE_LINES {
        let _ = writeln!(
            example,
            "… ({} more lines in the same way)",
            total - EXAMPLE_LINES
        );
    }
    Some(
        Problem::input("This is a unified diff, which this tool does not apply.")
            .next("Send path, old_str and new_str for one change, or the text below, which means the same, as the whole argument.")
            .facts(example.trim_end().to_owned()),
    )
}

/// A pair of file lines, or a hunk header with line numbers.
fn is_unified(text: &str) -> bool {
    if text.contains("*** Begin Patch") {
        return false;
    }
    let mut before = "";
    for line in text.lines() {
        let pair = before.starts_with("--- ") && line.starts_with("+++ ");
        if pair || is_hunk(line) {
            return true;
        }
        before = line;
    }
    false
}

/// `@@ -1,3 +1,4 @@`, with or without the counts and a text after it.
fn is_hunk(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("@@ -") else {
        return false;
    };
    let range =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b',');
    let mut words = rest.split(' ');
    words.next().is_some_and(range)
        && words
            .next()
            .and_then(|word| word.strip_prefix('+'))
            .is_some_and(range)
        && words.next().is_some_and(|word| word.starts_with("@@"))
}

fn convert(text: &str) -> String {
    let mut out = String::from("*** Begin Patch\n");
    let mut old = None;
    let mut named = false;
    let mut in_hunk = false;
    let mut new_file = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let pair = lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if line.starts_with("--- ") && pair {
            old = Some(path(line));
            in_hunk = false;
        } else if let (true, Some(from)) = (line.starts_with("+++ ") && !in_hunk, old.take()) {
            let to = path(line);
            new_file = from == "/dev/null";
            named = true;
            let _ = match (from, to) {
                ("/dev/null", to) => writeln!(out, "*** Add File: {to}"),
                (from, "/dev/null") => writeln!(out, "*** Delete File: {from}"),
                (from, to) if from == to => writeln!(out, "*** Update File: {to}"),
                (from, to) => writeln!(out, "*** Update File: {from}\n*** Move to: {to}"),
            };
            in_hunk = to == "/dev/null";
            if in_hunk {
                // A deletion needs no removed lines.
                while lines
                    .peek()
                    .is_some_and(|next| !next.starts_with("--- ") && !next.starts_with("diff "))
                {
                    lines.next();
                }
                in_hunk = false;
            }
        } else if is_hunk(line) {
            if !named {
                out.push_str("*** Update File: PATH\n");
                named = true;
            }
            if !new_file {
                out.push_str("@@\n");
            }
            in_hunk = true;
        } else if in_hunk && line.starts_with("diff ") {
            in_hunk = false;
        } else if in_hunk && (line.is_empty() || line.starts_with([' ', '-', '+'])) {
            let _ = writeln!(out, "{line}");
        }
    }
    out.push_str("*** End Patch\n");
    out
}

/// The path of a file line without `a/` or `b/` and without the time after a tab.
fn path(line: &str) -> &str {
    let path = line.get(4..).unwrap_or_default();
    let path = path.split('\t').next().unwrap_or_default().trim();
    path.strip_prefix("a/")
        .or_else(|| path.strip_prefix("b/"))
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Section, parse};
    use super::*;
    use crate::base::testing::assert_has;
    use proptest::prelude::*;

    const DIFF: &str = "diff --git a/src/x.rs b/src/x.rs\nindex 1..2 100644\n--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1,3 +1,4 @@ fn x()\n a\n-b\n+c\n+d\n e\n\\ No newline at end of file\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";

    #[test]
    fn a_diff_is_explained_with_itself_in_the_right_form() {
        let problem = explain_unified_diff(DIFF).unwrap();
        let example = problem.facts.unwrap();
        assert_eq!(
            example,
            "*** Begin Patch\n*** Update File: src/x.rs\n@@\n a\n-b\n+c\n+d\n e\n*** Add File: new.txt\n+hello\n*** Delete File: gone\n*** End Patch"
        );
        assert_eq!(parse(&example).unwrap().sections.len(), 3);
        let example = explain_unified_diff("@@ -1 +1 @@\n-a\n+b\n")
            .unwrap()
            .facts
            .unwrap();
        assert_has(&example, &["*** Update File: PATH\n@@\n-a\n+b"]);
    }

    #[test]
    fn a_long_diff_is_shown_in_part() {
        let text = format!(
            "--- a/f\n+++ b/f\n@@ -1,500 +1,500 @@\n{}",
            "-x\n".repeat(500)
        );
        let example = explain_unified_diff(&text).unwrap().facts.unwrap();
        assert!(
            example.lines().count() == EXAMPLE_LINES + 1 && example.contains("more lines"),
            "{example}"
        );
    }

    #[test]
    fn other_texts_are_not_diffs() {
        for text in [
            "",
            "*** Begin Patch\n@@ -1 +1 @@\n",
            "--- \nx",
            "@@ def\n-x",
            "a --- b\n+++ c",
            "@@ -x +y @@",
        ] {
            assert!(explain_unified_diff(text).is_none(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_diff_converts_without_a_panic(lines in proptest::collection::vec(
            prop_oneof![Just("--- a/f"), Just("+++ b/f"), Just("+++ /dev/null"), Just("@@ -1 +1 @@"), Just("diff x"), Just("-a"), Just("+b"), Just(" c"), Just("")], 0..14)
        ) {
            if let Some(problem) = explain_unified_diff(&lines.join("\n")) {
                let example = problem.facts.unwrap_or_default();
                if let Ok(patch) = parse(&example) {
                    let empty = |s: &Section| matches!(s, Section::Update { chunks, .. } if chunks.is_empty());
                    let any_empty = patch.sections.iter().any(empty);
                    prop_assert!(!any_empty);
                }
            }
        }
    }
}
