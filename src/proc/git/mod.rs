//! git as typed calls, restricted by allow-lists. Floors above call [`Git`]; nothing here knows a tool or a run of the pipeline.
//!
//! A repository is data that somebody else may have written: an archive contains its `.git`, where a setting is enough to run a program on `git status`, and
//! the user's own settings extend that trust. So **git starts no other process here**, neither a program nor another git, whoever configured it:
//! [`repository`] finds a repository and refuses one of another folder, [`folder`] checks its files before git reads them, [`config`] overrides every setting
//! that [`allowed`] does not list, [`launch`] gives the environment, and the operations keep git out of submodules, whose configuration is unchecked:
//! [`stage`] lists and commits, `checkout` is quiet and read afterwards, [`output`] removes what git quotes of files there, [`filters`] names what stays as
//! stored. [`put_back`] leads HEAD to a branch that somebody left.

pub(in crate::proc) mod allowed;
pub(crate) mod checkpoint;
pub(crate) mod clone;
mod config;
mod filters;
mod folder;
pub(crate) mod head;
mod launch;
pub(crate) mod merge;
mod output;
mod own_index;
mod put_back;
pub(crate) mod repository;
mod stage;
#[cfg(test)]
mod tests;
pub(crate) mod trees;
pub(crate) mod worktree;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::child::ProgramOutput;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use config::{GitConfig, Setting};
use head::HeadFile;
use launch::Launch;
use repository::Repository;

/// Submodules are compared by commit alone: entering one would apply its own, unchecked configuration.
const IGNORE_DIRTY_SUBMODULES: &str = "--ignore-submodules=dirty";
/// A unified diff that starts no other program.
const DIFF: [&str; 6] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--submodule=short",
    IGNORE_DIRTY_SUBMODULES,
];

/// git in one directory of a checked repository. For one operation only: configurations change.
#[derive(Debug)]
pub(crate) struct Git<'a> {
    launch: Launch<'a>,
    repository: Repository,
    config: GitConfig,
    /// Settings for every call: overrides of disallowed ones, and the caller's identity.
    settings: Vec<OsString>,
    /// Names of configured filters.
    filters: BTreeSet<Vec<u8>>,
    /// Some objects may be missing, to be fetched when needed.
    partial: bool,
}

impl<'a> Git<'a> {
    /// git for the repository around `dir`.
    ///
    /// # Errors
    /// `Missing` when there is none; `Refused` when it belongs to another directory, keeps its files elsewhere, or its folder contains something
    /// not allowed.
    pub(crate) fn open(dir: &Path, env: &'a Env, stop: &'a Cancel) -> Outcome<Self> {
        let repository = repository::find(dir)?.ok_or_else(|| output::no_repository(dir))?;
        folder::check(&repository)?;
        let launch = Launch::new(dir, repository.ceiling(), env, stop);
        launch.confirm(&repository)?;
        let config = config::read(&launch)?;
        repository.check(&config.worktrees(repository.is_linked()))?;
        let replacements = config.replacements()?;
        let mut settings: Vec<OsString> =
            replacements.iter().flat_map(Setting::arguments).collect();
        for (what, key) in [("name", "user.name"), ("email", "user.email")] {
            if let Some(value) = identity(env, what) {
                settings.extend(["-c".into(), format!("{key}={value}").into()]);
            }
        }
        Ok(Self {
            launch,
            repository,
            settings,
            filters: config.filters(),
            partial: config.is_partial_clone(),
            config,
        })
    }

    /// Short status with branch.
    pub(crate) fn status(&self) -> Outcome<String> {
        let status = self.short_status()?;
        let has_changes = status.lines().any(|line| !line.starts_with("##"));
        Ok(status + &self.unfiltered_note(has_changes)?)
    }

    fn short_status(&self) -> Outcome<String> {
        self.text(&["status", "--short", "--branch", IGNORE_DIRTY_SUBMODULES])
    }

    /// The branch that is checked out, if any, and whether it has a commit.
    pub(crate) fn head(&self) -> Outcome<(Option<String>, bool)> {
        match head::read(&self.repository) {
            Some(HeadFile::Branch(name, Some(_))) => Ok((Some(name), true)),
            Some(HeadFile::Branch(name, None)) => Ok((Some(name), self.resolved_head()?.is_some())),
            Some(HeadFile::Detached(_)) => Ok((None, true)),
            None => {
                let branch = self.run(&["symbolic-ref", "--short", "--quiet", "HEAD"])?;
                let name = branch.stdout.text().trim().to_owned();
                let has_commit = self.resolved_head()?.is_some();
                Ok((branch.success().then_some(name), has_commit))
            }
        }
    }

    /// Unified diff of the working tree or of the index, optionally of one path.
    pub(crate) fn diff(&self, staged: bool, path: Option<&str>) -> Outcome<String> {
        let mut args = DIFF.to_vec();
        args.extend(staged.then_some("--cached"));
        args.push("--");
        args.extend(path);
        let out = self.text(&args)?;
        if out.is_empty() {
            return Ok("No changes.".to_owned());
        }
        Ok(out + &self.unfiltered_note(!staged)?)
    }

    /// The last `count` commits.
    pub(crate) fn log(&self, count: u64, oneline: bool) -> Outcome<String> {
        let number = format!("-n{count}");
        let form = if oneline {
            "--format=%h %s"
        } else {
            "--format=commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%w(0,4,4)%B"
        };
        let output = self.run(&[
            "log",
            &number,
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--date=iso",
            form,
        ])?;
        if !output.success()
            && output
                .stderr
                .text()
                .contains("does not have any commits yet")
        {
            return Ok("No commits yet.".to_owned());
        }
        self.git_output(output)
    }

    /// Who last changed each line, optionally of a range.
    pub(crate) fn blame(&self, path: &str, range: Option<(u64, u64)>) -> Outcome<String> {
        let range = range.map(|(from, to)| format!("-L{from},{to}"));
        if let Some(top) = self.repository.top() {
            self.config.check_ignored_revisions(top)?;
        }
        let mut args = vec!["blame", "--date=short", "--no-textconv"];
        args.extend(range.as_deref());
        args.extend(["--", path]);
        self.text(&args)
    }

    /// Branches, the current one marked.
    pub(crate) fn branches(&self) -> Outcome<String> {
        let out = self.text(&[
            "branch",
            "--no-color",
            "--format=%(HEAD) %(refname:short) %(objectname:short) %(upstream:short)",
        ])?;
        let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
        Ok(if lines.is_empty() {
            "No branches yet.".to_owned()
        } else {
            lines.join("\n")
        })
    }

    /// Creates a branch here and switches to it.
    pub(crate) fn create_branch(&self, name: &str) -> Outcome<String> {
        no_option(name)?;
        let output = self.run(&["checkout", "--quiet", "--no-recurse-submodules", "-b", name])?;
        self.git_output(output)?;
        Ok(self.describe_switch(&format!("Switched to a new branch '{name}'"), None))
    }

    /// Switches to a branch or commit. If there is none of that name it is taken for a file, which is restored from the index if `path` resolves to an allowed
    /// location.
    pub(crate) fn checkout(
        &self,
        target: &str,
        path: impl FnOnce() -> Outcome<String>,
    ) -> Outcome<String> {
        no_option(target)?;
        let checkout = ["checkout", "--quiet", "--no-recurse-submodules"];
        let before = if self.filters.is_empty() {
            None
        } else {
            Some(self.run(&["rev-parse", "--verify", "--quiet", "HEAD"])?)
        };
        let output = self.run(&[&checkout[..], &["--no-guess", target, "--"]].concat())?;
        let words = output.stderr.text();
        let unknown = ["invalid reference", "reference is not a tree"];
        if output.success() {
            let before = before.filter(ProgramOutput::success);
            let before = before.map(|id| id.stdout.text().trim().to_owned());
            return Ok(self.describe_switch(&format!("Switched to '{target}'"), before.as_deref()));
        }
        if !unknown.iter().any(|unknown| words.contains(unknown)) {
            return self.git_output(output);
        }
        let path = path()?;
        self.git_output(self.run(&[&checkout[..], &["--", &path]].concat())?)?;
        let note = self.stored(&self.launch, &[path.clone().into_bytes()])?;
        Ok(format!("Restored {path}.{note}"))
    }

    /// The new position, the changes that were carried over, and the files since the commit `before` that were left as stored. Opens the repository again:
    /// settings may depend on the branch, or be included from a file that the checkout wrote.
    fn describe_switch(&self, switched: &str, before: Option<&str>) -> String {
        let reader = || {
            let now = Git::open(&self.launch.dir, self.launch.env, self.launch.stop)?;
            let status = now.text(&[
                "status",
                "--short",
                "--branch",
                "--untracked-files=no",
                IGNORE_DIRTY_SUBMODULES,
            ])?;
            let note = before.map(|id| now.stored_note(id)).transpose()?;
            // On a detached HEAD only the commit identifies the position.
            let status = if status.starts_with("## HEAD (no branch)") {
                format!("HEAD is now at {}\n{status}", now.log(1, true)?)
            } else {
                status
            };
            Ok(status + &note.unwrap_or_default())
        };
        let now = reader().unwrap_or_else(|problem: Problem| {
            format!("What is there now is not shown: {}", problem.one_line())
        });
        format!("{switched}\n{now}")
    }

    /// The paths below the directory that git tracks, relative to it.
    pub(crate) fn tracked(&self) -> Outcome<BTreeSet<String>> {
        let mut paths = BTreeSet::new();
        let list = self.with_settings(&["ls-files", "-z"]);
        let done = self.launch.split(&list, None, &mut |path| {
            paths.insert(String::from_utf8_lossy(path).into_owned());
        })?;
        output::git_output(&self.launch.dir, done)?;
        Ok(paths)
    }

    /// A note on the files of a checkout since the commit `before` that were left as stored.
    fn stored_note(&self, before: &str) -> Outcome<String> {
        let mut changed = Vec::new();
        let list = ["diff-tree", "-r", "-z", "--name-only", before, "HEAD"];
        let top = self.at_top();
        let done = top.split(&self.with_settings(&list), None, &mut |path| {
            changed.push(path.to_owned());
        })?;
        self.git_output(done)?;
        self.stored(&top, &changed)
    }

    fn stored(&self, launch: &Launch<'_>, paths: &[Vec<u8>]) -> Outcome<String> {
        let files = filters::filtered(launch, &self.settings, &self.filters, paths)?;
        Ok(filters::list(&files).map_or_else(String::new, |names| {
            format!("\nLeft as stored in the repository: {names}. Their filter (such as git-lfs) does not run here; run_command with git (for git-lfs: \"git lfs pull\") gets their content.")
        }))
    }

    /// A note on the changed files that are compared without their filter.
    fn unfiltered_note(&self, wanted: bool) -> Outcome<String> {
        if !wanted || self.filters.is_empty() {
            return Ok(String::new());
        }
        let mut changed = Vec::new();
        let done = self.launch.split(
            &self.with_settings(&["ls-files", "-z", "--modified"]),
            None,
            &mut |path| changed.push(path.to_owned()),
        )?;
        self.git_output(done)?;
        let files = filters::filtered(&self.launch, &self.settings, &self.filters, &changed)?;
        Ok(filters::list(&files).map_or_else(String::new, |names| {
            format!("\nCompared without their filter (such as git-lfs), which does not run here: {names}. They may be unchanged.")
        }))
    }

    /// git at the top of the working tree.
    fn at_top(&self) -> Launch<'a> {
        self.launch
            .at(self.repository.top().unwrap_or(&self.launch.dir))
    }

    fn text(&self, args: &[&str]) -> Outcome<String> {
        self.git_output(self.run(args)?)
    }

    fn git_output(&self, output: ProgramOutput) -> Outcome<String> {
        if self.partial && output::lacks_objects(&output) {
            return Err(output::not_here(&output));
        }
        output::git_output(&self.launch.dir, output)
    }

    fn run(&self, args: &[&str]) -> Outcome<ProgramOutput> {
        self.run_with(&[], args)
    }

    fn run_with(&self, settings: &[OsString], args: &[&str]) -> Outcome<ProgramOutput> {
        let own = self.settings.iter().chain(settings).cloned();
        self.launch.run(own.chain(args.iter().map(OsString::from)))
    }

    fn with_settings(&self, args: &[&str]) -> Vec<OsString> {
        let own = self.settings.iter().cloned();
        own.chain(args.iter().map(OsString::from)).collect()
    }
}

/// The name or email in the caller's environment.
fn identity<'e>(env: &'e Env, what: &str) -> Option<&'e str> {
    let what = what.to_uppercase();
    env.get(&format!("GIT_AUTHOR_{what}"))
        .or_else(|| env.get(&format!("GIT_COMMITTER_{what}")))
}

/// `dir` with links resolved, or unchanged if it does not exist.
fn canonical_or_same(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn no_option(target: &str) -> Outcome<()> {
    if target.starts_with('-') {
        return Err(Problem::refused(format!(
            "\"{}\" is an option, not a branch, commit or path.",
            text::clip(target, 60)
        )));
    }
    Ok(())
}
