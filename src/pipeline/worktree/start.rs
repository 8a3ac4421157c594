//! Where a run works: in the folder that the user named, or in a worktree that it has, or gets.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::features;
use super::instructions;
use super::place::{self, FreePlace};
use super::record::{self, WorktreeKind, WorktreeRecord};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, plural};
use crate::disk::beneath::Root;
use crate::disk::paths::PROJECT_LOGS;
use crate::pipeline::feature::{self, FeatureName};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self as run_record, RunRecord};
use crate::pipeline::{epic, next_task, repository, state};
use crate::proc::git::{Git, repository as repository_on_disk};
use crate::tools::engine::context::ToolContext;
use crate::tools::project::scratch;

/// What a project needs and git does not track, at its top.
const DEPENDENCIES: [&str; 6] = ["node_modules", ".venv", "venv", "vendor", ".env", ".direnv"];

/// What to do where no worktree can be made.
const IN_PLACE: &str = "To work in the folder itself: --in-place";

/// The worktree in which a run or a review works.
pub(crate) struct Workplace {
    pub record: WorktreeRecord,
    /// The folder in it that stands for the one in which it was started, and where the run keeps what there.
    pub places: RunPlaces,
    /// What the user should know of it, a sentence each.
    pub notes: Vec<String>,
    /// It was made just now.
    pub is_new: bool,
}

/// The worktree for `task`, which is started in the folder `root`: that of an unfinished run of the same task or feature, else a new one. `None` where it
/// works in the folder itself: there is no repository, or none with a commit that the pipeline did not make, or a run was begun in it, or none may be made.
///
/// # Errors
/// A merge or the like is in progress; what the run has is damaged; a worktree cannot be made.
pub(crate) fn for_run(
    ctx: &ToolContext,
    root: &Arc<Root>,
    task: &str,
    feature: Option<&FeatureName>,
    may_make: bool,
) -> Outcome<Option<Workplace>> {
    if ctx.session.policy.depth > 0 || !repository::exists(root)? {
        return Ok(None);
    }
    // What was merged in between lies in the folder too: the worktree of a feature, or of a run that is not done, comes first.
    let is_here = feature.is_none() && has_run(ctx, root, task, None)?;
    if is_here && !is_merged_in_part(root)? {
        return Ok(None);
    }
    let git = Git::open(root.path(), &ctx.session.env, &ctx.stop)?;
    if git.is_bare() || git.head_commit()?.is_none() {
        return Ok(None);
    }
    repository::refuse_ignored(&git, root.path())?;
    let lock = record::lock(git.common(), &ctx.stop);
    let _lock = lock.map_err(|problem| problem.next(IN_PLACE))?;
    let folder = root
        .path()
        .strip_prefix(git.top()?)
        .unwrap_or(Path::new(""));
    let mut known = record::all(git.common());
    known.retain(|record| record.kind == WorktreeKind::Run && record.folder == folder);
    let known = match feature {
        Some(name) => features::worktree_of(&known, name),
        None => known.into_iter().rfind(|record| record.is_run_of(task)),
    };
    match known {
        // Without its branch all that there is of the run is in the folder.
        Some(record) if is_here && git.branch_commit(&record.branch)?.is_none() => Ok(None),
        Some(record) if record.merged.is_empty() => resume(ctx, root, &git, record).map(Some),
        // The files of the folder say that it is done.
        Some(_) => Ok(None),
        None if is_here
            || !may_make
            || (feature.is_some() && has_run(ctx, root, task, feature)?) =>
        {
            Ok(None)
        }
        None => {
            let feature = match feature {
                Some(name) => features::folder(root, name)?,
                None => String::new(),
            };
            let slug = match feature.as_str() {
                "" => place::slug(task),
                feature => feature.to_owned(),
            };
            let order = NewWorktree {
                kind: WorktreeKind::Run,
                task,
                feature: &feature,
                slug: &slug,
                branch: None,
            };
            let made = make(ctx, root, &git, &order);
            made.map(Some).map_err(|problem| problem.next(IN_PLACE))
        }
    }
}

/// Makes sure that a run in the folder itself is meant where its work was merged from a worktree: it is not done, or with `goes_back` is done again.
///
/// # Errors
/// Nobody said that it may commit on the user's branch.
pub(crate) fn check_merged(places: &RunPlaces, task: &str, goes_back: bool) -> Outcome<()> {
    let record = run_record::known(places)?;
    let of_task = record.filter(|record| record.merged && record.task.trim() == task.trim());
    match of_task {
        Some(record) if goes_back || !record.finished => {
            let what = match record.branch.is_empty() {
                true => "came with the repository",
                false => "worked in a worktree and is merged",
            };
            Err(Problem::refused(format!(
                "The run of this task {what}: to go on in it would commit on your branch itself."
            ))
            .next("If that is what you want: add --in-place"))
        }
        _ => Ok(()),
    }
}

/// Makes sure that a run of `task` in the folder itself is meant, before it is begun.
///
/// # Errors
/// A run of the task is in a worktree, and the work would be done, and paid, twice.
pub(crate) fn check_in_place(ctx: &ToolContext, root: &Arc<Root>, task: &str) -> Outcome<()> {
    let Some(found) = repository_on_disk::find(root.path())? else {
        return Ok(());
    };
    let of_task = record::all(found.common())
        .into_iter()
        .rfind(|record| record.is_run_of(task) && record.origin == root.path());
    match of_task {
        Some(own) if own.merged.is_empty() && !has_run(ctx, root, task, None)? => {
            Err(features::is_elsewhere(&own))
        }
        _ => Ok(()),
    }
}

/// A new worktree for the review `id`, on the branch `branch`.
///
/// # Errors
/// It cannot be made.
pub(crate) fn for_review(
    ctx: &ToolContext,
    root: &Root,
    id: &str,
    branch: &str,
) -> Outcome<Workplace> {
    let git = Git::open(root.path(), &ctx.session.env, &ctx.stop)?;
    let _lock = record::lock(git.common(), &ctx.stop)?;
    let slug = format!("review-{id}");
    let order = NewWorktree {
        kind: WorktreeKind::Review,
        task: id,
        feature: "",
        slug: &slug,
        branch: Some(branch),
    };
    make(ctx, root, &git, &order)
}

/// The worktree for the agent that works for the ticket `ticket` beside others: that of an earlier start, else a new one.
///
/// # Errors
/// It cannot be made.
pub(crate) fn for_agent(
    ctx: &ToolContext,
    root: &Root,
    ticket: &str,
    task: &str,
) -> Outcome<Workplace> {
    let git = Git::open(root.path(), &ctx.session.env, &ctx.stop)?;
    let _lock = record::lock(git.common(), &ctx.stop)?;
    if let Some(record) = of_agent(&git, ticket) {
        return resume(ctx, root, &git, record);
    }
    let order = NewWorktree {
        kind: WorktreeKind::Agent,
        task,
        feature: "",
        slug: &agent_slug(ticket),
        branch: None,
    };
    make(ctx, root, &git, &order)
}

/// The worktree that an agent for the ticket `ticket` has, or has left.
pub(crate) fn of_agent(git: &Git<'_>, ticket: &str) -> Option<WorktreeRecord> {
    let slug = agent_slug(ticket);
    // A name that was taken got a number; what is merged already begins anew.
    let is_own = |name: &str| {
        let rest = name.strip_prefix(&slug);
        let number = rest.and_then(|rest| rest.strip_prefix('-'));
        rest == Some("") || number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    record::all(git.common()).into_iter().rfind(|record| {
        record.kind == WorktreeKind::Agent && record.merged.is_empty() && is_own(&record.name)
    })
}

fn agent_slug(ticket: &str) -> String {
    format!("agent-{ticket}")
}

/// Whether a run that goes on, or is done, or is in the way of another one, was begun in the folder itself.
fn has_run(
    ctx: &ToolContext,
    root: &Arc<Root>,
    task: &str,
    feature: Option<&FeatureName>,
) -> Outcome<bool> {
    let places = match feature.map(|name| feature::find(root, name)) {
        // Others are built beside it.
        Some(None) => return Ok(false),
        Some(Some(folder)) => RunPlaces::of_feature(Arc::clone(root), &folder),
        None => RunPlaces::of_project(Arc::clone(root)),
    };
    let recorded = state::recorded(&places)?;
    let record = run_record::known(&places)?;
    Ok(match record {
        record if feature.is_some() => record.is_some() || recorded.is_some(),
        Some(record) => {
            let is_begun = recorded.is_some() || !record.working.is_empty();
            record.task.trim() == task.trim() || (!record.finished && is_begun && !record.merged)
        }
        None => {
            // A clone has the state and the tickets of what was built, and not the task.
            let is_left = recorded.is_some() && !epic::is_anothers(ctx, root, task);
            is_left || run_record::is_running(root)
        }
    })
}

/// Whether what the folder has is of a run that works elsewhere and is not done: the user has merged its branch.
fn is_merged_in_part(root: &Arc<Root>) -> Outcome<bool> {
    let here = run_record::known(&RunPlaces::of_project(Arc::clone(root)))?;
    Ok(here.is_some_and(|here| here.merged && !here.finished))
}

/// What a new worktree is for.
struct NewWorktree<'a> {
    kind: WorktreeKind,
    task: &'a str,
    /// As in [`WorktreeRecord::feature`].
    feature: &'a str,
    /// Its name is made of this.
    slug: &'a str,
    /// Its branch, unless it gets one of its name.
    branch: Option<&'a str>,
}

fn make(
    ctx: &ToolContext,
    root: &Root,
    git: &Git<'_>,
    order: &NewWorktree<'_>,
) -> Outcome<Workplace> {
    repository::refuse_unfinished(git)?;
    let (base_branch, _) = git.head()?;
    let base = git
        .head_commit()?
        .ok_or_else(|| Problem::missing("The repository has no commit yet."))?;
    let FreePlace { name, branch, path } =
        place::free(git, &ctx.session.paths, order.slug, order.branch)?;
    let top = git.top()?;
    let record = WorktreeRecord {
        name,
        kind: order.kind,
        task: order.task.to_owned(),
        feature: order.feature.to_owned(),
        branch,
        base,
        base_branch: base_branch.unwrap_or_default(),
        folder: root
            .path()
            .strip_prefix(top)
            .unwrap_or(Path::new(""))
            .to_owned(),
        path,
        origin: root.path().to_owned(),
        started: ctx.session.clock.utc(),
        merged: String::new(),
        spent: 0,
    };
    // Before the worktree: one without a record would be nobody's.
    record.write(git.common())?;
    begin(ctx, root, git, record)
}

/// Makes the worktree of a record that was written, on a new branch.
fn begin(
    ctx: &ToolContext,
    root: &Root,
    git: &Git<'_>,
    record: WorktreeRecord,
) -> Outcome<Workplace> {
    let above = record.path.parent().unwrap_or(&record.path);
    let made = fs::create_dir_all(above)
        .map_err(|error| Problem::system(format!("Cannot make {}", above.display()), error))
        .and_then(|()| git.add_worktree(&record.path, &record.branch, Some(&record.base)));
    let stored = made.inspect_err(|_| {
        let _ = fs::remove_dir(above);
        let _ = record.forget(git.common());
    })?;
    let places = open_places(&record)?;
    let root_there = &places.root;
    // Its records are no change; a list that cannot be written is told by the run.
    let _ = scratch::hide_in(ctx, root_there.path());
    let mut notes = vec![format!(
        "Works in {}, on the new branch {} from {}; your files stay as they are.",
        root_there.path().display(),
        record.branch,
        match record.base_branch.as_str() {
            "" => record.base.get(..12).unwrap_or(&record.base),
            name => name,
        }
    )];
    notes.extend(left_behind(git, root, root_there)?);
    notes.extend(stored);
    // A feature that is new has nothing there, and documents that others wrote for it are its own.
    if record.kind == WorktreeKind::Run && record.feature.is_empty() {
        begin_anew(&places, true)?;
    }
    notes.extend(copy_instructions(ctx, root.path(), root_there.path()));
    Ok(Workplace {
        record,
        places,
        notes,
        is_new: true,
    })
}

/// Opens the folder of a worktree; a folder that git does not track is made.
fn open_places(record: &WorktreeRecord) -> Outcome<RunPlaces> {
    let dir = record.root();
    fs::create_dir_all(&dir)
        .map_err(|error| Problem::system(format!("Cannot make {}", dir.display()), error))?;
    record.places()
}

/// What of the user's folder is not in the worktree.
fn left_behind(git: &Git<'_>, root: &Root, there: &Root) -> Outcome<Vec<String>> {
    let mut notes = Vec::new();
    let uncommitted = git.uncommitted()?;
    let count = uncommitted
        .iter()
        .filter(|path| repository::is_users(path))
        .count();
    if count > 0 {
        let are = if count == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} that {are} not committed {are} not in it.",
            plural(count, "changed file")
        ));
    }
    let missing: Vec<&str> = DEPENDENCIES
        .into_iter()
        .filter(|name| root.path().join(name).exists() && !there.path().join(name).exists())
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "Not in it, because git does not track them: {}. What the work needs of them has to be installed there.",
            missing.join(", ")
        ));
    }
    if git.top()?.join(".gitmodules").is_file() {
        notes.push("The folders of submodules are empty in it.".to_owned());
    }
    Ok(notes)
}

/// Removes what an earlier run has left in the commit from which this one begins: its state is of another task, and with
/// `with_documents` its documents are, too.
pub(crate) fn begin_anew(places: &RunPlaces, with_documents: bool) -> Outcome<()> {
    if state::recorded(places).is_ok_and(|recorded| recorded.is_none()) {
        return Ok(());
    }
    let mut left = next_task::left(places)?;
    left.retain(|path| with_documents || *path == places.state());
    for path in left {
        places.root.remove_file(&places.root.check(&path)?)?;
    }
    Ok(())
}

/// The worktree of a run that goes on. One whose folder is gone is checked out again.
fn resume(
    ctx: &ToolContext,
    root: &Root,
    git: &Git<'_>,
    record: WorktreeRecord,
) -> Outcome<Workplace> {
    let common = git.common().to_owned();
    let path = escape_controls(&record.path.to_string_lossy());
    let branch = git.branch_commit(&record.branch)?;
    let is_there = record.is_there(&common);
    if is_there && branch.is_none() {
        return Err(branch_is_gone(&ctx.session.env, &ctx.stop, &record));
    }
    if is_there && !is_checked_out(&record)? {
        // Whatever was committed there would remove all files that are missing.
        git.remove_worktree(&record.path)?;
    } else if is_there {
        let notes = vec![format!(
            "Goes on in {path}, on the branch {}.",
            record.branch
        )];
        return Ok(Workplace {
            places: open_places(&record)?,
            record,
            notes,
            is_new: false,
        });
    }
    let forget = format!(
        "To begin the task from its start: {}, then this command again",
        record.command(&["worktrees", "--remove", &record.name, "--force"])
    );
    if record.path.symlink_metadata().is_ok() && !clear_logs(&record.path) {
        return Err(Problem::refused(format!(
            "The run of this task worked in {path}, which is no worktree of this repository any more."
        ))
        .next(format!("If it is the one that was there: git worktree repair {path}"))
        .next("Else move that folder away."));
    }
    if branch.is_none() && record.spent > 0 {
        return Err(Problem::missing(format!(
            "The run of this task worked on the branch {} in {path}; both are gone.",
            record.branch
        ))
        .next(forget));
    }
    git.remove_worktree(&record.path)?;
    if branch.is_none() {
        // Nothing was done in it: the start that wrote its record was killed before it was made.
        return begin(ctx, root, git, record);
    }
    if let Some(above) = record.path.parent() {
        fs::create_dir_all(above)
            .map_err(|error| Problem::system(format!("Cannot make {}", above.display()), error))?;
    }
    let stored = git.add_worktree(&record.path, &record.branch, None)?;
    let places = open_places(&record)?;
    // What was recorded there is gone with the folder; its state is in the commits.
    RunRecord {
        task: record.task.clone(),
        started: record.started.clone(),
        base: record.base.clone(),
        branch: record.branch.clone(),
        ..RunRecord::default()
    }
    .write(&places)?;
    run_record::save_spent(&places, record.spent as f64 / 1e6)?;
    let mut notes = vec![format!(
        "{path} was removed; it is made again from the branch {}. What was not committed there is lost.",
        record.branch
    )];
    notes.extend(stored);
    notes.extend(copy_instructions(ctx, &record.origin, places.root.path()));
    Ok(Workplace {
        record,
        places,
        notes,
        is_new: false,
    })
}

/// Removes a folder in which nothing is but logs that children wrote after somebody had removed it; returns whether it was such a one.
fn clear_logs(path: &Path) -> bool {
    let logs = Path::new(PROJECT_LOGS);
    let mut folders = vec![path.to_owned()];
    let mut has_logs = false;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            return false;
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() && folder.ends_with(logs) => has_logs = true,
                _ => return false,
            }
        }
    }
    has_logs && fs::remove_dir_all(path).is_ok()
}

/// Whether its files were all written once: git writes the index last, and a kill may have come before.
fn is_checked_out(record: &WorktreeRecord) -> Outcome<bool> {
    let found = repository_on_disk::find(&record.path)?;
    Ok(found.is_some_and(|found| found.git().join("index").exists()))
}

/// The problem when the branch of a worktree was deleted.
pub(super) fn branch_is_gone(env: &Env, stop: &Cancel, record: &WorktreeRecord) -> Problem {
    let there = Git::open(&record.path, env, stop).ok();
    let last = there.as_ref().and_then(Git::logged_head);
    let problem = Problem::missing(format!(
        "The branch {} was deleted; its files are in {}.",
        record.branch,
        escape_controls(&record.path.to_string_lossy())
    ));
    match last {
        Some(commit) => problem.next(format!(
            "Bring it back with: git branch {} {commit}",
            record.branch
        )),
        None => problem.next("Its last commit may be in: git fsck --lost-found"),
    }
}

/// Has the user's instructions for the project hold in the worktree; returns why they do not.
fn copy_instructions(ctx: &ToolContext, origin: &Path, root: &Path) -> Option<String> {
    let copied = instructions::copy(&ctx.session.paths, origin, root);
    let problem = copied.err()?;
    Some(format!(
        "Your instructions for this project are not known there: {}",
        problem.one_line()
    ))
}
