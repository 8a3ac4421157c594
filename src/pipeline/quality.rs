//! Phase 5: somebody who may only read tries to break the program; somebody else corrects what was found.

use super::Run;
use super::child::{self, Access, ChildReport, ChildTask};
use super::context::{self, View, writer_task};
use super::debugging;
use super::phase::PhaseEnd;
use super::review::judged::{Judged, Reviewed, RoundFindings};
use super::review::reviewers::{has_reviewed, is_final};
use super::review::verdict::{MIN_REPORT_CHARS, Verdict, verdict};
use super::tier::Tier;
use super::{earlier_rounds, files, limits, nothing_to_change, phase_record, prompts, repository};
use crate::base::marks::enclosed;
use crate::base::problem::{Outcome, Problem};
use crate::base::template::fill;
use crate::base::text::clip;
use crate::base::variables::MARVIN_QA_ROUNDS;
use crate::chat::pipeline_event::PipelineEvent;

const PHASE: &str = "5";
/// What its rounds are about.
const SUBJECT: &str = "quality";
/// Who tries to break the program.
const TESTER: &str = "quality-tester";
/// Characters of a report that the fixer and later rounds see.
const MAX_FINDINGS_CHARS: usize = 20_000;

/// Rounds of attempts and fixes, until an attempt fails.
///
/// # Errors
/// Nobody could try; the run was stopped.
pub(crate) fn assure_quality(run: &Run) -> Outcome<PhaseEnd> {
    let most = MARVIN_QA_ROUNDS.read(&run.ctx.session.env, &mut |words| run.warn(words));
    let mut failure: Option<Problem> = None;
    for number in phase_record::rounds(run, PHASE, SUBJECT) + 1..=most {
        let report = match attempt(run, number, most) {
            Ok(report) => report,
            Err(problem) if is_final(&problem) || failure.is_some() => return Err(problem),
            Err(problem) => {
                run.warn(problem.one_line());
                failure = Some(problem);
                continue;
            }
        };
        failure = None;
        let verdict = verdict(&report, false);
        let recorded = RoundFindings::record(
            run,
            Reviewed {
                phase: PHASE,
                name: SUBJECT,
            },
            number,
            &repository::head(run).unwrap_or_default(),
            &[Judged::of(TESTER, &report.text, verdict)],
        );
        if verdict == Verdict::Satisfied {
            return Ok(PhaseEnd::Done);
        }
        let findings = enclosed(
            "findings",
            "",
            &clip(report.text.trim(), MAX_FINDINGS_CHARS),
        );
        let (changed, reasons) = fix(run, number, &findings)?;
        if changed {
            recorded.corrected(run, repository::head(run)?);
        }
        let told = match reasons {
            None => report.text,
            Some(reasons) => format!(
                "{}\n\nWho was asked to correct that changed nothing, and says:\n{reasons}",
                report.text.trim()
            ),
        };
        earlier_rounds::keep(run, PHASE, SUBJECT, number, &told)?;
        phase_record::save_round(run, PHASE, SUBJECT, number)?;
    }
    if let Some(problem) = failure {
        return Err(problem);
    }
    if most == 0 {
        run.warn(format!(
            "Nobody tried to break the program in phase {PHASE}: {} is 0.",
            MARVIN_QA_ROUNDS.name
        ));
        return Ok(PhaseEnd::Done);
    }
    run.warn(format!(
        "Phase {PHASE} used up its {most} rounds, and the last one still had findings; they were given to the fixer, and the run goes on."
    ));
    Ok(PhaseEnd::Done)
}

/// Above what earlier rounds found.
const EARLIER: &str = "Earlier rounds found the following, the last one at the end, and somebody was asked to correct it. Check in the code whether it was.";

fn attempt(run: &Run, number: u64, most: u64) -> Outcome<ChildReport> {
    run.emit(PipelineEvent::RoundStarted {
        phase: PHASE.to_owned(),
        subject: SUBJECT.to_owned(),
        round: number,
        most,
    });
    let instructions = fill(
        &prompts::placed(run, prompts::QUALITY),
        &[
            ("round", &number.to_string()),
            ("most", &most.to_string()),
            (
                "earlier",
                &earlier_rounds::part(run, PHASE, SUBJECT, EARLIER),
            ),
            ("min_chars", &MIN_REPORT_CHARS.to_string()),
        ],
    );
    child::run(
        run,
        &ChildTask {
            label: TESTER.to_owned(),
            tier: Tier::Opus,
            prompt: context::prompt(run, &Access::Read, View::Project, &instructions),
            access: Access::Read,
            texts: View::Project.texts(),
            withhold: &[],
            limit: limits::QUALITY,
            after_failure: None,
            check: &has_reviewed,
        },
    )
}

/// Lets the findings be corrected, and makes sure that the tests still pass; returns whether something was changed, and why not, if the fixer says so.
fn fix(run: &Run, number: u64, findings: &str) -> Outcome<(bool, Option<String>)> {
    let before = files::states(run.root(), &run.ctx.stop);
    let has_changed = || files::states(run.root(), &run.ctx.stop) != before;
    let instructions = fill(prompts::QUALITY_FIX, &[("findings", findings)]);
    let outcome = child::run(
        run,
        &ChildTask {
            check: &|report| {
                let missing = "No file has changed. Correct the findings in the files.";
                nothing_to_change::check(report, has_changed(), missing)
            },
            ..writer_task(
                run,
                "quality-fixer",
                Tier::Plan,
                limits::QUALITY,
                &instructions,
            )
        },
    );
    let reasons = match outcome {
        Err(problem) if is_final(&problem) => return Err(problem),
        Err(problem) => {
            run.warn(problem.one_line());
            None
        }
        Ok(report) => nothing_to_change::reasons(&report),
    };
    repository::checkpoint(run, &format!("{PHASE}: findings corrected, round {number}"))?;
    let changed = has_changed();
    if changed {
        debugging::keep_green(run, PHASE)?;
    }
    Ok((changed, reasons))
}
