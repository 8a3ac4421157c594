//! Module `coding`, continued: reviews of a code base in the background.

use std::fmt::Write as _;

use crate::base::own_command;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, counted};
use crate::chat::usage::dollars;
use crate::store::review_jobs::{self, JobStatus, ReviewJob};
use crate::tools::engine::agent_task::ReviewOrder;
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::project::coding;
use crate::tools::{OUTSIDE, READ};

tools! { "coding";
    /// Start a background review-and-fix run on a codebase.
    review_codebase(ReviewCodebase; OUTSIDE.coding().seconds(60).saves_files().slow()) {
        /// project root; empty = current
        working_dir: String = "", example: "/home/me/src/project", alias: &["dir"];
        /// folder of explanatory .md/.txt files; when absent try ref, .ref, docs, doc
        ref_dir: String = "ref", example: "docs";
        /// all, backend, frontend, tests or a glob
        focus: String = "all", example: "src/**/*.rs";
        /// review/fix rounds
        max_rounds: u64 = 4, min: 1, max: 8, alias: &["rounds"];
        /// extra guidance for reviewers
        context: String = "", example: "Look hardest at the parser";
    } => start;

    /// Report on background reviews.
    review_status(ReviewStatus; READ.coding().seconds(5)) {
        /// project root; empty = current
        working_dir: String = "", example: "/home/me/src/project", alias: &["dir"];
        /// one job; empty = all running, else the latest
        job_id: String = "", example: "20261122-143000", alias: &["id"];
    } => status, says ["review status", "how is the review"];
}

/// Most characters of a job's final text.
const TEXT_CHARS: usize = 4_000;

fn start(ctx: &ToolContext, args: ReviewCodebase) -> Outcome<String> {
    let agents = ctx.session.agents()?;
    let root = coding::project(ctx, Some(&args.working_dir))?;
    let request = ApprovalRequest::new(
        "Start a review, which mends what it finds without asking, in a worktree on a new branch?",
        "start a review",
        &args.focus,
    );
    ctx.approve(request.in_dir(root.path()))?;
    agents.start_review(
        ctx,
        &ReviewOrder {
            root,
            documents: args.ref_dir,
            focus: args.focus,
            max_rounds: args.max_rounds,
            context: args.context,
        },
    )
}

fn status(ctx: &ToolContext, args: ReviewStatus) -> Outcome<String> {
    let root = coding::project(ctx, Some(&args.working_dir))?;
    let id = args.job_id.trim();
    if !id.is_empty() {
        return Ok(sheet(ctx, &review_jobs::read(&root, id)?));
    }
    let jobs = review_jobs::all(&root)?;
    let running = jobs.iter().filter(|job| job.status == JobStatus::Running);
    let mut shown: Vec<&ReviewJob> = running.collect();
    if shown.is_empty() {
        shown.extend(jobs.last());
    }
    if shown.is_empty() {
        return Err(
            Problem::missing("No review was started here.").next("review_codebase starts one.")
        );
    }
    let sheets: Vec<String> = shown.into_iter().map(|job| sheet(ctx, job)).collect();
    Ok(sheets.join("\n\n"))
}

/// A job, a fact a line.
fn sheet(ctx: &ToolContext, job: &ReviewJob) -> String {
    let mut out = format!("Review {}: {}", job.id, job.status.word());
    if job.status == JobStatus::Dead {
        out.push_str(" (its process is gone, and it did not say that it ended)");
    }
    let _ = write!(out, "\nPhase: {}", job.phase);
    if let Some(minutes) = job.minutes(&ctx.session.clock) {
        let _ = write!(
            out,
            "\nTime: {} since {}",
            counted(minutes, "minute"),
            job.started
        );
    }
    let _ = write!(out, "\nBranch: {} (made from {})", job.branch, job.base);
    if !job.worktree.is_empty() {
        let _ = write!(out, "\nWorktree: {}", job.worktree);
        if job.status == JobStatus::Completed {
            let dir = ctx.root().map(|root| root.path().to_owned());
            let words = ["pipeline", "merge", &job.branch];
            let merge = own_command::about(&dir.unwrap_or_default(), &words);
            let _ = write!(out, "\nTo bring it into your branch: {merge}");
        }
    }
    for (number, round) in job.rounds.iter().enumerate() {
        let _ = write!(out, "\nRound {}: {round}", number + 1);
    }
    if job.cost > 0.0 {
        let _ = write!(out, "\nCost: {}", dollars(job.cost, job.cost_estimated));
    }
    if !job.text.trim().is_empty() {
        let text = clip(job.text.trim(), TEXT_CHARS);
        let _ = write!(out, "\n\n{text}");
    }
    out
}
