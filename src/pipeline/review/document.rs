//! Phases 1a_review and 1b_review: the documents are reviewed and corrected.

use std::collections::BTreeMap;

use super::history::History;
use super::reviewers::{Reviewer, is_final};
use super::verdict::{MIN_REPORT_CHARS, VERIFIED, without_passing_words};
use super::{FixEnd, Round, RoundResult, Subject};
use crate::base::marks::enclosed;
use crate::base::problem::{Outcome, Problem};
use crate::base::template::fill;
use crate::base::text::clip;
use crate::pipeline::Run;
use crate::pipeline::child::{self, Access, ChildTask};
use crate::pipeline::context::{self, View};
use crate::pipeline::documents::{self, Document};
use crate::pipeline::phase::{PHASES, Phase, PhaseEnd};
use crate::pipeline::places::DocumentKind;
use crate::pipeline::tier::Tier;
use crate::pipeline::{
    files, limits, nothing_to_change, phase_record, prompts, repository, review, state,
};

/// Phase 1a_review: the specification, then the user experience.
///
/// # Errors
/// As [`review::run`].
pub(crate) fn review_specification(run: &Run) -> Outcome<PhaseEnd> {
    review_document(run, &documents::SPEC, "1a_review", 0)?;
    review_document(run, &documents::UX, "1a_review", 1)?;
    Ok(PhaseEnd::Done)
}

/// Phase 1b_review: the architecture.
///
/// # Errors
/// As [`review::run`].
pub(crate) fn review_design(run: &Run) -> Outcome<PhaseEnd> {
    review_document(run, &documents::DESIGN, "1b_review", 0)?;
    Ok(PhaseEnd::Done)
}

/// Characters of the user's edits that a prompt shows.
const MAX_EDITS_CHARS: usize = 8_000;
/// Rounds that a document's review can have: a step of the state file each.
const ROUNDS: usize = 4;

/// Reviews the `position`th document of a phase, from the first round that is not recorded as done.
fn review_document(
    run: &Run,
    document: &'static Document,
    phase: &'static str,
    position: usize,
) -> Outcome<()> {
    let steps = steps(phase, position)?;
    let path = document.path(run);
    let done = match phase_record::is_rewritten(run, &path) {
        // The state, which never goes back, knows the rounds of the document that was there before.
        true => phase_record::rounds(run, phase, document.kind.name()),
        false => {
            let recorded = recorded_rounds(run, steps)?;
            if recorded == steps.len() as u64 {
                return Ok(());
            }
            recorded
        }
    };
    let subject = DocumentReview {
        edits: edits(run, &path),
        document,
        path,
        phase,
        steps,
    };
    review::run(run, &subject, done)?;
    phase_record::set_reviewed(run, &subject.path)?;
    let commit = repository::head(run).unwrap_or_default();
    phase_record::save_document(run, &subject.path, &commit)?;
    // Whoever is satisfied early leaves rounds over.
    subject
        .steps
        .last()
        .map_or(Ok(()), |step| state::save(&run.places, step))
}

/// How many of the steps are recorded as done.
fn recorded_rounds(run: &Run, steps: &[&str]) -> Outcome<u64> {
    let mut done = 0;
    for step in steps {
        done += u64::from(state::is_done(&run.places, step)?);
    }
    Ok(done)
}

/// The steps of a phase that belong to its `position`th document.
fn steps(phase: &str, position: usize) -> Outcome<&'static [&'static str]> {
    let row = PHASES.iter().find(|row| row.name == phase);
    row.and_then(|row| row.steps.chunks(ROUNDS).nth(position))
        .ok_or_else(|| Problem::internal(format!("{phase} has no steps for its documents.")))
}

/// Whether the review of the `position`th document of a phase is over.
///
/// # Errors
/// The state cannot be read.
pub(crate) fn is_reviewed(run: &Run, phase: &Phase, position: usize) -> Outcome<bool> {
    let steps = phase.steps.chunks(ROUNDS).nth(position);
    match steps.and_then(|steps| steps.last()) {
        Some(step) => state::is_done(&run.places, step),
        None => Ok(false),
    }
}

/// Has the document corrected by what the user says, and reviewed again later.
///
/// # Errors
/// The run was stopped, or has nothing left to spend.
pub(crate) fn correct(
    run: &Run,
    document: &'static Document,
    phase: &'static str,
    findings: &str,
) -> Outcome<()> {
    let subject = DocumentReview {
        document,
        path: document.path(run),
        phase,
        steps: &[],
        edits: String::new(),
    };
    let round = Round {
        number: 1,
        most: 1,
        adversarial: false,
        earlier: BTreeMap::new(),
        history_path: History::of(document.kind.name()).path(&run.places),
        overview: String::new(),
        changes: None,
    };
    let before = repository::head(run).unwrap_or_default();
    match subject.fix(run, &round, findings)? {
        FixEnd::Changed => phase_record::set_corrected(run, &subject.path, &before),
        FixEnd::Explained | FixEnd::Unchanged => {
            run.warn(format!("{} is as it was before your words.", subject.path));
            Ok(())
        }
    }
}

/// What the user edited since the review, for reviewers and fixers; nothing when they did not.
fn edits(run: &Run, path: &str) -> String {
    let Some(commit) = phase_record::edited_since(run, path) else {
        return String::new();
    };
    let diff = repository::changes_since(run, &commit, Some(path));
    let diff = match diff {
        Ok(diff) if !diff.trim().is_empty() => {
            enclosed("difference", "", &clip(&diff, MAX_EDITS_CHARS))
        }
        _ => "(The difference cannot be shown.)".to_owned(),
    };
    fill(prompts::EDITED, &[("changes", &diff)])
}

struct DocumentReview {
    document: &'static Document,
    path: String,
    phase: &'static str,
    steps: &'static [&'static str],
    /// What the user edited since the last review.
    edits: String,
}

impl DocumentReview {
    fn with_edits(&self, instructions: String) -> String {
        match self.edits.is_empty() {
            true => instructions,
            false => format!("{}\n\n{}", instructions.trim_end(), self.edits),
        }
    }
}

impl Subject for DocumentReview {
    fn phase(&self) -> &str {
        self.phase
    }

    fn name(&self) -> &str {
        self.document.kind.name()
    }

    fn rounds(&self) -> u64 {
        self.steps.len() as u64
    }

    fn first_is_adversarial(&self) -> bool {
        true
    }

    fn reviewers(&self) -> Vec<Reviewer> {
        let reviewer = |name: &str, tier, angle: &str| Reviewer {
            name: name.to_owned(),
            tier,
            task: angle.trim_end().to_owned(),
            sees_only_subject: false,
            passing: VERIFIED,
        };
        vec![
            reviewer("main", Tier::Opus, prompts::ANGLE_MAIN),
            reviewer("gaps", Tier::AuxReviewer, prompts::ANGLE_GAPS),
            reviewer("conflicts", Tier::AuxReviewer, prompts::ANGLE_CONFLICTS),
            Reviewer {
                sees_only_subject: true,
                ..reviewer("quality", Tier::AuxReviewer, prompts::ANGLE_QUALITY)
            },
        ]
    }

    fn prompt(&self, run: &Run, reviewer: &Reviewer, round: &Round) -> String {
        let is_design = self.document.kind == DocumentKind::Design;
        let (view, source) = match (reviewer.sees_only_subject, is_design) {
            (true, _) => (
                View::DocumentAlone(self.document.kind),
                prompts::SOURCE_NONE,
            ),
            (false, true) => (View::Project, prompts::SOURCE_SPEC),
            (false, false) => (View::Project, prompts::SOURCE_TASK),
        };
        let template = match round.adversarial {
            true => prompts::REVIEW_FIRST,
            false => prompts::REVIEW_AGAIN,
        };
        let instructions = fill(
            template,
            &[
                ("path", &self.path),
                ("source", &prompts::placed(run, source)),
                ("angle", &reviewer.task),
                ("round", &round.number.to_string()),
                ("most", &round.most.to_string()),
                ("history", &review::as_part(&round.history_for(reviewer))),
                ("severity", prompts::SEVERITY.trim_end()),
                (
                    "changes",
                    &review::as_part(round.changes.as_deref().unwrap_or_default()),
                ),
                ("min_chars", &MIN_REPORT_CHARS.to_string()),
            ],
        );
        let instructions = self.with_edits(instructions);
        let prompt = context::prompt(run, &Access::Read, view, &instructions);
        match round.adversarial {
            // The task and the documents may hold such a word, too.
            true => without_passing_words(&prompt),
            false => prompt,
        }
    }

    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn fix(&self, run: &Run, round: &Round, findings: &str) -> Outcome<FixEnd> {
        let rel = run.root().check(&self.path)?;
        let before = documents::content(run.root(), &rel);
        let has_changed = || documents::content(run.root(), &rel) != before;
        let others = files::states(run.root(), &run.ctx.stop);
        let access = Access::WriteFiles(vec![self.path.clone()]);
        let instructions = fill(
            prompts::FIX_DOCUMENT,
            &[
                ("path", &self.path),
                ("history_path", &round.history_path),
                ("findings", findings),
            ],
        );
        let instructions = self.with_edits(instructions);
        let outcome = child::run(
            run,
            &ChildTask {
                label: format!(
                    "{}-fixer",
                    self.document.kind.name().trim_end_matches(".md")
                ),
                tier: Tier::Fallback,
                prompt: context::prompt(run, &access, View::Project, &instructions),
                access,
                texts: View::Project.texts(),
                withhold: &[],
                limit: limits::DOCUMENT,
                after_failure: Some(&|| documents::reset(run, &rel, before.as_deref())),
                check: &|report| {
                    let missing = format!(
                        "{} is as it was. Correct the findings in the file itself, without asking first.",
                        self.path
                    );
                    nothing_to_change::check(report, has_changed(), &missing)
                },
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
        let now = files::states(run.root(), &run.ctx.stop);
        let changed = files::changed(&others, &now);
        if !changed.is_empty() {
            run.warn(format!(
                "The fixer of {} changed other files, too: {}.",
                self.document.kind.name(),
                clip(&changed.join(", "), 500)
            ));
        }
        if let Err(words) = documents::state(run.root(), &rel)? {
            documents::put_back(run, &rel, before.as_deref(), &words)?;
        }
        History::of(self.name()).append_reasons(run, round.number, reasons.as_deref())?;
        Ok(FixEnd::of(has_changed(), reasons.as_deref()))
    }

    fn round_done(&self, run: &Run, result: &RoundResult) -> Outcome<()> {
        let step = usize::try_from(result.number - 1)
            .ok()
            .and_then(|at| self.steps.get(at));
        phase_record::save_round(run, self.phase, self.name(), result.number)?;
        // Before the state knows the round: what its fixer did must not look like an edit of the user's.
        let commit = repository::head(run).unwrap_or_default();
        phase_record::save_document(run, &self.path, &commit)?;
        step.map_or(Ok(()), |step| state::save(&run.places, step))
    }
}
