//! The project's tests, run by the pipeline itself: which command runs them, and how many did.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::Run;
use super::context;
use super::limits;
use crate::base::marks::enclosed;
use crate::base::problem::Outcome;
use crate::base::text::{clip, escape_controls, plural, tail};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::RelPath;
use crate::proc::child::{Leftovers, ProgramOutput, ProgramSpec};
use crate::proc::child_env::{NO_BYTE_CODE, command_env, search_path};
use crate::proc::program::find_for_command;
use crate::proc::sandbox::git_watch::{GitWatch, WatchedPlaces};
use crate::proc::shell::shell;
use crate::store::project_texts::{self, ProjectTexts};
use crate::tools::project::command_watch::kept_in;

/// Bytes of the output's end that a child is shown.
const SHOWN_BYTES: usize = 12_000;
/// Characters of one line of output that are kept.
const MAX_LINE_CHARS: usize = 2_000;

/// How a run of the tests ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestRun {
    /// Nothing says how the tests are run.
    NoCommand,
    /// They were run.
    Ran {
        command: String,
        /// Tests that were executed, as far as the output says.
        executed: u64,
        ending: TestEnding,
        /// The end of the output.
        output: String,
    },
}

/// How the test command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestEnding {
    /// With status 0.
    Success,
    /// Otherwise, in words.
    Failure(String),
    /// It did not end within the limit.
    Hanging,
}

impl TestRun {
    /// Tests were executed, and all of them passed.
    pub(crate) fn is_green(&self) -> bool {
        matches!(
            self,
            Self::Ran {
                executed: 1..,
                ending: TestEnding::Success,
                ..
            }
        )
    }

    /// The command ran and found something wrong: what tests do that come before the product.
    pub(crate) fn is_red(&self) -> bool {
        matches!(
            self,
            Self::Ran {
                ending: TestEnding::Failure(_),
                ..
            }
        )
    }

    /// The command ran, and did not end well.
    pub(crate) fn has_failed(&self) -> bool {
        let Self::Ran { ending, .. } = self else {
            return false;
        };
        *ending != TestEnding::Success
    }

    /// How it ended, as sentences.
    pub(crate) fn words(&self) -> String {
        let Self::Ran {
            command,
            executed,
            ending,
            ..
        } = self
        else {
            return "No test command was found: no Cargo.toml, no package.json with a test script, no Python tests, no go.mod and no Makefile with a target \"test\". \
                Set one up, or write a line \"Test command: …\" into .marvin-instructions."
                .to_owned();
        };
        let count = plural(usize::try_from(*executed).unwrap_or(usize::MAX), "test");
        match ending {
            TestEnding::Success if *executed == 0 => format!(
                "`{command}` ended with status 0, but its output does not show that a single test was executed. That counts as a failure: it has to execute tests, and to say how many, in a line such as \"3 tests passed\"."
            ),
            TestEnding::Success => format!("`{command}` executed {count}, and all of them passed."),
            TestEnding::Failure(how) => {
                format!("`{command}` failed ({how}); it executed {count}.")
            }
            TestEnding::Hanging => format!(
                "`{command}` did not end within {} seconds and was killed. Some test waits for something that never comes, without a limit.",
                limits::TESTS.as_secs()
            ),
        }
    }

    /// [`TestRun::words`] and the end of the output, for a child.
    pub(crate) fn for_child(&self) -> String {
        match self {
            Self::Ran { output, .. } if !output.trim().is_empty() => format!(
                "{}\n\nThe end of its output:\n{}",
                self.words(),
                enclosed("output", "", output)
            ),
            _ => self.words(),
        }
    }
}

/// Runs the project's tests.
///
/// # Errors
/// The run was stopped; no shell can be started.
pub(crate) fn run_tests(run: &Run) -> Outcome<TestRun> {
    let tests = match detect(run) {
        Some(command) => execute(run, command, limits::TESTS)?,
        None => TestRun::NoCommand,
    };
    run.emit(PipelineEvent::TestsRun {
        passed: tests.is_green(),
        words: tests.words(),
    });
    Ok(tests)
}

/// The command that runs the project's tests: what the project's instructions say, else what its files suggest.
pub(super) fn detect(run: &Run) -> Option<String> {
    stated(run)
        .or_else(|| has(run, "Cargo.toml").then(|| "cargo test".to_owned()))
        .or_else(|| npm(run))
        .or_else(|| python(run))
        .or_else(|| has(run, "go.mod").then(|| "go test -v ./...".to_owned()))
        .or_else(|| make(run))
}

/// `Test command: …` in the project's instructions.
fn stated(run: &Run) -> Option<String> {
    let (_, text) = project_texts::instructions(
        &run.ctx.session.paths,
        run.root(),
        true,
        ProjectTexts::of(&run.ctx.session.env),
    )?;
    let command = text.lines().find_map(project_texts::test_command)?;
    (!command.is_empty()).then(|| command.to_owned())
}

fn has(run: &Run, path: &str) -> bool {
    let rel = run.root().check(path);
    rel.is_ok_and(|rel| run.root().exists(&rel).unwrap_or(false))
}

/// What `npm init` writes when there are no tests is none.
fn npm(run: &Run) -> Option<String> {
    const MAX_BYTES: u64 = 4 << 20;
    let rel = run.root().check("package.json").ok()?;
    if !run.root().exists(&rel).ok()? {
        return None;
    }
    let bytes = run.root().read(&rel, MAX_BYTES).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    (!script.contains("no test specified")).then(|| "npm test".to_owned())
}

/// pytest of the project's own environment, else of the user's, else the standard library's unittest.
fn python(run: &Run) -> Option<String> {
    const SETTINGS: [&str; 4] = ["pytest.ini", "conftest.py", "tox.ini", "setup.py"];
    const OWN: [&str; 2] = [".venv/bin/pytest", "venv/bin/pytest"];
    let names_pytest = |path: &str| {
        context::beginning(run, path, 64 << 10).is_some_and(|text| text.contains("pytest"))
    };
    let is_python = SETTINGS.iter().any(|path| has(run, path))
        || names_pytest("pyproject.toml")
        || names_pytest("setup.cfg")
        || has_python_tests(run);
    if !is_python {
        return None;
    }
    if let Some(own) = OWN.iter().find(|path| has(run, path)) {
        return Some((*own).to_owned());
    }
    let session = &run.ctx.session;
    if find_for_command("pytest", &search_path(&session.env)).is_some() {
        return Some("pytest".to_owned());
    }
    // Without the current folder on its path: a file pytest.py of the project would be run.
    let mut probe = ProgramSpec::new(
        "python3",
        ["-c", "import sys; sys.path.pop(0); import pytest"],
        command_env(&session.env),
    );
    probe.limit = Duration::from_secs(20);
    let has_module = probe.run(&run.ctx.stop).is_ok_and(|done| done.success());
    Some(match has_module {
        true => "python3 -m pytest".to_owned(),
        false => unittest(run),
    })
}

/// The discovery of unittest finds tests in a folder below only when it is a package, or when it is told.
fn unittest(run: &Run) -> String {
    let folder = ["tests", "test"]
        .into_iter()
        .find(|folder| has(run, folder) && !has(run, &format!("{folder}/__init__.py")));
    match folder {
        Some(folder) => format!("python3 -m unittest discover -v -s {folder} -t ."),
        None => "python3 -m unittest discover -v".to_owned(),
    }
}

fn has_python_tests(run: &Run) -> bool {
    let in_folder = |folder: &RelPath| {
        let entries = run.root().list(folder).unwrap_or_default();
        entries.iter().any(|entry| {
            let stem = entry.name.strip_suffix(".py");
            stem.is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
        })
    };
    let below = ["tests", "test"].map(|folder| run.root().check(folder));
    let folders = below.into_iter().flatten();
    in_folder(&RelPath::here()) || folders.into_iter().any(|folder| in_folder(&folder))
}

fn make(run: &Run) -> Option<String> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let text = names
        .iter()
        .find_map(|name| context::beginning(run, name, 256 << 10))?;
    let has_target = text.lines().any(|line| {
        let target = line
            .split_once(':')
            .filter(|(_, rest)| !rest.starts_with('='));
        target.is_some_and(|(names, _)| names.split(' ').any(|name| name == "test"))
    });
    has_target.then(|| "make test".to_owned())
}

/// Runs `command`; its output is read line by line, and only its end is kept: a test may print a gigabyte.
pub(super) fn execute(run: &Run, command: String, limit: Duration) -> Outcome<TestRun> {
    let session = &run.ctx.session;
    let script = format!("exec 2>&1\n{command}");
    let mut variables = command_env(&session.env);
    variables.extend(session.child_variables());
    variables.push((NO_BYTE_CODE.0.to_owned(), NO_BYTE_CODE.1.to_owned()));
    let dir = run.root().path();
    // Beside a conversation, which may have no sandbox, an agent wrote the tests, and nobody is asked about their command.
    let sandbox = match run.ctx.approval.is_attended() {
        true => session.sandbox.for_unasked_command(dir, &session.env)?,
        false => session.sandbox.for_command(dir, &session.env)?,
    };
    if let Some(sandbox) = &sandbox {
        sandbox.adjust(&mut variables);
    }
    let mut program = ProgramSpec::new(shell(&session.env)?, ["-c", &script], variables);
    let watch = sandbox.as_ref().map(|_| {
        GitWatch::note(WatchedPlaces {
            dir: run.root().path().to_owned(),
            ..WatchedPlaces::default()
        })
    });
    program.sandbox = sandbox.map(|sandbox| sandbox.policy);
    program.supervisor.clone_from(&session.supervisor);
    program.leftovers = Leftovers::KillDaemons;
    program.dir = Some(run.root().path().to_owned());
    program.limit = limit;
    let mut output = TestOutput::default();
    let done = program.run_split(&run.ctx.stop, b'\n', &mut |line| {
        output.line(line);
        ControlFlow::Continue(())
    });
    if let Some(watch) = watch {
        put_back(run, &watch);
    }
    let done = done?.unless_cancelled()?;
    Ok(TestRun::Ran {
        command,
        executed: output.executed,
        ending: ending(&done),
        output: output.end(),
    })
}

/// Puts back what the tests changed of what git runs. It may have been the user, while the tests ran, so it is told.
fn put_back(run: &Run, watch: &GitWatch) {
    let changed = watch.changes().git;
    if changed.is_empty() {
        return;
    }
    let done = watch.put_back(&changed, kept_in(&run.ctx).as_deref());
    let kept = done.kept.as_ref().map(|kept| kept.display().to_string());
    let kept = kept.map(|kept| format!(" The other version is in {kept}."));
    let kept = kept.unwrap_or_default();
    for path in &changed {
        let shown = escape_controls(&path.display().to_string());
        run.warn(match done.failed.contains(path) {
            true => format!(
                "The tests changed {shown}, which git runs, and it could not be put back.{kept}"
            ),
            false => format!(
                "{shown}, which git runs, was changed while the tests ran, and was put back.{kept}"
            ),
        });
    }
}

fn ending(done: &ProgramOutput) -> TestEnding {
    if done.timed_out {
        TestEnding::Hanging
    } else if done.success() {
        TestEnding::Success
    } else {
        TestEnding::Failure(done.ending())
    }
}

/// The end of the output, and the tests that it tells of.
#[derive(Default)]
struct TestOutput {
    lines: VecDeque<String>,
    kept: usize,
    executed: u64,
}

impl TestOutput {
    fn line(&mut self, bytes: &[u8]) {
        // No line that counts is long, and a long one need not be decoded.
        let bytes = bytes.get(..MAX_LINE_CHARS * 4).unwrap_or(bytes);
        let line = clip(String::from_utf8_lossy(bytes).trim_end(), MAX_LINE_CHARS);
        self.executed = self.executed.saturating_add(executed(&line));
        self.kept += line.len() + 1;
        self.lines.push_back(line);
        while self.kept > 2 * SHOWN_BYTES
            && let Some(first) = self.lines.pop_front()
        {
            self.kept -= first.len() + 1;
        }
    }

    fn end(self) -> String {
        let text = Vec::from(self.lines).join("\n");
        tail(&text, SHOWN_BYTES).to_owned()
    }
}

/// Tests that a line of output says were executed: lines with totals of the common test programs. Suites and files are no tests, and skipped ones were
/// not executed.
fn executed(line: &str) -> u64 {
    // Digits and letters of ASCII: those of all of Unicode took more than a megabyte for as long as the run lasts.
    static TOTALS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = [
            // cargo: test result: FAILED. 3 passed; 1 failed; 0 ignored; …
            r"^test result: [A-Za-z]+\. ([0-9]+) passed; ([0-9]+) failed;",
            // pytest: ==== 1 failed, 3 passed in 0.12s ====
            r"^=* ?(?:([0-9]+) failed)?(?:, )?(?:([0-9]+) passed)?(?:, [^=]*)? in [0-9.]+s",
            // unittest: Ran 3 tests in 0.001s
            r"^Ran ([0-9]+) tests? in ",
            // node:test: ℹ pass 3, # fail 1
            r"^(?:#|ℹ) (?:pass|fail) ([0-9]+)$",
            // jest, vitest: Tests:  1 failed, 3 passed, 4 total
            r"^[ \t]*Tests:? +(?:([0-9]+) failed[,|]? *\|? *)?(?:[0-9]+ skipped[,|]? *\|? *)?(?:([0-9]+) passed)?",
            // mocha, AVA: 3 passing (10ms), 1 failing
            r"^[ \t]*([0-9]+) (?:passing|failing)(?-u:\b)",
            // go test -v: a line for each test
            r"^()--- (?:PASS|FAIL): \S",
            // TAP of bats, prove and scripts: a line for each test; one that was skipped was not executed
            r"^()(?:not )?ok [0-9]+(?: - [^#]*| [^#]*)?$",
            // GoogleTest: [  PASSED  ] 3 tests.
            r"^\[  (?:PASSED|FAILED)  \] ([0-9]+) tests?[.,]",
            // RSpec, PHPUnit, Maven, CTest
            r"^([0-9]+) examples?, [0-9]+ failures?",
            r"^(?:OK \(|Tests: )([0-9]+)(?: tests?)?, (?:[0-9]+ assertions|Assertions: [0-9]+)",
            r"^(?:\[[A-Za-z]+\] )?Tests run: ([0-9]+), Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+$",
            r"^[0-9]+% tests passed, [0-9]+ tests? failed out of ([0-9]+)$",
            // Anything else that says it plainly: 12 tests passed, All 3 tests passed, 3 passed
            r"^[ \t]*(?:All )?([0-9]+) (?:tests? )?(?:passed|failed)(?-u:\b)",
        ];
        patterns
            .iter()
            .filter_map(|text| Regex::new(text).ok())
            .collect()
    });
    if !line.contains(|c: char| c.is_ascii_digit()) && !line.starts_with("--- ") {
        return 0;
    }
    let line = without_colors(line);
    let found = TOTALS.iter().find_map(|pattern| pattern.captures(&line));
    found.map_or(0, |totals| {
        let counts = totals.iter().skip(1).flatten();
        // A group that is empty stands for one test.
        counts
            .map(|count| match count.as_str() {
                "" => 1,
                digits => digits.parse().unwrap_or(0),
            })
            .sum()
    })
}

/// A line without the sequences that colour it.
fn without_colors(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after
            .split_once(|c: char| c.is_ascii_alphabetic())
            .map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_the_common_test_programs_are_read() {
        for (line, count) in [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                3,
            ),
            (
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                5,
            ),
            (
                "test result: ok. 0 passed; 0 failed; 4 ignored; 0 measured; 2 filtered out",
                0,
            ),
            ("running 3 tests", 0),
            ("============ 3 passed in 0.12s ============", 3),
            ("======= 1 failed, 3 passed, 1 warning in 0.12s =======", 4),
            ("1 failed in 0.01s", 1),
            ("==== no tests ran in 0.01s ====", 0),
            ("==== 2 skipped in 0.01s ====", 0),
            ("Ran 3 tests in 0.001s", 3),
            ("Ran 0 tests in 0.000s", 0),
            ("# pass 3", 3),
            ("ℹ fail 1", 1),
            ("# tests 3", 0),
            ("Tests:       1 failed, 3 passed, 4 total", 4),
            ("Test Suites: 1 failed, 1 passed, 2 total", 0),
            ("      Tests  3 passed (3)", 3),
            (" Test Files  1 passed (1)", 0),
            ("  3 passing (10ms)", 3),
            ("\u{1b}[32m  3 passing\u{1b}[0m", 3),
            ("--- PASS: TestA (0.00s)", 1),
            ("    --- PASS: TestA/sub (0.00s)", 0),
            ("3 examples, 1 failure", 3),
            ("OK (3 tests, 5 assertions)", 3),
            ("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", 3),
            ("100% tests passed, 0 tests failed out of 3", 3),
            ("12 tests passed", 12),
            ("All 2 tests passed.", 2),
            ("ok 1 - doubles", 1),
            ("not ok 2 doubles", 1),
            ("ok 3", 1),
            ("ok 4 - doubles # skip no network", 0),
            ("1..4", 0),
            ("[  PASSED  ] 3 tests.", 3),
            ("[  FAILED  ] 1 test, listed below:", 1),
            ("ok  \texample.com/a\t0.003s", 0),
            ("?   \texample.com/a\t[no test files]", 0),
            ("compiled in 3.0s", 0),
            ("", 0),
        ] {
            assert_eq!(executed(line), count, "{line}");
        }
    }

    #[test]
    fn only_the_end_of_long_output_is_kept() {
        let mut output = TestOutput::default();
        for number in 0..100_000 {
            output.line(format!("line {number}").as_bytes());
        }
        output.line(&vec![b'x'; 16 << 20]);
        assert!(output.kept < 3 * SHOWN_BYTES);
        let end = output.end();
        assert!(
            end.len() <= SHOWN_BYTES && end.contains("line 99999"),
            "{end}"
        );
    }
}
