//! The sessions of a profile: finding, opening, creating and copying them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::file::SessionFile;
use super::id::SessionId;
use super::on_disk::SessionOnDisk;
use super::replay::Replay;
use super::summary::{self, SessionSummary};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::shared_sort::SharedSort as _;
use crate::disk::atomic::{self, Access, STATE_CAP};
use crate::disk::lock::{self, Lock, LockState};

const EXTENSION: &str = "jsonl";
/// The folder of the locks, so that a list of sessions does not come across them.
const LOCKS: &str = "locks";

/// The folder of a profile's sessions. Nothing is read or created yet.
#[derive(Debug, Clone)]
pub struct SessionStore {
    dir: PathBuf,
    clock: Clock,
}

impl SessionStore {
    /// The sessions in this folder (`ProfilePaths::sessions`).
    pub fn new(dir: PathBuf, clock: &Clock) -> Self {
        Self {
            dir,
            clock: clock.clone(),
        }
    }

    pub(super) fn utc(&self) -> String {
        self.clock.utc()
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether there is a session beside `current`.
    pub(crate) fn has_other(&self, current: Option<&SessionId>) -> bool {
        self.files().iter().any(|file| Some(&file.id) != current)
    }

    pub(crate) fn path(&self, id: &SessionId) -> PathBuf {
        self.dir.join(format!("{id}.{EXTENSION}"))
    }

    pub(crate) fn has(&self, id: &SessionId) -> bool {
        self.path(id).exists()
    }

    pub(super) fn create(&self, id: &SessionId, text: &[u8]) -> Outcome<SessionFile> {
        atomic::make_folder(&self.dir, Access::Private)?;
        let lock = self.lock(id)?;
        SessionFile::create(&self.path(id), text, lock)
    }

    /// Reads a session.
    ///
    /// # Errors
    /// `Missing` when there is none, or it cannot be read.
    pub fn read(&self, id: &SessionId) -> Outcome<Replay> {
        let bytes = self.bytes(id)?;
        Ok(self.replay(id, &bytes))
    }

    /// The lines of a session as they are.
    ///
    /// # Errors
    /// As [`SessionStore::read`].
    pub(crate) fn bytes(&self, id: &SessionId) -> Outcome<Vec<u8>> {
        atomic::read(&self.path(id), STATE_CAP)?
            .ok_or_else(|| Problem::missing(format!("There is no session {id}.")).next(LIST_HINT))
    }

    pub(super) fn replay(&self, id: &SessionId, bytes: &[u8]) -> Replay {
        let mut replay = Replay::read(bytes);
        // The first line may be lost; the name of the file is the id.
        replay.header.id = id.to_string();
        replay
    }

    /// Removes a session. Copies of it and exports stay.
    ///
    /// # Errors
    /// It is open, here or in another Marvin; its file cannot be removed.
    pub(crate) fn delete(&self, id: &SessionId) -> Outcome<()> {
        let lock = self.lock(id)?;
        let path = self.path(id);
        fs::remove_file(&path)
            .map_err(|error| Problem::system(format!("Cannot remove {}", path.display()), error))?;
        drop(lock);
        // Whoever waits for the lock of a session that is gone finds no session.
        let _ = fs::remove_file(self.lock_file(id));
        Ok(())
    }

    /// The file that stands for the lock of a session.
    fn lock_file(&self, id: &SessionId) -> PathBuf {
        let mut name = self.lock_place(id).into_os_string();
        name.push(".lock");
        name.into()
    }

    fn lock_place(&self, id: &SessionId) -> PathBuf {
        self.dir.join(LOCKS).join(id.as_str())
    }

    /// The lock of a session, which lasts as long as it is open.
    pub(super) fn lock(&self, id: &SessionId) -> Outcome<Lock> {
        Lock::take(&self.lock_place(id), Duration::ZERO, &Cancel::new()).map_err(|problem| {
            if problem.kind != ProblemKind::Limit {
                return problem;
            }
            let holder = File::open(self.lock_file(id))
                .ok()
                .and_then(|mut file| lock::state(&mut file).ok());
            let by = match holder {
                Some(LockState::Held(Some(pid))) => format!(" (process {pid})"),
                _ => String::new(),
            };
            Problem::refused(format!(
                "Session {} is open in another Marvin{by}.",
                id.short()
            ))
            .next("End that one, or add --fork-session to go on with a copy.")
        })
    }

    /// Every session, the latest first. Reads the beginning and the end of each file only.
    pub fn list(&self) -> Vec<SessionSummary> {
        let mut sessions = Vec::new();
        self.update_list(&mut sessions);
        sessions
    }

    /// Makes of a list that was read before what [`Self::list`] reads now. Only files that have changed are read.
    pub(crate) fn update_list(&self, sessions: &mut Vec<SessionSummary>) {
        let known = sessions.drain(..);
        let mut known: HashMap<SessionId, SessionSummary> =
            known.map(|known| (known.id.clone(), known)).collect();
        let files = self.files().into_iter();
        sessions.extend(files.filter_map(|file| {
            let known = known.remove(&file.id);
            known
                .filter(|known| known.is_of(&file))
                .or_else(|| SessionSummary::read(&file))
        }));
        sessions.shared_sort_by(|a, b| b.order().cmp(&a.order()));
    }

    /// The latest session that was begun in the folder `cwd`.
    pub(crate) fn latest(&self, cwd: &str) -> Option<SessionSummary> {
        let files = self.files().into_iter();
        let summaries = files.filter_map(|file| {
            summary::header(&file.path).filter(|header| header.cwd == cwd)?;
            SessionSummary::read(&file)
        });
        summaries.max_by(|a, b| a.order().cmp(&b.order()))
    }

    /// The session whose id begins so, or whose name this is.
    ///
    /// # Errors
    /// None, or several.
    pub(crate) fn find(&self, word: &str) -> Outcome<SessionId> {
        let word = word.trim();
        if let Some(id) = SessionId::parse(word).filter(|id| self.has(id)) {
            return Ok(id);
        }
        let prefix = word.to_ascii_lowercase();
        let is_prefix = !prefix.is_empty()
            && prefix
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let mut found: Vec<SessionId> = match is_prefix {
            true => self
                .files()
                .into_iter()
                .map(|file| file.id)
                .filter(|id| id.as_str().starts_with(&prefix))
                .collect(),
            false => Vec::new(),
        };
        if found.is_empty() {
            let sessions = self.list().into_iter();
            found = sessions
                .filter(|session| session.name.as_deref() == Some(word))
                .map(|session| session.id)
                .collect();
        }
        let shown = crate::base::text::one_line(&crate::base::text::clip(word, 60));
        match found.as_slice() {
            [id] => Ok(id.clone()),
            [] => {
                Err(Problem::missing(format!("There is no session \"{shown}\".")).next(LIST_HINT))
            }
            several => {
                let ids: Vec<&str> = several.iter().take(5).map(SessionId::as_str).collect();
                Err(
                    Problem::input(format!("{} sessions fit \"{shown}\".", several.len()))
                        .next(format!("Give more of the ID: {}.", ids.join(", "))),
                )
            }
        }
    }

    /// The sessions whose files `fits` accepts.
    pub(crate) fn with_file(&self, fits: impl Fn(&Path) -> bool) -> Vec<SessionId> {
        let files = self.files().into_iter();
        let files = files.filter(|file| fits(&file.path));
        files.map(|file| file.id).collect()
    }

    pub(super) fn files(&self) -> Vec<SessionOnDisk> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(_) => return Vec::new(),
        };
        let file = |path: PathBuf| {
            let stem = path.file_stem()?.to_str()?;
            let id = SessionId::parse(stem).filter(|id| id.as_str() == stem)?;
            (path.extension()? == EXTENSION).then_some(())?;
            Some((id, path))
        };
        entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let (id, path) = file(entry.path())?;
                let about = entry.metadata().ok();
                let modified = about.as_ref().and_then(|about| about.modified().ok());
                Some(SessionOnDisk {
                    id,
                    path,
                    modified: modified.unwrap_or(SystemTime::UNIX_EPOCH),
                    length: about.map_or(0, |about| about.len()),
                })
            })
            .collect()
    }
}

const LIST_HINT: &str = "marvin sessions lists them.";
