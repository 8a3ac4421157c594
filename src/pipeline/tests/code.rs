//! Phase 3, and the reviews of code.

use super::Stage;
use crate::base::testing::{assert_has, assert_lacks};
use crate::pipeline::files::{self, FileStates};
use crate::pipeline::record::RunRecord;
use crate::pipeline::review::code;
use crate::pipeline::review::findings::{self, FindingState};
use crate::pipeline::review::severity::Severity;
use crate::pipeline::{implementation, repository};

const FINDINGS_ONCE: &str = r#"
case "$NAME" in
  implementer-*) mkdir -p src; echo 'fn main() {}' > src/main.rs;;
  review-*-conformance-*) report SPEC_CONFORMANT;;
  review-*) if told "round 1 of 3"; then report "src/main.rs:1 does nothing." REVIEW_FAILED; else report REVIEW_CLEAN; fi;;
  *-fixer-*) echo "// Corrected." >> ${MARVIN_WRITABLE_FILES:-src/main.rs};;
esac
"#;

/// What a reviewer is told to look at.
fn area_of(prompt: &str) -> &str {
    let (_, area) = prompt.split_once("Your area:").unwrap();
    let (area, _) = area.split_once("First report").unwrap();
    let area = area.split("This is what has changed").next().unwrap();
    area.split("What you found in earlier rounds")
        .next()
        .unwrap()
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
            "review-code-area-1" | "review-code-conformance" => {
                ("readonly=1 writable= ticket= model=strong", true)
            }
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
fn an_implementer_that_says_where_everything_is_changes_nothing() {
    let stage = Stage::new(
        "case \"$NAME\" in implementer-*) printf 'In src/main.rs.\nNOTHING_TO_CHANGE\n';; *) report REVIEW_CLEAN;; esac",
    );
    implementation::implement(&stage.run).unwrap();
    assert_eq!(stage.prompts("implementer").len(), 1);
}

#[test]
fn an_implementation_that_changes_nothing_fails() {
    let stage = Stage::new("echo It is all there.");
    let problem = implementation::implement(&stage.run)
        .unwrap_err()
        .one_line();
    // Twice is enough: the last attempt would be that of the same model.
    assert_has(
        &problem,
        &["2 attempts: No file of the project has changed"],
    );
    let prompts = stage.prompts("implementer");
    let [_, second] = prompts.as_slice() else {
        panic!("{prompts:?}");
    };
    assert_has(
        second,
        &["says why, and ends with a line", "It is all there."],
    );
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
    let before = files::states(stage.run.root(), &stage.run.ctx.stop);
    code::review_tests(&stage.run, "2a", &before).unwrap();
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
          review-*) if told "The caller checks it"; then report REVIEW_CLEAN; else report "It is wrong." REVIEW_FAILED; fi;;
          *-fixer-*) echo "The caller checks it."; echo NOTHING_TO_CHANGE;;
        esac"#,
    );
    stage.put("src/main.rs", "fn main() {}");
    code::review_sources(&stage.run, "3").unwrap();
    assert_eq!(stage.prompts("code-fixer").len(), 1, "{:?}", stage.labels());
    assert_eq!(stage.rounds(), ["3 code 1/3", "3 code 2/3"]);
}

/// Commits what is there and records it as what was there before the run.
fn begin(stage: &Stage) -> String {
    repository::checkpoint(&stage.run, "Before the pipeline").unwrap();
    let begun = repository::head(&stage.run).unwrap();
    let record = RunRecord {
        begun: begun.clone(),
        ..RunRecord::default()
    };
    record.write(&stage.run.places).unwrap();
    begun
}

fn states(stage: &Stage) -> FileStates {
    files::states(stage.run.root(), &stage.run.ctx.stop)
}

#[test]
fn only_what_the_run_has_changed_is_reviewed_with_its_difference() {
    let stage = Stage::new(FINDINGS_ONCE);
    for number in 0..300 {
        stage.put(&format!("old/{number:03}.rs"), "fn old() {}");
    }
    stage.put("src/changed.rs", "fn a() {}\n");
    stage.put("src/gone.rs", "fn gone() {}\n");
    stage.put(".gitignore", "*.log\n");
    let begun = begin(&stage);
    stage.put("src/main.rs", "fn main() {}\n");
    stage.put("src/changed.rs", "fn b() {}\n");
    stage.put("run.log", "x");
    std::fs::remove_file(stage.path("src/gone.rs")).unwrap();
    stage.put_document(".marvin/spec.md", "A clock.");
    repository::checkpoint(&stage.run, "built").unwrap();
    stage.put("src/new.rs", "fn new() {}\n");
    code::review_sources(&stage.run, "3").unwrap();
    let prompt = &stage.prompts("review-code-area-1")[0];
    let area = area_of(prompt);
    assert_has(
        area,
        &["<listing>\nsrc/changed.rs\nsrc/main.rs\nsrc/new.rs\n</listing>"],
    );
    let (_, shown) = prompt.split_once("since the run began").unwrap();
    assert_has(
        shown,
        &[
            &begun[..12],
            "src/changed.rs | 2 +-",
            "`.marvin/logs/review-code.diff`",
        ],
    );
    assert_lacks(shown, &["old/", "src/gone.rs", "spec.md"]);
    let diff = stage.read(".marvin/logs/review-code.diff");
    assert_has(&diff, &["-fn a() {}\n+fn b() {}", "+fn main() {}"]);
    // The fixer's work of the first round is in the difference of the second.
    assert_has(&diff, &["+// Corrected."]);
    assert_lacks(&diff, &["A clock."]);
}

#[test]
fn without_a_change_there_is_no_review_and_the_run_says_so() {
    let stage = Stage::new("report REVIEW_CLEAN");
    stage.put("src/main.rs", "fn main() {}");
    stage.put("tests/clock.rs", "#[test] fn ticks() {}");
    begin(&stage);
    code::review_sources(&stage.run, "3").unwrap();
    code::review_tests(&stage.run, "2a", &states(&stage)).unwrap();
    assert_eq!(stage.labels(), [] as [&str; 0]);
    assert_eq!(
        stage.warnings(),
        [
            "Phase 3 has no review: no code of the project changed since the run began.",
            "Phase 2a has no review: no tests of the project changed since the run began.",
        ]
    );
}

#[test]
fn the_fixer_of_tests_may_write_what_the_phase_wrote_whatever_its_name() {
    let stage = Stage::new(FINDINGS_ONCE);
    stage.put("tests/old.rs", "#[test] fn old() {}");
    stage.put("src/main.rs", "fn main() {}");
    begin(&stage);
    stage.put("src/early.rs", "fn early() {}");
    stage.put("tests/first.rs", "#[test] fn first() {}");
    let before = states(&stage);
    stage.put("checks/clock.bats", "@test ticks { true; }");
    stage.put("package.json", "{}");
    code::review_tests(&stage.run, "2b", &before).unwrap();
    let calls = stage.calls();
    let fixer = calls.iter().find(|call| call.label == "tests-fixer");
    assert_eq!(
        fixer.unwrap().bounds,
        "readonly= writable=checks/clock.bats,package.json,tests/first.rs ticket= model=m"
    );
}

#[test]
fn only_a_blocker_keeps_a_review_going_and_every_finding_is_recorded() {
    let stage = Stage::new(
        r#"
        case "$NAME" in
          review-*-conformance-*) report "- [MAJOR] The README is old." REVIEW_FAILED;;
          review-*) if told "round 1 of 3"; then report "- [BLOCKER] src/main.rs:1 does nothing." "- [MINOR] A word." REVIEW_FAILED;
                    elif told "round 2 of 3"; then report "* **[blocker]** src/main.rs:1 does nothing" "- [MINOR] Another word." REVIEW_FAILED;
                    else report "- [MINOR] Left." REVIEW_CLEAN; fi;;
          *-fixer-*) date +%N >> src/main.rs;;
        esac"#,
    );
    begin(&stage);
    stage.put("src/main.rs", "fn main() {}");
    code::review_sources(&stage.run, "3").unwrap();
    assert_eq!(stage.rounds().len(), 3);
    assert_eq!(stage.prompts("review-code-conformance").len(), 1);
    let fixes = stage.prompts("code-fixer");
    assert_eq!(fixes.len(), 2);
    assert_has(
        &fixes[0],
        &["[BLOCKER] src/main.rs:1", "[MAJOR] The README"],
    );
    let all = findings::read(&stage.run.places).unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|one| (one.round, one.severity, one.state, !one.commit.is_empty()))
        .collect();
    assert_eq!(
        told,
        [
            (1, Severity::Blocker, FindingState::Repeated, true),
            (1, Severity::Minor, FindingState::Resolved, true),
            (1, Severity::Major, FindingState::Corrected, true),
            (2, Severity::Blocker, FindingState::Resolved, true),
            (2, Severity::Minor, FindingState::Resolved, true),
            (3, Severity::Minor, FindingState::Open, false),
        ]
    );
    assert_eq!(all[0].id, "cl-0001/3/code/1/area-1/1");
    assert_eq!(all[2].text, "The README is old.");
    assert_eq!(
        findings::summary(&all, "cl-0001").unwrap(),
        "1 blocker, 1 major, 3 minor; open: 1 minor; corrected, and not reviewed again: 1 major."
    );
    assert_has(
        &stage.read(".marvin/review-history-code.md"),
        &[
            "- area-1: findings (1 blocker, 1 minor)",
            "- conformance: satisfied (1 major)",
            "> - [MINOR] Left.",
        ],
    );
}

#[test]
fn a_review_without_a_blocker_needs_no_fixer() {
    let stage = Stage::new(r#"report "- [MAJOR] It could be better." REVIEW_FAILED"#);
    stage.put("src/main.rs", "fn main() {}");
    code::review_sources(&stage.run, "3").unwrap();
    let mut labels = stage.labels();
    labels.sort();
    assert_eq!(labels, ["review-code-area-1", "review-code-conformance"]);
    let all = findings::read(&stage.run.places).unwrap();
    assert!(all.iter().all(|one| one.state == FindingState::Open));
}
