//! `marvin/worktrees/<name>.json` in the folder of a repository: which worktree belongs to which run. It stays when the worktree is removed by hand.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::cancel::Cancel;
use crate::base::open;
use crate::base::own_command;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::disk::atomic::{self, Access};
use crate::disk::beneath::Root;
use crate::disk::lock::Lock;
use crate::pipeline::feature;
use crate::pipeline::places::RunPlaces;
use crate::proc::git::repository;

/// Below the folder that the worktrees of a repository share.
const FOLDER: &str = "marvin/worktrees";
/// Largest record in bytes; it holds the whole task.
const CAP: u64 = 8 << 20;
/// Most records that are read.
const MOST: usize = 1_000;
/// Another process makes or removes a worktree, which writes the files of the whole repository.
const LOCK_WAIT: Duration = Duration::from_secs(120);

/// Who works in a worktree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorktreeKind {
    /// A run of the pipeline.
    #[default]
    Run,
    /// A review in the background.
    Review,
    /// An agent that works beside others.
    Agent,
}

/// The record of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorktreeRecord {
    /// Its name: that of its record, by which the user means it.
    pub name: String,
    pub kind: WorktreeKind,
    /// The whole task of a run or an agent; the id of a review.
    pub task: String,
    /// `NNN-name` of the feature that is built there; empty for the project itself.
    pub feature: String,
    /// The branch of its own.
    pub branch: String,
    /// The commit at which that began.
    pub base: String,
    /// The branch that was checked out then; empty when there was none.
    pub base_branch: String,
    /// The top of the worktree.
    pub path: PathBuf,
    /// The folder below the top in which it works; empty for the top itself.
    pub folder: PathBuf,
    /// The folder in which it was started.
    pub origin: PathBuf,
    /// When (RFC 3339, UTC).
    pub started: String,
    /// The commit that brought its work into another branch; empty until then.
    pub merged: String,
    /// What the run has spent, in millionths of a US dollar: its own account goes with the folder.
    pub spent: u64,
}

impl WorktreeRecord {
    /// Whether a run of the project itself with this task works there.
    pub(crate) fn is_run_of(&self, task: &str) -> bool {
        self.kind == WorktreeKind::Run && self.feature.is_empty() && self.task.trim() == task.trim()
    }

    /// Its folder, opened, and where its run keeps what there.
    ///
    /// # Errors
    /// There is no such folder any more.
    pub(crate) fn places(&self) -> Outcome<RunPlaces> {
        let root = Arc::new(Root::open(&self.root())?);
        Ok(RunPlaces::of_feature(root, &self.feature))
    }

    /// The folder in which it works.
    pub(crate) fn root(&self) -> PathBuf {
        match self.folder.as_os_str().is_empty() {
            true => self.path.clone(),
            false => self.path.join(&self.folder),
        }
    }

    /// A command about it: `words` follow `marvin pipeline`.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        own_command::about(&self.origin, &[&["pipeline"], words].concat())
    }

    /// Writes it.
    ///
    /// # Errors
    /// The repository's folder is not writable.
    pub(crate) fn write(&self, common: &Path) -> Outcome<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| {
            Problem::internal(format!("The record of the worktree is no JSON: {error}."))
        })?;
        let dir = common.join(FOLDER);
        atomic::make_folder(&dir, Access::Private)?;
        atomic::write(&file(&dir, &self.name), &text, Access::Private)
    }

    /// Forgets it.
    ///
    /// # Errors
    /// The repository's folder is not writable.
    pub(crate) fn forget(&self, common: &Path) -> Outcome<()> {
        let path = file(&common.join(FOLDER), &self.name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Problem::system(
                format!("Cannot remove {}", path.display()),
                error,
            )),
            _ => Ok(()),
        }
    }

    /// Whether it says what a record can say. A repository that was unpacked from an archive has those of a stranger, and git would take a word that begins
    /// with a dash for an option.
    fn is_sound(&self) -> bool {
        let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut parts = self.folder.components();
        let words = [&self.name, &self.branch, &self.base_branch];
        (self.feature.is_empty() || feature::is_folder(&self.feature))
            && is_id(&self.base)
            && is_id(&self.merged)
            && self.path.is_absolute()
            && parts.all(|part| matches!(part, Component::Normal(_)))
            && words
                .iter()
                .all(|word| !word.starts_with('-') && !word.chars().any(char::is_control))
    }

    /// Whether the worktree is there: a folder that the repository knows as a worktree of its own.
    pub(crate) fn is_there(&self, common: &Path) -> bool {
        let found = repository::find(&self.path).ok().flatten();
        found.is_some_and(|found| {
            found.is_linked() && found.common() == common && found.top() == Some(&self.path)
        })
    }
}

fn file(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.json"))
}

/// Every record that can be read, the oldest first.
pub(crate) fn all(common: &Path) -> Vec<WorktreeRecord> {
    let entries = std::fs::read_dir(common.join(FOLDER)).into_iter().flatten();
    let files = entries.filter_map(Result::ok).take(MOST);
    let mut records: Vec<WorktreeRecord> = files
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".json")?.to_owned();
            let text = open::bytes(&entry.path(), CAP).ok()?;
            let record: WorktreeRecord = serde_json::from_slice(&text).ok()?;
            Some(WorktreeRecord { name, ..record })
        })
        .filter(WorktreeRecord::is_sound)
        .collect();
    records
        .shared_sort_by(|one, other| (&one.started, &one.name).cmp(&(&other.started, &other.name)));
    records
}

/// Those of runs that are not merged, in worktrees that somebody removed, the newest first.
pub(crate) fn removed(root: &Root) -> Vec<WorktreeRecord> {
    let found = repository::find(root.path()).ok().flatten();
    let records = found.map(|found| all(found.common())).unwrap_or_default();
    let is_gone = |record: &WorktreeRecord| record.path.symlink_metadata().is_err();
    records
        .into_iter()
        .rev()
        .filter(|record| record.kind == WorktreeKind::Run && record.merged.is_empty())
        .filter(is_gone)
        .collect()
}

/// The worktree in which a folder lies, if Marvin made it.
pub(crate) fn of(root: &Root) -> Option<WorktreeRecord> {
    let found = repository::find(root.path()).ok()??;
    let top = found.top().filter(|_| found.is_linked())?;
    let mut records = all(found.common()).into_iter();
    records.find(|record| record.path == top)
}

/// The folder for which somebody works in `root`: that in which its worktree was started, if Marvin made one for the same repository, else `root` itself.
pub(crate) fn started_in(root: &Root) -> PathBuf {
    let common = |dir: &Path| {
        let found = repository::find(dir).ok().flatten();
        found.map(|found| found.common().to_owned())
    };
    let origin = of(root).map(|record| record.origin);
    let origin = origin.filter(|origin| common(origin) == common(root.path()));
    origin.unwrap_or_else(|| root.path().to_owned())
}

/// Writes down what the run in `root` has spent, in US dollars; nothing where that is no worktree of a run.
pub(crate) fn keep_spent(root: &Root, dollars: f64) {
    let Some(record) = of(root) else {
        return;
    };
    // Not negative, and a run that costs more than the number holds has its ceiling elsewhere.
    let spent = (dollars * 1e6) as u64;
    if let Ok(Some(found)) = repository::find(root.path()) {
        // It counts after an accident alone.
        let _ = WorktreeRecord { spent, ..record }.write(found.common());
    }
}

/// The lock under which worktrees are made and removed.
///
/// # Errors
/// Another process has it for too long; the repository's folder is not writable.
pub(crate) fn lock(common: &Path, stop: &Cancel) -> Outcome<Lock> {
    Lock::take(&common.join(FOLDER), LOCK_WAIT, stop)
}
