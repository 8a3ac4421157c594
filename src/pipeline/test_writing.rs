//! Phases 2a and 2b: tests that come before the product. There must be some, and they must fail; the pipeline runs them itself.

use super::Run;
use super::child::{self, ChildReport, ChildTask};
use super::context::writer_task;
use super::files::{self, FileStates};
use super::phase::PhaseEnd;
use super::review::code;
use super::test_command::{self, TestRun};
use super::tier::Tier;
use super::{limits, nothing_to_change, phase_record, prompts, repository};
use crate::base::problem::Outcome;
use crate::base::template::fill;

/// Above the list of a feature's tests.
const LIST_HEADING: &str = "# Tests of this feature\n\nThe pipeline keeps this list. A phase of tests adds the files that it has written or changed.\n\n";
/// What a writer is told who brought none.
const MISSING: &str = "No test file was written. Tests stand in files whose names say so, such as tests/name.rs, test_name.py or name.test.js.";
/// Largest list in bytes.
const MAX_LIST_BYTES: u64 = 4 << 20;

struct Writer {
    phase: &'static str,
    label: &'static str,
    prompt: &'static str,
}

/// Phase 2a: functional tests.
///
/// # Errors
/// No tests were written; their review fails.
pub(crate) fn functional(run: &Run) -> Outcome<PhaseEnd> {
    write(
        run,
        &Writer {
            phase: "2a",
            label: "functional-test-writer",
            prompt: prompts::TESTS_FUNCTIONAL,
        },
    )
}

/// Phase 2b: integration and end-to-end tests.
///
/// # Errors
/// As [`functional`].
pub(crate) fn integration(run: &Run) -> Outcome<PhaseEnd> {
    write(
        run,
        &Writer {
            phase: "2b",
            label: "integration-test-writer",
            prompt: prompts::TESTS_INTEGRATION,
        },
    )
}

fn write(run: &Run, writer: &Writer) -> Outcome<PhaseEnd> {
    let before = phase_record::files_at_start(run, writer.phase)?;
    phase_record::once(run, writer.phase, "written", || {
        ask(run, writer, &before, "")
    })?;
    let outcome = test_command::run_tests(run)?;
    if !outcome.is_red() {
        tell_once(run, writer, &before, &outcome)?;
    }
    code::review_tests(run, writer.phase, &before)?;
    list_tests(run, &before)?;
    Ok(PhaseEnd::Done)
}

/// Tells the writer that its tests do not fail, or do not run; once, because the product may be there already.
fn tell_once(run: &Run, writer: &Writer, before: &FileStates, outcome: &TestRun) -> Outcome<()> {
    let words = match outcome.is_green() {
        true => format!(
            "{} They have to fail, because what they test does not exist yet: a test that passes now shows nothing. Rewrite those that pass; where the project does it already, leave the test as it is.",
            outcome.for_child()
        ),
        false => outcome.for_child(),
    };
    let told = fill(prompts::TESTS_TOLD, &[("words", &words)]);
    ask(run, writer, before, &told)?;
    let outcome = test_command::run_tests(run)?;
    if !outcome.is_red() {
        run.warn(format!(
            "The tests of phase {} were to fail, and do not: {}",
            writer.phase,
            outcome.words()
        ));
    }
    Ok(())
}

fn ask(run: &Run, writer: &Writer, before: &FileStates, told: &str) -> Outcome<()> {
    let instructions = fill(&prompts::placed(run, writer.prompt), &[("told", told)]);
    child::run(
        run,
        &ChildTask {
            check: &|report| has_tests(run, writer.phase, before, report),
            ..writer_task(
                run,
                writer.label,
                Tier::TestWriter,
                limits::IMPLEMENTATION,
                &instructions,
            )
        },
    )?;
    repository::checkpoint(run, &written(writer.phase))
}

/// The message of the commit after the tests of a phase.
fn written(phase: &str) -> String {
    format!("{phase}: tests written")
}

/// Adds the files that the phase has written to the list of the feature's tests: later features and whoever reads the report learn which they are.
fn list_tests(run: &Run, before: &FileStates) -> Outcome<()> {
    let Some(path) = run.places.tests() else {
        return Ok(());
    };
    let rel = run.root().check(&path)?;
    let earlier = run.root().read(&rel, MAX_LIST_BYTES).unwrap_or_default();
    let earlier = String::from_utf8_lossy(&earlier);
    let now = files::states(run.root(), &run.ctx.stop);
    let row = |path: &str| format!("- `{path}`\n");
    let mut rows: Vec<String> = files::changed(before, &now).into_iter().map(row).collect();
    let known = earlier.lines().filter(|line| line.starts_with("- "));
    rows.extend(known.map(|line| format!("{line}\n")));
    rows.sort();
    rows.dedup();
    let list = format!("{LIST_HEADING}{}", rows.concat());
    run.root().put(&rel, list.as_bytes())
}

/// Whether the phase has brought tests, now or when this run did it before. A phase that is done again may find them all there, without a commit that
/// says so: then who was asked says why nothing is to be added.
fn has_tests(
    run: &Run,
    phase: &str,
    before: &FileStates,
    report: &ChildReport,
) -> Result<(), String> {
    let now = files::states(run.root(), &run.ctx.stop);
    let is_brought = are_tests(run, &files::changed(before, &now))
        || repository::has_checkpoint(run, &written(phase));
    let all: Vec<&str> = now.keys().map(String::as_str).collect();
    match is_brought || are_tests(run, &all) {
        true => nothing_to_change::check(report, is_brought, MISSING),
        false => Err(MISSING.to_owned()),
    }
}

/// Whether there are tests in `paths`.
fn are_tests(run: &Run, paths: &[&str]) -> bool {
    let is_rust = |path: &str| path.ends_with(".rs") && paths.contains(&path);
    paths.iter().any(|path| files::is_test(path))
        || files::any_text(run.root(), &run.ctx.stop, &is_rust, &|text| {
            text.contains("#[test]")
        })
}
