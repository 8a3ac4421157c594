//! A linked worktree of git: its index and what it commits lie in another repository, of which its commands may change these parts.

use std::fs;
use std::path::{Path, PathBuf};

/// Longest file that names a repository.
const MAX_POINTER_BYTES: u64 = 8 << 10;
/// Folders of the common repository that committing changes. Its configuration and hooks are none of them.
const SHARED: [&str; 3] = ["objects", "refs", "logs"];
/// What says that a commit is being picked or reverted. git deletes it as a reference, for which it locks a file beside the configuration, so that it cannot here.
const PICKING: [&str; 2] = ["CHERRY_PICK_HEAD", "REVERT_HEAD"];
/// As long as one of these is there that is not over; see sequencer.c and wt-status.c of git.
const NOT_OVER: [&str; 5] = [
    "MERGE_MSG",
    "sequencer",
    "rebase-merge",
    "rebase-apply",
    "index.lock",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkedWorktree {
    /// The repository that it shares with other worktrees.
    common: PathBuf,
    /// The folder there that is its own.
    pub(super) own: PathBuf,
}

impl LinkedWorktree {
    /// That of `dir`, a real path. The repository has to name this very folder too: a `.git` file of a stranger could point anywhere.
    pub(super) fn of(dir: &Path) -> Option<Self> {
        let file = dir.join(".git");
        let named = pointer(&file)?;
        let own = dir.join(named.strip_prefix("gitdir:")?.trim());
        let own = own.canonicalize().ok()?;
        let worktrees = own.parent()?;
        let common = worktrees.parent()?.to_owned();
        let back = own.join(pointer(&own.join("gitdir"))?.trim());
        let is_named = back.canonicalize().ok()? == file;
        let shared = own.join(pointer(&own.join("commondir"))?.trim());
        let is_shared = shared.canonicalize().ok()? == common;
        let is_linked = is_named && is_shared && worktrees.file_name()? == "worktrees";
        is_linked.then_some(Self { common, own })
    }

    /// Ends what git could not end: that a commit is being picked or reverted, where it is already committed.
    pub(super) fn conclude(&self) {
        let is_there = |name: &&str| fs::symlink_metadata(self.own.join(name)).is_ok();
        if !NOT_OVER.iter().any(is_there) {
            for name in PICKING {
                // Usually there is none.
                let _none = fs::remove_file(self.own.join(name));
            }
        }
    }

    /// What its commands may change. A link in the place of a folder is none of it.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let shared = SHARED.map(|name| self.common.join(name));
        let all = shared.into_iter().chain([self.own.clone()]);
        all.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()))
            .collect()
    }
}

/// The text of a small file, which is no link.
pub(super) fn pointer(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_small = found.is_file() && found.len() <= MAX_POINTER_BYTES;
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_repository_that_names_the_folder_too_is_believed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (work, own) = (top.join("work"), top.join("main/.git/worktrees/w"));
        for folder in [
            "work",
            "main/.git/worktrees/w",
            "main/.git/objects",
            "main/.git/refs",
        ] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        let put = |path: PathBuf, text: String| fs::write(path, text).unwrap();
        put(work.join(".git"), format!("gitdir: {}\n", own.display()));
        assert_eq!(LinkedWorktree::of(&work), None);
        put(
            own.join("gitdir"),
            format!("{}\n", work.join(".git").display()),
        );
        put(own.join("commondir"), "../..\n".to_owned());
        let linked = LinkedWorktree::of(&work).unwrap();
        let names = ["objects", "refs", "worktrees/w"];
        assert_eq!(
            linked.writable(),
            names.map(|name| top.join("main/.git").join(name))
        );
        // Another folder that points to the same place is not named there.
        let other = top.join("other");
        fs::create_dir(&other).unwrap();
        put(other.join(".git"), format!("gitdir: {}\n", own.display()));
        assert_eq!(LinkedWorktree::of(&other), None);
        std::os::unix::fs::symlink("/etc", top.join("main/.git/logs")).unwrap();
        assert_eq!(linked.writable().len(), 3);
    }
}
