//! `marvin pipeline merge`: brings the work of a run's or a review's worktree into the branch of the user.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::progress::{PhaseState, RunProgress};
use super::sinks::PipelineSinks;
use super::summary::{foreign, merge_steps, used};
use super::{event_log, run as pipeline_run};
use crate::app::headless::fail;
use crate::app::settings::Settings;
use crate::app::setup;
use crate::app::stream::{say, write_out};
use crate::app::watch::{RECORD_GRACE, RunWatch};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, counted};
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record as run_record;
use crate::pipeline::worktree::merge::{self, MergeForm, MergeOrder};
use crate::pipeline::worktree::record::WorktreeKind;
use crate::pipeline::worktree::resolve;
use crate::pipeline::worktree::state::{UserTree, WorktreeStatus};
use crate::pipeline::{Run, first_line};
use crate::store::review_jobs;
use crate::tools::engine::context::{SessionContext, ToolContext};

/// Characters of the first line of a commit's message.
const MAX_TITLE_CHARS: usize = 72;
/// Characters of a task in a commit's message.
const MAX_TASK_CHARS: usize = 4_000;

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct MergeWords {
    /// The worktree, by its name or branch.
    pub name: Option<String>,
    pub form: MergeForm,
    /// Unfinished work too.
    pub force: bool,
    /// Have a child resolve the conflicts in the worktree.
    pub resolve: bool,
}

/// Merges in the working tree around `dir`, and says how that ended; returns the exit status.
///
/// # Errors
/// The worktree or the working tree is in no state for it, or both have changed the same lines.
pub(crate) fn run(settings: &Settings, dir: &Path, words: &MergeWords) -> Outcome<u8> {
    let stop = Cancel::new();
    let watch = RunWatch::start(stop.clone(), false, RECORD_GRACE, |status| {
        std::process::exit(status.into());
    })
    .map_err(|error| Problem::system("Cannot watch for signals", error))?;
    let tree = UserTree::open(dir, &settings.env, &stop)?;
    let status = tree.named(words.name.as_deref())?;
    let order = MergeOrder {
        status: &status,
        form: words.form,
        message: &message(&status, words.form),
        force: words.force,
    };
    if !words.resolve {
        return write_out(&(merge::merge(&tree, &order)? + "\n")).map(|()| 0);
    }
    let run = child_run(settings, &status, stop.clone())?;
    let resolved = resolve::resolve(&run, &tree, &order).and_then(|(said, _)| {
        let next = merge_steps(&status.record).join("\n");
        write_out(&format!("{said}\n{next}\n"))
    });
    let failed = resolved.err().map(|problem| fail(&problem));
    say(&run.ctx.session.ledger.totals().cost_line());
    Ok(failed.map_or(0, |failed| watch.status().unwrap_or(failed)))
}

/// A run in the worktree, for the child that resolves conflicts.
fn child_run(settings: &Settings, status: &WorktreeStatus, stop: Cancel) -> Outcome<Run> {
    let mut warn = |words: String| say(&format!("Warning: {words}"));
    let session = setup::session(settings, &mut warn)?;
    session
        .working_dir
        .set(Root::open(&status.record.root())?, true);
    let session = Arc::new(session);
    let places = status.record.places()?;
    let progress = MergeProgress {
        session: Arc::clone(&session),
        places: places.clone(),
        spent: match status.record.kind {
            WorktreeKind::Run => Some(run_record::spent(&places)),
            WorktreeKind::Agent | WorktreeKind::Review => None,
        },
    };
    let listener: Arc<dyn EventSink> = match progress.spent {
        // Its record has what the child does and costs, as it has all of its children.
        Some(_) => PipelineSinks::new(&session, &places, Box::new(progress), None, &stop),
        None => Arc::new(progress),
    };
    let ctx = ToolContext::new(session, stop, listener);
    Ok(Run {
        program: pipeline_run::program(settings)?,
        supervisor: settings.process.executable.clone(),
        places,
        task: task(status),
        ticket: String::new(),
        tiers: pipeline_run::tiers(&ctx, settings)?,
        max_cost: settings.model.max_cost,
        is_staged: false,
        branch: status.record.branch.clone(),
        tickets: None,
        spent_before: None,
        ctx,
    })
}

/// Says what the child is at, a line each, and keeps the account of the run.
struct MergeProgress {
    session: Arc<SessionContext>,
    places: RunPlaces,
    /// US dollars that the run had spent before; `None` when it is not the work of one.
    spent: Option<f64>,
}

impl EventSink for MergeProgress {
    fn emit(&self, event: Event) {
        match event {
            Event::Pipeline(PipelineEvent::ChildStarted { label, model, .. }) => {
                say(&format!("{label} ({model}) resolves the conflicts."));
            }
            Event::Pipeline(PipelineEvent::Warning { words }) => say(&format!("Warning: {words}")),
            Event::Pipeline(PipelineEvent::ChildUsage { .. }) => {
                let all = self
                    .spent
                    .map(|spent| spent + self.session.ledger.totals().cost);
                if let Some(Err(problem)) = all.map(|all| run_record::add_spent(&self.places, all))
                {
                    say(&format!("Warning: {}", problem.one_line()));
                }
            }
            _ => {}
        }
    }
}

fn task(status: &WorktreeStatus) -> String {
    match status.record.kind {
        WorktreeKind::Run | WorktreeKind::Agent => status.record.task.clone(),
        WorktreeKind::Review => {
            "Review the code of this project, and correct what is wrong.".to_owned()
        }
    }
}

/// The message of the commit: what was asked for, and how it went.
fn message(status: &WorktreeStatus, form: MergeForm) -> String {
    let record = &status.record;
    let facts = match record.kind {
        WorktreeKind::Run => run_facts(status),
        WorktreeKind::Agent => Vec::new(),
        WorktreeKind::Review => review_facts(status),
    };
    let title = match (form, record.kind) {
        (MergeForm::All, _) => format!("Merge {}", record.branch),
        (MergeForm::Squash, WorktreeKind::Run | WorktreeKind::Agent) => first_line(&record.task),
        (MergeForm::Squash, WorktreeKind::Review) => format!("Review {} of the code", record.task),
    };
    let mut out = clip(&title, MAX_TITLE_CHARS);
    out.push('\n');
    let task = record.task.trim();
    if record.kind != WorktreeKind::Review && (task != title || form == MergeForm::All) {
        let _ = write!(out, "\n{}\n", clip(task, MAX_TASK_CHARS));
    }
    out.push('\n');
    for line in facts {
        out.push_str(&line);
        out.push('\n');
    }
    if form == MergeForm::Squash {
        let commits = counted(status.unmerged, "commit");
        let _ = writeln!(out, "Steps: {commits} on {}", record.branch);
    }
    out
}

/// Phases, tests, cost and ticket, by what the run recorded.
fn run_facts(status: &WorktreeStatus) -> Vec<String> {
    let places = status.record.places();
    let record = places.and_then(|places| event_log::read(&places));
    let mut progress = RunProgress::default();
    for (at, event) in record.unwrap_or_default().events {
        progress.apply(&event, at);
    }
    let mut facts = Vec::new();
    let named = |wanted: fn(&PhaseState) -> bool| -> String {
        let phases = progress.phases.iter().filter(|phase| wanted(&phase.state));
        let names: Vec<String> = phases.map(|phase| foreign(&phase.name)).collect();
        names.join(", ")
    };
    for (words, names) in [
        ("done", named(|state| matches!(state, PhaseState::Done(_)))),
        (
            "skipped",
            named(|state| matches!(state, PhaseState::Skipped(_))),
        ),
    ] {
        if !names.is_empty() {
            facts.push(format!("Phases {words}: {names}"));
        }
    }
    if let Some((passed, words)) = &progress.product.tests {
        let mark = if *passed { "passed" } else { "failed" };
        facts.push(format!("Tests: {mark}. {}", foreign(words)));
    }
    let usage = progress.all_usage();
    if usage.tokens > 0 {
        facts.push(format!("Cost: {}", used(usage)));
    }
    if !progress.ticket.is_empty() {
        facts.push(format!("Ticket: {}", foreign(&progress.ticket)));
    }
    facts
}

fn review_facts(status: &WorktreeStatus) -> Vec<String> {
    let job = Root::open(&status.record.origin)
        .and_then(|root| review_jobs::read(&root, &status.record.task));
    let Ok(job) = job else {
        return Vec::new();
    };
    let rounds = job.rounds.iter().zip(1..);
    rounds
        .map(|(round, number)| format!("Round {number}: {round}"))
        .collect()
}
