//! Linked worktrees: made on a branch of their own, listed, removed.
//!
//! git makes the records alone (`--no-checkout`); the files are checked out by git in the new worktree, opened and restricted like any other: settings may
//! depend on the directory. `git worktree remove` would look into submodules to see whether they are clean, so it gets `--force`, and whether something is lost
//! is asked before by [`Git::uncommitted`]. A worktree that somebody locked stays, and no other one is pruned.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{Git, canonical_or_same, no_option, output};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ListedWorktree {
    /// Its top.
    pub path: PathBuf,
    /// The branch that is checked out.
    pub branch: Option<String>,
}

impl Git<'_> {
    /// Makes a worktree at `path`, which must not exist: on the new branch `branch` at the commit `start`, or on an existing one. Returns a note about files
    /// that were left as stored, if there are any.
    ///
    /// # Errors
    /// git failed; nothing is left then but a branch that existed.
    pub(crate) fn add_worktree(
        &self,
        path: &Path,
        branch: &str,
        start: Option<&str>,
    ) -> Outcome<Option<String>> {
        no_option(branch)?;
        let mut args: Vec<OsString> = ["worktree", "add", "--quiet", "--no-checkout"]
            .map(OsString::from)
            .to_vec();
        if start.is_some() {
            args.extend(["-b".into(), branch.into()]);
        }
        args.push(path.into());
        args.push(start.unwrap_or(branch).into());
        self.run_slowly(args)?;
        self.check_out_at(path).inspect_err(|_| {
            let _ = self.remove_worktree(path);
            if let Some(start) = start {
                let _ = self.delete_branch(branch, start);
            }
        })
    }

    fn check_out_at(&self, path: &Path) -> Outcome<Option<String>> {
        let there = Git::open(path, self.launch.env, self.launch.stop)?;
        there.run_slowly(["reset", "--hard", "--quiet", "--no-recurse-submodules"])?;
        if there.filters.is_empty() {
            return Ok(None);
        }
        let tracked = there.tracked()?;
        let paths: Vec<Vec<u8>> = tracked.into_iter().map(String::into_bytes).collect();
        let note = there.stored(&there.launch, &paths)?;
        Ok(Some(note.trim().to_owned()).filter(|note| !note.is_empty()))
    }

    /// All worktrees of the repository, the main one first.
    pub(crate) fn worktrees(&self) -> Outcome<Vec<ListedWorktree>> {
        let mut found: Vec<ListedWorktree> = Vec::new();
        let list = self.with_settings(&["worktree", "list", "--porcelain", "-z"]);
        let done = self.launch.split(&list, None, &mut |line| {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                found.push(ListedWorktree {
                    path: PathBuf::from(OsStr::from_bytes(path)),
                    branch: None,
                });
            } else if let (Some(name), Some(last)) =
                (line.strip_prefix(b"branch refs/heads/"), found.last_mut())
            {
                last.branch = Some(String::from_utf8_lossy(name).into_owned());
            }
        })?;
        output::git_output(&self.launch.dir, done)?;
        Ok(found)
    }

    /// Removes a worktree with everything in it, or the record of one whose folder is gone. One that git does not list is gone already.
    ///
    /// # Errors
    /// Somebody locked it (`git worktree lock`); git failed.
    pub(crate) fn remove_worktree(&self, path: &Path) -> Outcome<()> {
        let wanted = canonical_or_same(path);
        let is_listed = |tree: &ListedWorktree| canonical_or_same(&tree.path) == wanted;
        if !self.worktrees()?.iter().any(is_listed) {
            return Ok(());
        }
        let args = ["worktree", "remove", "--force"].map(OsString::from);
        self.run_slowly(args.into_iter().chain([wanted.into()]))
    }

    /// The commit of a branch; `None` when there is no such branch.
    pub(crate) fn branch_commit(&self, branch: &str) -> Outcome<Option<String>> {
        self.commit_named(&format!("refs/heads/{branch}"))
    }

    /// The commit that git means by a name; `None` when it means none.
    pub(crate) fn commit_named(&self, name: &str) -> Outcome<Option<String>> {
        let name = format!("{name}^{{commit}}");
        let found = self.run(&["rev-parse", "--verify", "--quiet", &name])?;
        let id = found.stdout.text().trim().to_owned();
        Ok(found.success().then_some(id))
    }

    /// Deletes a branch that is at the commit `tip`.
    ///
    /// # Errors
    /// It has moved, or git failed.
    pub(crate) fn delete_branch(&self, branch: &str, tip: &str) -> Outcome<()> {
        self.text(&["update-ref", "-d", &format!("refs/heads/{branch}"), tip])
            .map(drop)
    }

    /// Whether the commit `earlier` is in the history of `later`; not when one of them is gone.
    pub(crate) fn is_ancestor(&self, earlier: &str, later: &str) -> Outcome<bool> {
        let done = self.run(&["merge-base", "--is-ancestor", earlier, later])?;
        Ok(done.success())
    }

    /// The folder of the repository that its worktrees share.
    pub(crate) fn common(&self) -> &Path {
        self.repository.common()
    }

    /// The top of this working tree.
    ///
    /// # Errors
    /// The repository is bare.
    pub(crate) fn top(&self) -> Outcome<&Path> {
        self.repository.top().ok_or_else(|| {
            Problem::refused(format!(
                "{} is a bare repository: it has no files to work on.",
                escape_controls(&self.launch.dir.to_string_lossy())
            ))
        })
    }

    /// git with the time that a checkout of a large repository takes.
    pub(super) fn run_slowly<S: Into<OsString>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Outcome<()> {
        let own = self.settings.iter().cloned();
        let all = own.chain(args.into_iter().map(Into::into));
        let done = self.launch.slow().run(all)?;
        self.git_output(done).map(drop)
    }
}
