//! What became of a worktree: whether somebody works in it, and what would be lost without it.

use std::path::Path;
use std::sync::Arc;

use super::record::{self, WorktreeKind, WorktreeRecord};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;
use crate::disk::beneath::Root;
use crate::disk::paths::Paths;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self as run_record, RunRecord};
use crate::pipeline::{feature, phase};
use crate::proc::git::Git;
use crate::store::review_jobs::{self, JobStatus};

/// The working tree of the user, from which worktrees are looked at, merged and removed.
pub(crate) struct UserTree<'a> {
    pub git: Git<'a>,
    pub env: &'a Env,
    pub stop: &'a Cancel,
    pub paths: Paths,
}

/// How far the work in a worktree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkState {
    /// A process works there: its id, if it is known.
    Running(Option<u32>),
    /// It is done.
    Finished,
    /// It ended or was killed before it was done.
    Stopped,
    /// Its commits are in the branch of the user.
    Merged,
    /// Somebody removed its folder.
    FolderGone,
    /// Its folder is there, and the repository does not know it: one of the two was moved.
    Unknown,
    /// Somebody deleted its branch.
    BranchGone,
}

impl WorkState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Merged => "merged",
            Self::FolderGone => "its folder was removed or moved",
            Self::Unknown => {
                "moved, or its repository was: git worktree repair makes them known to each other again"
            }
            Self::BranchGone => "its branch was deleted",
        }
    }
}

/// A worktree as it is now.
#[derive(Debug, Clone)]
pub(crate) struct WorktreeStatus {
    pub record: WorktreeRecord,
    pub state: WorkState,
    /// The commit of its branch.
    pub tip: Option<String>,
    /// Commits that the user's branch does not have.
    pub unmerged: u64,
    /// Paths in it that are not committed.
    pub uncommitted: Vec<String>,
}

impl<'a> UserTree<'a> {
    /// The working tree around `dir`; from a worktree that Marvin made, that from which it was started.
    ///
    /// # Errors
    /// There is no repository that can be used.
    pub(crate) fn open(dir: &Path, env: &'a Env, stop: &'a Cancel) -> Outcome<Self> {
        let own = Root::open(dir).ok().and_then(|root| record::of(&root));
        let dir = own.map_or_else(|| dir.to_owned(), |record| record.origin);
        Ok(Self {
            git: Git::open(&dir, env, stop)?,
            env,
            stop,
            paths: Paths::new(env),
        })
    }

    /// Every worktree that Marvin made here, the oldest first.
    ///
    /// # Errors
    /// git failed.
    pub(crate) fn worktrees(&self) -> Outcome<Vec<WorktreeStatus>> {
        let records = record::all(self.git.common());
        let known = |record: WorktreeRecord| {
            // One that git makes at this moment, or cannot read, is no reason to tell of none.
            let uncommitted = self.uncommitted(&record).unwrap_or_default();
            self.status(record, uncommitted)
        };
        records.into_iter().map(known).collect()
    }

    /// The worktree that the user means by `name`; without a name the only one.
    ///
    /// # Errors
    /// There is none of that name, or no name was given and there are several.
    pub(crate) fn named(&self, name: Option<&str>) -> Outcome<WorktreeStatus> {
        let mut records = record::all(self.git.common());
        let names: Vec<String> = records.iter().map(|record| record.name.clone()).collect();
        let list = || format!("There are: {}.", escape_controls(&names.join(", ")));
        let found = match (name, records.len()) {
            (_, 0) => {
                return Err(Problem::missing(
                    "No run of the pipeline has a worktree of this repository.",
                ));
            }
            (None, 1) => records.pop(),
            (None, _) => {
                return Err(
                    Problem::input("There are several worktrees; which one is meant?").next(list()),
                );
            }
            // A name is nobody else's, but several projects may have a feature of one name.
            (Some(name), _) => {
                let by_name = records.iter().rposition(|record| record.name == name);
                let by_branch = || records.iter().rposition(|record| record.branch == name);
                let by_feature = || {
                    let mut records = records.iter();
                    records.rposition(|record| feature::means(name, &record.feature))
                };
                let at = by_name.or_else(by_branch).or_else(by_feature);
                at.map(|at| records.swap_remove(at))
            }
        };
        let Some(record) = found else {
            let name = name.unwrap_or_default();
            let problem = Problem::missing(format!(
                "There is no worktree \"{}\" here.",
                escape_controls(name)
            ));
            return Err(problem.near_or(name, names.iter().map(String::as_str), list()));
        };
        let uncommitted = self.uncommitted(&record)?;
        self.status(record, uncommitted)
    }

    /// Whether the work was done of which there is nothing but the commit `tip` of its branch.
    ///
    /// # Errors
    /// git failed.
    pub(super) fn was_done(&self, record: &WorktreeRecord, tip: &str) -> Outcome<bool> {
        if record.kind == WorktreeKind::Review {
            return Ok(work(record) == WorkState::Finished);
        }
        let top = Arc::new(Root::open(self.git.top()?)?);
        let state = RunPlaces::of_feature(top, &record.feature).state();
        let state = record.folder.join(state);
        let word = self.git.file_of(tip, &state.to_string_lossy())?;
        // Before its first commit it is the state of another run.
        Ok(tip != record.base && word.is_some_and(|word| word.trim() == phase::last()))
    }

    fn uncommitted(&self, record: &WorktreeRecord) -> Outcome<Vec<String>> {
        match record.is_there(self.git.common()) {
            true => Git::open(&record.path, self.env, self.stop)?.uncommitted(),
            false => Ok(Vec::new()),
        }
    }

    fn status(&self, record: WorktreeRecord, uncommitted: Vec<String>) -> Outcome<WorktreeStatus> {
        let tip = self.git.branch_commit(&record.branch)?;
        let head = self.git.head_commit()?.unwrap_or_default();
        let is_there = record.is_there(self.git.common());
        let unmerged = match &tip {
            Some(_) if !record.merged.is_empty() => 0,
            Some(tip) => self.git.count_between(&head, tip)?,
            None => 0,
        };
        let has_commits = tip.as_ref().is_some_and(|tip| *tip != record.base);
        let state = match work(&record) {
            running @ WorkState::Running(_) => running,
            _ if tip.is_none() => WorkState::BranchGone,
            _ if !record.merged.is_empty() || (unmerged == 0 && has_commits) => WorkState::Merged,
            _ if !is_there && record.path.symlink_metadata().is_ok() => WorkState::Unknown,
            _ if !is_there => WorkState::FolderGone,
            state => state,
        };
        Ok(WorktreeStatus {
            record,
            state,
            tip,
            unmerged,
            uncommitted,
        })
    }
}

/// How far the work is, by what it has written.
fn work(record: &WorktreeRecord) -> WorkState {
    let found =
        match record.kind {
            WorktreeKind::Run | WorktreeKind::Agent => record.places().ok().map(|places| {
                if let Some(pid) = run_record::running(&places.root) {
                    return WorkState::Running(pid);
                }
                match RunRecord::read(&places) {
                    Ok(Some(run)) if run.finished => WorkState::Finished,
                    _ => WorkState::Stopped,
                }
            }),
            WorktreeKind::Review => Root::open(&record.origin).ok().map(|root| {
                match review_jobs::read(&root, &record.task).map(|job| job.status) {
                    Ok(JobStatus::Running) => WorkState::Running(None),
                    Ok(JobStatus::Completed) => WorkState::Finished,
                    _ => WorkState::Stopped,
                }
            }),
        };
    found.unwrap_or(WorkState::Stopped)
}
