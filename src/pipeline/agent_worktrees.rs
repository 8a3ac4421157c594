//! Agents that write side by side, or beside the user: each in a worktree and on a branch of its own, and what they did comes together in the user's branch, in
//! turn. What conflicts is settled by a child. Their tickets stay where they are: children are told the folder.

use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use super::places::RunPlaces;
use super::record::{self, RunRecord};
use super::worktree::merge::{self, MergeForm, MergeOrder};
use super::worktree::record::{WorktreeRecord, of as record_of};
use super::worktree::remove::names;
use super::worktree::resolve;
use super::worktree::start::{self, Workplace};
use super::worktree::state::UserTree;
use super::{Run, first_line, repository};
use crate::base::own_command;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::chat::event::Event;
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::disk::lock::Lock;
use crate::proc::git::Git;
use crate::proc::git::merge::MergeResult;
use crate::tools::engine::agent_task::AgentTask;
use crate::tools::engine::context::ToolContext;

/// In the folder that the worktrees of a repository share: who brings work together.
const MERGING: &str = "marvin/merging";
/// Another agent's conflicts are being settled by a child.
const MERGING_WAIT: Duration = Duration::from_secs(3 * 3600);

/// Largest document of the project in bytes.
const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// What came of an agent.
pub(super) struct EndedAgent {
    /// What it did is in the user's branch.
    pub is_merged: bool,
    /// What to say.
    pub told: String,
}

/// Whether the agents of a round can work in worktrees of `root`: everything is committed, on a branch.
///
/// # Errors
/// git failed.
pub(super) fn are_possible(ctx: &ToolContext, root: &Root) -> Outcome<bool> {
    let Some(git) = with_worktrees(ctx, root)? else {
        return Ok(false);
    };
    // They would not see what is not committed.
    Ok(git.head()?.0.is_some() && git.unfinished().is_none() && uncommitted(&git)?.is_empty())
}

/// The repository of `root`, if an agent can have a worktree of it: it has a commit, and git is new enough to bring together what is done there.
fn with_worktrees<'a>(ctx: &'a ToolContext, root: &Root) -> Outcome<Option<Git<'a>>> {
    // In a worktree of Marvin's own the user works on what another one did, and a merge would go past it.
    if ctx.session.policy.depth > 0 || !repository::exists(root)? || record_of(root).is_some() {
        return Ok(None);
    }
    let git = Git::open(root.path(), &ctx.session.env, &ctx.stop)?;
    let Some(head) = git.head_commit()?.filter(|_| !git.is_bare()) else {
        return Ok(None);
    };
    let is_new_enough = git.merge_trees(&head, &head).is_ok();
    Ok(is_new_enough.then_some(git))
}

/// What the user has not committed.
fn uncommitted(git: &Git<'_>) -> Outcome<Vec<String>> {
    let mut paths = git.uncommitted()?;
    paths.retain(|path| repository::is_users(path));
    Ok(paths)
}

/// What to say of the worktree that an agent beside the conversation gets; `None` where it works in the folder itself.
///
/// # Errors
/// A merge or the like is in progress; another agent works for the ticket; documents that it needs are not committed; git failed.
pub(super) fn foretold(
    ctx: &ToolContext,
    task: &AgentTask,
    ticket: &str,
) -> Outcome<Option<String>> {
    let Some(git) = with_worktrees(ctx, &task.root)? else {
        return Ok(None);
    };
    repository::refuse_unfinished(&git)?;
    check_documents(&git, task)?;
    if let Some(record) = start::of_agent(&git, ticket)
        && let Ok(there) = record.places()
        // Who runs it in this process knows it by its number.
        && let Some(pid) = record::running(&there.root).filter(|pid| *pid != Some(process::id()))
    {
        return Err(taken(task.root.path(), ticket, pid));
    }
    let mut told = "It works in a worktree of its own, which begins at the last commit; what it does is merged into the branch when it ends.".to_owned();
    let left_out = uncommitted(&git)?;
    if !left_out.is_empty() {
        told.push_str(&format!(
            " It does not see what is not committed:\n{}",
            names(&left_out)
        ));
    }
    Ok(Some(told))
}

/// The worktree for the agent of `ticket`, which does `task` beside others; `None` where it works in the folder itself.
///
/// # Errors
/// It cannot be made.
pub(super) fn place(
    ctx: &ToolContext,
    task: &AgentTask,
    ticket: &str,
) -> Outcome<Option<Workplace>> {
    let Some(git) = with_worktrees(ctx, &task.root)? else {
        return Ok(None);
    };
    check_documents(&git, task)?;
    let place = start::for_agent(ctx, &task.root, ticket, &task.prompt)?;
    let there = &place.places;
    if let Some(pid) = record::running(&there.root) {
        return Err(taken(task.root.path(), ticket, pid));
    }
    if (task.design_first || task.tdd) && RunRecord::read(there)?.is_none() {
        start::begin_anew(there, task.design_first)?;
        if !task.design_first {
            bring_documents(&task.root, there)?;
        }
    }
    for words in &place.notes {
        ctx.listener
            .emit(Event::Pipeline(PipelineEvent::InWorktree {
                folder: there.root.path().to_string_lossy().into_owned(),
                words: words.clone(),
            }));
    }
    Ok(Some(place))
}

/// Refuses tests and code for documents that are not committed: the agent would not see them, or work with copies that cannot be merged over them.
fn check_documents(git: &Git<'_>, task: &AgentTask) -> Outcome<()> {
    if !task.tdd || task.design_first {
        return Ok(());
    }
    let mut left_out = git.uncommitted()?;
    let documents = RunPlaces::of_project(Arc::clone(&task.root)).documents();
    left_out.retain(|path| documents.contains(path));
    if left_out.is_empty() {
        return Ok(());
    }
    Err(Problem::refused(
        "The agent works in a worktree, which begins at the last commit, and these documents are not committed:",
    )
    .facts(names(&left_out))
    .next("Commit them first, or launch it without background: then it works in the folder itself."))
}

/// Two agents in one worktree would write the same files.
fn taken(dir: &Path, ticket: &str, pid: Option<u32>) -> Problem {
    let process = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    Problem::refused(format!(
        "An agent works for the ticket {ticket} already{process}."
    ))
    .next("Wait until it has ended, or name another ticket.")
    .next(format!(
        "What works where: {}",
        own_command::about(dir, &["pipeline", "worktrees"])
    ))
}

/// Copies the documents of the project that git ignores, so that the phases after them have them.
fn bring_documents(from: &Arc<Root>, there: &RunPlaces) -> Outcome<()> {
    for path in RunPlaces::of_project(Arc::clone(from)).documents() {
        let (source, copy) = (from.check(&path)?, there.root.check(&path)?);
        if from.exists(&source)? && !there.root.exists(&copy)? {
            there
                .root
                .put(&copy, &from.read(&source, MAX_DOCUMENT_BYTES)?)?;
        }
    }
    Ok(())
}

/// Has `work` done in the worktree of `place`, and brings it into the branch that is checked out around `origin`.
///
/// # Errors
/// As `work`. What was done stays in it.
pub(super) fn work(
    run: &Run,
    origin: &Root,
    place: &Workplace,
    work: &dyn Fn() -> Outcome<String>,
) -> Outcome<EndedAgent> {
    let record = &place.record;
    let ended = work().map_err(|problem| {
        problem
            .next(format!(
                "What it did so far is in {}, on the branch {}.",
                record.path.display(),
                record.branch
            ))
            .next(format!(
                "An agent for the same ticket, in the background or beside another one, goes on there. To remove it: {}",
                record.command(&["worktrees", "--remove", &record.name])
            ))
    })?;
    Ok(match bring_in(run, origin.path(), record) {
        Ok(words) => EndedAgent {
            is_merged: true,
            told: format!("{ended}\n\n{words}"),
        },
        Err(problem) => {
            let kept = format!(
                "It is on the branch {}. To bring it in: {}",
                record.branch,
                record.command(&["merge", &record.name, "--all"])
            );
            if problem.is_cancelled() {
                return Err(problem.next(kept));
            }
            EndedAgent {
                is_merged: false,
                told: format!(
                    "{ended}\n\nIts work is not in your branch, and its ticket is open: {}\n{kept}",
                    problem.for_model()
                ),
            }
        }
    })
}

/// Has `work` done by the child of `run`, with a record by which it is found whether it runs and whether it is done.
///
/// # Errors
/// As `work`; the worktree is in no state for it.
pub(super) fn record_work(
    run: &Run,
    record: &WorktreeRecord,
    work: &dyn Fn() -> Outcome<String>,
) -> Outcome<String> {
    // Another one may have come between the look at the worktree and this.
    let _lock = record::lock(&run.places, &run.ctx.stop).map_err(|problem| match problem.kind {
        ProblemKind::Refused => taken(
            &record.origin,
            &run.ticket,
            record::running(run.root()).flatten(),
        ),
        _ => problem,
    })?;
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
    let (now, _) = tree.git.head()?;
    if now.as_deref() != Some(record.base_branch.as_str()) {
        return Err(Problem::refused(format!(
            "It began on {}, and another branch is checked out now.",
            record.base_branch
        )));
    }
    let message = format!("{}\n\nTicket: {}\n", first_line(&run.task), run.ticket);
    let status = tree.named(Some(&record.name))?;
    let order = |status| MergeOrder {
        status,
        form: MergeForm::All,
        message: &message,
        force: false,
    };
    let (tip, head) = merge::check(&tree, &order(&status))?;
    let MergeResult::Conflicts { .. } = tree.git.merge_trees(&head, &tip)? else {
        return merge::merge(&tree, &order(&status));
    };
    let (settled, tests) = resolve::resolve(run, &tree, &order(&status))?;
    if tests.has_failed() {
        return Err(Problem::refused(format!(
            "Its work is merged on its own branch, where the tests fail: {}",
            tests.words()
        )));
    }
    let status = tree.named(Some(&record.name))?;
    let merged = merge::merge(&tree, &order(&status))?;
    Ok(format!("{settled}\n{merged}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::pipeline::tests::Stage;
    use crate::tools::engine::agent_task::AgentModel;

    #[test]
    fn tests_are_written_for_documents_that_are_committed_or_ignored() {
        let stage = Stage::new("");
        let task = AgentTask {
            root: Arc::clone(stage.run.root()),
            ticket: "cl-1".to_owned(),
            prompt: "Build a clock.".to_owned(),
            model: AgentModel::Auto,
            design_first: false,
            tdd: true,
        };
        let ctx = &stage.run.ctx;
        stage.put(".gitignore", "ux.md\n");
        stage.put_document(".marvin/ux.md", "It ticks.");
        repository::checkpoint(&stage.run, "First").unwrap();
        stage.put_document(".marvin/design.md", "REQ-1");
        let refused = foretold(ctx, &task, "cl-1").unwrap_err().for_model();
        let words = ["not committed", ".marvin/design.md", "without background"];
        assert_has(&refused, &words);
        assert!(!refused.contains("ux.md"), "{refused}");
        assert!(place(ctx, &task, "cl-1").is_err());
        let writes_them = AgentTask {
            design_first: true,
            ..task.clone()
        };
        assert!(foretold(ctx, &writes_them, "cl-1").unwrap().is_some());
        repository::checkpoint(&stage.run, "The design").unwrap();
        assert!(foretold(ctx, &task, "cl-1").unwrap().is_some());
        let place = place(ctx, &task, "cl-1").unwrap().unwrap();
        let there = place.places.root.path();
        for name in [".marvin/ux.md", ".marvin/design.md"] {
            let copy = std::fs::read_to_string(there.join(name)).unwrap();
            assert_eq!(copy, stage.read(name), "{name}");
        }
    }
}
