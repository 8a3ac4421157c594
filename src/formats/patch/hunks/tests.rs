//! Diffs as programs and models write them, parsed and applied.

use super::*;
use proptest::prelude::*;

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

fn apply(old: &str, patch: &str) -> Result<String, String> {
    apply_hunks(old, patch, "n.md")
        .map(|apply| apply.text)
        .map_err(|problem| problem.for_model())
}

#[track_caller]
fn becomes(old: &str, patch: &str, new: &str) {
    assert_eq!(apply(old, patch).as_deref(), Ok(new), "{patch}");
}

#[test]
fn hunks_of_programs_and_models_apply() {
    for patch in [
        "--- a/n\n+++ b/n\n@@ -2,2 +2,2 @@ head\n two\n-three\n+3\n",
        // Wrong counts, no file lines, a code fence.
        "```diff\n@@ -2,9 +2,1 @@\n two\n-three\n+3\n```",
        // The line number is wrong.
        "@@ -40,2 +40,2 @@\n two\n-three\n+3\n",
        "@@ -3 +3 @@\n-three\n+3",
        "@@ ... @@\n two\n-three\n+3\n",
        "@@ -3,1 +3,1 @@\r\n-three\r\n+3\r\n",
        // White space at the ends of lines.
        "@@ -2,2 +2,2 @@\n two  \n-three\n+3\n-- \n2.40\n",
    ] {
        becomes(OLD, patch, &OLD.replace("three", "3"));
    }
    becomes("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n");
    becomes("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n");
    let blanks = "@@ -1,3 +1,3 @@\n-a\n+A\n\n b\n\n\n@@ -3 +3,2 @@\n+c\n";
    becomes("a\n\nb\n", blanks, "A\n\nb\nc\n");
}

#[test]
fn requests_in_file_headers_are_refused_or_reported() {
    let new = "--- /dev/null\t1970-01-01\n+++ b/n.md\n@@ -0,0 +1 @@\n+one\n";
    becomes("", new, "one\n");
    let error = apply("old\n", new).unwrap_err();
    let exists = "makes a new file (--- /dev/null), and n.md exists with 1 line.";
    assert!(error.contains(exists), "{error}");
    for (patch, words) in [
        (
            "--- a/n.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "the file is kept",
        ),
        (
            "rename from n.md\nrename to o.md\n--- a/n.md\n+++ b/o.md\n@@ -1 +1 @@\n-a\n+b\n",
            "to o.md; the file keeps its name",
        ),
    ] {
        let report = apply_hunks("a\n", patch, "n.md").unwrap().report;
        assert!(report.last().unwrap().contains(words), "{report:?}");
    }
    // Within a hunk the same lines are text.
    let text = "@@ -1 +1,2 @@\n-a\n+b\n+--- /dev/null\n";
    becomes("a\n", text, "b\n--- /dev/null\n");
}

#[test]
fn line_breaks_are_kept_and_the_last_follows_its_marker() {
    let crlf = "@@ -0,0 +1,2 @@\n+a\r\n+b\r\n";
    let no = "\\ No newline at end of file";
    for (old, patch, new) in [
        ("", crlf, "a\r\nb\r\n"),
        ("x\n", crlf, "a\nb\nx\n"),
        (
            "a\r\nb\r\n",
            "@@ -1 +1,2 @@\n-a\n+x\n+y\n",
            "x\r\ny\r\nb\r\n",
        ),
        ("a\nb", "@@ -1 +1 @@\n-a\n+x\n", "x\nb"),
        ("a\nb", &format!("@@ -2 +2 @@\n-b\n{no}\n+c\n"), "a\nc\n"),
        ("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+c\n{no}\n"), "a\nc"),
        (
            "a\nb",
            &format!("@@ -1,2 +1,2 @@\n-a\n+x\n b\n{no}\n"),
            "x\nb",
        ),
        ("\u{feff}a\n", "@@ -1 +1 @@\n-a\n+b\n", "\u{feff}b\n"),
        ("a\n", "@@ -1 +0,0 @@\n-a\n", ""),
    ] {
        becomes(old, patch, new);
    }
}

#[test]
fn a_hunk_that_does_not_fit_is_shown_and_nothing_changes() {
    let second = "@@ -1 +1 @@\n-one\n+1\n@@ -5,2 +5,2 @@\n five\n-SIX\n+6\n";
    let error = apply(OLD, second).unwrap_err();
    for part in [
        "Hunk 2 (@@ -5,2 +5,2 @@, line 4 of the patch)",
        "8 lines",
        "Nothing was changed",
        "Expected:\nfive\nSIX",
        "5. five\n6. six",
    ] {
        assert!(error.contains(part), "{part} not in {error}");
    }
    for (patch, words) in [
        (
            "@@ -5 +5 @@\n-five\n+5\n@@ -1 +1 @@\n-one\n+1\n",
            "line 1, before the end of an earlier hunk",
        ),
        ("@@ -9,0 +30 @@\n+x\n", "does not fit"),
        ("@@\n+x\n", "does not say where"),
        ("@@ what\n-x\n", "not a hunk header"),
        ("@@ -1 +1 @@\n one\n", "changes nothing"),
        ("@@ -1 +1 @@\n", "is empty"),
        ("@@ -1 +1 @@\nstray\n", "Line 2 of the patch, \"stray\""),
        (
            "@@ -1 +1 @@\n-one\n+1\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n",
            "another file begins",
        ),
        ("nothing", "no hunk"),
    ] {
        let error = apply(OLD, patch).unwrap_err();
        assert!(error.contains(words), "{patch:?}: {error}");
    }
    let error = apply("a\nb\na\nb\n", "@@ @@\n-a\n+c\n").unwrap_err();
    assert!(error.contains("more than once"), "{error}");
}

#[test]
fn the_report_names_the_line_and_the_offset() {
    let apply = apply_hunks(
        OLD,
        "@@ -1 +1 @@\n-three\n+3\n@@ -3,0 +3 @@\n+x\n@@ -6 +6 @@\n-eight\n",
        "n",
    )
    .unwrap();
    assert_eq!(
        apply.report,
        [
            "hunk 1 at line 3: 1 removed, 1 added, found 2 lines further down",
            "hunk 2 at line 6: 0 removed, 1 added, found 2 lines further down",
            "hunk 3 at line 8: 1 removed, 0 added, found 2 lines further down"
        ]
    );
    assert_eq!(apply.text, "one\ntwo\n3\nfour\nfive\nx\nsix\nseven\n");
}

/// Lines with and without a break at the end.
fn text() -> impl Strategy<Value = String> {
    (
        proptest::collection::vec("[ab@+ -]{0,3}", 0..14),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(lines, ends, crlf)| {
            let end = if crlf { "\r\n" } else { "\n" };
            let mut text = lines.join(end);
            if ends && !text.is_empty() {
                text.push_str(end);
            }
            text
        })
}

fn with_breaks_of(old: &str, new: &str) -> String {
    let flat = new.replace("\r\n", "\n");
    if old.contains("\r\n") {
        flat.replace('\n', "\r\n")
    } else {
        flat
    }
}

#[test]
fn many_empty_lines_after_a_hunk_take_linear_time() {
    let old = "a\n".to_owned() + &"\n".repeat(20_000) + "x\n";
    let begun = crate::base::cpu_time::CpuTime::now();
    let blanks = "\n".repeat(20_000);
    becomes(
        &old,
        &format!("@@\n-x\n+y\n{blanks}"),
        &old.replace('x', "y"),
    );
    let blanks = " \n".repeat(20_000);
    assert!(apply(&old, &format!("@@ -1 +1 @@\n-z\n{blanks}")).is_err());
    assert!(apply(&old, &"@@ -1 +1 @@\n- \n+b\n".repeat(3_000)).is_ok());
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

proptest! {
    #[test]
    fn a_diff_turns_the_old_text_into_the_new(old in text(), new in text(), radius in 0usize..4) {
        let new = with_breaks_of(&old, &new);
        prop_assume!(old != new && old.contains("\r\n") == new.contains("\r\n"));
        let patch = similar::TextDiff::from_lines(&old, &new).unified_diff().context_radius(radius).to_string();
        prop_assert_eq!(apply(&old, &patch), Ok(new), "{}", patch);
    }

    #[test]
    fn a_diff_of_distinct_lines_fits_after_an_insertion_above(count in 1usize..12, at in 0usize..12, above in 0usize..9) {
        let old: String = (0..count).map(|n| format!("line {n}\n")).collect();
        let new = old.replace(&format!("line {}\n", at % count), "new\n");
        let patch = similar::TextDiff::from_lines(&old, &new).unified_diff().to_string();
        let head = "head\n".repeat(above);
        prop_assert_eq!(apply(&format!("{head}{old}"), &patch), Ok(format!("{head}{new}")));
    }

    #[test]
    fn any_text_gives_a_result(old in text(), lines in proptest::collection::vec("(@@( -[0-9]{1,3}(,[0-9])? [+][0-9](,[0-9])? @@)?|[ +\\\\-][ab ]{0,2}|--- a|[+]{3} b|```|\\PC{0,4})", 0..10)) {
        let _ = apply(&old, &lines.join("\n"));
    }
}
