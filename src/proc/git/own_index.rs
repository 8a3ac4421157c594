//! Commits what is staged in one folder, while others have something staged elsewhere in the repository.
//!
//! git commits its whole index. So the commit is made from another one: a copy of the user's in which everything outside of the folder is as in the last
//! commit. The user's own is never changed for it, so a kill at any moment leaves what they have staged as it is.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Git, IGNORE_DIRTY_SUBMODULES};
use crate::base::problem::{Outcome, Problem};

/// The copy, in the folder of the repository; of a linked worktree, in its own.
const FILE: &str = "marvin-index";

/// A path that is staged outside of the folder.
struct StagedEntry {
    /// From the top.
    path: Vec<u8>,
    /// Its mode and its content in the last commit; a mode of zeros where it is not there.
    committed: Vec<u8>,
}

/// A copy of the index, which goes with this.
struct IndexCopy {
    path: PathBuf,
}

impl IndexCopy {
    /// Copies the index in `folder`. What a killed process left of another copy is removed.
    fn make(folder: &Path) -> Outcome<Self> {
        let copy = Self {
            path: folder.join(FILE),
        };
        copy.remove();
        match std::fs::copy(folder.join("index"), &copy.path) {
            // Everything is removed in it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(copy),
            Err(error) => Err(Problem::system(
                format!("Cannot copy git's index to {}", copy.path.display()),
                error,
            )),
            Ok(_) => Ok(copy),
        }
    }

    fn remove(&self) {
        for path in [self.path.clone(), self.path.with_extension("lock")] {
            // Only what is left over, which does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for IndexCopy {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Git<'_> {
    /// Has `commit` made by a git whose index has nothing staged outside of the directory. A merge is committed as a whole. The caller keeps other Marvins
    /// from doing the same here.
    pub(super) fn with_own_staged<T>(
        &self,
        commit: impl FnOnce(&Git<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let is_top = self.repository.top() == Some(self.launch.dir.as_path());
        if is_top || self.unfinished().is_some() {
            return commit(self);
        }
        let elsewhere = self.staged_elsewhere()?;
        if elsewhere.is_empty() {
            return commit(self);
        }
        let copy = IndexCopy::make(self.repository.git())?;
        let Some(path) = copy.path.to_str() else {
            return Err(Problem::refused(format!(
                "Changes outside of {} are staged, and the folder of the repository has a name that is no text: the commit would take them.",
                self.launch.dir.display()
            ))
            .next("Commit them first, or unstage them: git restore --staged PATH"));
        };
        let own = Git {
            launch: self.launch.with_index(path),
            repository: self.repository.clone(),
            config: self.config.clone(),
            settings: self.settings.clone(),
            filters: self.filters.clone(),
            partial: self.partial,
        };
        own.write_entries(&elsewhere)?;
        commit(&own)
    }

    /// What is staged outside of the directory.
    fn staged_elsewhere(&self) -> Outcome<Vec<StagedEntry>> {
        let list = [
            "diff",
            "--cached",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            IGNORE_DIRTY_SUBMODULES,
        ];
        let own = match self.repository.top() {
            Some(top) => self.launch.dir.strip_prefix(top).unwrap_or(Path::new("")),
            None => Path::new(""),
        };
        let mut entries = Vec::new();
        let mut committed: Option<Vec<u8>> = None;
        let list = self.with_settings(&list);
        // `:MODE MODE ID ID LETTER`, then the path from the top.
        let done = self.launch.split(&list, None, &mut |chunk| {
            let Some(committed) = committed.take() else {
                let words: Vec<&[u8]> = chunk.split(|byte| matches!(byte, b':' | b' ')).collect();
                if let [_, mode, _, id, _, _] = words.as_slice() {
                    committed = Some([*mode, id].join(&b' '));
                }
                return;
            };
            if !Path::new(OsStr::from_bytes(chunk)).starts_with(own) {
                entries.push(StagedEntry {
                    path: chunk.to_owned(),
                    committed,
                });
            }
        })?;
        self.git_output(done)?;
        Ok(entries)
    }

    /// Has the index say of each path what the last commit says. An entry of a file takes the place of the sides of its conflict.
    fn write_entries(&self, entries: &[StagedEntry]) -> Outcome<()> {
        let mut input = Vec::new();
        for entry in entries {
            input.extend([entry.committed.as_slice(), b"\t", &entry.path, b"\0"].concat());
        }
        let update = self.with_settings(&["update-index", "-z", "--index-info"]);
        self.git_output(self.launch.feed(update, input)?).map(drop)
    }
}
