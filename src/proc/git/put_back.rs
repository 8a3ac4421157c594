//! HEAD goes back to a branch that somebody left: by git's own checkout as a command for the user, or with everything that was done meanwhile.

use std::collections::BTreeSet;

use super::trees::Replacements;
use super::{Git, no_option};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;

/// The file of a worktree that lists where its HEAD was.
const HEAD_LOG: &str = "logs/HEAD";
/// Largest log that is read; it has a line for each commit.
const MAX_LOG_BYTES: u64 = 32 << 20;

impl Git<'_> {
    /// Why what is committed now would not come on the branch `wanted`, as a sentence, and how it is checked out again; `None` when it would.
    pub(crate) fn off_branch(&self, wanted: &str) -> Outcome<Option<(String, String)>> {
        let (now, has_commit) = self.head()?;
        let there = match now {
            // Without its commits a branch that had some was deleted: a commit would begin it anew, without its history.
            Some(name) if name == wanted => {
                let deleted = (!has_commit).then(|| self.logged_head()).flatten();
                let why =
                    format!("The branch \"{wanted}\" was deleted while this run worked on it.");
                let back = deleted.map(|last| {
                    Ok((
                        why,
                        format!(
                            "Bring it back with: {} branch {} {last}",
                            self.command()?,
                            quoted(wanted)
                        ),
                    ))
                });
                return back.transpose();
            }
            Some(name) => format!("\"{name}\" is checked out now"),
            None => "no branch is checked out now".to_owned(),
        };
        Ok(Some((
            format!("This run works on the branch \"{wanted}\", but {there}."),
            self.way_back(wanted)?,
        )))
    }

    /// A command that checks `wanted` out again, in the state in which the working tree is.
    fn way_back(&self, wanted: &str) -> Outcome<String> {
        let git = self.command()?;
        let Some(tip) = self.branch_commit(wanted)? else {
            return Ok(match self.logged_tip(wanted) {
                Some(last) => format!(
                    "That branch was deleted. Bring it back with: {git} checkout -b {} {last}",
                    quoted(wanted)
                ),
                None => "That branch was deleted.".to_owned(),
            });
        };
        let back = format!("{git} checkout {}", quoted(wanted));
        if let Some(what) = self.unfinished() {
            let end = match what {
                "bisection" => "bisect reset".to_owned(),
                other => format!("{other} --abort"),
            };
            return Ok(format!(
                "A {what} was begun and is not finished. Give it up and go back with: {git} {end} && {back}"
            ));
        }
        Ok(match self.in_the_way(&tip)? {
            Some(path) => format!(
                "Files that are not committed are in the way, such as {}. Put them aside and go back with: {git} stash --include-untracked && {back}",
                escape_controls(&path)
            ),
            None => format!("Go back with: {back}"),
        })
    }

    /// git in this working tree, for a command: whoever reads it may be in another one.
    fn command(&self) -> Outcome<String> {
        Ok(format!("git -C {}", quoted(&self.top()?.to_string_lossy())))
    }

    /// The first path that keeps git from checking out the commit `wanted`: it is not committed, and different there.
    fn in_the_way(&self, wanted: &str) -> Outcome<Option<String>> {
        let Some(here) = self.head_commit()? else {
            return Ok(None);
        };
        let top = Git::open(self.top()?, self.launch.env, self.launch.stop)?;
        let own: BTreeSet<String> = top.uncommitted()?.into_iter().collect();
        let (between, _) = top.paths_between(&here, wanted)?;
        Ok(between.into_iter().find(|path| touches(&own, path)))
    }

    /// The commit at which HEAD was last, by its log: what is left of a branch that was deleted.
    pub(crate) fn logged_head(&self) -> Option<String> {
        let log = self.head_log()?;
        let last = log.lines().last()?;
        // The deletion itself has none behind it, where HEAD was on the branch.
        id_in(last, 1).or_else(|| id_in(last, 0))
    }

    /// The commit at which a branch was when HEAD left it, by the same log.
    fn logged_tip(&self, branch: &str) -> Option<String> {
        let left = format!("\tcheckout: moving from {branch} to ");
        let log = self.head_log()?;
        id_in(log.lines().rfind(|line| line.contains(&left))?, 0)
    }

    fn head_log(&self) -> Option<String> {
        open::text(&self.repository.git().join(HEAD_LOG), MAX_LOG_BYTES).ok()
    }

    /// Checks out the branch `branch` again, which is at the commit `tip`; this git is at the top. Nothing that was done meanwhile is lost: commits that are on
    /// no branch come on it, behind `message` where they did not begin at its end. What was changed since they began, committed or not, is as it is now, and
    /// every other file as on the branch.
    ///
    /// # Errors
    /// A rebase or the like is in progress; no commit is checked out; git failed. HEAD stays where it was then.
    pub(crate) fn put_back(&self, branch: &str, tip: &str, message: &str) -> Outcome<()> {
        no_option(branch)?;
        if let Some(what) = self.unfinished() {
            return Err(Problem::refused(format!(
                "A {what} was begun and is not finished."
            )));
        }
        let here = self
            .head_commit()?
            .ok_or_else(|| Problem::missing("No commit is checked out."))?;
        let new_tip = if self.is_ancestor(tip, &here)? {
            here
        } else {
            let made = self.on_no_branch(&here)?;
            let begun = match made.last() {
                Some(first) => format!("{first}^"),
                None => here.clone(),
            };
            self.take_files(&begun, tip)?;
            match made.is_empty() {
                true => tip.to_owned(),
                false => self.commit_tree(&self.tree_of(tip)?, &[tip, &here], message)?,
            }
        };
        let name = format!("refs/heads/{branch}");
        self.text(&["update-ref", &name, &new_tip, tip])?;
        self.text(&["symbolic-ref", "HEAD", &name]).map(drop)
    }

    /// The commits up to `commit` that no branch and no tag has, the newest first.
    fn on_no_branch(&self, commit: &str) -> Outcome<Vec<String>> {
        let list = [
            "rev-list",
            "--first-parent",
            commit,
            "--not",
            "--branches",
            "--tags",
            "--remotes",
        ];
        Ok(self.text(&list)?.lines().map(str::to_owned).collect())
    }

    /// Gives the files that are as in the commit `begun` the content that they have in `tip`. The index is then what the working tree is.
    fn take_files(&self, begun: &str, tip: &str) -> Outcome<()> {
        let entries = self.files_of(tip, &[])?;
        let (between, _) = self.paths_between(begun, tip)?;
        // What the branch ignores is no work of anybody's, although it was not ignored where they were.
        let mut changed: BTreeSet<String> = self.uncommitted()?.into_iter().collect();
        changed.extend(self.paths_between(begun, "HEAD")?.0);
        let lists = between.iter().map(String::as_str).filter(|path| {
            path.rsplit('/').next() == Some(".gitignore")
                && entries.contains_key(*path)
                && !touches(&changed, path)
        });
        let lists: Vec<&str> = lists.collect();
        if !lists.is_empty() {
            let take = ["checkout", "--quiet", "--no-recurse-submodules", tip, "--"];
            self.text(&[&take[..], &lists].concat())?;
        }
        self.stage(&self.at_top())?;
        // Its status says that something is changed. Without it, a file that was only touched would count as changed.
        self.run(&["update-index", "-q", "--ignore-submodules", "--refresh"])?;
        let now = self.text(&["write-tree"])?.trim().to_owned();
        let own: BTreeSet<String> = self.paths_between(begun, &now)?.0.into_iter().collect();
        let taken = between.into_iter().filter(|path| !touches(&own, path));
        let taken: Replacements = taken
            .map(|path| {
                let entry = entries.get(&path).cloned();
                (path, entry)
            })
            .collect();
        if let Some(path) = taken
            .keys()
            .find(|path| path.contains(char::REPLACEMENT_CHARACTER))
        {
            return Err(Problem::refused(format!("The name {path} is not UTF-8.")));
        }
        let wanted = self.tree_with(&now, &taken)?;
        self.run_slowly([
            "read-tree",
            "-m",
            "-u",
            "--no-recurse-submodules",
            &now,
            &wanted,
        ])
    }
}

/// Whether `path` is one of `own`, or a folder above or a file below one of them.
fn touches(own: &BTreeSet<String>, path: &str) -> bool {
    let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    let below = format!("{path}/");
    own.contains(path)
        || above.any(|folder| own.contains(folder))
        || own
            .range(below.clone()..)
            .next()
            .is_some_and(|next| next.starts_with(&below))
}

/// An id in a line of the log: that before the change, or that after it.
fn id_in(line: &str, at: usize) -> Option<String> {
    let id = line.split(' ').nth(at)?;
    let is_commit = id.len() >= 40
        && id.bytes().all(|byte| byte.is_ascii_hexdigit())
        && id.bytes().any(|byte| byte != b'0');
    is_commit.then(|| id.to_owned())
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).unwrap_or_default().into_owned()
}
