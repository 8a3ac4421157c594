//! State files: read with a size limit, written atomically, and moved aside when they are corrupt.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::base::clock::Clock;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::thousands;

/// Maximum size of a state file in bytes; far above any honest one.
pub(crate) const STATE_CAP: u64 = 256 * 1024 * 1024;

/// How long to wait for another process that is writing a line.
const LINE_LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Who may read a file. Files about the user, in the config folder and in a project's `.marvin/`, are private: they hold conversations, push topics
/// (which work like passwords), places and plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// An existing file keeps its permissions, a new one gets those of the umask: for files that other programs share.
    Usual,
    /// Only the owner (0600); folders created for the file are 0700.
    Private,
}

/// The content of a file of at most `cap` bytes; `None` when it does not exist.
///
/// # Errors
/// It cannot be read, is not a regular file, or is longer (`Limit`).
pub(crate) fn read(path: &Path, cap: u64) -> Outcome<Option<Vec<u8>>> {
    let fail = |error| Problem::system(format!("Cannot read {}", path.display()), error);
    let too_large = || {
        Problem::limit(format!(
            "{} is larger than {} bytes.",
            path.display(),
            thousands(cap)
        ))
        .next("Move it away or shorten it.")
    };
    let file = match open::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error).next("Move it away.")),
    };
    let length = file.metadata().map_err(fail)?.len();
    // Before reading: a file of gigabytes would exhaust memory.
    if length > cap {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(cap.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > cap {
        return Err(too_large());
    }
    Ok(Some(bytes))
}

/// [`read`] as text.
///
/// # Errors
/// As [`read`]; `Input` with the position when it is not UTF-8.
pub(crate) fn read_text(path: &Path, cap: u64) -> Outcome<Option<String>> {
    let Some(bytes) = read(path, cap)? else {
        return Ok(None);
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..at).unwrap_or_default();
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        Problem::input(format!(
            "{} is not UTF-8 text (line {line}).",
            path.display()
        ))
        .because(error)
    })
}

/// Writes a file: to a temporary file beside it, synced, then renamed. A symlink stays one; its target is written. Missing parent folders are
/// created. When this returns, a power cut cannot lose the new content.
///
/// # Errors
/// The disk is full or not writable; the old content is then intact and no temporary file is left.
pub(crate) fn write(path: &Path, bytes: &[u8], access: Access) -> Outcome<()> {
    write_with(path, access, |file| file.write_all(bytes))
}

/// [`write`] for content that need not be in memory whole: `fill` writes it.
///
/// # Errors
/// As [`write`], and what `fill` returns.
pub(crate) fn write_with(
    path: &Path,
    access: Access,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Outcome<()> {
    let target = replace_with(path, access, fill)?;
    // Makes the rename itself durable; where folders cannot be synced the content still is.
    let _ = File::open(folder(&target)).and_then(|dir| dir.sync_all());
    Ok(())
}

/// [`write`] without forcing the rename to the disk: a power cut in the next seconds may leave the old content, complete. For counters, whose loss costs less
/// than the wait at the end of each run. Returns the path with links resolved.
pub(crate) fn replace(path: &Path, bytes: &[u8], access: Access) -> Outcome<PathBuf> {
    replace_with(path, access, |file| file.write_all(bytes))
}

fn replace_with(
    path: &Path,
    access: Access,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Outcome<PathBuf> {
    let fail = |cause| Problem::system(format!("Cannot write {}", path.display()), cause);
    let target = through_links(path).map_err(fail)?;
    let dir = folder(&target);
    make_folder(dir, access)?;
    let old = match fs::metadata(&target) {
        Ok(about) if !about.is_file() => {
            return Err(Problem::input(format!(
                "Cannot write {}: it is not a regular file.",
                path.display()
            ))
            .next("Move it away."));
        }
        Ok(about) => Some(about.permissions().mode() & 0o7777),
        Err(cause) if cause.kind() == ErrorKind::NotFound => None,
        Err(cause) => return Err(fail(cause)),
    };
    let mode = match (access, old) {
        (Access::Private, _) => 0o600,
        (Access::Usual, Some(_)) | (Access::Usual, None) => old.unwrap_or(0o666),
    };
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    let mut temp = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)
        .map_err(fail)?;
    let file = temp.as_file_mut();
    fill(file).map_err(fail)?;
    if old.is_some() {
        // The umask may have removed permissions that the old file had.
        file.set_permissions(Permissions::from_mode(mode))
            .map_err(fail)?;
    }
    file.sync_all().map_err(fail)?;
    temp.persist(&target).map_err(|cause| fail(cause.error))?;
    Ok(target)
}

/// Creates a folder and its parents, for the owner alone when `Private`.
pub(crate) fn make_folder(dir: &Path, access: Access) -> Outcome<()> {
    let mode = match access {
        Access::Usual => 0o777,
        Access::Private => 0o700,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(dir)
        .map_err(|error| {
            Problem::system(format!("Cannot make the folder {}", dir.display()), error)
        })
}

/// Appends one line with a single write, durably; creates the file and its parent folders. If a crash cut the last line short, the new one starts on a line of
/// its own.
///
/// # Errors
/// The disk is full or not writable; a partly written line is removed.
pub(crate) fn append_line(path: &Path, line: &str, access: Access) -> Outcome<()> {
    let fail = |error| Problem::system(format!("Cannot add to {}", path.display()), error);
    if line.contains('\n') {
        return Err(Problem::internal(format!(
            "A line for {} contains a line break.",
            path.display()
        )));
    }
    make_folder(folder(path), access)?;
    let mode = match access {
        Access::Private => 0o600,
        Access::Usual => 0o666,
    };
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(mode);
    let mut file = open::with(&mut options, path).map_err(fail)?;
    if access == Access::Private {
        make_private(&file).map_err(fail)?;
    }
    // Locked for this one write: a line that another process is writing looks like one cut short. Without locks, or if a process stopped while holding one, the
    // worst case is an empty line.
    let until = Instant::now() + LINE_LOCK_TIMEOUT;
    while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = file.metadata().map_err(fail)?.len();
    let torn = before > 0 && {
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).map_err(fail)?;
        file.read_exact(&mut last).map_err(fail)?;
        last != *b"\n"
    };
    let mut text = String::with_capacity(line.len() + 2);
    if torn {
        text.push('\n');
    }
    text.push_str(line);
    text.push('\n');
    match file.write(text.as_bytes()) {
        Ok(count) if count == text.len() => file.sync_data().map_err(fail),
        Ok(count) => {
            // Truncate only our own bytes, and only if nothing was appended after them.
            if file
                .metadata()
                .is_ok_and(|now| now.len() == before + count as u64)
            {
                let _ = file.set_len(before);
            }
            Err(fail(ErrorKind::StorageFull.into()))
        }
        Err(error) => Err(fail(error)),
    }
}

/// Removes everybody else's permissions from an open file, which an older version or an editor may have created.
pub(crate) fn make_private(file: &File) -> io::Result<()> {
    if file.metadata()?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Moves a file that cannot be understood out of the way and returns the notice for the user. `what` is the sentence that says what is wrong with it.
pub(crate) fn set_aside(path: &Path, clock: &Clock, what: &str) -> Outcome<String> {
    set_aside_as("corrupt", path, clock, what)
}

/// [`set_aside`] under another mark than `corrupt`.
pub(crate) fn set_aside_as(mark: &str, path: &Path, clock: &Clock, what: &str) -> Outcome<String> {
    let aside = rename_aside(mark, path, clock)?;
    Ok(format!("{what} It was moved to {}.", aside.display()))
}

/// Renames a file to `name.<mark>-YYYYMMDD_HHMMSS`, never over another; returns the new path.
fn rename_aside(mark: &str, path: &Path, clock: &Clock) -> Outcome<PathBuf> {
    let fail = |error| Problem::system(format!("Cannot move {} aside", path.display()), error);
    let stamp = clock.stamp();
    for attempt in 1..=1_000 {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{mark}-{stamp}"));
        if attempt > 1 {
            name.push(format!("-{attempt}"));
        }
        let aside = PathBuf::from(name);
        // A hard link first: unlike a rename it cannot replace a file.
        match fs::hard_link(path, &aside) {
            Ok(()) => {
                fs::remove_file(path).map_err(fail)?;
                return Ok(aside);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(fail(error)),
            Err(_) if fs::symlink_metadata(&aside).is_ok() => {}
            Err(_) => {
                // File systems without hard links.
                fs::rename(path, &aside).map_err(fail)?;
                return Ok(aside);
            }
        }
    }
    Err(fail(ErrorKind::AlreadyExists.into()))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// The end of a chain of symlinks, whether or not it exists.
fn through_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = folder(&path).join(target),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::disk::tests::small_disk;
    use std::os::unix::fs::symlink;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn writing_creates_folders_keeps_modes_and_follows_links() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/state.json");
        write(&path, b"one", Access::Usual).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
        write(&path, b"two", Access::Usual).unwrap();
        assert_eq!(mode(&path), 0o664);
        let link = dir.path().join("link");
        symlink("a/b/state.json", &link).unwrap();
        write(&link, b"three", Access::Usual).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read_text(&path, 100).unwrap().as_deref(), Some("three"));
        let dangling = dir.path().join("dangling");
        symlink("new", &dangling).unwrap();
        write(&dangling, b"four", Access::Usual).unwrap();
        assert_eq!(fs::read(dir.path().join("new")).unwrap(), b"four");
        let secret = dir.path().join("keys/tokens.json");
        write(&secret, b"{}", Access::Private).unwrap();
        assert_eq!(
            (mode(&secret), mode(secret.parent().unwrap())),
            (0o600, 0o700)
        );
        fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
        write(&secret, b"{}", Access::Private).unwrap();
        assert_eq!(mode(&secret), 0o600);
        assert_eq!(names(path.parent().unwrap()), ["state.json"]);
    }

    #[test]
    fn read_errors_name_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert!(read(&path, 10).unwrap().is_none());
        fs::write(&path, "twelve bytes").unwrap();
        assert_eq!(read(&path, 12).unwrap().unwrap().len(), 12);
        assert!(read(&path, 11).unwrap_err().what.contains("larger than 11"));
        fs::write(&path, b"ok\nb\xffd").unwrap();
        let problem = read_text(&path, 100).unwrap_err();
        assert!(problem.what.contains("line 2"), "{problem}");
        assert!(read(dir.path(), 10).unwrap_err().what.contains("regular"));
        assert!(write(dir.path(), b"", Access::Usual).is_err());
        let problem = write(&path.join("below"), b"", Access::Usual).unwrap_err();
        assert!(problem.what.contains("Cannot"), "{problem}");
    }

    #[test]
    fn lines_are_appended_whole_after_a_torn_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        append_line(&path, "{}", Access::Usual).unwrap();
        fs::write(&path, "{}\n{\"to").unwrap();
        append_line(&path, "[1]", Access::Usual).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n{\"to\n[1]\n");
        assert!(append_line(&path, "a\nb", Access::Usual).is_err());
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let path = path.clone();
                std::thread::spawn(move || {
                    for _ in 0..50 {
                        append_line(&path, &n.to_string().repeat(200), Access::Usual).unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let whole = |line: &&str| line.len() == 200 && line.chars().all(|c| line.starts_with(c));
        assert_eq!(text.lines().filter(whole).count(), 200);
        assert_eq!(text.lines().count(), 203);
    }

    #[test]
    fn setting_aside_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("chat_log.json");
        let clock = Clock::new(&Env::from([(
            "MARVIN_NOW",
            "2026-11-21T14:30:05+00:00[UTC]",
        )]));
        for text in ["one", "two"] {
            fs::write(&path, text).unwrap();
            let notice = set_aside(&path, &clock, "It is torn.").unwrap();
            assert!(
                notice.starts_with("It is torn. It was moved to /"),
                "{notice}"
            );
        }
        let expected = [
            "chat_log.json.corrupt-20261121_143005",
            "chat_log.json.corrupt-20261121_143005-2",
        ];
        assert_eq!(names(dir.path()), expected);
        let first = fs::read_to_string(dir.path().join(expected[0])).unwrap();
        assert_eq!(first, "one");
        assert!(set_aside(&path, &clock, "").is_err());
    }

    #[test]
    fn a_full_disk_names_the_file_and_keeps_the_old_one() {
        small_disk(|dir| {
            let path = dir.join("state");
            write(&path, b"old\n", Access::Usual).unwrap();
            let big = "x".repeat(1 << 20);
            for problem in [
                write(&path, big.as_bytes(), Access::Usual).unwrap_err(),
                append_line(&path, &big, Access::Usual).unwrap_err(),
            ] {
                let what = &problem.what;
                let full = what.contains("no space left") || what.contains("storage");
                assert!(full && what.contains("state"), "{problem}");
            }
            assert_eq!(names(dir), ["state"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
        });
    }
}
