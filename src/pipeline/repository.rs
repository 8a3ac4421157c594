//! The repository of a run: checkpoints around what children do, and what one of them changed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::heartbeat::AliveTimes;
use super::{Run, files, next_task, places, record, working_tree, worktree};
use crate::base::problem::{Outcome, Problem};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::disk::paths::TICKETS;
use crate::proc::git::checkpoint as git_checkpoint;
use crate::proc::git::{Git, head, repository};
use crate::tools::engine::context::ToolContext;
use crate::tools::project::{git_index, scratch};

/// Newest commits of a run that are looked through.
const MAX_COMMITS: u64 = 1_000;

/// What stands in the working tree before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Uncommitted {
    /// Refuse to start beside it.
    Refuse,
    /// It goes into the first checkpoint: the user said so, or an interrupted run left it.
    Take,
    /// An interrupted run left what is of its time; refuse to start beside what is not.
    TakeOf(AliveTimes),
}

/// Whether there is a repository around the project.
///
/// # Errors
/// What is there cannot be one.
pub(crate) fn exists(root: &Root) -> Outcome<bool> {
    Ok(repository::find(root.path())?.is_some())
}

/// Makes sure that there is a repository in which the run can commit: makes one where there is none, and refuses one that is not in a state for it.
/// `is_own` says that the run made it, now or when it was started before.
///
/// # Errors
/// It has no files of its own, no branch is checked out, a merge is not finished, or there is uncommitted work and `uncommitted` says to refuse.
pub(crate) fn prepare(
    run: &Run,
    branch: Option<&str>,
    uncommitted: Uncommitted,
    is_own: bool,
) -> Outcome<()> {
    let (dir, session) = (run.root().path(), &run.ctx.session);
    if !exists(run.root())? {
        git_checkpoint::init(dir, &session.env, &run.ctx.stop)?;
    }
    // Before its first commit, everything in a repository that the run made was here before, whether it was made now or by a start that was killed.
    let is_new = is_own && working_tree::git(run)?.head_commit()?.is_none();
    if is_new {
        let paths = working_tree::git(run)?.uncommitted()?;
        let count = paths.iter().filter(|path| is_users(path)).count();
        if count > 0 {
            run.warn(format!(
                "A git repository was made here; its first commit takes the {} that were here before.",
                crate::base::text::counted(count as u64, "file")
            ));
        }
    }
    let open = working_tree::git(run)?;
    if open.is_bare() {
        return Err(Problem::refused(format!(
            "{} is a bare repository: it has no files to work on.",
            dir.display()
        ))
        .next("Clone it, and give --working-dir the clone."));
    }
    refuse_ignored(&open, dir)?;
    refuse_unfinished(&open)?;
    if open.drops_signatures() {
        run.warn("Your git signs commits (commit.gpgSign); the commits of the run are not signed, because no other program runs for them. To sign them afterwards: git rebase --exec 'git commit --amend --no-edit -n -S' COMMIT");
    }
    let (current, has_commit) = open.head()?;
    if !is_new && uncommitted == Uncommitted::Refuse {
        let mut paths = open.uncommitted()?;
        // A commit takes what is staged outside of the working directory too.
        paths.extend(open.staged()?);
        paths.dedup();
        refuse_uncommitted(
            run,
            &paths,
            "There are changes here that are not committed, and the run's commits would take them along.",
        )?;
    }
    if let Uncommitted::TakeOf(alive) = &uncommitted {
        let mut paths = open.uncommitted()?;
        paths.retain(|path| is_of_another_time(dir, path, alive));
        paths.extend(staged_elsewhere(&open, dir, alive)?);
        refuse_uncommitted(
            run,
            &paths,
            "There are changes here that were made after the interrupted run had ended, so none of its children made them; its commit would take them along.",
        )?;
    }
    match branch {
        Some(name) if current.as_deref() == Some(name) => {}
        Some(name) => switch(&open, name, has_commit)?,
        None if current.is_none() => {
            return Err(Problem::refused(
                "No branch is checked out (the HEAD is detached), so commits would be lost.",
            )
            .next("Check out a branch, or name one for the run: --branch NAME"));
        }
        None => {}
    }
    scratch::hide(&run.ctx);
    Ok(())
}

/// # Errors
/// A merge or the like is in progress.
pub(crate) fn refuse_unfinished(git: &Git<'_>) -> Outcome<()> {
    match git.unfinished() {
        Some(what) => Err(
            Problem::refused(format!("A {what} is in progress in this repository."))
                .next("Finish or abort it first, then start again."),
        ),
        None => Ok(()),
    }
}

/// Makes sure that what a run writes in `dir` gets into its commits.
///
/// # Errors
/// The repository around it ignores that folder.
pub(super) fn refuse_ignored(open: &Git<'_>, dir: &Path) -> Outcome<()> {
    if !open.is_ignored()? {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "The repository at {} ignores {}, so nothing that is written there would be in a commit.",
        open.top()?.display(),
        dir.display()
    ))
    .next(match shlex::try_quote(&dir.to_string_lossy()) {
        Ok(dir) => format!("If it is a project of its own, give it a repository: git init {dir}"),
        Err(_) => "If it is a project of its own, give it a repository: git init".to_owned(),
    })
    .next("Else name another folder with --working-dir."))
}

/// Marvin's own files and the tickets are no work of the user.
pub(super) fn is_users(path: &str) -> bool {
    !places::is_own(path) && path.split('/').next() != Some(TICKETS)
}

/// Whether a file was changed when the run was not alive.
///
/// A file that is moved or copied here keeps the time of its content, so the time of its inode counts as well. One that is gone has left its time at the folder
/// that it was in.
fn is_of_another_time(dir: &Path, path: &str, alive: &AliveTimes) -> bool {
    let path = dir.join(path);
    let about = path
        .ancestors()
        .take_while(|above| above.starts_with(dir))
        .find_map(|above| std::fs::symlink_metadata(above).ok());
    about.is_some_and(|about| {
        let inode = Duration::new(
            about.ctime().try_into().unwrap_or_default(),
            about.ctime_nsec().try_into().unwrap_or_default(),
        );
        let times = [about.modified().ok(), UNIX_EPOCH.checked_add(inode)];
        times
            .iter()
            .flatten()
            .any(|changed| !alive.contains(*changed))
    })
}

/// What was staged outside of the run's folder when the run was not alive: a commit takes it, too.
fn staged_elsewhere(open: &Git<'_>, dir: &Path, alive: &AliveTimes) -> Outcome<Vec<String>> {
    let (top, mut paths) = (open.top()?, open.staged()?);
    paths.retain(|path| !top.join(path).starts_with(dir) && is_of_another_time(top, path, alive));
    Ok(paths)
}

/// Refuses for the reason `why`, and names the files.
fn refuse_uncommitted(run: &Run, paths: &[String], why: &str) -> Outcome<()> {
    // The documents of another feature may be a draft of the user's.
    let own = format!("{}/", run.places.folder());
    let is_of_another = |path: &str| places::is_of_feature(path) && !path.starts_with(&own);
    let mut theirs = paths.to_vec();
    theirs.retain(|path| is_users(path) || is_of_another(path));
    if theirs.is_empty() {
        return Ok(());
    }
    Err(Problem::refused(why)
        .facts(worktree::remove::names(&theirs))
        .next("Commit or stash them, or let the first checkpoint take them: --allow-dirty"))
}

/// Switches to the run's own branch, which is made at the current commit when there is none of that name.
fn switch(open: &Git<'_>, name: &str, has_commit: bool) -> Outcome<()> {
    let known = open.branches()?;
    let is_known = known
        .lines()
        .filter_map(|line| line.trim_start_matches('*').split_whitespace().next())
        .any(|branch| branch == name);
    if is_known && has_commit {
        open.checkout(name, || {
            Err(Problem::missing(format!("There is no branch \"{name}\".")))
        })?;
    } else {
        open.create_branch(name)?;
    }
    Ok(())
}

/// Commits everything there is, even when nothing changed: what follows can then be told from what was before.
///
/// # Errors
/// git failed; the message says so, because later rounds rely on the difference.
pub(crate) fn checkpoint(run: &Run, message: &str) -> Outcome<()> {
    let full = match run.ticket.as_str() {
        "" => message.to_owned(),
        ticket => format!("{message}\n\nTicket: {ticket}"),
    };
    let _index = git_index::hold(run.root().path(), &run.ctx.stop)?;
    let git = working_tree::git(run)?;
    working_tree::check_branch(run, &git)?;
    let ignored = git.stage_ignored(&own_files(run))?;
    // It is the first of them, so this is told once.
    if ignored.contains(&run.places.task()) {
        run.warn(format!(
            "git ignores {}/ here. What the run writes there is committed all the same: reviewers compare its commits, and a merge brings nothing else.",
            run.places.folder()
        ));
    }
    let note = git.checkpoint(&full).map_err(|problem| {
        let mut documents = run.places.documents().into_iter();
        let folder = documents.find(|path| run.root().path().join(path).is_dir());
        match folder {
            Some(path) => {
                Problem::refused(format!("{path} is a folder, and a document belongs there."))
                    .next("Move it away, then run the same command again.")
            }
            None => problem.next("The run cannot go on without its checkpoints."),
        }
    })?;
    if let Some(note) = note {
        run.warn(note);
    }
    run.emit(PipelineEvent::Checkpoint {
        message: message.to_owned(),
    });
    Ok(())
}

/// What the run keeps beside the code, as far as it is there: it is in no other place than its commits.
fn own_files(run: &Run) -> Vec<String> {
    let mut paths = next_task::left(&run.places).unwrap_or_default();
    let is_there = |path: &String| run.root().path().join(path).symlink_metadata().is_ok();
    paths.extend(run.places.tests().filter(is_there));
    // In the user's own folder tickets that git ignores are theirs, and stay there.
    if run.tickets.is_none() && worktree::record::of(run.root()).is_some() {
        paths.extend(Some(TICKETS.to_owned()).filter(is_there));
    }
    paths
}

/// Makes sure that the branch of the run is checked out.
///
/// # Errors
/// Another one is.
pub(crate) fn check_branch(run: &Run) -> Outcome<()> {
    working_tree::check_branch(run, &working_tree::git(run)?)
}

/// The project's own files that are new or different since `commit`, committed or not, in the order of paths.
///
/// # Errors
/// git failed; there is no such commit any more.
pub(crate) fn changed_files(run: &Run, commit: &str) -> Outcome<Vec<String>> {
    let mut paths = working_tree::git(run)?.changed_since(commit)?;
    paths.retain(|path| files::is_own(path));
    Ok(paths)
}

/// What changed in `paths` since `commit`: the lines of each, and the unified diff.
///
/// # Errors
/// git failed.
pub(crate) fn diff_of(run: &Run, commit: &str, paths: &[&str]) -> Outcome<(String, String)> {
    let git = working_tree::git(run)?;
    Ok((git.stat_since(commit, paths)?, git.diff_of(commit, paths)?))
}

/// Whether the run has made a checkpoint with this message, as far as can be told.
pub(crate) fn has_checkpoint(run: &Run, message: &str) -> bool {
    let Some(base) = record::base(&run.places) else {
        return false;
    };
    let log = || -> Outcome<String> {
        let git = working_tree::git(run)?;
        match git.count_since(&base)?.min(MAX_COMMITS) {
            0 => Ok(String::new()),
            count => git.log(count, true),
        }
    };
    let log = log().unwrap_or_default();
    let mut subjects = log.lines().filter_map(|line| line.split_once(' '));
    subjects.any(|(_, subject)| subject == message)
}

/// The branch that is checked out in the project, if it is known.
pub(crate) fn branch(ctx: &ToolContext, root: &Root) -> Option<String> {
    let open = Git::open(root.path(), &ctx.session.env, &ctx.stop).ok()?;
    open.head().ok()?.0
}

/// The id of the current commit.
///
/// # Errors
/// There is none, or git failed.
pub(crate) fn head(run: &Run) -> Outcome<String> {
    if let Some(id) = head::commit(run.root().path()) {
        return Ok(id);
    }
    working_tree::git(run)?
        .head_commit()?
        .ok_or_else(|| Problem::missing("The repository has no commit yet."))
}

/// What changed since `commit`, as a unified diff; of one path when given. Empty when nothing did.
///
/// # Errors
/// git failed.
pub(crate) fn changes_since(run: &Run, commit: &str, path: Option<&str>) -> Outcome<String> {
    working_tree::git(run)?.diff_since(commit, path)
}
