//! The folder of tickets. Files are read in parallel; each change happens under one lock, with a temporary file and a rename.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls};
use crate::disk::atomic::{self, Access, STATE_CAP};
use crate::disk::lock::Lock;
use crate::disk::swap;
use crate::formats::front_matter::FrontMatter;

/// How long a change waits for another process.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of a file is read for a list when its title has not been found before, in bytes.
const HEAD_CAP: u64 = 4 * 1024 * 1024;
/// Size of the first read in bytes; nearly every ticket is shorter.
const FIRST: usize = 16 * 1024;
/// For fewer tickets a second thread is not worth it.
const MIN_PARALLEL_TICKETS: usize = 200;

/// The fields of a ticket that lists and trees need.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ticket {
    /// Of the `id:` line.
    pub id: String,
    /// `open`, `in_progress`, `closed`, or whatever else is in the file.
    pub status: String,
    /// Ids of tickets that have to be closed first.
    pub deps: Vec<String>,
    /// Ids of related tickets.
    pub links: Vec<String>,
    pub parent: String,
    /// As written; "2" when absent.
    pub priority: String,
    pub assignee: String,
    pub tags: Vec<String>,
    pub title: String,
}

impl Ticket {
    /// Reads a ticket; `None` when the file is not one.
    pub(crate) fn read(doc: &FrontMatter) -> Option<Self> {
        let value = |key: &str| doc.get(key).map(|v| v.into_owned()).unwrap_or_default();
        let id = value("id");
        let priority = value("priority");
        (!id.is_empty()).then(|| Self {
            status: value("status"),
            deps: doc.list("deps"),
            links: doc.list("links"),
            // The script shows the parent's title after a `#`, and some users copied that into the file.
            parent: value("parent")
                .split([' ', '#'])
                .next()
                .unwrap_or_default()
                .to_owned(),
            priority: if priority.is_empty() {
                "2".to_owned()
            } else {
                priority
            },
            assignee: value("assignee"),
            tags: doc.list("tags"),
            title: doc.title(),
            id,
        })
    }

    /// Whether it is closed, so that nothing waits for it.
    pub(crate) fn is_closed(&self) -> bool {
        self.status == "closed"
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Folder {
    dir: PathBuf,
}

impl Folder {
    pub(crate) fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Where it is.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file of a ticket, by a name from [`Folder::names`] or [`Folder::resolve`].
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.md"))
    }

    /// The names of all `.md` files without the extension, sorted.
    pub(crate) fn names(&self) -> Outcome<Vec<String>> {
        let fail = |error| Problem::system(format!("Cannot list {}", self.dir.display()), error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if !name.ends_with(".md") || name.starts_with('.') {
                continue;
            }
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_file() || (kind.is_symlink() && self.leads_inside(&entry.path())) {
                names.push(name);
            }
        }
        names.sort_unstable();
        for name in &mut names {
            name.truncate(name.len() - ".md".len());
        }
        Ok(names)
    }

    /// A symlink in somebody else's repository must not show another file of this machine as a ticket.
    fn leads_inside(&self, link: &Path) -> bool {
        match (link.canonicalize(), self.dir.canonicalize()) {
            (Ok(target), Ok(dir)) => target.starts_with(dir) && target.is_file(),
            _ => false,
        }
    }

    /// The ticket that `given` means: the one with that name, else the only one whose name contains it.
    ///
    /// # Errors
    /// None or several do.
    pub(crate) fn resolve(&self, given: &str) -> Outcome<String> {
        let wanted = given.trim();
        let names = self.names()?;
        pick(wanted, names.iter().map(String::as_str)).map(str::to_owned)
    }

    /// Reads a ticket's file.
    ///
    /// # Errors
    /// It is gone, larger than any honest one, or cannot be read.
    pub(crate) fn read(&self, name: &str) -> Outcome<Vec<u8>> {
        atomic::read(&self.file(name), STATE_CAP)?.ok_or_else(|| not_found(name))
    }

    /// All tickets, in the order of the file names; other files are skipped.
    ///
    /// # Errors
    /// The folder cannot be read, or the call was cancelled. A single unreadable file is skipped.
    pub(crate) fn load(&self, stop: &Cancel) -> Outcome<Vec<Ticket>> {
        self.load_some(&self.names()?, stop)
    }

    /// The tickets among `names`.
    ///
    /// # Errors
    /// The work was stopped.
    pub(crate) fn load_some(&self, names: &[String], stop: &Cancel) -> Outcome<Vec<Ticket>> {
        self.map(names, stop, |bytes| {
            Ticket::read(&FrontMatter::parse(bytes))
        })
    }

    /// Applies `each` to the head of every file in `names` and returns the results in order.
    ///
    /// # Errors
    /// The call was cancelled.
    pub(crate) fn map<T: Send>(
        &self,
        names: &[String],
        stop: &Cancel,
        each: impl Fn(&[u8]) -> Option<T> + Sync,
    ) -> Outcome<Vec<T>> {
        let part = |names: &[String]| -> Outcome<Vec<T>> {
            let fail =
                |error| Problem::system(format!("Cannot read {}", self.dir.display()), error);
            let dir = File::open(&self.dir).map_err(fail)?;
            let (mut buffer, mut file_name) = (Vec::new(), String::new());
            let mut out = Vec::with_capacity(names.len());
            for name in names {
                stop.check()?;
                file_name.clear();
                file_name.push_str(name);
                file_name.push_str(".md");
                if let Ok(count) = head(&dir, &file_name, &mut buffer) {
                    out.extend(each(buffer.get(..count).unwrap_or_default()));
                }
                if buffer.len() > FIRST {
                    buffer.truncate(FIRST);
                }
            }
            Ok(out)
        };
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(8);
        if names.len() <= MIN_PARALLEL_TICKETS || threads == 1 {
            return part(names);
        }
        let size = names.len().div_ceil(threads);
        let parts: Vec<Outcome<Vec<T>>> = thread::scope(|scope| {
            let running: Vec<_> = names
                .chunks(size)
                .map(|names| scope.spawn(|| part(names)))
                .collect();
            running
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err(Problem::internal("Reading the tickets crashed.")))
                })
                .collect()
        });
        let mut all = Vec::with_capacity(names.len());
        for part in parts {
            all.extend(part?);
        }
        Ok(all)
    }

    /// Names with the time of the last change, newest first.
    pub(crate) fn newest(&self) -> Outcome<Vec<String>> {
        let mut timed: Vec<(SystemTime, String)> = self
            .names()?
            .into_iter()
            .map(|name| {
                let about = fs::metadata(self.file(&name)).and_then(|about| about.modified());
                (about.unwrap_or(SystemTime::UNIX_EPOCH), name)
            })
            .collect();
        timed.shared_sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        Ok(timed.into_iter().map(|(_, name)| name).collect())
    }

    /// Prevents other processes from changing tickets until the guard is dropped.
    ///
    /// # Errors
    /// Another process holds it for too long, or the call was cancelled.
    pub(crate) fn lock(&self, stop: &Cancel) -> Outcome<Lock> {
        Lock::folder(&self.dir, LOCK_TIMEOUT, stop)
    }

    /// Changes one file; the caller holds the lock. `change` returns the new content, or `None` to leave the file alone. The script takes no locks:
    /// if the file changes while the new one is being written, `change` is called again.
    ///
    /// # Errors
    /// Reading, `change` or writing failed; the file is then unchanged.
    pub(crate) fn change(
        &self,
        name: &str,
        change: impl Fn(&[u8]) -> Outcome<Option<Vec<u8>>>,
    ) -> Outcome<bool> {
        let path = self.file(name);
        let fail = |cause| Problem::system(format!("Cannot write {}", path.display()), cause);
        for _ in 0..20 {
            let old = self.read(name)?;
            let Some(new) = change(&old)? else {
                return Ok(false);
            };
            if new.len() as u64 > STATE_CAP {
                return Err(Problem::limit(format!(
                    "{} would become larger than {} MiB.",
                    path.display(),
                    STATE_CAP >> 20
                ))
                .next("Keep such texts in a file of their own, and its name in the ticket."));
            }
            let mode = fs::metadata(&path).map_err(fail)?.permissions().mode() & 0o7777;
            let temp = self.temporary(name, &new, mode).map_err(fail)?;
            if self.read(name)? != old {
                continue;
            }
            if let Some(theirs) = self.put(temp, &path, &old).map_err(fail)? {
                let both = change(&theirs);
                let text = both.as_ref().ok().and_then(Option::as_ref);
                let temp = self.temporary(name, text.unwrap_or(&theirs), mode);
                let temp = temp.map_err(fail)?;
                temp.persist(&path).map_err(|cause| fail(cause.error))?;
                both?;
            }
            self.settle();
            return Ok(true);
        }
        Err(Problem::limit(format!(
            "{} is being changed by another program all the time.",
            path.display()
        ))
        .next("Try again when it is done."))
    }

    /// Creates a ticket's file; false when the name is taken.
    pub(crate) fn add(&self, name: &str, text: &str) -> Outcome<bool> {
        let path = self.file(name);
        let fail = |cause| Problem::system(format!("Cannot write {}", path.display()), cause);
        // The folder of the user's own tickets is private to them; those of a project are as accessible as its other files.
        let folder = fs::metadata(&self.dir).map_err(fail)?.permissions().mode();
        let mode = if folder & 0o077 == 0 { 0o600 } else { 0o666 };
        let temp = self.temporary(name, text.as_bytes(), mode).map_err(fail)?;
        match temp.persist_noclobber(&path) {
            Ok(_) => {
                self.settle();
                Ok(true)
            }
            Err(cause) if cause.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(cause) => Err(fail(cause.error)),
        }
    }

    /// A synced temporary file beside the tickets, with a name that readers ignore.
    fn temporary(
        &self,
        name: &str,
        bytes: &[u8],
        mode: u32,
    ) -> io::Result<tempfile::NamedTempFile> {
        let mut temp = tempfile::Builder::new()
            .prefix(&format!(".{}", crate::base::text::head(name, 100)))
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(mode))
            .tempfile_in(&self.dir)?;
        temp.write_all(bytes)?;
        temp.as_file().sync_all()?;
        Ok(temp)
    }

    /// Exchanges a temporary file with the ticket. Because the two swap names, nothing that the script writes after the last look at the file is
    /// lost: the previous content is returned if it is not `old`.
    fn put(
        &self,
        temp: tempfile::NamedTempFile,
        path: &Path,
        old: &[u8],
    ) -> io::Result<Option<Vec<u8>>> {
        if swap::swap_names(temp.path(), path).is_err() {
            // The file system does not support the exchange.
            temp.persist(path).map_err(|cause| cause.error)?;
            return Ok(None);
        }
        // This takes a moment, in which a script that has the old file open finishes its write.
        self.settle();
        let stood = fs::read(temp.path())?;
        Ok((stood != old).then_some(stood))
    }

    /// Makes a rename durable. Where file systems cannot sync folders, the content is safe all the same.
    fn settle(&self) {
        let _ = File::open(&self.dir).and_then(|dir| dir.sync_all());
    }
}

/// Reads as much of a file as lists need into `buffer` and returns the number of valid bytes. The buffer only grows, so that it need not be cleared
/// for each file.
fn head(dir: &File, name: &str, buffer: &mut Vec<u8>) -> io::Result<usize> {
    use rustix::fs::{Mode, OFlags};
    // A FIFO in place of a ticket must not block a list.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?);
    if buffer.len() < FIRST {
        buffer.resize(FIRST, 0);
    }
    let count = file.read(buffer)?;
    let start = buffer.get(..count).unwrap_or_default();
    if count < buffer.len() || FrontMatter::parse(start).is_settled() {
        return Ok(count);
    }
    file.take(HEAD_CAP).read_to_end(buffer)?;
    Ok(buffer.len())
}

/// The entry of `names` that equals `wanted`, else the only one that contains it.
///
/// # Errors
/// None is, or several are.
pub(crate) fn pick<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Outcome<&'a str> {
    if let Some(name) = names.clone().find(|name| *name == wanted) {
        return Ok(name);
    }
    let mut found: Vec<&str> = Vec::new();
    if !wanted.is_empty() {
        found.extend(names.clone().filter(|name| name.contains(wanted)));
    }
    found.dedup();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(not_found(wanted).near(wanted, names)),
        several => {
            let shown: Vec<&str> = several.iter().copied().take(10).collect();
            let more = several.len() - shown.len();
            Err(Problem::input(format!(
                "ambiguous ID '{}' matches multiple tickets",
                clip(&escape_controls(wanted), 80)
            ))
            .next(format!(
                "It could be {}{}.",
                shown.join(", "),
                if more > 0 {
                    format!(" or {more} more")
                } else {
                    String::new()
                }
            )))
        }
    }
}

/// The script's message for an unknown id.
pub(crate) fn not_found(given: &str) -> Problem {
    Problem::missing(format!(
        "ticket '{}' not found",
        clip(&escape_controls(given), 80)
    ))
}

/// Creates the folder for the first ticket.
pub(crate) fn make(dir: &Path, access: Access) -> Outcome<Folder> {
    atomic::make_folder(dir, access)?;
    Ok(Folder::new(dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_name_or_the_only_one_that_contains_it() {
        let names = ["abc", "abc-1234", "xyz-12"];
        let pick = |wanted| pick(wanted, names.iter().copied()).map_err(|p| p.one_line());
        assert_eq!(pick("abc"), Ok("abc"));
        assert_eq!(pick("c-12"), Ok("abc-1234"));
        assert_eq!(
            pick("12"),
            Err("ambiguous ID '12' matches multiple tickets It could be abc-1234, xyz-12.".into())
        );
        for wrong in ["", "../abc", "*", "ABC-9", "a\0", "😀", &"x".repeat(300)] {
            let message = pick(wrong).unwrap_err();
            assert!(message.contains("not found"), "{message}");
        }
    }

    #[test]
    fn only_files_that_are_tickets_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        let stop = Cancel::new();
        fs::write(folder.file("b-1"), "---\nid: b-1\nstatus: open\n---\n# B\n").unwrap();
        fs::write(folder.file("a-1"), "---\nid: a-1\n---\nno title\n").unwrap();
        fs::write(folder.file("README"), "# Not a ticket\n").unwrap();
        fs::write(dir.path().join(".b-1x.tmp"), "---\nid: t\n---\n").unwrap();
        fs::create_dir(dir.path().join("dir.md")).unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        fs::write(secret.path(), "---\nid: secret\n---\n").unwrap();
        std::os::unix::fs::symlink(secret.path(), folder.file("link")).unwrap();
        let long = format!("---\nid: long\nx: {}\n---\n# Far\n", "y".repeat(3 * FIRST));
        fs::write(folder.file("z"), long).unwrap();
        let all = folder.load(&stop).unwrap();
        let seen: Vec<_> = all
            .iter()
            .map(|t| (t.id.as_str(), t.title.as_str()))
            .collect();
        assert_eq!(seen, [("a-1", ""), ("b-1", "B"), ("long", "Far")]);
    }

    #[test]
    fn a_change_of_the_script_meanwhile_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        fs::write(folder.file("a"), "one").unwrap();
        let meddled = std::cell::Cell::new(false);
        folder
            .change("a", |old| {
                if !meddled.replace(true) {
                    fs::write(folder.file("a"), "one two").unwrap();
                }
                Ok(Some([old, b" three"].concat()))
            })
            .unwrap();
        assert_eq!(fs::read(folder.file("a")).unwrap(), b"one two three");
        assert!(!folder.add("a", "x").unwrap());
        // Including what was written after the last look at the file.
        let temp = folder.temporary("a", b"new", 0o644).unwrap();
        let theirs = folder.put(temp, &folder.file("a"), b"one two").unwrap();
        assert_eq!(theirs.as_deref(), Some(&b"one two three"[..]));
        assert_eq!(fs::read(folder.file("a")).unwrap(), b"new");
        let temp = folder.temporary("a", b"newer", 0o644).unwrap();
        assert_eq!(folder.put(temp, &folder.file("a"), b"new").unwrap(), None);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
