//! The files of a calendar: `calendar.ics`, and files of single events that other programs keep in a folder next to it or with its name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::plural;
use crate::disk::atomic::{self, Access, STATE_CAP};
use crate::disk::lock::{self, Lock};
use crate::disk::paths::ProfilePaths;
use crate::formats::ical::scan::{CalendarScan, scan, with_event, without};

/// PRODID of a new calendar.
const PRODUCT: &str = "-//Marvin//EN";
/// How long to wait for another Marvin that is writing the calendar.
const LOCK_TIMEOUT: Duration = Duration::from_secs(8);

pub(crate) struct CalendarFiles {
    /// `calendar.ics`; `None` if that is a folder.
    whole: Option<PathBuf>,
    /// The path of that file or folder.
    main: PathBuf,
    /// Files of single events, sorted by name.
    single: Vec<PathBuf>,
}

impl CalendarFiles {
    /// The files that exist now.
    pub(crate) fn of(profile: &ProfilePaths) -> Self {
        let main = profile.calendar();
        let mut single = inside(&main);
        single.extend(inside(&profile.events()));
        Self {
            whole: (!main.is_dir()).then(|| main.clone()),
            main,
            single,
        }
    }

    /// All files combined into one calendar. A damaged file among several is left out, with a notice.
    pub(crate) fn read(&self) -> Outcome<(Vec<u8>, Option<String>)> {
        let mut bytes = Vec::new();
        let mut odd = Vec::new();
        for path in &self.single {
            match load(path)? {
                one if scan(&one).trouble().is_some() => odd.push(path.display().to_string()),
                one => {
                    bytes.extend_from_slice(plain(&one));
                    bytes.extend_from_slice(b"\r\n");
                }
            }
        }
        // Last, because damage in it would hide what follows.
        let whole = self.whole.as_deref().map(load).transpose()?;
        let whole = whole.unwrap_or_default();
        if bytes.is_empty() {
            bytes = whole;
        } else {
            bytes.extend_from_slice(plain(&whole));
        }
        let note = odd.first().map(|first| {
            let count = plural(odd.len(), "file");
            format!("{count} cannot be read as a calendar and left out, such as {first}.")
        });
        Ok((bytes, note))
    }

    /// Adds an event, given as its lines and its UID.
    ///
    /// # Errors
    /// The file is damaged, is in use, or cannot be written.
    pub(crate) fn add(&self, event: &str, uid: &str) -> Outcome<()> {
        let Some(whole) = &self.whole else {
            let path = self.main.join(format!("{uid}.ics"));
            let text = with_event(b"", event, PRODUCT).map_err(|error| damaged(&path, &error))?;
            return atomic::write(&path, &text, Access::Private);
        };
        lock::update_as(whole, Access::Private, LOCK_TIMEOUT, |old| {
            with_event(&old.unwrap_or_default(), event, PRODUCT)
                .map(Some)
                .map_err(|error| damaged(whole, &error))
        })
    }

    /// Removes every event with this UID and returns their number.
    ///
    /// # Errors
    /// As [`CalendarFiles::add`].
    pub(crate) fn remove(&self, uid: &str) -> Outcome<usize> {
        let mut count = 0;
        if let Some(whole) = &self.whole
            && has(&scan(&load(whole)?), uid)
        {
            lock::update_as(whole, Access::Private, LOCK_TIMEOUT, |old| {
                let (new, gone) = without(&old.unwrap_or_default(), uid)
                    .map_err(|error| damaged(whole, &error))?;
                count += gone;
                Ok(Some(new))
            })?;
        }
        for path in &self.single {
            // The folder belongs to another program too, so it gets no lock file.
            let folder = path.parent().unwrap_or(path);
            let _lock = Lock::folder(folder, LOCK_TIMEOUT, &Cancel::new())?;
            let old = load(path)?;
            if !has(&scan(&old), uid) {
                continue;
            }
            let (new, gone) = without(&old, uid).map_err(|error| damaged(path, &error))?;
            if scan(&new).events.is_empty() {
                fs::remove_file(path).map_err(|error| {
                    Problem::system(format!("Cannot remove {}", path.display()), error)
                })?;
            } else {
                atomic::write(path, &new, Access::Private)?;
            }
            count += gone;
        }
        Ok(count)
    }

    /// Whether there is an event with this UID; true when a file cannot be read.
    pub(crate) fn hold(&self, uid: &str) -> bool {
        self.whole.iter().chain(&self.single).any(|path| {
            // A file that cannot be read may contain it.
            load(path).map_or(true, |bytes| {
                let file = scan(&bytes);
                file.trouble().is_some() || has(&file, uid)
            })
        })
    }
}

/// The calendar files in a folder; empty if the folder does not exist.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".ics") && !name.starts_with('.') && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_one).collect();
    files.sort();
    files
}

fn load(path: &Path) -> Outcome<Vec<u8>> {
    Ok(atomic::read(path, STATE_CAP)?.unwrap_or_default())
}

/// Drops a byte-order mark, which would be an ordinary character in the middle of the combined file.
fn plain(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn has(file: &CalendarScan<'_>, uid: &str) -> bool {
    let mut events = file.events.iter();
    events.any(|place| file.uid(place).as_deref() == Some(uid))
}

fn damaged(path: &Path, reason: &str) -> Problem {
    Problem::input(format!(
        "{} is not a valid calendar file: {reason}. Nothing was written.",
        path.display()
    ))
    .next("Fix it, or move it away; then a new one is created.")
}
