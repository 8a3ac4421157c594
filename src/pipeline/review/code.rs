//! Reviews of code: after the tests, the implementation and the debugging of a run, and of a whole codebase on its own.

use super::history::History;
use super::reviewers::{Reviewer, is_final};
use super::verdict::{CLEAN, CONFORMANT, MIN_REPORT_CHARS};
use super::{FixEnd, ReviewEnd, Round, RoundResult, Subject};
use crate::base::marks::enclosed;
use crate::base::problem::Outcome;
use crate::base::template::fill;
use crate::base::text::{clip, head, plural};
use crate::pipeline::Run;
use crate::pipeline::child::{self, Access, ChildTask};
use crate::pipeline::context::{self, View};
use crate::pipeline::files::FileStates;
use crate::pipeline::tier::Tier;
use crate::pipeline::{
    files, limits, nothing_to_change, phase_record, prompts, record, repository, review,
};

/// Rounds of a review inside a run.
const ROUNDS: u64 = 3;
/// Most reviewers that share the files of a run.
const MAX_AREAS: usize = 3;
/// Files that one reviewer can well read.
const FILES_PER_AREA: usize = 8;
/// Files that a prompt names.
const MAX_NAMED: usize = 200;
/// Characters of the statistics of changes that a prompt shows.
const MAX_STAT_CHARS: usize = 8_000;
/// Characters of a commit's id that a prompt shows.
const SHORT_ID: usize = 12;
/// Files that a fixer may be limited to; more do not fit into its environment.
const MAX_WRITABLE: usize = 200;

/// A review of code.
pub(crate) struct CodeReview<'a> {
    /// The phase, for events.
    pub phase: &'a str,
    /// Its name in events, commits and the history.
    pub name: &'a str,
    /// The most rounds.
    pub rounds: u64,
    /// What a finding is.
    pub about: String,
    /// What reviewers have to know besides; may be empty.
    pub guidance: String,
    /// The files under review.
    pub files: Vec<String>,
    /// The commit since which they changed; the whole files are under review when `None`.
    pub base: Option<String>,
    /// How many reviewers share them.
    pub areas: usize,
    /// What the code is compared with by the last reviewer, as its prompt says it.
    pub documents: String,
    /// What the fixer may do.
    pub fixer: Access,
    /// Its first rounds, which are over already.
    pub done: u64,
    /// Told after each round.
    pub after_round: &'a dyn Fn(&Run, &CodeReview<'_>, &RoundResult) -> Outcome<()>,
}

/// Reviews the tests of a run: what its phases of tests have written, whatever the names, and what is named like a test. `before` are the files as they
/// were when the phase began. Fixers can write these files only: neither implementation nor anything that runs the tests.
///
/// # Errors
/// As [`review::run`].
pub(crate) fn review_tests(run: &Run, phase: &str, before: &FileStates) -> Outcome<()> {
    let now = files::states(run.root(), &run.ctx.stop);
    let of_phase = files::changed(before, &now);
    let (base, mut tests) = changed_by_run(run);
    tests.retain(|path| files::is_test(path) || of_phase.contains(&path.as_str()));
    let writable: Vec<String> = tests
        .iter()
        .filter(|path| !path.contains(','))
        .take(MAX_WRITABLE)
        .cloned()
        .collect();
    if writable.is_empty() {
        nothing_to_review(run, phase, "tests");
        return Ok(());
    }
    review_files(
        run,
        &CodeReview {
            about: format!("{}{}", prompts::RED_TESTS, prompts::REVIEW_TESTS),
            fixer: Access::WriteFiles(writable),
            ..of_run(run, phase, "tests", base, tests)
        },
    )
    .map(drop)
}

/// Reviews the code that the run has changed.
///
/// # Errors
/// As [`review::run`].
pub(crate) fn review_sources(run: &Run, phase: &str) -> Outcome<()> {
    let (base, sources) = changed_by_run(run);
    if sources.is_empty() {
        nothing_to_review(run, phase, "code");
        return Ok(());
    }
    review_files(run, &of_run(run, phase, "code", base, sources)).map(drop)
}

fn nothing_to_review(run: &Run, phase: &str, what: &str) {
    run.warn(format!(
        "Phase {phase} has no review: no {what} of the project changed since the run began."
    ));
}

/// The project's files that the run has changed, and since which commit; all of them where that cannot be told.
fn changed_by_run(run: &Run) -> (Option<String>, Vec<String>) {
    let Some(base) = record::base(&run.places) else {
        return (None, files::paths(run.root(), &run.ctx.stop));
    };
    match repository::changed_files(run, &base) {
        Ok(changed) => (Some(base), changed),
        Err(problem) => {
            run.warn(format!(
                "What the run has changed cannot be told, so all of the project is reviewed: {}",
                problem.one_line()
            ));
            (None, files::paths(run.root(), &run.ctx.stop))
        }
    }
}

/// A review inside a run, of at most three rounds.
fn of_run<'a>(
    run: &Run,
    phase: &'a str,
    name: &'a str,
    base: Option<String>,
    files: Vec<String>,
) -> CodeReview<'a> {
    CodeReview {
        phase,
        name,
        base,
        rounds: ROUNDS,
        about: prompts::REVIEW_SOURCES.to_owned(),
        guidance: String::new(),
        areas: files.len().div_ceil(FILES_PER_AREA).clamp(1, MAX_AREAS),
        files,
        documents: existing_documents(run),
        fixer: Access::Write {
            ticket: run.ticket.clone(),
        },
        done: phase_record::rounds(run, phase, name),
        after_round: &|run, review, result| {
            phase_record::save_round(run, review.phase, review.name, result.number)
        },
    }
}

/// Reviews what `subject` names; nothing to review is clean.
///
/// # Errors
/// As [`review::run`].
pub(crate) fn review_files(run: &Run, subject: &CodeReview<'_>) -> Outcome<ReviewEnd> {
    if subject.files.is_empty() {
        return Ok(ReviewEnd::Clean);
    }
    review::run(run, subject, subject.done)
}

/// The documents that are there, else the task.
fn existing_documents(run: &Run) -> String {
    let documents = run.places.documents();
    let there = documents
        .iter()
        .filter(|path| context::beginning(run, path, 1).is_some());
    let names: Vec<String> = there.map(|path| format!("`{path}`")).collect();
    match names.is_empty() {
        true => "the task above".to_owned(),
        false => names.join(", "),
    }
}

impl Subject for CodeReview<'_> {
    fn phase(&self) -> &str {
        self.phase
    }

    fn name(&self) -> &str {
        self.name
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn first_is_adversarial(&self) -> bool {
        false
    }

    fn reviewers(&self) -> Vec<Reviewer> {
        let areas = areas(&self.files, self.areas);
        let by_area = areas.into_iter().zip(1..).map(|(task, number)| Reviewer {
            name: format!("area-{number}"),
            tier: if number == 1 {
                Tier::Opus
            } else {
                Tier::AuxReviewer
            },
            task,
            sees_only_subject: false,
            passing: CLEAN,
        });
        let conformance = Reviewer {
            name: "conformance".to_owned(),
            tier: Tier::Opus,
            task: fill(prompts::AREA_CONFORMANCE, &[("documents", &self.documents)]),
            sees_only_subject: false,
            passing: CONFORMANT,
        };
        by_area.chain([conformance]).collect()
    }

    fn overview(&self, run: &Run) -> String {
        let Some(base) = &self.base else {
            return String::new();
        };
        self.changes(run, base).unwrap_or_else(|problem| {
            run.warn(format!(
                "Reviewers of {} are not shown what has changed: {}",
                self.name,
                problem.one_line()
            ));
            String::new()
        })
    }

    fn prompt(&self, run: &Run, reviewer: &Reviewer, round: &Round) -> String {
        let changes = round.changes.as_deref().unwrap_or_default();
        let instructions = fill(
            prompts::REVIEW_CODE,
            &[
                ("round", &round.number.to_string()),
                ("most", &round.most.to_string()),
                ("subject", self.about.trim_end()),
                ("guidance", &review::as_part(&self.guidance)),
                ("area", &reviewer.task),
                ("base_changes", &review::as_part(&round.overview)),
                ("history", &review::as_part(&round.history_for(reviewer))),
                ("severity", prompts::SEVERITY.trim_end()),
                ("changes", &review::as_part(changes)),
                ("min_chars", &MIN_REPORT_CHARS.to_string()),
                ("passing", reviewer.passing),
            ],
        );
        context::prompt(run, &Access::Read, View::Project, &instructions)
    }

    fn path(&self) -> Option<&str> {
        None
    }

    fn fix(&self, run: &Run, round: &Round, findings: &str) -> Outcome<FixEnd> {
        let before = files::states(run.root(), &run.ctx.stop);
        let has_changed = || files::states(run.root(), &run.ctx.stop) != before;
        let instructions = fill(
            prompts::FIX_CODE,
            &[
                ("subject", &review::as_part(&self.about)),
                ("history_path", &round.history_path),
                ("findings", findings),
            ],
        );
        let outcome = child::run(
            run,
            &ChildTask {
                label: format!("{}-fixer", self.name),
                tier: Tier::Fallback,
                prompt: context::prompt(run, &self.fixer, View::Project, &instructions),
                access: self.fixer.clone(),
                texts: View::Project.texts(),
                withhold: &[],
                limit: limits::IMPLEMENTATION,
                after_failure: None,
                check: &|report| {
                    let missing = "No file has changed. Correct the findings in the files themselves, without asking first.";
                    nothing_to_change::check(report, has_changed(), missing)
                },
            },
        );
        let changed = has_changed();
        let reasons = match outcome {
            Err(problem) if is_final(&problem) => return Err(problem),
            Err(problem) => {
                run.warn(problem.one_line());
                None
            }
            Ok(report) => nothing_to_change::reasons(&report),
        };
        History::of(self.name).append_reasons(run, round.number, reasons.as_deref())?;
        Ok(FixEnd::of(changed, reasons.as_deref()))
    }

    fn round_done(&self, run: &Run, result: &RoundResult) -> Outcome<()> {
        (self.after_round)(run, self, result)
    }
}

impl CodeReview<'_> {
    /// What has changed in the files since `base`; the whole difference goes to a file for the reviewers, who cannot ask git for it.
    fn changes(&self, run: &Run, base: &str) -> Outcome<String> {
        let paths: Vec<&str> = self.files.iter().map(String::as_str).collect();
        let (mut stat, mut diff) = (String::new(), String::new());
        // A command line has an end.
        for some in paths.chunks(MAX_NAMED) {
            let (some_stat, some_diff) = repository::diff_of(run, base, some)?;
            stat.push_str(&some_stat);
            diff.push_str(&some_diff);
        }
        let path = run.places.log(&format!("review-{}.diff", self.name));
        run.root()
            .put(&run.root().check_write(&path)?, diff.as_bytes())?;
        Ok(fill(
            prompts::CHANGES,
            &[
                ("base", head(base, SHORT_ID)),
                ("stat", &enclosed("stat", "", &clip(&stat, MAX_STAT_CHARS))),
                ("path", &path),
            ],
        ))
    }
}

/// What each of `count` reviewers looks at: its share of the files, neighbours together; of few files each looks at all, for something else.
fn areas(files: &[String], count: usize) -> Vec<String> {
    const FOCUS: [&str; 3] = [
        prompts::FOCUS_LOGIC,
        prompts::FOCUS_ERRORS,
        prompts::FOCUS_TESTS,
    ];
    let count = count.max(1);
    if count == 1 {
        return vec![named(files)];
    }
    if files.len() < 2 * count {
        let focused = FOCUS.iter().cycle().take(count);
        return focused
            .map(|focus| format!("{focus}{}", named(files)))
            .collect();
    }
    let size = files.len().div_ceil(count);
    files.chunks(size).map(named).collect()
}

/// The names of files, as data.
fn named(files: &[String]) -> String {
    let mut lines: Vec<String> = files.iter().take(MAX_NAMED).cloned().collect();
    let (Some(first), Some(last)) = (files.first(), files.last()) else {
        return String::new();
    };
    if files.len() > MAX_NAMED {
        lines.push(format!(
            "and {} more: everything from {first} to {last} in the order of paths",
            plural(files.len() - MAX_NAMED, "file")
        ));
    }
    enclosed("listing", "", &lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_and_few_files_are_looked_at_from_each_side() {
        let some = |count: usize| -> Vec<String> {
            (0..count).map(|n| format!("src/{n:03}.rs")).collect()
        };
        let shared = areas(&some(9), 3);
        assert_eq!(shared.len(), 3);
        for (share, first) in shared.iter().zip(["000", "003", "006"]) {
            assert_eq!(share.matches(".rs").count(), 3, "{share}");
            assert!(share.contains(first), "{share}");
        }
        let few = areas(&some(2), 3);
        assert_eq!(few.len(), 3);
        assert!(few.iter().all(|share| share.matches(".rs").count() == 2));
        assert!(few[0] != few[1] && few[1] != few[2]);
        assert_eq!(areas(&some(500), 1).len(), 1);
        assert!(areas(&some(500), 1)[0].contains("and 300 files more:"));
    }
}
