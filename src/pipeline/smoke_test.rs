//! Phase 4b: the program is started and used. Its loop serves the check of served pages, too.

use super::Run;
use super::child;
use super::context::writer_task;
use super::debugging;
use super::phase::PhaseEnd;
use super::review::reviewers::is_final;
use super::review::verdict::is_marker;
use super::tier::Tier;
use super::{earlier_rounds, evidence, files, limits, phase_record, prompts, repository};
use crate::base::problem::Outcome;
use crate::base::template::fill;
use crate::base::variables::MARVIN_E2E_ROUNDS;
use crate::chat::pipeline_event::PipelineEvent;

/// Has the program tried until somebody finds nothing wrong.
///
/// # Errors
/// No child can work; the run was stopped.
pub(crate) fn smoke_test(run: &Run) -> Outcome<PhaseEnd> {
    let most = MARVIN_E2E_ROUNDS.read(&run.ctx.session.env, &mut |words| run.warn(words));
    let trial = Trial {
        phase: "4b",
        subject: "program",
        label: "smoke-tester",
        prompt: prompts::SMOKE,
        marker: "E2E_SMOKE_PASS",
        evidence: evidence::RUNS,
        most,
    };
    trial.run(run)?;
    Ok(PhaseEnd::Done)
}

/// Something that children try and correct until one of them reports that it works.
pub(super) struct Trial {
    pub phase: &'static str,
    pub subject: &'static str,
    pub label: &'static str,
    pub prompt: &'static str,
    /// What the last line of a report says when everything works.
    pub marker: &'static str,
    /// Who reports that must have used one of these tools.
    pub evidence: &'static [&'static str],
    pub most: u64,
}

impl Trial {
    /// Tries, at most as often as allowed, and makes sure that the tests still pass when something was changed.
    pub(super) fn run(&self, run: &Run) -> Outcome<()> {
        let before = phase_record::files_at_start(run, self.phase)?;
        if !self.until_it_works(run)? {
            run.warn(format!(
                "Phase {} used up its {} rounds without {}; the run goes on.",
                self.phase, self.most, self.marker
            ));
        }
        if files::states(run.root(), &run.ctx.stop) != before {
            debugging::keep_green(run, self.phase)?;
        }
        Ok(())
    }

    fn until_it_works(&self, run: &Run) -> Outcome<bool> {
        let mut failure = None;
        let done = phase_record::rounds(run, self.phase, self.subject);
        for number in done + 1..=self.most {
            match self.round(run, number) {
                Ok(true) => return Ok(true),
                Ok(false) => {
                    phase_record::save_round(run, self.phase, self.subject, number)?;
                    failure = None;
                }
                Err(problem) if is_final(&problem) => return Err(problem),
                // Twice in a row: something else is wrong than the program.
                Err(problem) if failure.is_some() => return Err(problem),
                Err(problem) => {
                    run.warn(problem.one_line());
                    failure = Some(problem);
                }
            }
        }
        failure.map_or(Ok(false), Err)
    }

    fn round(&self, run: &Run, number: u64) -> Outcome<bool> {
        run.emit(PipelineEvent::RoundStarted {
            phase: self.phase.to_owned(),
            subject: self.subject.to_owned(),
            round: number,
            most: self.most,
        });
        let instructions = fill(
            &prompts::placed(run, self.prompt),
            &[
                ("round", &number.to_string()),
                ("most", &self.most.to_string()),
                (
                    "earlier",
                    &earlier_rounds::part(run, self.phase, self.subject, earlier_rounds::HEADING),
                ),
            ],
        );
        let task = writer_task(
            run,
            self.label,
            Tier::Plan,
            limits::DEBUGGING,
            &instructions,
        );
        let report = child::run(run, &task)?;
        repository::checkpoint(run, &format!("{}: tried, round {number}", self.phase))?;
        let mut told = report.text.clone();
        if is_marker(report.last_line(), self.marker) {
            if evidence::has_used(run, &report, self.evidence) {
                return Ok(true);
            }
            let words = format!(
                "{} reported {} and had tried nothing, so that does not count.",
                self.label, self.marker
            );
            told = format!("{told}\n({words})");
            run.warn(words);
        }
        earlier_rounds::keep(run, self.phase, self.subject, number, &told)?;
        Ok(false)
    }
}
