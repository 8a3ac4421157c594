//! Captures a child's output within limits: its beginning and end in memory, all of it in a file if requested.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use crate::base::problem::io_words;
use crate::base::text::{counted, thousands};

/// Maximum bytes of a file with the full text, so that a command that never stops printing cannot fill the disk.
const SPILL_LIMIT: u64 = 1 << 30;

/// How much of a stream to keep.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeepLimits {
    /// Bytes kept from the beginning.
    pub head: usize,
    /// Bytes kept from the end, after `head` is full.
    pub tail: usize,
    /// Where to write the whole stream once it is longer than both together: an absolute path without links. The file must not exist yet.
    pub spill: Option<PathBuf>,
}

impl KeepLimits {
    /// The first `bytes` bytes only.
    pub(crate) fn first(bytes: usize) -> Self {
        Self::ends(bytes, 0)
    }

    /// `head` bytes from the beginning and `tail` from the end.
    pub(crate) fn ends(head: usize, tail: usize) -> Self {
        Self {
            head,
            tail,
            spill: None,
        }
    }
}

/// The kept part of a stream.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    keep: KeepLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    spill: Option<SpillFile>,
}

#[derive(Debug)]
struct SpillFile {
    file: Option<File>,
    written: u64,
    failure: Option<String>,
}

impl Captured {
    /// An empty one, to be fed with [`Captured::push`].
    pub(crate) fn new(keep: KeepLimits) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    /// Adds what came next.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.spill(bytes);
        let room = self
            .keep
            .head
            .saturating_sub(self.head.len())
            .min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let (_, last) = rest.split_at(rest.len().saturating_sub(self.keep.tail));
        let excess = (self.tail.len() + last.len()).saturating_sub(self.keep.tail);
        self.tail.drain(..excess);
        self.tail.extend(last);
    }

    /// Called before `bytes` are stored, while memory still holds everything before them.
    fn spill(&mut self, bytes: &[u8]) {
        let Some(path) = &self.keep.spill else { return };
        if self.spill.is_none() {
            if self.total <= (self.keep.head + self.keep.tail) as u64 {
                return;
            }
            let mut spill = SpillFile::create(path);
            let (a, b) = self.tail.as_slices();
            for part in [&self.head, a, b] {
                spill.write(part);
            }
            self.spill = Some(spill);
        }
        if let Some(spill) = &mut self.spill {
            spill.write(bytes);
        }
    }

    /// True when bytes are missing between beginning and end.
    pub(crate) fn is_cut(&self) -> bool {
        self.left_out() > 0
    }

    /// Number of bytes missing in between.
    pub(crate) fn left_out(&self) -> u64 {
        self.total
            .saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// The kept bytes: beginning, then end, without a separator.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        bytes.extend(&self.tail);
        bytes
    }

    /// The kept text; invalid UTF-8 is replaced. Where text is missing, a line in brackets says how much, and where the whole output is.
    pub(crate) fn text(&self) -> String {
        if !self.is_cut() {
            return String::from_utf8_lossy(&self.bytes()).into_owned();
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let mut mark = format!("[… {} left out", counted(self.left_out(), "byte"));
        match (&self.keep.spill, &self.spill) {
            (Some(path), Some(SpillFile { failure: None, .. })) => {
                mark.push_str(&format!("; the full text is in {}", path.display()));
            }
            (
                Some(path),
                Some(SpillFile {
                    failure: Some(reason),
                    ..
                }),
            ) => {
                mark.push_str(&format!(
                    "; the full text could not be kept in {}: {reason}",
                    path.display()
                ));
            }
            _ => {}
        }
        let mut text = String::from_utf8_lossy(whole_characters(&self.head)).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&mark);
        text.push_str(" …]\n");
        text.push_str(&String::from_utf8_lossy(from_character(&tail)));
        text
    }
}

impl SpillFile {
    fn create(path: &Path) -> Self {
        let (file, failure) = match create_without_links(path) {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(io_words(&error))),
        };
        Self {
            file,
            written: 0,
            failure,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        self.written += bytes.len() as u64;
        let failure = if self.written > SPILL_LIMIT {
            Some(format!("it stops at {} bytes", thousands(SPILL_LIMIT)))
        } else {
            file.write_all(bytes).err().map(|error| io_words(&error))
        };
        if failure.is_some() {
            self.failure = failure;
            self.file = None;
        }
    }
}

/// `path` with the links in what exists of it resolved, so that none is followed later.
pub(crate) fn without_links(path: &Path) -> PathBuf {
    let mut ancestors = path.ancestors();
    let real = ancestors.find_map(|above| Some((above, above.canonicalize().ok()?)));
    let joined = real.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)));
    joined.unwrap_or_else(|| path.to_owned())
}

/// Creates the file and the folders that it lacks, for the owner alone, part by part: a link that the program which is running has put in the place of one
/// would lead its output elsewhere.
fn create_without_links(path: &Path) -> io::Result<File> {
    let mut at: OwnedFd = openat(CWD, "/", FOLDER, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for part in path.parent().unwrap_or(Path::new("/")) {
        if part == "/" {
            continue;
        }
        match mkdirat(&at, part, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            // There is one in a folder that cannot be written, or there is none, which opening it will tell.
            Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        at = openat(&at, part, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&at, name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(file))
}

/// To enter a folder; on Linux without the right to list it.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// `bytes` without an unfinished character at its end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    }
}

/// `bytes` without a partial character at the beginning.
fn from_character(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xC0 == 0x80)
        .count();
    bytes.get(rest..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    fn fed(keep: KeepLimits, chunks: &[&str]) -> Captured {
        let mut captured = Captured::new(keep);
        for chunk in chunks {
            captured.push(chunk.as_bytes());
        }
        captured
    }

    #[test]
    fn output_within_the_limits_is_kept_whole() {
        let captured = fed(KeepLimits::ends(3, 3), &["ab", "cd", "ef"]);
        assert_eq!(
            (captured.text().as_str(), captured.is_cut()),
            ("abcdef", false)
        );
    }

    #[test]
    fn beginning_and_end_are_kept_however_chunked() {
        for chunks in [
            &["abcdefghij"][..],
            &["a", "bcdefgh", "ij"],
            &["abcdefg", "hi", "j"],
        ] {
            let captured = fed(KeepLimits::ends(3, 2), chunks);
            assert_eq!(captured.bytes(), b"abcij");
            assert_eq!(captured.text(), "abc\n[… 5 bytes left out …]\nij");
        }
        assert_eq!(fed(KeepLimits::first(2), &["abc"]).bytes(), b"ab");
    }

    #[test]
    fn characters_are_never_split() {
        let captured = fed(KeepLimits::ends(2, 2), &["aößb"]);
        assert_eq!(captured.text(), "a\n[… 2 bytes left out …]\nb");
    }

    #[test]
    fn a_link_in_place_of_a_folder_leads_no_output_away() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let spill = without_links(&dir.path().join("logs/deep/out.txt"));
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("logs")).unwrap();
        std::fs::create_dir(elsewhere.path().join("deep")).unwrap();
        let keep = KeepLimits {
            spill: Some(spill),
            ..KeepLimits::ends(3, 3)
        };
        let text = fed(keep, &["abcdefghij"]).text();
        assert_has(&text, &["could not be kept"]);
        let found = std::fs::read_dir(elsewhere.path().join("deep")).unwrap();
        assert_eq!(found.count(), 0);
    }

    #[test]
    fn the_spill_file_has_everything_and_exists_only_when_needed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.txt");
        let keep = KeepLimits {
            spill: Some(path.clone()),
            ..KeepLimits::ends(3, 2)
        };
        let whole = fed(keep.clone(), &["abcde"]).text();
        assert!(whole == "abcde" && !path.exists());
        let captured = fed(keep.clone(), &["ab", "cdefg", "hij"]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abcdefghij");
        assert_has(&captured.text(), &[&path.display().to_string()]);
        let again = fed(keep, &["abcdefghij"]);
        assert_has(&again.text(), &["could not be kept"]);
    }
}
