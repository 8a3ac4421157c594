//! Phase 4a: the tests are run, and what they show is corrected, until they pass. The pipeline's own run of the tests decides, whatever a child says.

use super::Run;
use super::child;
use super::context::writer_task;
use super::phase::PhaseEnd;
use super::review::code;
use super::review::reviewers::is_final;
use super::test_command::{self, TestRun};
use super::tier::Tier;
use super::{earlier_rounds, files, limits, phase_record, prompts, repository};
use crate::base::problem::Outcome;
use crate::base::template::fill;
use crate::base::text::counted;
use crate::base::variables::MARVIN_DEBUG_ROUNDS;
use crate::chat::pipeline_event::PipelineEvent;

const PHASE: &str = "4a";
/// What its rounds are about.
const TESTS: &str = "tests";
/// The rounds in a row that changed no file, in the record of the phase.
const IDLE: &str = "tests, idle";
/// Rounds for what a later phase broke.
const LATER_ROUNDS: u64 = 3;
/// After so many children in a row that could not work, something else is wrong than the code.
const MAX_FAILED_CHILDREN: u64 = 3;
/// After so many rounds in a row that changed no file, further ones would change none either.
const MAX_IDLE_ROUNDS: u64 = 3;

/// Debugs until the tests pass, has the code reviewed, and makes sure that the tests still pass.
///
/// # Errors
/// No child can work; the review fails; the run was stopped.
pub(crate) fn debug(run: &Run) -> Outcome<PhaseEnd> {
    let most = MARVIN_DEBUG_ROUNDS.read(&run.ctx.session.env, &mut |words| run.warn(words));
    // An interrupted run goes on with the round in which it was.
    let mut rounds = DebugRounds {
        used: phase_record::rounds(run, PHASE, TESTS),
        idle: phase_record::rounds(run, PHASE, IDLE),
        ..DebugRounds::new(PHASE, most)
    };
    rounds.until_green(run)?;
    let before = files::states(run.root(), &run.ctx.stop);
    code::review_sources(run, PHASE)?;
    if files::states(run.root(), &run.ctx.stop) != before {
        rounds.until_green(run)?;
    }
    Ok(PhaseEnd::Done)
}

/// Runs the tests after a later phase has changed the code, and corrects what it broke.
///
/// # Errors
/// As [`debug`].
pub(crate) fn keep_green(run: &Run, phase: &'static str) -> Outcome<bool> {
    DebugRounds::new(phase, LATER_ROUNDS).until_green(run)
}

struct DebugRounds {
    phase: &'static str,
    most: u64,
    used: u64,
    /// In a row, without a changed file.
    idle: u64,
}

impl DebugRounds {
    fn new(phase: &'static str, most: u64) -> Self {
        Self {
            phase,
            most,
            used: 0,
            idle: 0,
        }
    }

    /// Debugs until the tests pass; false, with a warning, when the rounds are used up.
    fn until_green(&mut self, run: &Run) -> Outcome<bool> {
        let mut failed = 0;
        loop {
            let tests = test_command::run_tests(run)?;
            if tests.is_green() {
                self.idle = 0;
                return Ok(true);
            }
            if self.used >= self.most {
                let rounds = match self.most {
                    0 => ", and there are to be no rounds of debugging".to_owned(),
                    _ => format!(" after {} of debugging", counted(self.used, "round")),
                };
                run.warn(format!(
                    "The tests do not pass{rounds}; the run goes on. {}",
                    tests.words()
                ));
                return Ok(false);
            }
            if self.idle >= MAX_IDLE_ROUNDS {
                run.warn(format!(
                    "{} rounds of debugging changed no file, so there are no more; the run goes on. {}",
                    self.idle,
                    tests.words()
                ));
                return Ok(false);
            }
            self.used += 1;
            let before = files::states(run.root(), &run.ctx.stop);
            let outcome = self.round(run, &tests);
            let is_idle = files::states(run.root(), &run.ctx.stop) == before;
            self.idle = if is_idle { self.idle + 1 } else { 0 };
            // Whether it may go on is known when it is over, also if its child failed.
            run.ctx.stop.check()?;
            if self.phase == PHASE {
                phase_record::save_round(run, PHASE, IDLE, self.idle)?;
                phase_record::save_round(run, PHASE, TESTS, self.used)?;
            }
            match outcome {
                Ok(()) => failed = 0,
                Err(problem) if is_final(&problem) || failed + 1 >= MAX_FAILED_CHILDREN => {
                    return Err(problem);
                }
                Err(problem) => {
                    failed += 1;
                    run.warn(problem.one_line());
                }
            }
        }
    }

    fn round(&self, run: &Run, tests: &TestRun) -> Outcome<()> {
        run.emit(PipelineEvent::RoundStarted {
            phase: self.phase.to_owned(),
            subject: TESTS.to_owned(),
            round: self.used,
            most: self.most,
        });
        let instructions = fill(
            prompts::DEBUG,
            &[
                ("round", &self.used.to_string()),
                ("most", &self.most.to_string()),
                ("outcome", &tests.for_child()),
                (
                    "earlier",
                    &earlier_rounds::part(run, self.phase, TESTS, earlier_rounds::HEADING),
                ),
            ],
        );
        // What it did needs no check: the tests are run after it anyway.
        let task = writer_task(
            run,
            "debugger",
            Tier::Plan,
            limits::DEBUGGING,
            &instructions,
        );
        let told = match child::run(run, &task) {
            Ok(report) => report.text,
            Err(problem) if is_final(&problem) => return Err(problem),
            Err(problem) => {
                earlier_rounds::keep(run, self.phase, TESTS, self.used, &problem.one_line())?;
                return Err(problem);
            }
        };
        earlier_rounds::keep(run, self.phase, TESTS, self.used, &told)?;
        repository::checkpoint(
            run,
            &format!("{}: debugged, round {}", self.phase, self.used),
        )
    }
}
