//! Agents that write side by side: each in a worktree and on a branch of its own, and what they did comes together in the user's branch, in turn. What
//! conflicts is settled by a child. Their tickets stay where they are: children are told the folder.

use std::path::Path;
use std::time::Duration;

use super::record::{self, RunRecord};
use super::worktree::merge::{self, MergeForm, MergeOrder};
use super::worktree::record::WorktreeRecord;
use super::worktree::resolve;
use super::worktree::start::Workplace;
use super::worktree::state::UserTree;
use super::{Run, first_line, repository};
use crate::base::problem::Outcome;
use crate::disk::beneath::Root;
use crate::disk::lock::Lock;
use crate::proc::git::Git;
use crate::proc::git::merge::MergeResult;
use crate::tools::engine::context::ToolContext;

/// In the folder that the worktrees of a repository share: who brings work together.
const MERGING: &str = "marvin/merging";
/// Another agent's conflicts are being settled by a child.
const MERGING_WAIT: Duration = Duration::from_secs(3 * 3600);

/// What came of an agent.
pub(super) struct EndedAgent {
    /// What it did is in the user's branch.
    pub is_merged: bool,
    /// What to say.
    pub told: String,
}

/// Whether agents in `root` can work in worktrees: everything is committed, on a branch, and git is new enough to bring it together.
///
/// # Errors
/// git failed.
pub(super) fn are_possible(ctx: &ToolContext, root: &Root) -> Outcome<bool> {
    if ctx.session.policy.depth > 0 || !repository::exists(root)? {
        return Ok(false);
    }
    let git = Git::open(root.path(), &ctx.session.env, &ctx.stop)?;
    let (branch, _) = git.head()?;
    let Some(head) = git.head_commit()?.filter(|_| branch.is_some()) else {
        return Ok(false);
    };
    if git.is_bare() || git.unfinished().is_some() {
        return Ok(false);
    }
    let uncommitted = git.uncommitted()?;
    // They would not see it.
    let is_clean = !uncommitted.iter().any(|path| repository::is_users(path));
    Ok(is_clean && git.merge_trees(&head, &head).is_ok())
}

/// Has `work` done in the worktree of `place`, and brings it into the branch that is checked out around `origin`.
///
/// # Errors
/// As `work`; the worktree is in no state for it. What was done stays in it.
pub(super) fn work(
    run: &Run,
    origin: &Root,
    place: &Workplace,
    work: &dyn Fn() -> Outcome<String>,
) -> Outcome<EndedAgent> {
    let record = &place.record;
    let ended = do_work(run, record, work).map_err(|problem| {
        problem
            .next(format!(
                "What it did so far is in {}, on the branch {}.",
                record.path.display(),
                record.branch
            ))
            .next(format!(
                "An agent for the same ticket, beside another one, goes on there; marvin pipeline worktrees --remove {} removes it.",
                record.name
            ))
    })?;
    Ok(match bring_in(run, origin.path(), record) {
        Ok(words) => EndedAgent {
            is_merged: true,
            told: format!("{ended}\n\n{words}"),
        },
        Err(problem) if problem.is_cancelled() => return Err(problem),
        Err(problem) => EndedAgent {
            is_merged: false,
            told: format!(
                "{ended}\n\nIts work is not in your branch, and its ticket is open: {}\nIt is on the branch {}; marvin pipeline merge {} --all brings it in.",
                problem.for_model(),
                record.branch,
                record.name
            ),
        },
    })
}

fn do_work(
    run: &Run,
    record: &WorktreeRecord,
    work: &dyn Fn() -> Outcome<String>,
) -> Outcome<String> {
    let _lock = record::lock(&run.places, &run.ctx.stop)?;
    record::wait_for_children(&run.places, &run.ctx.stop)?;
    let git = Git::open(run.root().path(), &run.ctx.session.env, &run.ctx.stop)?;
    if git.unfinished().is_some() {
        // A start that was killed while conflicts were settled: the next commit would take their marks along.
        git.abort_merge()?;
    }
    let mut own = RunRecord {
        task: run.task.clone(),
        ticket: run.ticket.clone(),
        started: record.started.clone(),
        base: record.base.clone(),
        branch: record.branch.clone(),
        working: "agent".to_owned(),
        ..RunRecord::default()
    };
    own.write(&run.places)?;
    let told = work()?;
    // Commits on another branch would be lost with the worktree.
    repository::check_branch(run)?;
    if !git.uncommitted()?.is_empty() {
        repository::checkpoint(run, "What the agent did not commit")?;
    }
    own.working.clear();
    own.finished = true;
    own.write(&run.places)?;
    Ok(told)
}

/// Merges the work, one agent at a time; has conflicts settled in its worktree first.
fn bring_in(run: &Run, origin: &Path, record: &WorktreeRecord) -> Outcome<String> {
    let (env, stop) = (&run.ctx.session.env, &run.ctx.stop);
    let tree = UserTree::open(origin, env, stop)?;
    let _turn = Lock::take(&tree.git.common().join(MERGING), MERGING_WAIT, stop)?;
    let message = format!("{}\n\nTicket: {}\n", first_line(&run.task), run.ticket);
    let status = tree.named(Some(&record.name))?;
    let order = |status| MergeOrder {
        status,
        form: MergeForm::All,
        message: &message,
        force: false,
    };
    let (tip, head) = merge::check(&tree, &order(&status))?;
    let MergeResult::Conflicts(_) = tree.git.merge_trees(&head, &tip)? else {
        return merge::merge(&tree, &order(&status));
    };
    let settled = resolve::resolve(run, &tree, &order(&status))?;
    let status = tree.named(Some(&record.name))?;
    let merged = merge::merge(&tree, &order(&status))?;
    Ok(format!("{settled}\n{merged}"))
}
