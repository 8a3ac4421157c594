//! What is kept about a run beside its state: its lock, its task and ticket, and whether it was interrupted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::places::RunPlaces;
use super::{feature, phase, state};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::beneath::{DirEntry, Root};
use crate::disk::lock::{self, Lock, LockState};
use crate::disk::paths::PROJECT_LOGS;

/// How the names of a run's records begin.
pub(crate) const NAMES: &str = "pipeline";
/// In the folder of logs, so that git does not see it.
const FILE: &str = "pipeline.json";
/// How the name of a child's prompt ends, in the folder of logs.
pub(crate) const PROMPT_ENDING: &str = ".prompt.md";
/// US dollars of all starts.
const SPENT: &str = "pipeline-cost";
/// A longer account is begun again with its last line.
const MAX_SPENT_BYTES: u64 = 512 << 10;
/// What the lock is of; the lock file has `.lock` at its end.
const LOCKED: &str = "pipeline";
/// What children share a lock of while they live.
const CHILDREN: &str = "children";
/// What who gives a feature its number holds a lock of.
const FEATURE_NUMBERS: &str = "features";
/// How long children of a killed run may take to end: their leash ends them within 2 seconds.
const CHILDREN_WAIT: Duration = Duration::from_secs(10);
/// Largest record in bytes; it holds the whole task.
const CAP: u64 = 8 << 20;
/// Another run has the lock for hours, so waiting is no use; a reader of the status has it for a moment.
const LOCK_WAIT: Duration = Duration::from_millis(300);

/// The record of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunRecord {
    /// The whole task.
    pub task: String,
    /// Id of its epic ticket.
    pub ticket: String,
    /// When it was first started (RFC 3339, UTC).
    pub started: String,
    /// The commit that was current then; empty in a new repository.
    pub base: String,
    /// The first commit of the run itself, of what was here before it; empty where that is not known. What changed since then is the run's work.
    pub begun: String,
    /// The branch that it works on.
    pub branch: String,
    /// The phase in which children may be writing; empty between phases and after the end. Still set when a run was killed.
    pub working: String,
    /// The repository is one that the run made.
    pub made_repository: bool,
    /// Every phase that was asked for is done.
    pub finished: bool,
    /// Its work was merged from a worktree, and it has not been started since.
    pub merged: bool,
}

impl RunRecord {
    /// The record of the project, if it has one.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(places: &RunPlaces) -> Outcome<Option<Self>> {
        let (root, path) = (&places.root, places.log(FILE));
        let rel = root.check(&path)?;
        if !root.exists(&rel)? {
            return Ok(None);
        }
        let bytes = root.read(&rel, CAP)?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            Problem::config(format!("{path} cannot be read: {error}."))
                .next("Remove it to go on; the recorded phase is kept elsewhere.")
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// The disk is full or not writable.
    pub(crate) fn write(&self, places: &RunPlaces) -> Outcome<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| {
            Problem::internal(format!("The record of the run is no JSON: {error}."))
        })?;
        let root = &places.root;
        let rel = root.check(&places.log(FILE))?;
        match root.read(&rel, CAP) {
            Ok(before) if before == text => Ok(()),
            _ => root.put(&rel, &text),
        }
    }
}

/// The record of the project; in a clone, where there is none, what the committed files say of the run.
///
/// # Errors
/// It cannot be read.
pub(crate) fn known(places: &RunPlaces) -> Outcome<Option<RunRecord>> {
    if let Some(record) = RunRecord::read(places)? {
        return Ok(Some(record));
    }
    let (root, rel) = (&places.root, places.root.check(&places.task())?);
    let recorded = state::recorded(places)?;
    if recorded.is_none() || !root.exists(&rel)? {
        return Ok(None);
    }
    let task = String::from_utf8_lossy(&root.read(&rel, CAP)?).into_owned();
    Ok(Some(RunRecord {
        task,
        finished: recorded.as_deref() == Some(phase::last()),
        // As far as the user's branch is concerned it is the same.
        merged: true,
        ..RunRecord::default()
    }))
}

/// Writes down for which task the state is, where it is committed.
///
/// # Errors
/// The disk is full or not writable.
pub(crate) fn save_task(places: &RunPlaces, task: &str) -> Outcome<()> {
    let (root, text) = (&places.root, format!("{}\n", task.trim()));
    let rel = root.check(&places.task())?;
    match root.read(&rel, CAP) {
        Ok(before) if before == text.as_bytes() => Ok(()),
        _ => root.put(&rel, text.as_bytes()),
    }
}

/// The commit since which everything is the work of the run; `None` when no run has recorded one. An id and nothing else: git would take other words for
/// options.
pub(crate) fn base(places: &RunPlaces) -> Option<String> {
    let record = RunRecord::read(places).ok()??;
    let is_id = |id: &String| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    [record.begun, record.base].into_iter().find(is_id)
}

/// US dollars that the starts of the run have spent so far.
pub(crate) fn spent(places: &RunPlaces) -> f64 {
    let root = &places.root;
    let text = root
        .check(&places.log(SPENT))
        .and_then(|rel| root.read(&rel, 2 * MAX_SPENT_BYTES));
    let text = text.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().rev();
    let mut amounts = lines.filter_map(|line| line.trim().parse::<f64>().ok());
    amounts
        .find(|spent| spent.is_finite() && *spent >= 0.0)
        .unwrap_or_default()
}

/// Writes it down: the ceiling on cost is for the whole run, however often it is started.
///
/// # Errors
/// The disk is full or not writable.
pub(crate) fn save_spent(places: &RunPlaces, dollars: f64) -> Outcome<()> {
    let rel = places.root.check(&places.log(SPENT))?;
    places.root.put(&rel, spent_line(dollars).as_bytes())
}

/// The same while children work, after each of their model calls: a line more, of which the last one counts. Another file each time took an eighth of the
/// run's own processor time.
///
/// # Errors
/// The disk is full or not writable.
pub(crate) fn add_spent(places: &RunPlaces, dollars: f64) -> Outcome<()> {
    let rel = places.root.check(&places.log(SPENT))?;
    match places.root.append(&rel, spent_line(dollars).as_bytes()) {
        Ok(length) if length < MAX_SPENT_BYTES => Ok(()),
        _ => save_spent(places, dollars),
    }
}

fn spent_line(dollars: f64) -> String {
    format!("{dollars:.6}\n")
}

/// Tells later runs that a child works here, for as long as the lock is held.
///
/// # Errors
/// It cannot be told.
pub(crate) fn attend(root: &Root) -> Outcome<Lock> {
    Lock::share(&lock_path(root, CHILDREN)?)
}

/// Waits until the children of a run that was killed have ended: none of them works beside those of the next.
///
/// # Errors
/// They do not end.
pub(crate) fn wait_for_children(places: &RunPlaces, stop: &Cancel) -> Outcome<()> {
    let lock = Lock::take(&lock_path(&places.root, CHILDREN)?, CHILDREN_WAIT, stop);
    let _lock = lock.map_err(|problem| match problem.kind {
        ProblemKind::Limit => {
            Problem::refused("Children of an earlier run are still at work in this directory.")
                .next("Wait until they have ended, or end them.")
        }
        _ => problem,
    })?;
    remove_prompts(places);
    Ok(())
}

/// Removes the prompts that a killed run left, while no child reads one. They hold the task, and nobody else removes them.
fn remove_prompts(places: &RunPlaces) {
    let root = &places.root;
    let entries = root.check(&places.logs()).and_then(|rel| root.list(&rel));
    let is_prompt = |entry: &DirEntry| entry.name.ends_with(PROMPT_ENDING);
    for entry in entries
        .unwrap_or_default()
        .iter()
        .filter(|one| is_prompt(one))
    {
        let rel = root.check(&places.log(&entry.name));
        let _ = rel.and_then(|rel| root.remove_file(&rel));
    }
}

/// The path in the folder of logs whose lock is meant. Through the fence: `.marvin` may be a link to somewhere else.
fn lock_path(root: &Root, name: &str) -> Outcome<PathBuf> {
    let path = format!("{PROJECT_LOGS}/{name}");
    let folder = path
        .rsplit_once('/')
        .map_or(PROJECT_LOGS, |(folder, _)| folder);
    root.make_folder(&root.check(folder)?)?;
    root.check_write(&format!("{path}.lock"))?;
    Ok(root.path().join(path))
}

/// The process that runs in the project, if one does: its id, if it is known.
pub(crate) fn running(root: &Root) -> Option<Option<u32>> {
    let rel = root
        .check(&format!("{PROJECT_LOGS}/{LOCKED}.lock"))
        .and_then(|rel| root.open_read(&rel));
    match rel.and_then(|mut file| lock::state(&mut file)) {
        Ok(LockState::Held(pid)) => Some(pid),
        _ => None,
    }
}

/// The lock under which a feature gets its number, where there is no repository whose worktrees have one.
///
/// # Errors
/// Another process has it for too long.
pub(crate) fn lock_features(root: &Root, stop: &Cancel) -> Outcome<Lock> {
    Lock::take(&lock_path(root, FEATURE_NUMBERS)?, CHILDREN_WAIT, stop)
}

/// Who runs the run of `places`. Several runs of one project have its lock in turn, and a feature one of its own besides.
///
/// # Errors
/// The lock cannot be looked at.
pub(crate) fn lock_state(places: &RunPlaces) -> Outcome<LockState> {
    let root = &places.root;
    let state = |logs: &str| -> Outcome<LockState> {
        let rel = root.check(&format!("{logs}/{LOCKED}.lock"))?;
        match root.exists(&rel)? {
            true => lock::state(&mut root.open_read(&rel)?),
            false => Ok(LockState::Free),
        }
    };
    let own = state(&places.logs())?;
    if places.feature().is_some() || own == LockState::Free {
        return Ok(own);
    }
    for feature in feature::in_tree(root) {
        let other = RunPlaces::of_feature(Arc::clone(root), &feature);
        if state(&other.logs())? != LockState::Free {
            return Ok(LockState::Free);
        }
    }
    Ok(own)
}

/// Whether a run is in progress in the project.
pub(crate) fn is_running(root: &Root) -> bool {
    running(root).is_some()
}

/// The locks of a run.
pub(crate) struct RunLock {
    _project: Lock,
    /// By which it can be told which of the project's runs it is.
    _feature: Option<Lock>,
}

/// Takes the lock of the project, and that of the feature if it is one: one run at a time.
///
/// # Errors
/// Another run has it; the message names its process.
pub(crate) fn lock(places: &RunPlaces, stop: &Cancel) -> Outcome<RunLock> {
    let path = lock_path(&places.root, LOCKED)?;
    let project = Lock::take(&path, LOCK_WAIT, stop).map_err(|problem| match problem.kind {
        ProblemKind::Limit => {
            let holder = std::fs::read_to_string(path.with_extension("lock")).unwrap_or_default();
            let holder = holder.trim().parse::<u32>();
            Problem::refused(match holder {
                Ok(pid) => {
                    format!("A pipeline is running in this directory already (process {pid}).")
                }
                Err(_) => "A pipeline is running in this directory already.".to_owned(),
            })
            .next(format!(
                "Wait until it has ended, or watch it with: {}",
                places.command(&["status"])
            ))
        }
        _ => problem,
    })?;
    let feature = match places.feature() {
        Some(feature) => {
            let path = lock_path(&places.root, &format!("{feature}/{LOCKED}"))?;
            Some(Lock::take(&path, LOCK_WAIT, stop)?)
        }
        None => None,
    };
    Ok(RunLock {
        _project: project,
        _feature: feature,
    })
}
