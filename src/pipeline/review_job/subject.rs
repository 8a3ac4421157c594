//! The code base as the subject of a review.

use super::record::JobRecord;
use crate::base::problem::Outcome;
use crate::base::template::fill;
use crate::base::text::plural;
use crate::pipeline::Run;
use crate::pipeline::child::Access;
use crate::pipeline::repository;
use crate::pipeline::review::ReviewEnd;
use crate::pipeline::review::code::{CodeReview, review_files};
use crate::pipeline::review::history::History;
use crate::pipeline::worktree::record as worktree_record;
use crate::store::review_jobs::{ReviewJob, RoundResult};

const REVIEW: &str = include_str!("../../prompts/agents/review.md");

/// What a finding is, for this review.
const ABOUT: &str = include_str!("../../prompts/pipeline/review_sources.md");
/// Its name in commits and in the history.
const NAME: &str = "code";
/// Reviewers that share the files; one more compares the whole with the documents.
const AREAS: usize = 3;
/// The label of the fixer.
pub(super) const FIXER: &str = "code-fixer";

/// Reviews `files` and has what is found mended; returns what to say about it.
///
/// # Errors
/// In a round nobody reviewed; a checkpoint cannot be made; the run was stopped, or has nothing left to spend.
pub(super) fn review(
    run: &Run,
    job: &ReviewJob,
    files: &[String],
    record: &JobRecord,
) -> Outcome<String> {
    let end = review_files(
        run,
        &CodeReview {
            phase: "review",
            name: NAME,
            rounds: job.max_rounds,
            about: ABOUT.to_owned(),
            guidance: guidance(job),
            files: files.to_vec(),
            base: None,
            areas: AREAS,
            documents: documents(job),
            fixer: Access::Write {
                ticket: String::new(),
            },
            done: 0,
            after_round: &|_, _, result| {
                let open = result.unsatisfied.clone();
                let reviewers = AREAS as u64 + 1;
                record.add_round(RoundResult {
                    reviewers,
                    satisfied: reviewers.saturating_sub(open.len() as u64),
                    open,
                    changed: result.changed,
                })
            },
        },
    )?;
    // The history of the last round.
    repository::checkpoint(run, &format!("{NAME}: the review is done"))?;
    let rounds = plural(record.rounds(), "round");
    let text = match end {
        ReviewEnd::Clean => format!("Every reviewer is satisfied after {rounds}."),
        ReviewEnd::RoundsUsedUp => format!("After {rounds} there are still findings."),
    };
    // The user is elsewhere.
    let found = run.root().path().join(History::of(NAME).path(&run.places));
    let merge = worktree_record::of(run.root()).map(|record| {
        format!(
            " To have it in your branch: {}",
            record.command(&["merge", &record.name])
        )
    });
    Ok(format!(
        "{text} What was found is in {}; \"git diff {}...{}\" shows what was changed.{}",
        found.display(),
        job.base,
        job.branch,
        merge.unwrap_or_default()
    ))
}

fn guidance(job: &ReviewJob) -> String {
    let focus = match job.focus.as_str() {
        "all" => "all code of the project",
        "backend" => "the back end, without tests",
        "frontend" => "the front end, without tests",
        "tests" => "the tests",
        glob => glob,
    };
    let documents = match job.documents.is_empty() {
        true => String::new(),
        false => format!("Documents: {}.", job.documents.join(", ")),
    };
    fill(REVIEW, &[("focus", focus), ("documents", &documents)])
}

/// What the reviewer for conformance compares the code with.
fn documents(job: &ReviewJob) -> String {
    match job.documents.is_empty() {
        true => {
            "what the project says about itself (its README, its comments, its messages)".to_owned()
        }
        false => job.documents.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviewers_are_told_the_focus_and_that_the_code_is_the_ground_truth() {
        let mut job = ReviewJob {
            focus: "backend".to_owned(),
            ..ReviewJob::default()
        };
        let told = guidance(&job);
        assert!(told.contains("the back end") && told.contains("ground truth"));
        assert!(!told.contains("{{") && !told.contains("Documents:"));
        job.documents = vec!["docs/a.md".to_owned()];
        assert!(guidance(&job).contains("Documents: docs/a.md."));
        assert_eq!(documents(&job), "docs/a.md");
    }
}
