//! Asking the reviewers of a round, all at once.

use super::verdict::{MIN_REPORT_CHARS, PASSING_WORDS, is_review};
use super::{Round, Subject};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::plural;
use crate::pipeline::Run;
use crate::pipeline::child::{self, Access, ChildReport, ChildTask};
use crate::pipeline::limits;
use crate::pipeline::tier::Tier;
use crate::store::project_texts::ProjectTexts;

/// A reviewer.
#[derive(Debug, Clone)]
pub(crate) struct Reviewer {
    /// Its name in the history: lower-case letters, digits and `-`.
    pub name: String,
    pub tier: Tier,
    /// What it looks at or for, as its prompt says it.
    pub task: String,
    /// It sees the document alone.
    pub sees_only_subject: bool,
    /// The word with which it passes, as its prompt says it.
    pub passing: &'static str,
}

/// The report of each reviewer, in order; `None` of one who did not review.
///
/// # Errors
/// Nobody reviewed: taking that for satisfaction would be the worst outcome. The run was stopped, or has nothing left to spend.
pub(super) fn ask(
    run: &Run,
    subject: &dyn Subject,
    active: &[Reviewer],
    round: &Round,
) -> Outcome<Vec<Option<ChildReport>>> {
    let tasks: Vec<ChildTask<'_>> = active
        .iter()
        .map(|reviewer| ChildTask {
            label: format!("review-{}-{}", label(subject.name()), reviewer.name),
            tier: reviewer.tier,
            access: Access::Read,
            prompt: subject.prompt(run, reviewer, round),
            texts: match reviewer.sees_only_subject {
                true => ProjectTexts::None,
                false => ProjectTexts::Instructions,
            },
            withhold: match round.adversarial {
                true => &PASSING_WORDS,
                false => &[],
            },
            limit: limits::REVIEW,
            after_failure: None,
            check: &has_reviewed,
        })
        .collect();
    let mut failure = None;
    let mut reports = Vec::new();
    for (reviewer, outcome) in active.iter().zip(child::run_parallel(run, &tasks)) {
        run.ctx.stop.check()?;
        match outcome {
            Ok(report) if is_review(&report) => reports.push(Some(report)),
            Ok(report) => {
                run.warn(format!(
                    "Reviewer {} of {} did not review: its report has {}.",
                    reviewer.name,
                    subject.name(),
                    plural(report.text.trim().chars().count(), "character")
                ));
                reports.push(None);
            }
            // A reviewer who has spent their share of what is left is one who did not review; without anything left the run ends.
            Err(problem) if is_final(&problem) && run.budget_left().is_err() => {
                return Err(problem);
            }
            Err(problem) => {
                run.warn(format!(
                    "Reviewer {} of {} did not review: {}",
                    reviewer.name,
                    subject.name(),
                    problem.one_line()
                ));
                failure = Some(problem);
                reports.push(None);
            }
        }
    }
    if reports.iter().any(Option::is_some) {
        return Ok(reports);
    }
    let mut empty = Problem::new(
        failure
            .as_ref()
            .map_or(ProblemKind::Missing, |problem| problem.kind),
        format!(
            "No reviewer of {} reviewed in round {}, so nothing is known about it.",
            subject.name(),
            round.number
        ),
    );
    if let Some(problem) = failure {
        // What the last of them failed of is the reason, and what helps there helps here.
        for hint in problem.next {
            empty = empty.next(hint);
        }
        empty = empty.facts(problem.what);
    }
    Err(empty)
}

/// Whether a child's problem ends the run, rather than this piece of work.
pub(crate) fn is_final(problem: &Problem) -> bool {
    matches!(problem.kind, ProblemKind::Cancelled | ProblemKind::Limit)
}

/// What a reviewer has to have done.
pub(crate) fn has_reviewed(report: &ChildReport) -> Result<(), String> {
    if is_review(report) {
        return Ok(());
    }
    Err(format!(
        "A report of less than {MIN_REPORT_CHARS} characters is no review. Read the whole subject, and report in full what you checked and found."
    ))
}

/// A name as labels have it.
fn label(name: &str) -> String {
    let plain = name.strip_suffix(".md").unwrap_or(name);
    plain
        .chars()
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
        .collect()
}
