//! The input history: `history`, one entry per line, shared by both interfaces and by several processes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access, STATE_CAP};
use crate::disk::lock::Lock;

/// Entries that are kept.
const KEEP: usize = 1_000;
/// The file is trimmed to [`KEEP`] lines when it has this many.
const TRIM_AT: usize = 2_000;
/// How much of the end of the file is read, in bytes.
const WINDOW: u64 = 8 << 20;
/// Lines with more bytes are neither stored nor offered.
const LINE_CAP: usize = 1 << 20;
/// First line of the files of one line editor.
const MARK: &[u8] = b"_HiStOrY_V2_";
/// How long to wait for another process's write; typing continues meanwhile.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) struct InputHistory {
    path: PathBuf,
    entries: Vec<String>,
    /// Lines in the file as far as this process knows; `None` when there are more than were read.
    lines: Option<usize>,
}

impl InputHistory {
    /// Reads the last 1,000 entries of the file (`ProfilePaths::history`). On failure the history is empty and `warn` gets a message.
    pub(crate) fn open(path: PathBuf, warn: &mut dyn FnMut(String)) -> Self {
        let (bytes, whole) = end(&path).unwrap_or_else(|problem| {
            warn(problem.one_line());
            (Vec::new(), true)
        });
        let lines = lines(&bytes);
        let mut history = Self {
            path,
            entries: Vec::new(),
            lines: whole.then_some(lines.len()),
        };
        let lines = lines
            .get(lines.len().saturating_sub(KEEP)..)
            .unwrap_or_default();
        for line in lines
            .iter()
            .filter(|line| line.len() <= LINE_CAP && !line.trim_ascii().is_empty())
        {
            history.remember(entry_of(line));
        }
        history
    }

    /// Oldest first; an entry may have several lines.
    pub(crate) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Adds input to the history and the file, unless it is blank or repeats the last entry.
    ///
    /// # Errors
    /// The file cannot be written; the entry is in [`InputHistory::entries`] all the same.
    pub(crate) fn add(&mut self, entry: &str) -> Outcome<()> {
        let entry = entry.replace("\r\n", "\n").replace('\r', "\n");
        if entry.trim().is_empty() {
            return Ok(());
        }
        let line = escaped(&entry);
        self.remember(entry);
        if line.len() > LINE_CAP {
            return Ok(());
        }
        let _lock = Lock::take(&self.path, LOCK_TIMEOUT, &Cancel::new())?;
        if ends_with(&self.path, &line)? {
            return Ok(());
        }
        atomic::append_line(&self.path, &line, Access::Private)?;
        self.lines = self.lines.map(|lines| lines + 1);
        if self.lines.is_none_or(|lines| lines > TRIM_AT) {
            self.trim()?;
        }
        Ok(())
    }

    /// The entries of a file that `goes` accepts.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn find_forgotten(path: &Path, goes: &dyn Fn(&str) -> bool) -> Outcome<Vec<String>> {
        let bytes = atomic::read(path, STATE_CAP)?.unwrap_or_default();
        let entries = lines(&bytes).into_iter().map(entry_of);
        Ok(entries.filter(|entry| goes(entry)).collect())
    }

    /// Takes entries out of a file, under its lock; returns them. The other lines keep their bytes.
    ///
    /// # Errors
    /// Another process holds the lock too long; the file cannot be read or written, and is as it was then.
    pub(crate) fn forget(path: &Path, goes: &dyn Fn(&str) -> bool) -> Outcome<Vec<String>> {
        if Self::find_forgotten(path, goes)?.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = Lock::take(path, LOCK_TIMEOUT, &Cancel::new())?;
        let gone = Self::find_forgotten(path, goes)?;
        let bytes = atomic::read(path, STATE_CAP)?.unwrap_or_default();
        let mut kept = lines(&bytes);
        kept.retain(|line| !goes(&entry_of(line)));
        write_lines(path, bytes.starts_with(MARK), &kept)?;
        Ok(gone)
    }

    fn remember(&mut self, entry: String) {
        if self.entries.last() == Some(&entry) {
            return;
        }
        self.entries.push(entry);
        let surplus = self.entries.len().saturating_sub(KEEP);
        self.entries.drain(..surplus);
    }

    /// Cuts the file down to its last lines, byte for byte, when it has grown too long. The caller holds the lock.
    fn trim(&mut self) -> Outcome<()> {
        let bytes = atomic::read(&self.path, STATE_CAP)?.unwrap_or_default();
        let all = lines(&bytes);
        if all.len() <= TRIM_AT {
            self.lines = Some(all.len());
            return Ok(());
        }
        let kept = all
            .get(all.len().saturating_sub(KEEP)..)
            .unwrap_or_default();
        write_lines(&self.path, bytes.starts_with(MARK), kept)?;
        self.lines = Some(kept.len());
        Ok(())
    }
}

/// The caller holds the lock.
fn write_lines(path: &Path, has_mark: bool, lines: &[&[u8]]) -> Outcome<()> {
    let mut after = Vec::new();
    let mark = has_mark.then_some(MARK);
    for line in mark.into_iter().chain(lines.iter().copied()) {
        after.extend_from_slice(line);
        after.push(b'\n');
    }
    atomic::write(path, &after, Access::Private)
}

/// The end of the file from the start of a line, and whether that is the whole file.
fn end(path: &Path) -> Outcome<(Vec<u8>, bool)> {
    let Some((file, length)) = ordinary(path)? else {
        return Ok((Vec::new(), true));
    };
    let from = length.saturating_sub(WINDOW);
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or_default()];
    file.read_exact_at(&mut bytes, from)
        .map_err(|error| Problem::system(format!("Cannot read {}", path.display()), error))?;
    if from > 0 {
        let first = bytes
            .iter()
            .position(|b| *b == b'\n')
            .map_or(bytes.len(), |at| at + 1);
        bytes.drain(..first);
    }
    Ok((bytes, from == 0))
}

/// The file and its length; `None` when it does not exist.
fn ordinary(path: &Path) -> Outcome<Option<(File, u64)>> {
    let cannot = |error| Problem::system(format!("Cannot read {}", path.display()), error);
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(error)),
        Ok(about) if !about.is_file() => Err(Problem::config(format!(
            "{} is not a regular file.",
            path.display()
        ))
        .next("Move it away; until then what is typed is not remembered.")),
        Ok(about) => Ok(Some((open::read(path).map_err(cannot)?, about.len()))),
    }
}

/// Whether this is the last line of the file.
fn ends_with(path: &Path, line: &str) -> Outcome<bool> {
    let Some((file, length)) = ordinary(path)? else {
        return Ok(false);
    };
    let whole = format!("\n{line}\n");
    // Nothing comes before the very first line.
    let wanted = if length == line.len() as u64 + 1 {
        whole.get(1..).unwrap_or_default()
    } else {
        whole.as_str()
    };
    let Some(from) = length.checked_sub(wanted.len() as u64) else {
        return Ok(false);
    };
    let mut there = vec![0; wanted.len()];
    let read = file.read_exact_at(&mut there, from);
    Ok(read.is_ok() && there == wanted.as_bytes())
}

/// The lines of a file, without the marker of a line editor.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let skipped = usize::from(text.is_empty() || text.split(|b| *b == b'\n').next() == Some(MARK));
    text.split(|b| *b == b'\n').skip(skipped).collect()
}

fn entry_of(line: &[u8]) -> String {
    unescaped(&String::from_utf8_lossy(line))
}

fn escaped(entry: &str) -> String {
    entry.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Undoes the escaping; a backslash before anything else stands for itself, as other programs write it.
fn unescaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('\\') => out.push('\\'),
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p/history");
        (dir, path)
    }

    fn open(path: &Path) -> InputHistory {
        InputHistory::open(path.to_owned(), &mut |w| panic!("{w}"))
    }

    fn written(path: &Path, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn entries_come_back_with_their_lines_and_once() {
        let (_dir, path) = place();
        let mut history = open(&path);
        for entry in ["ls", "ls", "  ", "a\r\nb \\n c\\", "ls", "ls"] {
            history.add(entry).unwrap();
        }
        let expected = ["ls", "a\nb \\n c\\", "ls"];
        assert_eq!(history.entries(), expected);
        assert_eq!(open(&path).entries(), expected);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "ls\na\\nb \\\\n c\\\\\nls\n");
        let mut again = open(&path);
        again.add("ls").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn strange_lines_stay_in_the_file_and_the_mark_is_no_entry() {
        let (_dir, path) = place();
        let huge = "h".repeat(LINE_CAP + 1);
        let mut bytes = b"_HiStOrY_V2_\ngood\nb\xffd\n".to_vec();
        bytes.extend_from_slice(huge.as_bytes());
        bytes.extend_from_slice(b"\nC:\\dir\ntorn");
        written(&path, &bytes);
        let mut history = open(&path);
        assert_eq!(history.entries(), ["good", "b\u{fffd}d", "C:\\dir", "torn"]);
        history.add("next").unwrap();
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        history.add(&huge).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "a huge entry was stored");
    }

    #[test]
    fn a_long_file_is_cut_to_its_last_thousand() {
        let (_dir, path) = place();
        let lines: Vec<String> = (0..TRIM_AT).map(|n| format!("line {n}")).collect();
        written(&path, format!("_HiStOrY_V2_\n{}\n", lines.join("\n")));
        let mut history = open(&path);
        assert_eq!(history.entries().len(), KEEP);
        history.add("last").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("_HiStOrY_V2_\nline 1001\n"), "{text:.60}");
        assert!(text.ends_with("\nline 1999\nlast\n"));
        assert_eq!(open(&path).entries(), history.entries());
    }

    #[test]
    fn what_is_forgotten_goes_and_other_lines_keep_their_bytes() {
        let (_dir, path) = place();
        written(
            &path,
            b"_HiStOrY_V2_\nmy kayak\nC:\\dir\ntwo\\nlines of a kayak\nb\xffd\n",
        );
        let goes = |entry: &str| entry.contains("kayak");
        let found = InputHistory::find_forgotten(&path, &goes).unwrap();
        assert_eq!(found, ["my kayak", "two\nlines of a kayak"]);
        let mut open_meanwhile = open(&path);
        let held = Lock::take(&path, Duration::ZERO, &Cancel::new()).unwrap();
        assert!(InputHistory::forget(&path, &goes).is_err(), "it is locked");
        drop(held);
        assert_eq!(InputHistory::forget(&path, &goes).unwrap(), found);
        let left = b"_HiStOrY_V2_\nC:\\dir\nb\xffd\n";
        assert_eq!(fs::read(&path).unwrap(), left);
        assert!(InputHistory::forget(&path, &goes).unwrap().is_empty());
        open_meanwhile.add("next").unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&left[..], b"next\n"].concat());
        assert!(
            InputHistory::find_forgotten(&path.with_extension("none"), &goes)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn two_histories_of_one_file_lose_nothing_of_either() {
        let (_dir, path) = place();
        std::thread::scope(|scope| {
            for who in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut history = open(path);
                    for n in 0..100 {
                        history.add(&format!("{who} says {n}")).unwrap();
                    }
                });
            }
        });
        let all = open(&path);
        for who in 0..4 {
            let mine: Vec<&String> = all
                .entries()
                .iter()
                .filter(|e| e.starts_with(&format!("{who} ")))
                .collect();
            assert_eq!(mine.len(), 100);
            assert_eq!(mine[99], &format!("{who} says 99"));
        }
    }

    #[test]
    fn nothing_is_written_while_another_process_rewrites_the_file() {
        let (_dir, path) = place();
        let mut history = open(&path);
        history.add("before").unwrap();
        let held = Lock::take(&path, Duration::ZERO, &Cancel::new()).unwrap();
        assert!(history.add("meanwhile").is_err());
        drop(held);
        history.add("after").unwrap();
        assert_eq!(history.entries(), ["before", "meanwhile", "after"]);
        assert_eq!(open(&path).entries(), ["before", "after"]);
    }

    #[test]
    fn a_folder_in_its_place_is_told_and_typing_goes_on() {
        let (_dir, path) = place();
        fs::create_dir_all(&path).unwrap();
        let mut warned = 0;
        let mut history = InputHistory::open(path, &mut |_| warned += 1);
        assert!(history.add("x").is_err());
        assert_eq!((warned, history.entries()), (1, &["x".to_owned()][..]));
    }

    proptest! {
        #[test]
        fn escaping_is_reversible(text in "[a\\\\n\n\u{e9}]{0,20}") {
            let line = escaped(&text);
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(unescaped(&line), text);
        }
    }
}
