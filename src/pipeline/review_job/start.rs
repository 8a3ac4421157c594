//! Starts a review: the repository is checked, a worktree and a record are made, and a Marvin of its own takes over.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use rustix::fs::OFlags;

use super::scope;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{counted, escape_controls, tail};
use crate::base::variables::{MARVIN_LEASH, MARVIN_SUBAGENT_LOG};
use crate::chat::pipeline_event::TierChoice;
use crate::disk::beneath::Root;
use crate::pipeline::child::{Access, environment};
use crate::pipeline::tier::TierOverrides;
use crate::pipeline::worktree;
use crate::pipeline::worktree::remove;
use crate::pipeline::worktree::state::UserTree;
use crate::proc::detached::DetachedProgram;
use crate::proc::git::Git;
use crate::store::project_texts::ProjectTexts;
use crate::store::review_jobs::{self, JobStatus, ReviewJob};
use crate::tools::engine::agent_task::ReviewOrder;
use crate::tools::engine::context::ToolContext;
use crate::tools::project::scratch;

/// How long the process of a job may take to report that it works.
const START_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Characters of a log that a failure shows.
const LOG_CHARS: usize = 1_000;

/// What the process of a job is started with.
pub(crate) struct JobProcess<'a> {
    /// This program.
    pub program: &'a Path,
    /// The provider and model of the session.
    pub provider: &'a str,
    pub model: &'a str,
    /// Models that the user gave to tiers.
    pub tiers: &'a TierOverrides,
    /// Nothing more is started once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
}

/// Starts the review and returns what to tell about it.
///
/// # Errors
/// There is no repository with a commit, another review is running, nothing is to be reviewed, or the process does not start.
pub(crate) fn start(
    ctx: &ToolContext,
    order: &ReviewOrder,
    launch: &JobProcess<'_>,
) -> Outcome<String> {
    environment::check_depth(&ctx.session)?;
    let root = &*order.root;
    let git = Git::open(root.path(), &ctx.session.env, &ctx.stop)?;
    let _starting = review_jobs::hold_start(root, &ctx.stop)?;
    if let Some(job) = review_jobs::running(root).first() {
        return Err(
            Problem::refused(format!("A review is running here already: {}.", job.id))
                .next("review_status tells how far it is."),
        );
    }
    let _ = scratch::hide_in(ctx, root.path());
    let base = base(&git)?;
    let files = scope::files(&git, &order.focus)?;
    let id = new_id(ctx, root)?;
    let place = worktree::start::for_review(ctx, root, &id, &format!("review/{id}"))?;
    let mut job = ReviewJob {
        branch: place.record.branch.clone(),
        worktree: place.places.root.path().display().to_string(),
        id,
        phase: "starting".to_owned(),
        started: ctx.session.clock.utc(),
        base,
        focus: focus(order),
        documents: scope::documents(&place.places.root, &order.documents)?,
        files: files.len() as u64,
        max_rounds: order.max_rounds,
        context: order.context.trim().to_owned(),
        ..ReviewJob::default()
    };
    let started = job
        .write(root)
        .and_then(|()| process(ctx, order, launch, &job))
        .and_then(|program| program.start())
        .and_then(|ended| wait_for(root, &job.id, &ended, &ctx.stop));
    if let Err(problem) = started {
        if problem.is_cancelled() && review_jobs::is_alive(root, &job.id) {
            return Err(problem);
        }
        job.status = JobStatus::Failed;
        job.text = problem.one_line();
        let _ = job.write(root);
        let removed = UserTree::open(root.path(), &ctx.session.env, &ctx.stop)
            .and_then(|tree| remove::remove(&tree, &tree.named(Some(&place.record.name))?, true));
        return Err(match removed {
            Ok(_) => problem,
            Err(_) => problem.next(format!(
                "To remove what is left of it: {}",
                place
                    .record
                    .command(&["worktrees", "--remove", &place.record.name, "--force"])
            )),
        });
    }
    Ok(format!(
        "Review {} is running in the background.\nBranch: {}, made from {}\nWorktree: {}\n{}Files: {}\nDocuments: {}\nreview_status tells how far it is.",
        job.id,
        job.branch,
        job.base,
        job.worktree,
        place
            .notes
            .iter()
            .skip(1)
            .map(|note| format!("{note}\n"))
            .collect::<String>(),
        job.files,
        match job.documents.len() {
            0 => "none found".to_owned(),
            count => counted(count as u64, "file"),
        },
    ))
}

fn focus(order: &ReviewOrder) -> String {
    match order.focus.trim() {
        "" => "all".to_owned(),
        focus => escape_controls(focus),
    }
}

/// What is checked out: a branch, or a commit.
///
/// # Errors
/// There is no commit yet.
fn base(git: &Git<'_>) -> Outcome<String> {
    if git.is_bare() {
        return Err(
            Problem::refused("This is a bare repository: it has no files to review.")
                .next("Clone it, and review the clone."),
        );
    }
    let (branch, _) = git.head()?;
    let Some(commit) = git.head_commit()? else {
        return Err(Problem::refused("This repository has no commit yet.")
            .next("Commit what is here, so that the review's changes can be told apart."));
    };
    Ok(branch.unwrap_or(commit))
}

/// The time as an id, with a number behind it when that is taken.
fn new_id(ctx: &ToolContext, root: &Root) -> Outcome<String> {
    let time = ctx
        .session
        .clock
        .now()
        .strftime("%Y%m%d-%H%M%S")
        .to_string();
    let mut id = time.clone();
    for number in 2.. {
        if !root.exists(&review_jobs::file(root, &id, "json")?)? {
            break;
        }
        id = format!("{time}-{number}");
    }
    Ok(id)
}

/// The process of the job: this program, in a session of its own, bound by what binds this one.
fn process(
    ctx: &ToolContext,
    order: &ReviewOrder,
    launch: &JobProcess<'_>,
    job: &ReviewJob,
) -> Outcome<DetachedProgram> {
    let root = &*order.root;
    let log = review_jobs::file(root, &job.id, "log")?;
    root.create_new(&log, b"")?;
    let path = root.path().join(log.as_str());
    let output = OpenOptions::new()
        .append(true)
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default())
        .open(&path)
        .map_err(|error| Problem::system(format!("Cannot write {}", path.display()), error))?;
    let model = TierChoice {
        tier: String::new(),
        provider: launch.provider.to_owned(),
        model: launch.model.to_owned(),
        source: String::new(),
    };
    let access = Access::Write {
        ticket: String::new(),
    };
    let mut env = environment::variables(
        &ctx.session,
        root,
        &access,
        ProjectTexts::All,
        &model,
        &path,
    )?;
    // It has no parent that holds a leash, and makes no tool calls itself.
    env.retain(|(name, _)| name != MARVIN_LEASH.name && name != MARVIN_SUBAGENT_LOG.name);
    let mut args: Vec<OsString> = ["--review-job", &job.id, "--working-dir"]
        .map(OsString::from)
        .to_vec();
    args.push(root.path().into());
    args.extend(["--provider", launch.provider, "--model", launch.model].map(OsString::from));
    for words in launch.tiers.words() {
        args.extend(["--model".into(), words.into()]);
    }
    if let Some(max) = launch.max_cost {
        let left = (max - ctx.session.ledger.totals().cost).max(0.0);
        args.extend(["--max-cost".into(), left.to_string().into()]);
    }
    Ok(DetachedProgram {
        program: launch.program.to_owned(),
        args,
        dir: root.path().to_owned(),
        env,
        output,
    })
}

/// Waits until the process of the job holds its lock.
fn wait_for(root: &Root, id: &str, ended: &Receiver<ExitStatus>, stop: &Cancel) -> Outcome<()> {
    let until = Instant::now() + START_LIMIT;
    while Instant::now() < until {
        if review_jobs::is_alive(root, id) {
            return Ok(());
        }
        if ended.try_recv().is_ok() {
            let is_done = review_jobs::read(root, id).is_ok_and(|job| job.ended.is_some());
            return match is_done {
                true => Ok(()),
                false => Err(Problem::internal("The review's process ended at once.")
                    .facts(log_end(root, id))),
            };
        }
        if !stop.sleep(POLL_INTERVAL) {
            return Err(Problem::cancelled());
        }
    }
    Err(Problem::timeout(format!(
        "The review's process did not report within {} s.",
        START_LIMIT.as_secs()
    ))
    .facts(log_end(root, id)))
}

fn log_end(root: &Root, id: &str) -> String {
    let mut text = Vec::new();
    let log = review_jobs::file(root, id, "log").and_then(|rel| root.open_read(&rel));
    if let Ok(log) = log {
        let _ = log.take(1 << 20).read_to_end(&mut text);
    }
    tail(&String::from_utf8_lossy(&text), LOG_CHARS).to_owned()
}
