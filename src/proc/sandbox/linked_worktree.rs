//! A linked worktree of git: its index and what it commits lie in another repository, of which its commands may change these parts.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::base::open;

/// Longest file that names a repository.
const MAX_POINTER_BYTES: u64 = 8 << 10;
/// What says that a commit is being picked or reverted. git deletes it as a reference, for which it locks a file beside the configuration, so that it cannot
/// here.
const PICKING: [&str; 2] = ["CHERRY_PICK_HEAD", "REVERT_HEAD"];
/// As long as one of these is there that is not over; see sequencer.c and wt-status.c of git.
const NOT_OVER: [&str; 5] = [
    "MERGE_MSG",
    "sequencer",
    "rebase-merge",
    "rebase-apply",
    "index.lock",
];
/// Where a repository keeps its branches, and their logs.
const BRANCHES: [&str; 2] = ["refs/heads", "logs/refs/heads"];
/// Records of the worktrees that Marvin has made, there.
const RECORDS: &str = "marvin/worktrees";
/// Largest record in bytes; it holds a whole task.
const MAX_RECORD_BYTES: u64 = 8 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkedWorktree {
    /// Its top.
    top: PathBuf,
    /// The repository that it shares with other worktrees.
    pub(super) common: PathBuf,
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
        is_linked.then(|| Self {
            top: dir.to_owned(),
            common,
            own,
        })
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

    /// What its commands may change. A link in the place of a folder is none of it. In a worktree that Marvin made, branches that lie elsewhere than its own
    /// are the user's, who may have one checked out.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let [refs, logs] = match self.own_folder() {
            Some(folder) => BRANCHES.map(|above| self.common.join(above).join(&folder)),
            None => ["refs", "logs"].map(|folder| self.common.join(folder)),
        };
        let all = [self.common.join("objects"), refs, logs, self.own.clone()];
        let is_folder = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        all.into_iter().filter(is_folder).collect()
    }

    /// Makes the folder of its branch again, before its commands run: git removes it when it packs references.
    pub(super) fn prepare(&self) {
        let Some(folder) = self.own_folder() else {
            return;
        };
        let above = BRANCHES.map(|above| self.common.join(above));
        for above in above.iter().filter(|above| above.is_dir()) {
            // Where it cannot be made no commit can, and git says so.
            let _ = fs::create_dir_all(above.join(&folder));
        }
    }

    /// The folder of its branch below `refs/heads`, where Marvin made the worktree.
    fn own_folder(&self) -> Option<PathBuf> {
        let branch = self.own_branch()?;
        let folder = Path::new(&branch).parent()?;
        let mut parts = folder.components();
        let is_plain = parts.all(|part| matches!(part, Component::Normal(_)));
        (is_plain && folder != Path::new("")).then(|| folder.to_owned())
    }

    /// The branch of a worktree that Marvin made, by its record, which no command can change.
    fn own_branch(&self) -> Option<String> {
        let records = fs::read_dir(self.common.join(RECORDS)).ok()?;
        let record = |path: PathBuf| -> Option<WorktreeRecord> {
            let bytes = open::bytes(&path, MAX_RECORD_BYTES).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        let mut records = records
            .flatten()
            .filter_map(|entry| record(entry.path()))
            .filter(|record| record.path == self.top);
        records.next().map(|record| record.branch)
    }
}

/// A record of a worktree, as far as it matters here.
#[derive(Deserialize)]
struct WorktreeRecord {
    path: PathBuf,
    branch: String,
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
        // One that Marvin made moves its own branch alone, and those beside it.
        let record = |path: &Path, branch: &str| {
            let folder = top.join("main/.git/marvin/worktrees");
            fs::create_dir_all(&folder).unwrap();
            let text = serde_json::json!({"path": path, "branch": branch, "task": "x"});
            put(folder.join("w.json"), text.to_string());
        };
        fs::create_dir_all(top.join("main/.git/refs/heads")).unwrap();
        record(&work, "marvin/x");
        let before = ["objects", "worktrees/w"].map(|name| top.join("main/.git").join(name));
        assert_eq!(linked.writable(), before, "asking makes nothing");
        let with_refs = |refs: &str| {
            ["objects", refs, "worktrees/w"].map(|name| top.join("main/.git").join(name))
        };
        for (path, branch, refs) in [
            (&work, "marvin/x", "refs/heads/marvin"),
            (&top, "marvin/x", "refs"),
            (&work, "x", "refs"),
            (&work, "../../hooks/x", "refs"),
        ] {
            record(path, branch);
            linked.prepare();
            assert_eq!(linked.writable(), with_refs(refs), "{branch}");
        }
        // Another folder that points to the same place is not named there.
        let other = top.join("other");
        fs::create_dir(&other).unwrap();
        put(other.join(".git"), format!("gitdir: {}\n", own.display()));
        assert_eq!(LinkedWorktree::of(&other), None);
        std::os::unix::fs::symlink("/etc", top.join("main/.git/logs")).unwrap();
        assert_eq!(linked.writable().len(), 3);
    }
}
