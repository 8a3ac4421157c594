//! Advisory locks between processes: a `.lock` file beside the state file. The only module that uses fs2.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs2::FileExt;
use rustix::fs::OFlags;

use super::atomic::{self, Access, STATE_CAP};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};

/// Polling interval of a waiting process.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Opens a lock file without following a link and without blocking.
const OPEN_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);

/// A held lock; released when dropped, and by the system when the process dies. The `.lock` file stays: removing it would let
/// two processes hold two different files of the same name.
#[derive(Debug)]
#[must_use = "the lock is released when dropped"]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Waits at most `limit` for the lock of `path`, which need not exist. Threads of one process exclude each other too.
    ///
    /// # Errors
    /// `Limit` with the holder's process id when it takes longer; `Cancelled`; the folder is not writable.
    pub(crate) fn take(path: &Path, limit: Duration, stop: &Cancel) -> Outcome<Self> {
        Self::take_named(&beside(path), path, limit, stop)
    }

    /// [`Lock::take`] for what lies in a folder: the lock is the file `lock` in it, one for all of them. The folder is made when there is none.
    pub(crate) fn of_folder(dir: &Path, limit: Duration, stop: &Cancel) -> Outcome<Self> {
        Self::take_named(&dir.join("lock"), dir, limit, stop)
    }

    /// Takes the lock whose file is `name`; `path` is what it protects.
    fn take_named(name: &Path, path: &Path, limit: Duration, stop: &Cancel) -> Outcome<Self> {
        let mut file = lock_file(name, path)?;
        if !wait(&file, limit, stop, |error| cannot_lock(path, error))? {
            return Err(timed_out(path, &mut file, limit));
        }
        // For the message to waiting processes; the lock does not depend on it. Padded to the width of any process id: truncating the previous one would take
        // longer than everything else.
        let _ = file.write_all(format!("{:<10}\n", std::process::id()).as_bytes());
        Ok(Self { file })
    }

    /// Takes part in the lock of `path`: any number of processes can, and [`Lock::take`] waits until the last one has ended.
    ///
    /// # Errors
    /// A process holds it alone; the folder is not writable.
    pub(crate) fn share(path: &Path) -> Outcome<Self> {
        let mut file = lock_file(&beside(path), path)?;
        match FileExt::try_lock_shared(&file) {
            Ok(()) => Ok(Self { file }),
            Err(error) if is_held(&error) => Err(timed_out(path, &mut file, Duration::ZERO)),
            Err(error) => Err(cannot_lock(path, error)),
        }
    }

    /// Waits at most `limit` for the lock on an existing folder and writes nothing into it: for folders that belong to other programs too.
    ///
    /// # Errors
    /// `Limit` when it takes longer; `Cancelled`; the folder cannot be opened.
    pub(crate) fn folder(dir: &Path, limit: Duration, stop: &Cancel) -> Outcome<Self> {
        let fail = |error| Problem::system(format!("Cannot lock {}", dir.display()), error);
        let flags = OFlags::DIRECTORY | OFlags::NONBLOCK;
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
            .open(dir)
            .map_err(fail)?;
        if !wait(&file, limit, stop, fail)? {
            return Err(timed_out(dir, &mut file, limit));
        }
        Ok(Self { file })
    }
}

fn cannot_lock(path: &Path, error: std::io::Error) -> Problem {
    Problem::system(format!("Cannot lock {}", path.display()), error)
}

/// The open lock file `name` of `path`, which is made when there is none.
fn lock_file(name: &Path, path: &Path) -> Outcome<File> {
    if let Some(dir) = name.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        atomic::make_folder(dir, Access::Private)?;
    }
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // A symlink in place of the lock would make us write our process id elsewhere; a FIFO would block.
        .custom_flags(i32::try_from(OPEN_FLAGS.bits()).unwrap_or_default())
        .open(name)
        .map_err(|error| not_a_lock_file(name).unwrap_or_else(|| cannot_lock(path, error)))?;
    match file.metadata() {
        Ok(about) if about.is_file() => Ok(file),
        Ok(_) => Err(not_ordinary(name)),
        Err(error) => Err(cannot_lock(path, error)),
    }
}

/// Whether a process holds the lock whose file this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockState {
    /// No process holds it.
    Free,
    /// A process holds it: its id, if the file says it.
    Held(Option<u32>),
}

/// The state of the lock whose `.lock` file was opened, without changing that file. Holds a shared lock for an instant, so that two processes can ask at a
/// time.
///
/// # Errors
/// The file system has no locks.
pub(crate) fn state(file: &mut File) -> Outcome<LockState> {
    match FileExt::try_lock_shared(&*file) {
        Ok(()) => {
            let _ = FileExt::unlock(&*file);
            Ok(LockState::Free)
        }
        Err(error) if is_held(&error) => Ok(LockState::Held(holder(file))),
        Err(error) => Err(Problem::system("Cannot ask for the state of a lock", error)),
    }
}

/// The process id in a lock file.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.take(20).read_to_string(&mut text);
    text.trim().parse().ok()
}

/// Waits for the lock of an open file; false when the time is up.
fn wait(
    file: &File,
    limit: Duration,
    stop: &Cancel,
    fail: impl Fn(std::io::Error) -> Problem,
) -> Outcome<bool> {
    let until = Instant::now() + limit;
    loop {
        stop.check()?;
        match FileExt::try_lock_exclusive(file) {
            Ok(()) => return Ok(true),
            Err(error) if is_held(&error) => {}
            Err(error) => return Err(fail(error)),
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        stop.sleep(POLL_INTERVAL.min(left));
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = FileExt::unlock(&self.file);
    }
}

/// The problem when something else is in place of the lock file.
fn not_a_lock_file(name: &Path) -> Option<Problem> {
    let about = name.symlink_metadata().ok()?;
    (!about.is_file()).then(|| not_ordinary(name))
}

fn not_ordinary(name: &Path) -> Problem {
    Problem::refused(format!(
        "{} is not a regular file, so it cannot be a lock.",
        name.display()
    ))
    .next("Remove it.")
}

fn is_held(reason: &std::io::Error) -> bool {
    reason.kind() == std::io::ErrorKind::WouldBlock
        || reason.raw_os_error() == fs2::lock_contended_error().raw_os_error()
}

fn timed_out(path: &Path, file: &mut File, limit: Duration) -> Problem {
    let holder = match holder(file) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    Problem::limit(format!(
        "{} is in use by {holder}; waited {:.1} s.",
        path.display(),
        limit.as_secs_f64()
    ))
    .next("Try again, or end that process if it hangs.")
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Changes a private state file under its lock: `change` gets the content (`None` when the file does not exist) and returns the new one, or `None`
/// to leave it unchanged.
///
/// # Errors
/// The lock, the read, `change` or the write failed; the file is then unchanged.
pub(crate) fn update(
    path: &Path,
    limit: Duration,
    change: impl FnOnce(Option<Vec<u8>>) -> Outcome<Option<Vec<u8>>>,
) -> Outcome<()> {
    update_as(path, Access::Private, limit, change)
}

/// [`update`] with other permissions, for a file that is not Marvin's.
pub(crate) fn update_as(
    path: &Path,
    access: Access,
    limit: Duration,
    change: impl FnOnce(Option<Vec<u8>>) -> Outcome<Option<Vec<u8>>>,
) -> Outcome<()> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        atomic::make_folder(dir, access)?;
    }
    let _lock = Lock::take(path, limit, &Cancel::new())?;
    match change(atomic::read(path, STATE_CAP)?)? {
        Some(bytes) => atomic::write(path, &bytes, access),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::ProblemKind;

    #[test]
    fn concurrent_updates_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub/count");
        let add = |old: Option<Vec<u8>>| {
            let old = old.map_or(0, |b| String::from_utf8(b).unwrap().parse::<u32>().unwrap());
            Ok(Some((old + 1).to_string().into_bytes()))
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        update(&path, Duration::from_secs(30), add).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "40");
        update(&path, Duration::from_secs(1), |_| Ok(None)).unwrap();
        assert!(update(&path, Duration::from_secs(1), |_| Err(Problem::input("no"))).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "40");
    }

    #[test]
    fn a_link_or_fifo_in_place_of_the_lock_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        std::fs::write(&theirs, "text\n").unwrap();
        let lock = dir.path().join("state.lock");
        std::os::unix::fs::symlink(&theirs, &lock).unwrap();
        let take = || Lock::take(&dir.path().join("state"), Duration::ZERO, &Cancel::new());
        assert_eq!(take().unwrap_err().kind, ProblemKind::Refused);
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "text\n");
        std::fs::remove_file(&lock).unwrap();
        crate::disk::tests::make_fifo(&lock);
        assert_eq!(take().unwrap_err().kind, ProblemKind::Refused);
    }

    #[test]
    fn waiting_ends_with_the_holders_id_or_on_cancel() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let held = Lock::take(&path, Duration::ZERO, &Cancel::new()).unwrap();
        let problem = Lock::take(&path, Duration::from_millis(30), &Cancel::new()).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Limit);
        let pid = format!("process {}", std::process::id());
        assert!(problem.what.contains(&pid), "{problem}");
        let stop = Cancel::new();
        let waiter = {
            let (path, stop) = (path.clone(), stop.clone());
            std::thread::spawn(move || Lock::take(&path, Duration::from_secs(60), &stop).map(drop))
        };
        stop.fire();
        assert!(waiter.join().unwrap().unwrap_err().is_cancelled());
        let mut file = File::open(dir.path().join("state.lock")).unwrap();
        let own = LockState::Held(Some(std::process::id()));
        assert_eq!(state(&mut file).unwrap(), own);
        drop(held);
        assert_eq!(state(&mut file).unwrap(), LockState::Free);
        let again = Lock::take(&path, Duration::ZERO, &Cancel::new());
        assert!(again.is_ok());
    }

    #[test]
    fn a_shared_lock_has_many_holders_and_nobody_else_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let take = || Lock::take(&path, Duration::ZERO, &Cancel::new());
        let (one, other) = (Lock::share(&path).unwrap(), Lock::share(&path).unwrap());
        drop(one);
        assert!(take().is_err());
        drop(other);
        let alone = take().unwrap();
        assert!(Lock::share(&path).is_err());
        drop(alone);
    }
}
