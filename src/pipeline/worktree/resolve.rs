//! The user's branch is merged into that of a worktree, and a child resolves what conflicts: there, so that the user's files stay as they are until it is done.

use std::path::Path;

use super::merge::{self, MergeOrder, give_up};
use super::own_files;
use super::record::WorktreeRecord;
use super::state::UserTree;
use crate::base::cancel::Cancel;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::template::fill;
use crate::base::text::counted;
use crate::pipeline::child::{self, Access, ChildTask};
use crate::pipeline::context::{self, View};
use crate::pipeline::test_command::TestRun;
use crate::pipeline::tier::Tier;
use crate::pipeline::{Run, limits, prompts, record as run_record, test_command};
use crate::proc::git::Git;

/// Lines that git puts around what conflicts.
const MARKERS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];
/// Largest file that is searched for them.
const CAP: u64 = 16 << 20;

/// Merges the branch of `tree` into the worktree of `run`, and runs the tests there; returns what to say, and how the tests ended.
///
/// # Errors
/// The worktree is in no state for it; the child leaves conflicts, and the merge is given up.
pub(crate) fn resolve(
    run: &Run,
    tree: &UserTree<'_>,
    order: &MergeOrder<'_>,
) -> Outcome<(String, TestRun)> {
    let record = &order.status.record;
    let (tip, head) = merge::check(tree, order)?;
    if !record.is_there(tree.git.common()) {
        return Err(Problem::missing(format!(
            "The folder of {} was removed, and the merge is resolved there.",
            record.name
        ))
        .next(format!(
            "Bring it back with: git worktree add {} {}",
            record.path.display(),
            record.branch
        )));
    }
    let (branch, _) = tree.git.head()?;
    let branch = branch.unwrap_or_default();
    let _lock = run_record::lock(&run.places, &run.ctx.stop)?;
    let there = || Git::open(&record.path, tree.env, tree.stop);
    let (_, settled) = own_files::merge(tree, order.status, (&head, &tip))?;
    let head = settled.map_or(head, |settled| settled.commit);
    let message = format!("Merge {branch} into {}", record.branch);
    let resolved = || {
        let conflicts = there()?.begin_merge(&head)?;
        if !conflicts.is_empty() {
            have_resolved(run, &conflicts, &branch, order)?;
        }
        finish(&there()?, &head, &message)?;
        Ok(conflicts)
    };
    let conflicts = resolved().map_err(|problem| given_up(tree, record, problem))?;
    let tests = test_command::run_tests(run)?;
    let said = format!(
        "{branch} is merged into {}; {} had conflicts.\nTests: {}",
        record.branch,
        counted(conflicts.len() as u64, "file"),
        tests.words()
    );
    Ok((said, tests))
}

/// Gives up what is begun, so that nobody commits the marks of the conflicts; returns `problem` with what to do then.
fn given_up(tree: &UserTree<'_>, record: &WorktreeRecord, problem: Problem) -> Problem {
    // After Ctrl-C too: whoever stops the child wants what was there before.
    let stop = Cancel::new();
    let git = Git::open(&record.path, tree.env, &stop);
    let aborted = git.and_then(|git| match git.unfinished() {
        Some(_) => git.abort_merge(),
        None => Ok(()),
    });
    problem.next(match aborted {
        Ok(()) => format!("Or merge by hand: git merge {}", record.branch),
        Err(_) => format!("The merge is still begun there: {}", give_up(record)),
    })
}

/// Commits the merge, unless the child did.
fn finish(there: &Git<'_>, head: &str, message: &str) -> Outcome<()> {
    if there.unfinished().is_some() {
        there.commit(message, true)?;
    }
    let tip = there.head_commit()?.unwrap_or_default();
    if there.unfinished().is_none() && there.is_ancestor(head, &tip)? {
        return Ok(());
    }
    Err(Problem::refused(
        "The merge was given up in the worktree, so nothing is resolved.",
    ))
}

/// Has a child resolve the conflicts in the files.
fn have_resolved(
    run: &Run,
    conflicts: &[String],
    branch: &str,
    order: &MergeOrder<'_>,
) -> Outcome<()> {
    let record = &order.status.record;
    let instructions = fill(
        prompts::RESOLVE,
        &[
            ("theirs", branch),
            ("ours", &record.branch),
            ("files", &conflicts.join("\n")),
        ],
    );
    let access = Access::Write {
        ticket: String::new(),
    };
    let task = ChildTask {
        label: "merger".to_owned(),
        tier: Tier::Plan,
        prompt: context::prompt(run, &access, View::Project, &instructions),
        access,
        texts: View::Project.texts(),
        withhold: &[],
        limit: limits::DEBUGGING,
        after_failure: None,
        check: &|_| match marked(&record.path, conflicts).as_slice() {
            [] => Ok(()),
            left => Err(format!(
                "There are conflict markers left in {}.",
                left.join(", ")
            )),
        },
    };
    child::run(run, &task).map(drop)
}

/// The files that still have conflict markers.
fn marked(top: &Path, conflicts: &[String]) -> Vec<String> {
    let has_marker = |path: &&String| {
        let text = open::bytes(&top.join(path), CAP).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines()
            .any(|line| MARKERS.iter().any(|marker| line.starts_with(marker)))
    };
    conflicts.iter().filter(has_marker).cloned().collect()
}
