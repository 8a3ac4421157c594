//! The folder of a recording: private, gone when it is dropped or the recording is stopped, and removed by the next recording if Marvin was killed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};

const PREFIX: &str = "marvin-voice-";
/// Locked by the Marvin that uses the folder, for as long as that lives.
const LOCK: &str = "lock";

/// A folder. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct PrivateDir {
    path: PathBuf,
    held: Arc<Mutex<Option<(TempDir, File)>>>,
}

impl PrivateDir {
    /// Makes the folder where the user's own temporary files are, in memory if the system has such a place, and removes those of killed Marvins.
    pub(super) fn new(env: &Env) -> Outcome<Self> {
        let own = env.get("XDG_RUNTIME_DIR").map(PathBuf::from);
        let parent = own
            .filter(|dir| dir.is_absolute() && dir.is_dir())
            .or_else(|| env.get("TMPDIR").map(PathBuf::from))
            .unwrap_or_else(|| PathBuf::from("/tmp"));
        remove_abandoned(&parent);
        let cannot = |error| {
            let what = format!(
                "Cannot make a folder for the recording in {}",
                parent.display()
            );
            Problem::system(what, error)
                .next("Set TMPDIR to a folder that can be written, with some megabytes of room.")
        };
        let dir = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&parent)
            .map_err(cannot)?;
        let lock = File::create(dir.path().join(LOCK)).map_err(cannot)?;
        lock.try_lock().map_err(|error| cannot(error.into()))?;
        Ok(Self {
            path: dir.path().to_owned(),
            held: Arc::new(Mutex::new(Some((dir, lock)))),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder with everything in it; later calls do nothing.
    pub(super) fn remove(&self) {
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((dir, _lock)) = held {
            // What the recorder writes at this moment may be in the way once.
            if dir.close().is_err() {
                let _gone = fs::remove_dir_all(&self.path);
            }
        }
    }
}

/// Removes folders whose Marvin is gone.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    let named = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(PREFIX);
    for entry in entries.flatten().filter(|entry| named(&entry.file_name())) {
        let path = entry.path();
        // Never through a symbolic link that somebody else put there.
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        // Without a lock it is only just being made.
        let lock = is_dir.then(|| File::open(path.join(LOCK)).ok()).flatten();
        if lock.is_some_and(|lock| lock.try_lock().is_ok()) {
            let _not_ours = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_private_and_goes_with_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let env = Env::from([("XDG_RUNTIME_DIR", place.path().to_str().unwrap())]);
        let count = || fs::read_dir(place.path()).unwrap().count();
        let dir = PrivateDir::new(&env).unwrap();
        let mode = dir.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(dir.path().join("a.wav"), "x").unwrap();
        // One that is in use is left alone, one whose owner was killed goes.
        let left = place.path().join("marvin-voice-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        fs::write(left.join("a.wav"), "x").unwrap();
        let other = PrivateDir::new(&env).unwrap();
        assert!(dir.path().exists() && !left.exists());
        assert_eq!(count(), 2);
        drop(other);
        dir.clone().remove();
        assert!(!dir.path().exists());
        dir.remove();
        assert_eq!(count(), 0);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_a_problem() {
        let env = Env::from([("TMPDIR", "/proc/self/nowhere")]);
        let problem = PrivateDir::new(&env).unwrap_err().one_line();
        assert!(problem.contains("TMPDIR"), "{problem}");
    }
}
