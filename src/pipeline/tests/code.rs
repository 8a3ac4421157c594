//! Phase 3, and the reviews of code.

use super::Stage;
use crate::base::testing::{assert_has, assert_lacks};
use crate::pipeline::implementation;
use crate::pipeline::review::code;

const FINDINGS_ONCE: &str = r#"
case "$NAME" in
  implementer-*) mkdir -p src; echo 'fn main() {}' > src/main.rs;;
  review-*-conformance-*) report SPEC_CONFORMANT;;
  review-*) if grep -q "round 1 of 3" "$PROMPT"; then report "src/main.rs:1 does nothing." REVIEW_FAILED; else report REVIEW_CLEAN; fi;;
  *-fixer-*) echo "// Corrected." >> ${MARVIN_WRITABLE_FILES:-src/main.rs};;
esac
"#;

/// What a reviewer is told to look at.
fn area_of(prompt: &str) -> &str {
    let (_, area) = prompt.split_once("Your area:").unwrap();
    let (area, _) = area.split_once("First report").unwrap();
    area.split("What earlier rounds found").next().unwrap()
}

#[test]
fn the_implementation_is_reviewed_by_area_and_against_the_documents() {
    let stage = Stage::new(FINDINGS_ONCE);
    stage.put_document(".marvin/spec.md", "A clock.");
    stage.put(".marvin/upstream/OLD.rs", "fn old() {}");
    stage.put("ref/other.rs", "fn other() {}");
    implementation::implement(&stage.run).unwrap();
    let mut labels = stage.labels();
    labels[1..3].sort();
    assert_eq!(
        labels,
        [
            "implementer",
            "review-code-area-1",
            "review-code-conformance",
            "code-fixer",
            "review-code-area-1"
        ]
    );
    for call in stage.calls() {
        let (bounds, is_reviewer) = match call.label.as_str() {
            "review-code-area-1" => ("readonly=1 writable= ticket= model=strong", true),
            "review-code-conformance" => ("readonly=1 writable= ticket= model=second", true),
            _ => ("readonly= writable= ticket=cl-0001 model=m", false),
        };
        assert_eq!(call.bounds, bounds, "{}", call.label);
        if is_reviewer {
            let area = area_of(&call.prompt);
            assert_lacks(area, &["OLD.rs", "other.rs"]);
            assert_lacks(&call.prompt, &["diff --git a/.marvin"]);
        }
    }
    let conformance = &stage.prompts("review-code-conformance")[0];
    assert_has(conformance, &["Go through `.marvin/spec.md` sentence"]);
    let again = &stage.prompts("review-code-area-1")[1];
    assert!(again.contains("+// Corrected."), "{again}");
    let fixer = &stage.prompts("code-fixer")[0];
    assert!(fixer.contains("src/main.rs:1 does nothing.") && !fixer.contains("SPEC_CONFORMANT"));
    assert_has(
        &stage.read(".marvin/review-history-code.md"),
        &["- conformance: satisfied"],
    );
    assert_eq!(stage.rounds(), ["3 code 1/3", "3 code 2/3"]);
}

#[test]
fn a_task_without_documents_and_tests_is_one_child() {
    let mut stage = Stage::new("echo I looked into it.");
    stage.run.is_staged = false;
    implementation::implement(&stage.run).unwrap();
    assert_eq!(stage.labels(), ["implementer"]);
}

#[test]
fn an_implementation_that_changes_nothing_fails() {
    let stage = Stage::new("echo It is all there.");
    let problem = implementation::implement(&stage.run)
        .unwrap_err()
        .one_line();
    assert_has(&problem, &["No file of the project has changed"]);
    assert_eq!(stage.labels(), ["implementer"; 4]);
    // What an interrupted attempt did counts when the phase begins again.
    stage.put("src/main.rs", "fn main() {}");
    let problem = implementation::implement(&stage.run)
        .unwrap_err()
        .one_line();
    assert!(problem.contains("No reviewer of code"), "{problem}");
}

#[test]
fn fixers_of_tests_can_write_tests_only() {
    let stage = Stage::new(FINDINGS_ONCE);
    stage.put("src/main.rs", "fn main() {}");
    stage.put("tests/clock.rs", "#[test] fn ticks() {}");
    code::review_tests(&stage.run, "2a").unwrap();
    let calls = stage.calls();
    let fixer = calls
        .iter()
        .find(|call| call.label == "tests-fixer")
        .unwrap();
    assert_eq!(
        fixer.bounds,
        "readonly= writable=tests/clock.rs ticket= model=m"
    );
    assert_has(
        &fixer.prompt,
        &["Nobody writes implementation now, and nobody runs the tests."],
    );
    for call in calls
        .iter()
        .filter(|call| call.label.starts_with("review-tests-area"))
    {
        let area = area_of(&call.prompt);
        assert_has(area, &["tests/clock.rs"]);
        assert_lacks(area, &["src/main.rs"]);
    }
}

#[test]
fn three_rounds_of_code_review_at_most() {
    let stage = Stage::new(
        r#"
        case "$NAME" in
          review-*) report "It is wrong." REVIEW_FAILED;;
          *-fixer-*) date +%N >> src/main.rs;;
        esac"#,
    );
    stage.put("src/main.rs", "fn main() {}");
    code::review_sources(&stage.run, "4a").unwrap();
    assert_eq!(stage.rounds().len(), 3);
    assert_has(&stage.warnings()[0], &["After 3 rounds of review of code"]);
}

#[test]
fn a_fixer_of_code_may_say_that_nothing_is_to_be_changed() {
    let stage = Stage::new(
        r#"
        case "$NAME" in
          review-*-conformance-*) report SPEC_CONFORMANT;;
          review-*) if grep -q "The caller checks it" "$PROMPT"; then report REVIEW_CLEAN; else report "It is wrong." REVIEW_FAILED; fi;;
          *-fixer-*) echo "The caller checks it."; echo NOTHING_TO_CHANGE;;
        esac"#,
    );
    stage.put("src/main.rs", "fn main() {}");
    code::review_sources(&stage.run, "3").unwrap();
    assert_eq!(stage.prompts("code-fixer").len(), 1, "{:?}", stage.labels());
    assert_eq!(stage.rounds(), ["3 code 1/3", "3 code 2/3"]);
}
