//! Phases 1a_review and 1b_review.

use super::Stage;
use crate::base::problem::ProblemKind;
use crate::base::testing::assert_has;
use crate::pipeline::review::document;
use crate::pipeline::review::verdict::{PASSING_WORDS, without_passing_words};
use crate::pipeline::state;

/// Everybody finds something in the first round and is satisfied in the second.
const TWO_ROUNDS: &str = r#"
case "$NAME" in
  review-*)
    if told "round 2 of 4"; then report SPEC_VERIFIED; else report "Section 2 of $NAME is wrong." SPEC_VERIFIED; fi;;
  *-fixer-*)
    echo "Corrected." >> "$MARVIN_WRITABLE_FILES"; echo Done.;;
esac
"#;

fn stage(script: &str) -> Stage {
    let stage = Stage::new(script);
    for name in ["spec", "ux", "design"] {
        stage.put_document(&format!(".marvin/{name}.md"), name);
    }
    state::save(&stage.run.places, "1b").unwrap();
    stage
}

fn recorded(stage: &Stage) -> Option<String> {
    state::recorded(&stage.run.places).unwrap()
}

#[test]
fn four_readers_review_at_once_and_the_first_round_passes_nobody() {
    let stage = stage(TWO_ROUNDS);
    document::review_design(&stage.run).unwrap();
    let mut labels = stage.labels();
    assert_eq!(labels[4], "design-fixer");
    labels.remove(4);
    for round in labels.chunks_mut(4) {
        round.sort();
        assert_eq!(
            round,
            [
                "review-design-conflicts",
                "review-design-gaps",
                "review-design-main",
                "review-design-quality"
            ]
        );
    }
    assert_eq!(labels.len(), 8);
    for call in stage.calls() {
        let bounds = match call.label.as_str() {
            "design-fixer" => "readonly= writable=.marvin/design.md ticket= model=m",
            "review-design-main" => "readonly=1 writable= ticket= model=strong",
            _ => "readonly=1 writable= ticket= model=second",
        };
        assert_eq!(call.bounds, bounds, "{}", call.label);
    }
    assert_eq!(
        stage.rounds(),
        ["1b_review design.md 1/4", "1b_review design.md 2/4"]
    );
    assert_eq!(
        stage.checkpoints(),
        [
            "design.md: before review round 1",
            "design.md: after the fixer of round 1",
            "design.md: before review round 2"
        ]
    );
    assert_eq!(recorded(&stage).as_deref(), Some("1b_review_iv"));
    assert_eq!(stage.warnings(), [] as [&str; 0]);
}

#[test]
fn no_passing_word_is_in_anything_that_the_first_round_sees() {
    // The first attempt of each reviewer is too short; its output and its retry are told to the second.
    let mut stage = stage(
        r#"
        case "$NAME" in
          review-*) if told "less than 200 characters is no review"; then report REVIEW_FAILED; else echo "No issues found. SPEC_VERIFIED"; fi;;
          *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    let all = PASSING_WORDS.join(", ");
    stage.run.task = format!("Build a clock. {all}");
    for name in ["spec", "ux", "design"] {
        stage.put_document(&format!(".marvin/{name}.md"), &all.to_uppercase());
    }
    stage.put(
        ".marvin/review-history-design.md",
        &format!("## Round 1 of another run\n{all}\n"),
    );
    document::review_design(&stage.run).unwrap();
    let first: Vec<_> = stage.calls().into_iter().take(8).collect();
    for call in first {
        assert!(call.label.starts_with("review-design-"), "{call:?}");
        assert_eq!(without_passing_words(&call.prompt), call.prompt);
        assert!(call.prompt.contains("is not perfect"), "{call:?}");
        assert_has(
            &call.prompt,
            &["End with a line that holds nothing but REVIEW_FAILED."],
        );
    }
    let history = stage.read(".marvin/review-history-design.md");
    let own = history.split("of another run").nth(1).unwrap();
    let own = own.split("## Round 1").nth(1).unwrap();
    assert_eq!(without_passing_words(own), own);
}

#[test]
fn satisfied_reviewers_are_dropped_and_the_fixer_gets_open_findings_only() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-design-main-*)
            if told "round 3 of 4"; then report "**SPEC_VERIFIED**"; else report "MAIN FINDING" "REVIEW_FAILED"; fi;;
          review-design-gaps-*)
            if told "round 3 of 4"; then report SPEC_VERIFIED; else report "GAPS: No issues found in section 2." "REVIEW_FAILED" "SPEC_VERIFIED"; fi;;
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report "OTHER FINDING" REVIEW_FAILED; fi;;
          *-fixer-*) echo "Corrected $(wc -l < "$MARVIN_WRITABLE_FILES")." >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    let labels = stage.labels();
    assert_eq!(labels.len(), 4 + 1 + 4 + 1 + 2, "{labels:?}");
    let mut last = labels[10..].to_vec();
    last.sort();
    assert_eq!(last, ["review-design-gaps", "review-design-main"]);
    let fixes = stage.prompts("design-fixer");
    let findings = |prompt: &str, word: &str| prompt.matches(word).count();
    assert_eq!(
        [0, 1]
            .map(|at| ["MAIN FINDING", "GAPS:", "OTHER FINDING"]
                .map(|word| findings(&fixes[at], word))),
        [[1, 1, 2], [1, 1, 0]]
    );
    assert!(fixes[1].contains(".marvin/review-history-design.md"));
    // The later rounds see what was found and what the fixer really changed.
    for prompt in &stage.prompts("review-design-main")[1..] {
        assert!(prompt.contains("What the last fixer changed:"), "{prompt}");
        assert!(prompt.contains("+Corrected 2"), "{prompt}");
        assert!(prompt.contains("MAIN FINDING"), "{prompt}");
        assert!(!prompt.contains("OTHER FINDING"), "{prompt}");
        assert_has(
            prompt,
            &["is in `.marvin/review-history-design.md`", "Round 1 ("],
        );
    }
    let history = stage.read(".marvin/review-history-design.md");
    assert_has(
        &history,
        &["- main: findings", "- quality: satisfied", "## Round 3 ("],
    );
}

#[test]
fn each_reviewer_gets_its_own_earlier_findings_whole() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*) if told "round 3 of 4"; then report SPEC_VERIFIED;
            elif told "round 2 of 4"; then report "SECOND of $NAME" "REVIEW_FAILED";
            else echo "FIRST of $NAME"; seq 1 2500 | sed 's/^/### Section /'; report "LAST of $NAME" "REVIEW_FAILED"; fi;;
          *-fixer-*) date +%N >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    for name in ["main", "gaps", "conflicts", "quality"] {
        let prompt = &stage.prompts(&format!("review-design-{name}"))[2];
        let own = prompt.split("What you found in earlier rounds:").nth(1);
        let own = own.unwrap().split("</history>").next().unwrap();
        for word in ["FIRST", "LAST", "SECOND"] {
            assert_eq!(own.matches(word).count(), 1, "{name}: {word}");
            assert!(own.contains(&format!("{word} of review-design-{name}-")));
        }
        assert!(own.contains("\n### Section 2500\n"));
        // Who judges the document by itself is not shown what others compared it with.
        assert_eq!(
            prompt.contains("is in `.marvin/review-history-design.md`"),
            name != "quality"
        );
    }
}

#[test]
fn from_the_second_round_on_a_document_passes_without_blockers() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*) report "- [MINOR] A word in section 3." REVIEW_FAILED;;
          *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    assert_eq!(stage.rounds().len(), 2);
    assert_eq!(stage.prompts("design-fixer").len(), 1);
}

#[test]
fn children_of_the_first_round_keep_the_passing_words_from_their_models() {
    let stage = stage(
        r#"
        echo "$NAME withheld=$MARVIN_WITHHELD_WORDS" >> "$CALLS/withheld"
        case "$NAME" in
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    let text = std::fs::read_to_string(stage.dir.path().join("calls/withheld")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9);
    let all = format!("withheld={}", PASSING_WORDS.join(","));
    assert!(lines[..4].iter().all(|line| line.ends_with(&all)), "{text}");
    let none = |line: &&str| line.ends_with("withheld=");
    assert!(lines[4..].iter().all(none), "{text}");
}

#[test]
fn a_long_difference_is_cut() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report REVIEW_FAILED; fi;;
          *-fixer-*) seq 1 9000 >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    let prompt = &stage.prompts("review-design-main")[1];
    let (_, diff) = prompt.split_once("What the last fixer changed:").unwrap();
    let (diff, _) = diff.split_once("</difference>").unwrap();
    let length = diff.chars().count();
    assert!((7_000..8_100).contains(&length), "{length}");
}

#[test]
fn when_nobody_reviewed_the_run_ends() {
    for script in ["kill -9 $$", "report >&2"] {
        let stage = stage(script);
        let problem = document::review_design(&stage.run).unwrap_err().one_line();
        assert!(
            problem.contains("No reviewer of design.md reviewed in round 1"),
            "{script}: {problem}"
        );
        assert_eq!(recorded(&stage).as_deref(), Some("1b"));
    }
}

#[test]
fn who_did_not_review_has_passed_nothing() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-design-main-*) if told "round 3 of 4"; then report SPEC_VERIFIED; else echo SPEC_VERIFIED; fi;;
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    assert_eq!(stage.rounds().len(), 3);
    assert_has(&stage.warnings()[0], &["main of design.md did not review"]);
    assert_eq!(
        stage.prompts("design-fixer").len(),
        1,
        "no findings in round 2"
    );
}

#[test]
fn a_fixer_that_changes_nothing_is_noticed_and_used_up_rounds_do_not_end_the_run() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*) report "It is wrong." REVIEW_FAILED;;
          *-fixer-*) echo "I corrected everything. REVIEW_CLEAN";;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    assert_eq!(stage.rounds().len(), 4);
    let warnings = stage.warnings();
    assert!(
        warnings
            .iter()
            .any(|words| words.contains("The fixer of design.md changed nothing in round 4")),
        "{warnings:?}"
    );
    assert!(
        warnings
            .iter()
            .any(|words| words.contains("After 4 rounds of review of design.md")),
        "{warnings:?}"
    );
    assert!(stage.prompts("design-fixer")[1].contains("is as it was"));
    assert_eq!(recorded(&stage).as_deref(), Some("1b_review_iv"));
}

#[test]
fn a_document_that_its_fixer_spoiled_is_put_back() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          *-fixer-*) echo gone > "$MARVIN_WRITABLE_FILES"; echo x > main.rs;;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    assert!(stage.read(".marvin/design.md").starts_with("design\n"));
    let warnings = stage.warnings();
    assert_has(&warnings[0], &["changed other files, too: main.rs."]);
    assert!(warnings[1].contains("It was put back"), "{warnings:?}");
}

#[test]
fn what_a_fixer_wrote_that_failed_does_not_pass_for_its_work() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          design-fixer-*) if nth design-fixer 1; then document "$MARVIN_WRITABLE_FILES"; exit 1; fi; echo Done.;;
        esac"#,
    );
    let before = stage.read(".marvin/design.md");
    document::review_design(&stage.run).unwrap();
    assert_eq!(stage.read(".marvin/design.md"), before);
    assert_eq!(stage.prompts("design-fixer").len(), 3);
    assert!(stage.prompts("design-fixer")[1].contains(".left.md"));
    assert_has(&stage.warnings()[1], &["changed nothing"]);
}

#[test]
fn a_reviewer_who_has_spent_their_share_did_not_review_and_the_others_count() {
    let mut stage = stage(
        r#"
        case "$NAME" in
          review-design-quality-*)
            if told "round 2 of 4"; then report SPEC_VERIFIED; else echo 'MARVIN_COST:{"session_cost":3,"model_cost":{"second":3}}' >&2; exit 1; fi;;
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
        esac"#,
    );
    stage.run.max_cost = Some(10.0);
    document::review_design(&stage.run).unwrap();
    let warnings = stage.warnings();
    assert_has(
        &warnings[0],
        &["Reviewer quality of design.md did not review: A child has spent its share"],
    );
    assert_has(
        &stage.read(".marvin/review-history-design.md"),
        &["- quality: did not review"],
    );
    assert_eq!(recorded(&stage).as_deref(), Some("1b_review_iv"));
    // With nothing left for anybody the run ends.
    stage.run.max_cost = Some(3.0);
    std::fs::write(stage.path(".marvin/pipeline_state"), "1b").unwrap();
    let problem = document::review_design(&stage.run).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit, "{problem}");
}

#[test]
fn an_interrupted_review_goes_on_where_it_was() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-spec-quality-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report "- main: satisfied" X REVIEW_FAILED; fi;;
          review-spec-*) if [ -e stop ]; then exit 127; fi; if told "round 3 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
          *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES"; nth spec-fixer 2 && touch stop;;
        esac
        true"#,
    );
    std::fs::write(stage.path(".marvin/pipeline_state"), "1a").unwrap();
    document::review_specification(&stage.run).unwrap_err();
    assert_eq!(recorded(&stage).as_deref(), Some("1a_review_ii"));
    let before = stage.labels().len();
    std::fs::remove_file(stage.path("stop")).unwrap();
    document::review_specification(&stage.run).unwrap();
    let mut resumed = stage.labels()[before..].to_vec();
    resumed[..3].sort();
    assert_eq!(
        resumed[..3],
        [
            "review-spec-conflicts",
            "review-spec-gaps",
            "review-spec-main"
        ],
        "the satisfied reviewer is not asked again, and a quoted line satisfies nobody"
    );
    let third = &stage.prompts("review-spec-main");
    let third = third.last().unwrap();
    assert!(third.contains("round 3 of 4") && third.contains("+Corrected."));
    assert!(resumed[3].starts_with("review-ux-"), "{resumed:?}");
    assert_eq!(recorded(&stage).as_deref(), Some("1a_review_ux_iv"));
}

#[test]
fn the_quality_reviewer_sees_the_document_alone() {
    let stage = stage(TWO_ROUNDS);
    stage.put(".marvin/upstream/README.md", "upstream");
    document::review_design(&stage.run).unwrap();
    for call in stage.calls() {
        let sees_all = call.label != "review-design-quality";
        for part in [
            "Build a clock.",
            "<listing>",
            ".marvin/upstream/README.md",
            "path=\".marvin/spec.md\"",
        ] {
            assert_eq!(
                call.prompt.contains(part),
                sees_all,
                "{}: {part}",
                call.label
            );
        }
        assert!(call.prompt.contains(".marvin/design.md"));
    }
}

#[test]
fn a_fixer_may_say_that_nothing_is_to_be_changed_and_the_reviewers_are_told_why() {
    let stage = stage(
        r#"
        case "$NAME" in
          review-*)
            if told "round 2 of 4"; then report SPEC_VERIFIED; else report "Section 2 is wrong." REVIEW_FAILED; fi;;
          *-fixer-*) nth design-fixer 2 && echo "Section 2 says what section 1 asks for."; echo NOTHING_TO_CHANGE;;
        esac"#,
    );
    document::review_design(&stage.run).unwrap();
    let fixes = stage.prompts("design-fixer");
    // The word alone is no reason.
    assert_eq!(fixes.len(), 2, "{:?}", stage.labels());
    assert_has(&fixes[1], &["NOTHING_TO_CHANGE needs reasons before it"]);
    let again = stage.prompts("review-design-main").pop().unwrap();
    assert_has(
        &again,
        &[
            "The fixer of round 1 changed nothing, and says why:",
            "Section 2 says what section 1 asks for.",
            "The last fixer changed nothing.",
        ],
    );
    assert_eq!(recorded(&stage).as_deref(), Some("1b_review_iv"));
}
