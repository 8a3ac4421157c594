//! Runs that stop and are started again.

use std::fs;

use super::Stage;
use crate::base::problem::Outcome;
use crate::base::testing::assert_has;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::{
    implementation, phase, phase_record, quality, record, repository, smoke_test, state,
    test_writing,
};

/// Writers write, the reviewers of documents are satisfied in the second round and those of code at once; with a file `stop` nobody can work.
pub(super) const WORKERS: &str = r#"
if [ -e stop ]; then exit 127; fi
case "$NAME" in
  spec-writer-*) document .marvin/spec.md;;
  ux-writer-*) document .marvin/ux.md;;
  design-writer-*) document .marvin/design.md;;
  implementer-*) mkdir -p src; echo 'fn main() {}' >> src/main.rs;;
  review-code-*) report REVIEW_CLEAN;;
  review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
  *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
esac
true"#;

fn start(stage: &Stage, allow_dirty: bool) -> Outcome<()> {
    let request = RunRequest {
        allow_dirty,
        ..stage.request()
    };
    run::run(&stage.run.ctx, request).map(drop)
}

fn start_below(stage: &Stage, max_cost: f64) -> Outcome<()> {
    let request = RunRequest {
        allow_dirty: true,
        max_cost: Some(max_cost),
        ..stage.request_until("1a")
    };
    run::run(&stage.run.ctx, request).map(drop)
}

fn another(stage: &Stage, task: &str) -> Outcome<()> {
    let request = RunRequest {
        task: task.to_owned(),
        ..stage.request_until("1a_review")
    };
    run::run(&stage.run.ctx, request).map(drop)
}

/// Whatever is not committed, and no further than `phase`.
fn start_until(stage: &Stage, phase: &'static str) -> Outcome<()> {
    let request = RunRequest {
        allow_dirty: true,
        ..stage.request_until(phase)
    };
    run::run(&stage.run.ctx, request).map(drop)
}

#[test]
fn another_task_begins_anew_once_the_last_one_is_done_and_loses_nothing() {
    let stage = Stage::new(WORKERS);
    fs::write(stage.path("stop"), "").unwrap();
    start(&stage, true).unwrap_err();
    fs::write(stage.path(".marvin/pipeline_state"), "1a").unwrap();
    let problem = another(&stage, "Build a bell.").unwrap_err().one_line();
    assert_has(&problem, &["for another task: \"Build a clock.\""]);
    fs::remove_file(stage.path(".marvin/pipeline_state")).unwrap();
    fs::remove_file(stage.path("stop")).unwrap();
    start(&stage, true).unwrap();
    let (spec, first) = (stage.read(".marvin/spec.md"), ticket(&stage));
    let from = stage.labels().len();
    // What is not committed is refused first, and nothing is moved.
    stage.put("own.txt", "of the user");
    another(&stage, "Build a bell.").unwrap_err();
    assert_eq!(stage.read(".marvin/spec.md"), spec);
    fs::remove_file(stage.path("own.txt")).unwrap();
    another(&stage, "Build a bell.").unwrap();
    let labels = since(&stage, from);
    for label in ["spec-writer", "ux-writer", "review-spec-main"] {
        assert!(labels.iter().any(|own| own == label), "{labels:?}");
    }
    let folder = format!(".marvin/earlier/{first}");
    assert_eq!(stage.read(&format!("{folder}/spec.md")), spec);
    assert_has(
        &stage.read(&format!("{folder}/review-history-spec.md")),
        &["## Round 1 ("],
    );
    assert_eq!(stage.read(&format!("{folder}/pipeline_state")).trim(), "3");
    assert_ne!(ticket(&stage), first);
    let history = stage.read(".marvin/review-history-spec.md");
    assert_eq!(history.matches("## Round 1 (").count(), 1);
    assert!(stage.warnings().iter().any(|words| words.contains(&folder)));
}

#[test]
fn a_task_without_documents_of_its_own_works_from_those_that_are_there() {
    let stage = Stage::new(WORKERS);
    start(&stage, true).unwrap();
    let (design, first) = (stage.read(".marvin/design.md"), ticket(&stage));
    let request = RunRequest {
        task: "Build what the design says.".to_owned(),
        design_first: false,
        ..stage.request()
    };
    run::run(&stage.run.ctx, request).unwrap();
    assert_eq!(stage.read(".marvin/design.md"), design);
    let implementers = stage.prompts("implementer");
    assert_has(
        &implementers[1],
        &["Line 1 of the document that design-writer"],
    );
    let folder = stage.path(&format!(".marvin/earlier/{first}"));
    assert!(folder.join("review-history-spec.md").exists());
    assert!(!folder.join("design.md").exists());
}

#[test]
fn another_task_takes_nothing_of_one_that_failed_in_its_first_phase() {
    let stage = Stage::new(&WORKERS.replace("ux-writer-*)", "ux-writer-*) [ -e go ] || exit 127;"));
    start(&stage, true).unwrap_err();
    let (spec, first) = (stage.read(".marvin/spec.md"), ticket(&stage));
    assert_eq!(state::recorded(&stage.run.places).unwrap(), None);
    stage.put("go", "");
    let request = RunRequest {
        task: "Build a bell.".to_owned(),
        allow_dirty: true,
        ..stage.request_until("1a")
    };
    run::run(&stage.run.ctx, request).unwrap();
    assert_ne!(ticket(&stage), first);
    assert_eq!(
        stage.read(&format!(".marvin/earlier/{first}/spec.md")),
        spec
    );
    let told = stage.prompts("spec-writer");
    assert_eq!(told.len(), 2);
    assert_has(&told[1], &["Build a bell."]);
    assert!(
        stage
            .warnings()
            .iter()
            .any(|words| words.contains("failed in its first phase")),
        "{:?}",
        stage.warnings()
    );
}

#[test]
fn a_state_that_came_with_a_clone_is_that_of_its_own_task() {
    let stage = Stage::new(WORKERS);
    start_until(&stage, "1a").unwrap();
    let first = ticket(&stage);
    // Logs are in no commit, and an earlier version wrote the task nowhere else.
    let forget = || {
        fs::remove_dir_all(stage.path(".marvin/logs")).unwrap();
        fs::remove_file(stage.path(".marvin/pipeline_task")).unwrap();
    };
    forget();
    let problem = another(&stage, "Build a bell.").unwrap_err().one_line();
    assert_has(&problem, &["for another task: one that is not recorded"]);
    // Its own task is known by the epic.
    let before = stage.labels().len();
    start_until(&stage, "1a").unwrap();
    assert_eq!((stage.labels().len(), ticket(&stage)), (before, first));
    forget();
    stage.put(".marvin/pipeline_state", "5");
    let request = RunRequest {
        task: "Build a bell.".to_owned(),
        allow_dirty: true,
        ..stage.request_until("1a")
    };
    run::run(&stage.run.ctx, request).unwrap();
    assert_eq!(stage.prompts("spec-writer").len(), 2);
    assert!(stage.path(".marvin/earlier/run/spec.md").exists());
}

fn ticket(stage: &Stage) -> String {
    let record = record::RunRecord::read(&stage.run.places).unwrap();
    record.unwrap().ticket
}

#[test]
fn a_phase_that_is_done_again_may_find_everything_done() {
    let stage = Stage::new("report SPEC_CONFORMANT");
    stage.put(".marvin-instructions", "Test command: echo 1 passed");
    repository::checkpoint(&stage.run, "Before the pipeline").unwrap();
    let record = record::RunRecord {
        begun: repository::head(&stage.run).unwrap(),
        ..record::RunRecord::default()
    };
    record.write(&stage.run.places).unwrap();
    stage.put("src/main.rs", "fn main() {}");
    stage.put("checks/all", "true");
    repository::checkpoint(&stage.run, "2a: tests written").unwrap();
    implementation::implement(&stage.run).unwrap();
    assert_eq!(stage.labels()[0], "implementer");
    assert!(!stage.labels()[1..].contains(&"implementer".to_owned()));
    let from = stage.labels().len();
    test_writing::functional(&stage.run).unwrap();
    // Once to write, and once to be told that they pass.
    let again = stage.labels().split_off(from);
    assert_eq!(again[..2], ["functional-test-writer"; 2]);
    assert!(!again[2..].contains(&"functional-test-writer".to_owned()));
}

/// Labels of the children since the `from`th, each once, in order.
pub(super) fn since(stage: &Stage, from: usize) -> Vec<String> {
    let mut labels = stage.labels().split_off(from);
    labels.sort();
    labels.dedup();
    labels
}

const UX_REVIEW: [&str; 5] = [
    "review-ux-conflicts",
    "review-ux-gaps",
    "review-ux-main",
    "review-ux-quality",
    "ux-fixer",
];

#[test]
fn what_was_changed_after_an_interrupted_run_is_the_users() {
    let stage = Stage::new(WORKERS);
    let own = || record::RunRecord {
        task: stage.run.task.clone(),
        working: "1a".to_owned(),
        ..record::RunRecord::default()
    };
    stage.put("kept/old.txt", "old");
    repository::checkpoint(&stage.run, "Before the pipeline").unwrap();
    start_until(&stage, "1a").unwrap();
    own().write(&stage.run.places).unwrap();
    // A child wrote one before the end, the user another one much later.
    stage.put("src/child.rs", "fn child() {}");
    stage.put("notes.txt", "mine");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let changed_later = |path: &str| {
        let file = fs::File::open(stage.path(path)).unwrap();
        file.set_modified(later).unwrap();
    };
    changed_later("notes.txt");
    let again = || run::run(&stage.run.ctx, stage.request_until("1a"));
    let problem = again().unwrap_err();
    let words = format!("{problem}\n{}", problem.facts.clone().unwrap_or_default());
    assert_has(
        &words,
        &[
            "after the interrupted run had ended",
            "notes.txt",
            "--allow-dirty",
        ],
    );
    assert!(!words.contains("child.rs"), "{words}");
    fs::remove_file(stage.path("notes.txt")).unwrap();
    // What somebody removed has left its time at its folder.
    fs::remove_dir_all(stage.path("kept")).unwrap();
    changed_later("");
    let problem = again().unwrap_err();
    assert_has(&problem.facts.unwrap_or_default(), &["kept/old.txt"]);
    let now = std::time::SystemTime::now();
    fs::File::open(stage.path(""))
        .unwrap()
        .set_modified(now)
        .unwrap();
    again().unwrap();
}

#[test]
fn what_was_moved_here_after_an_interrupted_run_is_the_users_however_old_its_content_is() {
    let stage = Stage::new(WORKERS);
    start_until(&stage, "1a").unwrap();
    record::RunRecord {
        task: stage.run.task.clone(),
        working: "1a".to_owned(),
        ..record::RunRecord::default()
    }
    .write(&stage.run.places)
    .unwrap();
    // The run ended a minute ago; the content is as old as it.
    let ended = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let date = |path: &str| {
        let file = fs::File::options().write(true).open(stage.path(path));
        file.unwrap().set_modified(ended).unwrap();
    };
    date(".marvin/logs/pipeline-alive");
    stage.put("notes.txt", "mine");
    date("notes.txt");
    let problem = run::run(&stage.run.ctx, stage.request_until("1a")).unwrap_err();
    assert_has(&problem.facts.unwrap_or_default(), &["notes.txt"]);
}

#[test]
fn what_was_staged_elsewhere_after_an_interrupted_run_is_the_users() {
    let stage = Stage::new(WORKERS);
    stage.put("sub/a.txt", "a");
    repository::checkpoint(&stage.run, "Before").unwrap();
    let places = RunPlaces::at(&stage.path("sub"));
    record::RunRecord {
        task: stage.run.task.clone(),
        working: "1a".to_owned(),
        ..record::RunRecord::default()
    }
    .write(&places)
    .unwrap();
    stage.put("sub/.marvin/logs/pipeline-alive", "");
    let ended = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options()
        .write(true)
        .open(stage.path("sub/.marvin/logs/pipeline-alive"))
        .unwrap()
        .set_modified(ended)
        .unwrap();
    stage.put("other/mine.txt", "mine");
    let staged = std::process::Command::new("git")
        .current_dir(stage.path(""))
        .args(["add", "other/mine.txt"])
        .status();
    assert!(staged.unwrap().success());
    let request = RunRequest {
        places,
        ..stage.request_until("1a")
    };
    let problem = run::run(&stage.run.ctx, request).unwrap_err();
    assert_has(&problem.facts.unwrap_or_default(), &["other/mine.txt"]);
}

#[test]
fn a_run_whose_tests_fail_is_not_done_and_its_ticket_is_open_until_they_pass() {
    let stage = Stage::new(WORKERS);
    stage.put(".marvin-instructions", "Test command: sh check.sh");
    stage.put("check.sh", "echo '1 passed, 1 failed'; exit 1");
    // Every phase was gone through.
    stage.put(".marvin/pipeline_state", "5");
    let own = record::RunRecord {
        task: stage.run.task.clone(),
        ..record::RunRecord::default()
    };
    own.write(&stage.run.places).unwrap();
    let start = || {
        let request = RunRequest {
            design_first: false,
            tdd: true,
            allow_dirty: true,
            ..stage.request()
        };
        run::run(&stage.run.ctx, request)
    };
    let ticket = || {
        let tickets = fs::read_dir(stage.path(".tickets")).unwrap();
        let texts = tickets.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        texts.collect::<String>()
    };
    let problem = start().unwrap_err();
    let words = ["the run is not done", "check.sh` failed", "runs the tests"];
    assert_has(&problem.to_string(), &words);
    assert_has(&ticket(), &["status: in_progress"]);
    stage.put("check.sh", "echo '2 passed'");
    start().unwrap();
    assert_has(&ticket(), &["status: closed"]);
    assert!(stage.labels().is_empty(), "no child had anything to do");
}

#[test]
fn the_ceiling_on_cost_is_for_all_starts_of_a_run() {
    let stage = Stage::new(WORKERS);
    stage.put("stop", "");
    start(&stage, true).unwrap_err();
    fs::remove_file(stage.path("stop")).unwrap();
    let before = stage.labels().len();
    // What an earlier process spent.
    record::save_spent(&stage.run.places, 3.0).unwrap();
    let problem = start_below(&stage, 2.0).unwrap_err();
    assert_has(&problem.to_string(), &["ceiling of $2.00", "--max-cost"]);
    assert_eq!(stage.labels().len(), before);
    start_below(&stage, 4.0).unwrap();
    // The next run begins anew.
    assert!(record::spent(&stage.run.places) >= 3.0);
}

#[test]
fn a_document_that_is_written_again_is_reviewed_again_until_it_was_and_no_other() {
    let stage = Stage::new(WORKERS);
    start_until(&stage, "1a_review").unwrap();
    assert_eq!(
        state::recorded(&stage.run.places).unwrap().as_deref(),
        Some("1a_review")
    );
    let from = stage.labels().len();
    fs::remove_file(stage.path(".marvin/ux.md")).unwrap();
    start_until(&stage, "1a_review").unwrap();
    let mut expected = UX_REVIEW.to_vec();
    expected.push("ux-writer");
    assert_eq!(since(&stage, from), expected);
    let warnings = stage.warnings();
    assert!(
        warnings
            .iter()
            .any(|words| words.contains(".marvin/ux.md was written again after its review")),
        "{warnings:?}"
    );
    let missing = warnings
        .iter()
        .filter(|words| words.contains("is missing or too short"));
    assert_eq!(missing.count(), 1, "{warnings:?}");
    // And that is all.
    let from = stage.labels().len();
    start_until(&stage, "1a_review").unwrap();
    assert_eq!(since(&stage, from), [] as [&str; 0]);
    // It vanished again, somebody else has put one there after the run had noticed, and its review is interrupted.
    phase_record::set_rewritten(&stage.run, ".marvin/ux.md").unwrap();
    stage.put("stop", "");
    start_until(&stage, "1a_review").unwrap_err();
    fs::remove_file(stage.path("stop")).unwrap();
    let between = stage.labels().len();
    assert!(between > from);
    start_until(&stage, "1a_review").unwrap();
    assert_eq!(since(&stage, between), UX_REVIEW);
}

#[test]
fn a_repository_of_the_runs_own_without_a_commit_is_no_users_work() {
    let stage = Stage::new(WORKERS);
    fs::remove_dir_all(stage.path(".git")).unwrap();
    stage.put("notes.txt", "of the user");
    // The start fails between the repository and its first commit.
    stage.put(".tickets", "in the way");
    let problem = start(&stage, false).unwrap_err().one_line();
    assert!(
        stage.path(".git").exists() && !problem.contains("--allow-dirty"),
        "{problem}"
    );
    fs::remove_file(stage.path(".tickets")).unwrap();
    run::run(&stage.run.ctx, stage.request_until("1a")).unwrap();
    let warnings = stage.warnings();
    let told = warnings
        .iter()
        .filter(|words| words.contains("its first commit takes the 1 file"));
    assert_eq!(told.count(), 2, "{warnings:?}");
}

#[test]
fn a_repository_of_the_user_without_a_commit_stays_the_users() {
    let stage = Stage::new(WORKERS);
    stage.put("notes.txt", "of the user");
    let problem = start(&stage, false).unwrap_err().one_line();
    assert!(problem.contains("--allow-dirty"), "{problem}");
}

/// In the second round nobody can review as long as there is a file `../stop`.
const CODE: &str = r#"
case "$NAME" in
  implementer-*) mkdir -p src; echo 'fn main() {}' >> src/main.rs;;
  functional-test-writer-*) mkdir -p tests; echo 'exit 1' > tests/test_all.sh;;
  review-*) if told "round 2 of 3"; then [ -e ../stop ] && exit 127; report REVIEW_CLEAN; else report X REVIEW_FAILED; fi;;
  *-fixer-*) for file in ${MARVIN_WRITABLE_FILES:-src/main.rs}; do echo "// Corrected." >> $file; done;;
esac
true"#;

/// Interrupts a phase in the second round of its review, and does it again.
fn resumed(phase: impl Fn(&Stage) -> Outcome<()>) -> (Stage, Vec<String>) {
    let stage = Stage::new(CODE);
    stage.put(".marvin-instructions", "Test command: sh tests/test_all.sh");
    let stop = stage.dir.path().join("stop");
    fs::write(&stop, "").unwrap();
    phase(&stage).unwrap_err();
    fs::remove_file(stop).unwrap();
    let from = stage.labels().len();
    phase(&stage).unwrap();
    let rest = since(&stage, from);
    (stage, rest)
}

#[test]
fn an_implementation_is_not_built_again_and_no_finished_round_is_reviewed_again() {
    let (stage, rest) = resumed(|stage| implementation::implement(&stage.run).map(drop));
    assert_eq!(rest, ["review-code-area-1", "review-code-conformance"]);
    assert_eq!(stage.rounds(), ["3 code 1/3", "3 code 2/3", "3 code 2/3"]);
    let last = stage.prompts("review-code-area-1").pop().unwrap();
    assert_has(
        &last,
        &["+// Corrected.", "What you found in earlier rounds"],
    );
}

#[test]
fn tests_are_not_written_again_and_no_finished_round_is_reviewed_again() {
    let (stage, rest) = resumed(|stage| test_writing::functional(&stage.run).map(drop));
    assert_eq!(rest, ["review-tests-area-1", "review-tests-conformance"]);
    assert_eq!(
        stage.rounds(),
        ["2a tests 1/3", "2a tests 2/3", "2a tests 2/3"]
    );
}

#[test]
fn what_a_phase_has_done_counts_for_no_other_phase() {
    let (stage, _) = resumed(|stage| implementation::implement(&stage.run).map(drop));
    assert_eq!(phase_record::rounds(&stage.run, "3", "code"), 2);
    assert_eq!(phase_record::rounds(&stage.run, "4a", "code"), 0);
    phase_record::save_round(&stage.run, "1a_review", "ux.md", 1).unwrap();
    // Only what is done again is forgotten.
    phase_record::save_round(&stage.run, "4a", "code", 1).unwrap();
    let again = phase::named("4a").unwrap();
    phase_record::forget(&stage.run, &[again], &[]).unwrap();
    assert_eq!(phase_record::rounds(&stage.run, "4a", "code"), 0);
    phase_record::end_phase(&stage.run, "1a_review").unwrap();
    assert_eq!(phase_record::rounds(&stage.run, "1a_review", "ux.md"), 0);
    assert_eq!(phase_record::rounds(&stage.run, "3", "code"), 2);
    phase_record::end_phase(&stage.run, "3").unwrap();
    assert_eq!(phase_record::rounds(&stage.run, "3", "code"), 0);
    assert!(!stage.path(".marvin/logs/phase.json").exists());
}

/// A run that was interrupted in the review of what `phase` wrote, and what starts it again up to there and returns who worked.
fn halfway(phase: &'static str, tdd: bool) -> (Stage, impl Fn(&Stage) -> Vec<String>) {
    let script = WORKERS
        .replace("review-code-*)", "review-code-*|review-tests-*) [ -e ../stop ] && exit 127;")
        .replace(
            "esac",
            "  functional-test-writer-*) [ -e tests ] || { mkdir tests; echo 'exit 1' > tests/test_all.sh; };;\nesac",
        );
    let stage = Stage::new(&script);
    stage.put(".marvin-instructions", "Test command: sh tests/test_all.sh");
    let start = move |stage: &Stage| {
        let request = RunRequest {
            allow_dirty: true,
            tdd,
            ..stage.request_until(phase)
        };
        run::run(&stage.run.ctx, request)
    };
    let stop = stage.dir.path().join("stop");
    fs::write(&stop, "").unwrap();
    start(&stage).unwrap_err();
    fs::remove_file(stop).unwrap();
    let again = move |stage: &Stage| {
        let from = stage.labels().len();
        start(stage).unwrap();
        since(stage, from)
    };
    (stage, again)
}

const SPEC_REVIEW: [&str; 5] = [
    "review-spec-conflicts",
    "review-spec-gaps",
    "review-spec-main",
    "review-spec-quality",
    "spec-fixer",
];

#[test]
fn a_document_that_is_edited_before_a_phase_goes_on_takes_nothing_from_that_phase() {
    for (phase, tdd, name) in [("2a", true, "tests"), ("3", false, "code")] {
        let (stage, again) = halfway(phase, tdd);
        let edited = stage.read(".marvin/spec.md") + "Of the user.\n";
        stage.put(".marvin/spec.md", &edited);
        let own = [
            format!("review-{name}-area-1"),
            format!("review-{name}-conformance"),
        ];
        let mut expected: Vec<&str> = own.iter().map(String::as_str).collect();
        expected.extend(SPEC_REVIEW);
        expected.sort_unstable();
        assert_eq!(again(&stage), expected, "nothing is written again");
    }
}

#[test]
fn a_state_that_is_set_back_by_hand_has_later_phases_done_from_their_beginning() {
    let (stage, again) = halfway("3", false);
    stage.put(".marvin/pipeline_state", "1b");
    let labels = again(&stage);
    for label in ["review-design-main", "implementer"] {
        assert!(labels.iter().any(|own| own == label), "{labels:?}");
    }
}

#[test]
fn finished_attempts_to_break_the_program_are_not_made_again() {
    let stage = Stage::new(
        r#"
        if is quality-tester; then
          if nth quality-tester 1; then report "src/a.rs:1 crashes." REVIEW_FAILED; elif [ -e ../stop ]; then exit 127; else report REVIEW_CLEAN; fi
        fi
        is quality-fixer && echo fixed > src.txt
        true"#,
    );
    stage.put(".marvin-instructions", "Test command: echo 1 passed");
    let stop = stage.dir.path().join("stop");
    fs::write(&stop, "").unwrap();
    quality::assure_quality(&stage.run).unwrap_err();
    fs::remove_file(stop).unwrap();
    let from = stage.labels().len();
    quality::assure_quality(&stage.run).unwrap();
    assert_eq!(stage.labels()[from..], ["quality-tester"]);
    let last = stage.prompts("quality-tester").pop().unwrap();
    assert_has(&last, &["round 2 of 3", "src/a.rs:1 crashes."]);
}

#[test]
fn finished_trials_are_not_made_again_and_what_they_changed_is_tested() {
    let stage = Stage::new(
        r#"
        if nth smoke-tester 1; then echo changed > src.txt; echo "Not yet."; exit; fi
        [ -e ../stop ] && exit 127
        called run_command success
        echo E2E_SMOKE_PASS"#,
    );
    stage.put(
        ".marvin-instructions",
        "Test command: echo run >> ../runs; echo 1 passed",
    );
    let stop = stage.dir.path().join("stop");
    fs::write(&stop, "").unwrap();
    smoke_test::smoke_test(&stage.run).unwrap_err();
    assert!(!stage.dir.path().join("runs").exists());
    fs::remove_file(stop).unwrap();
    smoke_test::smoke_test(&stage.run).unwrap();
    assert_eq!(
        stage.rounds().last().map(String::as_str),
        Some("4b program 2/10")
    );
    let runs = fs::read_to_string(stage.dir.path().join("runs"));
    assert_eq!(runs.unwrap_or_default(), "run\n");
    // What the first round said is told after the interruption too.
    let last = stage.prompts("smoke-tester").pop().unwrap();
    assert_has(&last, &["<rounds>\nRound 1:\nNot yet.\n</rounds>"]);
}
