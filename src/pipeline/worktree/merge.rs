//! Brings the work of a worktree into the branch that the user has checked out: as one commit, or with all of its commits. It is computed first, so that the
//! user's files change in one step or not at all, and what they have not committed stays out of it.

use std::path::Path;
use std::sync::Arc;

use super::own_files;
use super::record::{self, WorktreeKind, WorktreeRecord};
use super::remove::{clear, names, refuse_running, shown};
use super::start::branch_is_gone;
use super::state::{UserTree, WorkState, WorktreeStatus};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::counted;
use crate::disk::beneath::{FileKind, Root};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self as run_record, RunRecord};
use crate::pipeline::repository::refuse_unfinished;
use crate::pipeline::working_tree;
use crate::proc::git::Git;
use crate::proc::git::merge::MergeResult;

/// Largest log that is taken over.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// How the work is brought in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MergeForm {
    /// One commit with what was done.
    #[default]
    Squash,
    /// Every commit, and one that joins them.
    All,
}

/// What a merge is to do.
pub(crate) struct MergeOrder<'a> {
    pub status: &'a WorktreeStatus,
    pub form: MergeForm,
    /// The message of the commit.
    pub message: &'a str,
    /// The work may be unfinished.
    pub force: bool,
}

/// Whether the work can be merged at all; returns the commit of its branch and that of the user.
///
/// # Errors
/// It is running, unfinished, or damaged; the user's tree is in no state for it.
pub(crate) fn check(tree: &UserTree<'_>, order: &MergeOrder<'_>) -> Outcome<(String, String)> {
    let status = order.status;
    let record = &status.record;
    refuse_running(status)?;
    let Some(tip) = status.tip.clone() else {
        return Err(branch_is_gone(tree.env, tree.stop, record));
    };
    refuse_unfinished(&tree.git)?;
    let (branch, _) = tree.git.head()?;
    let (Some(branch), Some(head)) = (branch, tree.git.head_commit()?) else {
        return Err(Problem::refused(
            "No branch is checked out here, so there is none to merge into.",
        )
        .next("Check one out first: git checkout BRANCH"));
    };
    let is_done = match status.state {
        WorkState::Stopped => false,
        WorkState::FolderGone => tree.was_done(record, &tip)?,
        _ => true,
    };
    if !is_done && !order.force {
        return Err(Problem::refused(format!(
            "{} is not done; its branch {} holds {}.",
            record.name,
            record.branch,
            counted(status.unmerged, "commit")
        ))
        .next("The command that started it continues it.")
        .next(format!(
            "To merge what there is: {}",
            record.command(&["merge", &record.name, "--force"])
        )));
    }
    refuse_begun(tree, status)?;
    if !status.uncommitted.is_empty() {
        return Err(Problem::refused(format!(
            "There are changes in {} that are not committed, so they would not be in the merge.",
            shown(status)
        ))
        .facts(names(&status.uncommitted))
        .next("Commit them there, or remove them.")
        .next("If the run was interrupted, its command continues it."));
    }
    let has_base = tree.git.is_ancestor(&record.base, &head)?;
    if !has_base && tree.git.is_ancestor(&record.base, &tip)? {
        let base = record.base.get(..12).unwrap_or(&record.base);
        return Err(Problem::refused(format!(
            "The branch \"{branch}\" does not hold the commit {base} from which {} began: it was rebased, or is another branch. A merge would bring back what is no longer in it.",
            record.name
        ))
        .next(match record.base_branch.as_str() {
            name if name.is_empty() || name == branch => {
                "If it is another branch, check out the right one.".to_owned()
            }
            name => format!("The work began on {name}: git checkout {name}"),
        })
        .next(format!(
            "If it was rebased, move the work to where it is now: git -C {} rebase --onto {branch} {base} {}",
            shown(status),
            record.branch
        )));
    }
    Ok((tip, head))
}

/// The command that gives up a merge in a worktree.
pub(super) fn give_up(record: &WorktreeRecord) -> String {
    let path = record.path.to_string_lossy();
    let path = shlex::try_quote(&path).unwrap_or_default();
    format!("git -C {path} merge --abort")
}

/// Refuses a worktree in which a merge or the like is begun: that of a `--resolve` that was killed, or the user's own. To commit it as it is would take
/// the marks of the conflicts along.
fn refuse_begun(tree: &UserTree<'_>, status: &WorktreeStatus) -> Outcome<()> {
    let record = &status.record;
    if !record.is_there(tree.git.common()) {
        return Ok(());
    }
    let Some(what) = Git::open(&record.path, tree.env, tree.stop)?.unfinished() else {
        return Ok(());
    };
    let problem = Problem::refused(format!(
        "A {what} is begun in {} and not finished.",
        shown(status)
    ))
    .facts(names(&status.uncommitted));
    Err(match what {
        "merge" => problem
            .next("If you settle its conflicts yourself, commit it there.")
            .next(format!("To give it up: {}", give_up(record))),
        _ => problem.next("Finish or abort it there first."),
    })
}

/// Merges, removes the worktree, and returns what to say.
///
/// # Errors
/// As [`check`]; there are conflicts, or files that the user has changed; nothing is changed then.
pub(crate) fn merge(tree: &UserTree<'_>, order: &MergeOrder<'_>) -> Outcome<String> {
    let status = order.status;
    let record = &status.record;
    let _lock = record::lock(tree.git.common(), tree.stop)?;
    let _tree = working_tree::hold(&Root::open(tree.git.top()?)?, tree.stop)?;
    let (tip, head) = check(tree, order)?;
    let (branch, _) = tree.git.head()?;
    let branch = branch.unwrap_or_default();
    let is_in = |commit: &str| Ok(!commit.is_empty() && tree.git.is_ancestor(commit, &head)?);
    let already = |with_branch| -> Outcome<String> {
        let words = clean_up(tree, status, with_branch)?;
        Ok(format!(
            "Everything of {} is in {branch} already.\n{words}",
            record.branch
        ))
    };
    if is_in(&tip)? {
        return already(true);
    }
    // A merge that was killed behind its commit: only the worktree is left, which may not know of it yet.
    if is_in(&record.merged)? {
        return already(false);
    }
    let (merged, earlier) = merged_tree(tree, order, &branch, (&head, &tip))?;
    if order.form == MergeForm::Squash && merged == tree.git.tree_of(&head)? {
        return already(false);
    }
    let parents = match order.form {
        MergeForm::Squash => vec![head.as_str()],
        MergeForm::All => vec![head.as_str(), tip.as_str()],
    };
    let commit = tree.git.commit_tree(&merged, &parents, order.message)?;
    refuse_overlap(tree, &head, &commit)?;
    tree.git.fast_forward(&commit)?;
    let mut record = record.clone();
    record.merged.clone_from(&commit);
    record.write(tree.git.common())?;
    let short = commit.get(..12).unwrap_or(&commit);
    let form = match order.form {
        MergeForm::Squash => "as one commit",
        MergeForm::All => "with all of them, joined by the commit",
    };
    let what = format!(
        "{} ({}) is in {branch} now, {form} {short}.",
        record.branch,
        counted(status.unmerged, "commit")
    );
    let cleaned = clean_up(tree, status, order.form == MergeForm::All).unwrap_or_else(|problem| {
        format!("Its worktree could not be removed: {}", problem.one_line())
    });
    let unsigned = match tree.git.drops_signatures() {
        false => String::new(),
        true => "\nYour git signs commits (commit.gpgSign); this one is not signed. To sign it: git commit --amend --no-edit -n -S".to_owned(),
    };
    Ok(format!("{what}{earlier}{unsigned}\n{cleaned}"))
}

/// The tree that comes out, and what to say of files of Marvin's own that were in its way.
fn merged_tree(
    tree: &UserTree<'_>,
    order: &MergeOrder<'_>,
    branch: &str,
    (head, tip): (&str, &str),
) -> Outcome<(String, String)> {
    let (result, settled) = own_files::merge(tree, order.status, (head, tip))?;
    match result {
        MergeResult::Conflicts { paths } => Err(conflict(order, branch, &paths)),
        MergeResult::Tree(id) => {
            let said = settled.map(|settled| {
                format!(
                    "\nThe documents of the run that was merged before are in {} now.",
                    settled.earlier
                )
            });
            Ok((id, said.unwrap_or_default()))
        }
    }
}

/// Keeps the logs, and removes what is merged.
fn clean_up(tree: &UserTree<'_>, status: &WorktreeStatus, with_branch: bool) -> Outcome<String> {
    keep_logs(tree, status);
    let mut words = clear(tree, status, with_branch)?;
    if !with_branch {
        words.push_str(&format!(
            " Its branch {} is kept with the single steps; \"git branch -D {}\" deletes it.",
            status.record.branch, status.record.branch
        ));
    }
    Ok(words)
}

fn conflict(order: &MergeOrder<'_>, branch: &str, paths: &[String]) -> Problem {
    let record = &order.status.record;
    let mut resolve = vec!["merge", &record.name, "--resolve"];
    // Work that is not done is merged by force in the next step too.
    resolve.extend(order.force.then_some("--force"));
    Problem::refused(format!(
        "{} and {branch} changed the same lines in {}. Nothing was merged.",
        record.branch,
        counted(paths.len() as u64, "file")
    ))
    .facts(names(paths))
    .next(format!("To merge by hand: git merge {}", record.branch))
    .next(format!(
        "To have a child resolve it in the worktree: {}",
        record.command(&resolve)
    ))
}

/// Refuses to touch what the user has not committed. git would too, but not for files that it ignores.
fn refuse_overlap(tree: &UserTree<'_>, head: &str, commit: &str) -> Outcome<()> {
    let top = tree.git.top()?;
    let (changed, added) = tree.git.paths_between(head, commit)?;
    let there = Git::open(top, tree.env, tree.stop)?;
    let mut own = there.uncommitted()?;
    own.retain(|path| changed.binary_search(path).is_ok());
    let is_in_the_way = |path: &&String| is_there(top, path);
    own.extend(added.iter().filter(is_in_the_way).cloned());
    own.sort();
    own.dedup();
    if own.is_empty() {
        return Ok(());
    }
    Err(
        Problem::refused("The merge changes files that you have changed and not committed.")
            .facts(names(&own))
            .next("Commit or stash them, then merge again."),
    )
}

fn is_there(top: &Path, path: &str) -> bool {
    top.join(path).symlink_metadata().is_ok()
}

/// Takes the run's logs over into the user's folder, as if it had worked there: its status, its report and the same command again find them. What cannot be
/// copied is left: the work itself is in the commits.
fn keep_logs(tree: &UserTree<'_>, status: &WorktreeStatus) {
    let copy = || -> Outcome<()> {
        let places = status.record.places()?;
        let from = &places.root;
        let to = Root::open(&tree.git.top()?.join(&status.record.folder))?;
        let logs = from.check(&places.logs())?;
        if !from.exists(&logs)? || run_record::is_running(&to) {
            return Ok(());
        }
        for entry in from.list(&logs)? {
            // The folder has a run of its own; an agent's is none.
            let is_record = status.record.kind == WorktreeKind::Agent
                && entry.name.starts_with(run_record::NAMES);
            if entry.kind != FileKind::File || entry.name.ends_with(".lock") || is_record {
                continue;
            }
            let path = places.log(&entry.name);
            let bytes = from.read(&from.check(&path)?, MAX_LOG_BYTES)?;
            to.put(&to.check(&path)?, &bytes)?;
        }
        let places = RunPlaces::of_feature(Arc::new(to), &status.record.feature);
        if status.record.kind == WorktreeKind::Run
            && let Some(mut run) = RunRecord::read(&places)?
        {
            // One that is not done may go on where its work is now.
            run.branch = tree.git.head()?.0.unwrap_or_default();
            run.merged = true;
            run.write(&places)?;
        }
        Ok(())
    };
    let _ = copy();
}
