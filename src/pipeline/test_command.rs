//! The project's tests, run by the pipeline itself: which command runs them, and how that ended.

mod output;
mod python;

use std::ops::ControlFlow;
use std::time::Duration;

use super::Run;
use super::context;
use super::limits;
use crate::base::marks::enclosed;
use crate::base::problem::Outcome;
use crate::base::text::{escape_controls, plural};
use crate::chat::pipeline_event::PipelineEvent;
use crate::proc::child::{Leftovers, ProgramOutput, ProgramSpec};
use crate::proc::child_env::{NO_BYTE_CODE, command_env};
use crate::proc::sandbox::git_watch::{GitWatch, WatchedPlaces};
use crate::proc::shell::shell;
use crate::store::project_texts::{self, ProjectTexts};
use crate::tools::project::command_watch::kept_in;
use output::TestOutput;

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
        .or_else(|| python::detect(run))
        .or_else(|| has(run, "go.mod").then(|| "go test -v ./...".to_owned()))
        .or_else(|| make(run))
        // Beside anything else they are of some script of the project.
        .or_else(|| python::detect_below(run))
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
        executed: output.executed(),
        ending: ending(&done),
        output: output.end(),
    })
}

/// Puts back what the tests changed of what git runs. It may have been the user, while the tests ran, so it is told.
fn put_back(run: &Run, watch: &GitWatch) {
    let changes = watch.changes();
    for words in changes.folder_words("The tests") {
        run.warn(words);
    }
    let changed = changes.git;
    if changed.is_empty() {
        return;
    }
    let done = watch.put_back(&changed, kept_in(&run.ctx).as_deref());
    let kept = done.where_words();
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
