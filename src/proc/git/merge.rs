//! Merges that are computed without touching a file: what comes out is a tree or a list of conflicts, and the working tree follows in one step or not at all.

use std::ffi::OsString;

use super::{Git, output};
use crate::base::problem::{Outcome, Problem};
use crate::proc::child::ProgramOutput;

/// Exit status of a merge that has conflicts.
const CONFLICTS: i32 = 1;
/// The first version of git that merges without a working tree.
const NEEDED_VERSION: &str = "2.38";

/// What two histories make together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MergeResult {
    /// The id of a tree.
    Tree(String),
    /// The paths of what conflicts, from the top of the repository.
    Conflicts { paths: Vec<String> },
}

impl Git<'_> {
    /// Merges two commits; nothing but new objects is written.
    ///
    /// # Errors
    /// git is too old, or failed.
    pub(crate) fn merge_trees(&self, ours: &str, theirs: &str) -> Outcome<MergeResult> {
        let args = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            ours,
            theirs,
        ];
        let mut parts: Vec<String> = Vec::new();
        let own = self.with_settings(&args);
        let done = self.launch.slow().split(&own, None, &mut |part| {
            parts.push(String::from_utf8_lossy(part).into_owned());
        })?;
        parts.retain(|part| !part.trim().is_empty());
        let mut parts = parts.into_iter();
        match (done.success(), done.code, parts.next()) {
            (true, _, Some(tree)) => Ok(MergeResult::Tree(tree.trim().to_owned())),
            (false, Some(CONFLICTS), Some(_)) => {
                let mut paths: Vec<String> = parts.collect();
                paths.dedup();
                Ok(MergeResult::Conflicts { paths })
            }
            _ => Err(self.no_merge(done)),
        }
    }

    fn no_merge(&self, done: ProgramOutput) -> Problem {
        let words = done.stderr.text().to_lowercase();
        if words.contains("usage:") || words.contains("unknown option") {
            return Problem::refused(format!(
                "This git cannot merge without touching the files; that takes git {NEEDED_VERSION} or newer."
            ))
            .next("Merge by hand: git merge BRANCH");
        }
        match output::git_output(&self.launch.dir, done) {
            Err(problem) => problem,
            Ok(_) => Problem::internal("git merged, and did not say what came out."),
        }
    }

    /// Makes a commit of a tree; returns its id.
    pub(crate) fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Outcome<String> {
        let (author, _) = self.author();
        let mut args: Vec<OsString> = self.settings.clone();
        args.extend(author);
        args.extend(["commit-tree", tree, "-F", "-"].map(OsString::from));
        for parent in parents {
            args.extend(["-p".into(), (*parent).into()]);
        }
        let done = self.launch.feed(args, message.as_bytes().to_vec())?;
        Ok(self.git_output(done)?.trim().to_owned())
    }

    /// Moves the branch and its files on to a commit that continues it. Changes that are not committed stay, staged or not.
    ///
    /// # Errors
    /// One of these files would be overwritten; nothing is changed then.
    pub(crate) fn fast_forward(&self, commit: &str) -> Outcome<()> {
        let before = self.head_commit()?;
        let moved = self.run_slowly(["merge", "--ff-only", "--quiet", "--no-stat", commit]);
        if let (Err(_), Some(before)) = (&moved, before)
            && self.head_commit()?.as_ref() == Some(&before)
        {
            // git writes the files before it moves the branch, which a lock may keep it from. Where it wrote none, this changes none.
            let _ = self.run_slowly(["read-tree", "-m", "-u", commit, &before]);
        }
        moved
    }

    /// Merges `commit` into the files of the branch here without committing, conflicts included; returns the paths that conflict.
    ///
    /// # Errors
    /// git failed for another reason.
    pub(crate) fn begin_merge(&self, commit: &str) -> Outcome<Vec<String>> {
        let (author, _) = self.author();
        let merge = ["merge", "--no-ff", "--no-commit", "--quiet", commit].map(OsString::from);
        let all = author.into_iter().chain(merge);
        let merged = self.run_slowly(all);
        let conflicts = self.conflicts()?;
        match merged {
            Err(problem) if conflicts.is_empty() => Err(problem),
            _ => Ok(conflicts),
        }
    }

    /// The paths, relative to the directory, whose conflicts are not resolved in the index.
    pub(crate) fn conflicts(&self) -> Outcome<Vec<String>> {
        let mut paths = self.listed(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Gives up a merge that [`Git::begin_merge`] began.
    pub(crate) fn abort_merge(&self) -> Outcome<()> {
        self.run_slowly(["merge", "--abort"])
    }

    /// The paths from the top that differ between two commits, and of these the ones that only the second has.
    pub(crate) fn paths_between(
        &self,
        from: &str,
        to: &str,
    ) -> Outcome<(Vec<String>, Vec<String>)> {
        let diff = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let all = self.listed(&[&diff[..], &[from, to]].concat())?;
        let added = self.listed(&[&diff[..], &["--diff-filter=A", from, to]].concat())?;
        Ok((all, added))
    }

    /// The number of commits of `to` that `from` does not have.
    pub(crate) fn count_between(&self, from: &str, to: &str) -> Outcome<u64> {
        let count = self.text(&["rev-list", "--count", &format!("{from}..{to}")])?;
        Ok(count.trim().parse().unwrap_or_default())
    }
}
