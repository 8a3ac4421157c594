//! Records of background reviews: `.marvin/jobs/<id>.json` in a project, the lock that its process holds beside it.
//!
//! Only the process of a job writes its record, after the one that started it wrote the first. Whether it still runs is not a matter of what the record
//! says: a process that was killed says nothing. It runs as long as its lock is held, which the system releases with the process.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, counted, escape_controls};
use crate::disk::beneath::{RelPath, Root};
use crate::disk::lock::{self, Lock, LockState};
use crate::disk::paths::PROJECT_JOBS;

/// Largest record in bytes.
const CAP: u64 = 4 << 20;
/// Most records that are read; the latest count.
const MOST: usize = 200;

/// The ending of the file that says which process told of the end of a job.
const TOLD: &str = "told";

/// How far a review is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobStatus {
    /// Its process works.
    #[default]
    Running,
    /// It came to its end.
    Completed,
    /// It ended early and says why.
    Failed,
    /// Its process is gone without a word.
    Dead,
}

impl JobStatus {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }
}

/// What came of one round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RoundResult {
    /// Reviewers of the whole review.
    pub reviewers: u64,
    /// Those that are satisfied, in this round or before.
    pub satisfied: u64,
    /// Names of those that are not.
    pub open: Vec<String>,
    /// The fixer changed something.
    pub changed: bool,
}

impl fmt::Display for RoundResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reviewers = counted(self.reviewers, "reviewer");
        write!(f, "{} of {reviewers} satisfied", self.satisfied)?;
        if self.open.is_empty() {
            return Ok(());
        }
        let open = self.open.join(", ");
        match self.changed {
            true => write!(f, "; findings of {open} went to the fixer"),
            false => write!(f, "; findings of {open}, but the fixer changed nothing"),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReviewJob {
    /// Its id, which is also the name of its files.
    pub id: String,
    pub status: JobStatus,
    /// What it is at, a few words.
    pub phase: String,
    /// When it was started (RFC 3339, UTC).
    pub started: String,
    pub ended: Option<String>,
    /// The branch it works on.
    pub branch: String,
    /// The folder of its own in which it works; empty when it works in the project itself, as it once did.
    pub worktree: String,
    /// What was checked out when it began.
    pub base: String,
    /// `all`, `backend`, `frontend`, `tests` or a glob.
    pub focus: String,
    /// Documents that explain the code, paths in the project.
    pub documents: Vec<String>,
    pub files: u64,
    pub max_rounds: u64,
    /// Further guidance for the reviewers.
    pub context: String,
    /// What came of each round.
    pub rounds: Vec<RoundResult>,
    /// What it says at its end.
    pub text: String,
    /// US dollars.
    pub cost: f64,
    /// A part of the cost is an estimate.
    pub cost_estimated: bool,
}

impl ReviewJob {
    /// Whole minutes from its start to its end, or to now while it runs; `None` for a dead one, whose end nobody knows.
    pub(crate) fn minutes(&self, clock: &Clock) -> Option<u64> {
        let started: jiff::Timestamp = self.started.parse().ok()?;
        let until = match (&self.ended, self.status) {
            (Some(ended), _) => ended.parse().ok()?,
            (None, JobStatus::Running) => clock.now().timestamp(),
            (None, _) => return None,
        };
        let seconds = until.as_second() - started.as_second();
        u64::try_from(seconds / 60).ok()
    }

    /// How it ended, in a line.
    pub(crate) fn ending(&self) -> String {
        let first = self.text.lines().next().unwrap_or_default();
        let words = format!("Review {}: {}. {first}", self.id, self.status.word());
        words.trim_end().to_owned()
    }

    /// The job in a line of a list of what runs in the background.
    pub(crate) fn line(&self) -> String {
        if self.status != JobStatus::Running {
            return format!(
                "{} It is not running any more; review_status tells more",
                self.ending()
            );
        }
        format!(
            "review {} of the code ({}), {} on branch {}; review_status tells more",
            self.id, self.focus, self.phase, self.branch
        )
    }

    /// Writes the record.
    ///
    /// # Errors
    /// The id is none, or the disk is not writable.
    pub(crate) fn write(&self, root: &Root) -> Outcome<()> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| {
            Problem::internal(format!("The record of the review is no JSON: {error}."))
        })?;
        root.put(&file(root, &self.id, "json")?, &text)
    }
}

/// The record of a job, its status as it is now.
///
/// # Errors
/// There is no such job, or its record cannot be read.
pub(crate) fn read(root: &Root, id: &str) -> Outcome<ReviewJob> {
    let rel = file(root, id, "json")?;
    if !root.exists(&rel)? {
        let known: Vec<String> = ids(root)?;
        let problem = Problem::missing(format!("There is no review {id} here."));
        return Err(match known.last() {
            Some(last) => problem.next(format!("The latest is {last}.")),
            None => problem.next("review_codebase starts one."),
        });
    }
    let mut job: ReviewJob = serde_json::from_slice(&root.read(&rel, CAP)?).map_err(|error| {
        Problem::config(format!("{} cannot be read: {error}.", rel.as_str()))
            .next("Another version of Marvin may have written it; remove it if it is of no use.")
    })?;
    id.clone_into(&mut job.id);
    if job.status == JobStatus::Running && !is_alive(root, id) {
        job.status = JobStatus::Dead;
    }
    Ok(job)
}

/// Every job whose record can be read, the latest last.
pub(crate) fn all(root: &Root) -> Outcome<Vec<ReviewJob>> {
    let ids = ids(root)?;
    let readable = ids.iter().filter_map(|id| read(root, id).ok());
    Ok(readable.collect())
}

/// The jobs that run now. Without the folder, or one that cannot be read, there are none.
pub(crate) fn running(root: &Root) -> Vec<ReviewJob> {
    let mut jobs = all(root).unwrap_or_default();
    jobs.retain(|job| job.status == JobStatus::Running);
    jobs
}

/// The jobs that have ended and that no session has told of, the latest last.
pub(crate) fn untold(root: &Root) -> Vec<ReviewJob> {
    ended(root, None)
}

/// The jobs that have ended and were told of by this process, or by nobody yet: news to its model.
pub(crate) fn news(root: &Root) -> Vec<ReviewJob> {
    ended(root, Some(std::process::id()))
}

fn ended(root: &Root, teller: Option<u32>) -> Vec<ReviewJob> {
    let mut jobs = all(root).unwrap_or_default();
    jobs.retain(|job| {
        job.status != JobStatus::Running
            && match told_by(root, &job.id) {
                None => true,
                Some(pid) => teller.is_some() && pid == teller,
            }
    });
    jobs
}

/// The process that told of the end of a job; `None` when nobody did.
fn told_by(root: &Root, id: &str) -> Option<Option<u32>> {
    let rel = file(root, id, TOLD).ok()?;
    let text = root.read(&rel, 64).ok()?;
    Some(String::from_utf8_lossy(&text).trim().parse().ok())
}

/// Records that this process has told of the end of a job. Where that cannot be written it is told again, which does no harm.
pub(crate) fn set_told(root: &Root, id: &str) {
    let rel = file(root, id, TOLD);
    let _ = rel.and_then(|rel| root.put(&rel, format!("{}\n", std::process::id()).as_bytes()));
}

/// Takes the lock by which others see that the job runs.
///
/// # Errors
/// Another process has it; the folder leads out of the project.
pub(crate) fn hold(root: &Root, id: &str, stop: &Cancel) -> Outcome<Lock> {
    Lock::take(&lock_path(root, id)?, Duration::from_secs(5), stop)
}

/// Takes the lock under which a job is started, so that two are not started at the same moment.
///
/// # Errors
/// Another process has it; the folder leads out of the project.
pub(crate) fn hold_start(root: &Root, stop: &Cancel) -> Outcome<Lock> {
    Lock::take(&lock_path(root, "start")?, Duration::from_secs(20), stop)
}

/// Whether the process of a job lives.
pub(crate) fn is_alive(root: &Root, id: &str) -> bool {
    let file = file(root, id, "lock").and_then(|rel| root.open_read(&rel));
    let state = file.and_then(|mut file| lock::state(&mut file));
    matches!(state, Ok(LockState::Held(_)))
}

/// The path of a job's file with this extension.
///
/// # Errors
/// The id is none.
pub(crate) fn file(root: &Root, id: &str, extension: &str) -> Outcome<RelPath> {
    let is_id = (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_id {
        return Err(Problem::input(format!(
            "\"{}\" is no id of a review.",
            clip(&escape_controls(id), 80)
        ))
        .next("review_status without an id lists those that run."));
    }
    root.check(&format!("{PROJECT_JOBS}/{id}.{extension}"))
}

/// What [`Lock::take`] adds `.lock` to. Goes through the fence first: `.marvin` may be a link that leads out.
fn lock_path(root: &Root, id: &str) -> Outcome<PathBuf> {
    root.make_folder(&root.check(PROJECT_JOBS)?)?;
    let rel = file(root, id, "lock")?;
    root.check_write(rel.as_str())?;
    Ok(root.path().join(PROJECT_JOBS).join(id))
}

/// The ids of all records, the latest last: they are times.
fn ids(root: &Root) -> Outcome<Vec<String>> {
    let folder = root.check(PROJECT_JOBS)?;
    if !root.exists(&folder)? {
        return Ok(Vec::new());
    }
    let entries = root.list(&folder)?;
    let names = entries
        .iter()
        .filter_map(|entry| entry.name.strip_suffix(".json"));
    let mut ids: Vec<String> = names.map(str::to_owned).collect();
    ids.retain(|id| file(root, id, "json").is_ok());
    let old = ids.len().saturating_sub(MOST);
    ids.drain(..old);
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

    fn job(id: &str, status: JobStatus) -> ReviewJob {
        ReviewJob {
            id: id.to_owned(),
            status,
            started: "2026-11-22T12:00:00.000Z".to_owned(),
            ..ReviewJob::default()
        }
    }

    #[test]
    fn a_job_runs_as_long_as_its_lock_is_held_whatever_its_record_says() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert!(all(&root).unwrap().is_empty() && running(&root).is_empty());
        job("a-1", JobStatus::Running).write(&root).unwrap();
        job("b-2", JobStatus::Completed).write(&root).unwrap();
        assert_eq!(read(&root, "a-1").unwrap().status, JobStatus::Dead);
        let held = hold(&root, "a-1", &Cancel::new()).unwrap();
        assert_eq!(read(&root, "a-1").unwrap().status, JobStatus::Running);
        assert_eq!(running(&root).len(), 1);
        drop(held);
        assert_eq!(read(&root, "a-1").unwrap().status, JobStatus::Dead);
        // A job that said how it ended stays ended.
        let _held = hold(&root, "b-2", &Cancel::new()).unwrap();
        assert_eq!(read(&root, "b-2").unwrap().status, JobStatus::Completed);
        let ids: Vec<String> = all(&root).unwrap().into_iter().map(|job| job.id).collect();
        assert_eq!(ids, ["a-1", "b-2"]);
    }

    #[test]
    fn unreadable_records_hide_no_others_and_ids_stay_in_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        job("a-1", JobStatus::Completed).write(&root).unwrap();
        let folder = dir.path().join(PROJECT_JOBS);
        std::fs::write(folder.join("b-2.json"), "{").unwrap();
        std::fs::write(folder.join("c-3.json"), r#"{"status":"paused"}"#).unwrap();
        std::fs::create_dir(folder.join("d-4.json")).unwrap();
        assert_eq!(all(&root).unwrap().len(), 1);
        let problem = read(&root, "b-2").unwrap_err().one_line();
        assert!(problem.contains(".marvin/jobs/b-2.json"), "{problem}");
        for id in ["../x", "a/b", "", "a.b", &"x".repeat(65)] {
            let problem = read(&root, id).unwrap_err().one_line();
            assert!(problem.contains("no id of a review"), "{problem}");
        }
        let problem = read(&root, "e-5").unwrap_err().one_line();
        assert!(problem.contains("The latest is"), "{problem}");
    }

    #[test]
    fn a_folder_that_leads_out_of_the_project_takes_no_job() {
        let (dir, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(out.path(), dir.path().join(".marvin")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert!(job("a-1", JobStatus::Running).write(&root).is_err());
        assert!(hold(&root, "a-1", &Cancel::new()).is_err());
        assert!(running(&root).is_empty());
        assert_eq!(out.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn the_time_of_a_job_ends_with_it() {
        let clock = Clock::new(&Env::from([(
            "MARVIN_NOW",
            "2026-11-22T12:09:59+00:00[UTC]",
        )]));
        let mut job = job("a-1", JobStatus::Running);
        assert_eq!(job.minutes(&clock), Some(9));
        job.status = JobStatus::Dead;
        assert_eq!(job.minutes(&clock), None);
        job.ended = Some("2026-11-22T12:03:00Z".to_owned());
        job.status = JobStatus::Completed;
        assert_eq!(job.minutes(&clock), Some(3));
    }
}
