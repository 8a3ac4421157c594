//! The process of a review: it holds the job's lock, keeps its record, and ends with a word.

use std::path::Path;
use std::sync::Arc;

use super::record::JobRecord;
use super::{scope, subject};
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::{Run, working_tree};
use crate::proc::git::Git;
use crate::store::review_jobs::{self, JobStatus, ReviewJob};

/// Follows the events of the job into its record, and passes them on.
struct JobEvents {
    record: Arc<JobRecord>,
    listener: Arc<dyn EventSink>,
}

impl EventSink for JobEvents {
    fn emit(&self, event: Event) {
        let phase = match &event {
            Event::Pipeline(PipelineEvent::RoundStarted { round, most, .. }) => {
                Some(format!("round {round} of {most}"))
            }
            Event::Pipeline(PipelineEvent::ChildStarted { label, .. })
                if label == subject::FIXER =>
            {
                let phase = self.record.phase();
                let round = phase.split(',').next().unwrap_or_default().to_owned();
                Some(format!("{round}, fixing"))
            }
            Event::Pipeline(PipelineEvent::ChildEnded { .. }) => Some(self.record.phase()),
            _ => None,
        };
        if let Some(phase) = phase {
            // A record that is behind is no reason to end the work.
            let _ = self.record.set_phase(phase);
        }
        self.listener.emit(event);
    }
}

/// Does the review `id` with the models and the session of `run`, and records how it ended.
///
/// # Errors
/// There is no such job, it has ended already, or another process does it; else as it ended.
pub(crate) fn work(mut run: Run, id: &str) -> Outcome<()> {
    let _held = review_jobs::hold(run.root(), id, &run.ctx.stop)?;
    let job = review_jobs::read(run.root(), id)?;
    run.branch.clone_from(&job.branch);
    if job.ended.is_some() {
        return Err(Problem::refused(format!(
            "The review {id} has ended already ({}).",
            job.status.word()
        )));
    }
    // Its record is in the user's folder, and its work in the worktree.
    let record = Arc::new(JobRecord::new(&run, job.clone()));
    if !job.worktree.is_empty() {
        let open = || Root::open(Path::new(&job.worktree));
        run.ctx.session.working_dir.set(open()?, true);
        run.places = RunPlaces::of_project(Arc::new(open()?));
    }
    let _tree = working_tree::hold(run.root(), &run.ctx.stop)?;
    run.ctx.listener = Arc::new(JobEvents {
        record: Arc::clone(&record),
        listener: Arc::clone(&run.ctx.listener),
    });
    run.task = task(&job);
    let outcome = files(&run, &job).and_then(|files| subject::review(&run, &job, &files, &record));
    match outcome {
        Ok(text) => record.end(JobStatus::Completed, &text),
        Err(problem) => {
            let words = match problem.is_cancelled() {
                true => "It was stopped from outside.".to_owned(),
                false => problem.for_model(),
            };
            let text = format!(
                "{words}\nWhat it did so far is on {}; a change that a fixer had begun may be uncommitted there.",
                job.branch
            );
            record.end(JobStatus::Failed, &text)?;
            Err(problem)
        }
    }
}

/// What every child is told that this is about.
fn task(job: &ReviewJob) -> String {
    let mut task = "Review the code of this project, and mend what is wrong.".to_owned();
    if !job.context.is_empty() {
        task.push_str("\n\n");
        task.push_str(&job.context);
    }
    task
}

fn files(run: &Run, job: &ReviewJob) -> Outcome<Vec<String>> {
    let git = Git::open(run.root().path(), &run.ctx.session.env, &run.ctx.stop)?;
    scope::files(&git, &job.focus)
}
