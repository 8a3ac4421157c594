//! git as typed calls. Nothing that a repository's own configuration names may run, and nothing of the caller's `GIT_*` counts
//! (contract/services/git.md).
//!
//! Opening finds the repository by its files ([`place`]) and reads its configuration with one process ([`disarm`]); each
//! operation is then one process more, and those that look into submodules one to list these.

mod answer;
pub mod clone;
mod disarm;
mod launch;
mod links;
pub mod place;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::child::Done;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::{Outcome, Problem};
use crate::base::text;
use launch::Launch;
use place::Place;

/// Who commits when nobody is configured.
const NOBODY: [&str; 4] = [
    "-c",
    "user.name=Marvin",
    "-c",
    "user.email=marvin@localhost",
];
/// Submodules are told by their commit alone: looking into one obeys its own configuration, which nobody disarmed.
const UNENTERED: &str = "--ignore-submodules=dirty";

/// git in one directory of a repository that may be worked in. Kept for one operation, not longer: configurations change.
#[derive(Debug)]
pub struct Git<'a> {
    launch: Launch<'a>,
    place: Place,
    /// `-c` settings for every call: the repository's own programs switched off, the identity of the caller.
    settings: Vec<String>,
    /// Some objects may be missing, to be fetched when needed.
    partial: bool,
}

impl<'a> Git<'a> {
    /// git for the repository around `dir`.
    ///
    /// # Errors
    /// `Missing` when there is none; `Refused` when it is somebody else's, keeps its files elsewhere, or names a program that
    /// cannot be switched off.
    pub fn open(dir: &Path, env: &'a Env, stop: &'a Cancel) -> Outcome<Self> {
        let place = place::find(dir)?.ok_or_else(|| answer::no_repository(dir))?;
        let launch = Launch::new(dir, place.ceiling(), env, stop);
        let config = disarm::read(&launch)?;
        place.check(&config.worktrees(place.is_linked()))?;
        let mut settings = config.disarming()?;
        settings.extend(identity(env));
        Ok(Self {
            launch,
            place,
            settings,
            partial: config.is_partial_clone(),
        })
    }

    /// Where the repository is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Short status with branch.
    pub fn status(&self) -> Outcome<String> {
        self.text(&["status", "--short", "--branch", UNENTERED])
    }

    /// Unified diff of the working tree, or of the index; of one path when given.
    pub fn diff(&self, staged: bool, path: Option<&str>) -> Outcome<String> {
        let mut args = vec![
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            UNENTERED,
        ];
        args.extend(staged.then_some("--cached"));
        args.push("--");
        args.extend(path);
        let out = self.text(&args)?;
        Ok(if out.is_empty() {
            "No changes.".to_owned()
        } else {
            out
        })
    }

    /// The last `count` commits.
    pub fn log(&self, count: u64, oneline: bool) -> Outcome<String> {
        let number = format!("-n{count}");
        let form = if oneline {
            "--format=%h %s"
        } else {
            "--format=commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n%w(0,4,4)%B"
        };
        let done = self.run(&[
            "log",
            &number,
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--date=iso",
            form,
        ])?;
        if !done.success() && done.stderr.text().contains("does not have any commits yet") {
            return Ok("No commits yet.".to_owned());
        }
        self.said(done)
    }

    /// Who last changed each line, of a range when given.
    pub fn blame(&self, path: &str, range: Option<(u64, u64)>) -> Outcome<String> {
        let range = range.map(|(from, to)| format!("-L{from},{to}"));
        let mut args = vec!["blame", "--date=short", "--no-textconv"];
        args.extend(range.as_deref());
        args.extend(["--", path]);
        self.text(&args)
    }

    /// Branches, the current one marked.
    pub fn branches(&self) -> Outcome<String> {
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

    /// Commits, staging everything first when asked. "Nothing to commit" is an answer, not a failure.
    pub fn commit(&self, message: &str, add_all: bool) -> Outcome<String> {
        links::check(&self.place)?;
        if add_all {
            let done = self.run_with(&self.submodules()?, &["add", "-A"])?;
            self.said(done)?;
        }
        // Listed anew: staging may have added submodules.
        let mut settings = self.submodules()?;
        let args = ["commit", "--no-verify", "-m", message];
        let mut done = self.run_with(&settings, &args)?;
        let mut notes = String::new();
        if !done.success() && done.stderr.text().contains("tell me who you are") {
            // Half an identity that the caller gave stays.
            settings.extend(NOBODY.map(str::to_owned));
            settings.extend(identity(self.launch.env));
            done = self.run_with(&settings, &args)?;
            notes.push_str("\nNo identity is configured; committed as Marvin <marvin@localhost>. The configuration is unchanged.");
        }
        if let Some(hook) = self.commit_hook() {
            notes.push_str(&format!(
                "\nThe repository's {hook} hook was skipped; run_command can run it."
            ));
        }
        let out = done.stdout.text();
        if !done.success()
            && [
                "nothing to commit",
                "nothing added to commit",
                "no changes added",
            ]
            .iter()
            .any(|words| out.contains(words))
        {
            return Ok(out.trim_end().to_owned());
        }
        Ok(self.said(done)? + &notes)
    }

    /// Makes a branch here and switches to it.
    pub fn create_branch(&self, name: &str) -> Outcome<String> {
        no_option(name)?;
        links::check(&self.place)?;
        let done = self.run_with(&self.submodules()?, &["checkout", "-b", name])?;
        self.moved(done)
    }

    /// Switches to a branch or commit. When none has that name it is taken for a file, which is restored to what the index
    /// holds if `path` allows that and says where it is.
    pub fn checkout(
        &self,
        target: &str,
        path: impl FnOnce() -> Outcome<String>,
    ) -> Outcome<String> {
        no_option(target)?;
        links::check(&self.place)?;
        let settings = self.submodules()?;
        let done = self.run_with(&settings, &["checkout", "--no-guess", target, "--"])?;
        let words = done.stderr.text();
        let unknown = ["invalid reference", "reference is not a tree"];
        if done.success() || !unknown.iter().any(|unknown| words.contains(unknown)) {
            return self.moved(done);
        }
        let path = path()?;
        let done = self.run_with(&settings, &["checkout", "--", &path])?;
        self.said(done).map(|_| format!("Restored {path}."))
    }

    /// git tells on standard error where it went.
    fn moved(&self, done: Done) -> Outcome<String> {
        let moved = done.stderr.text();
        self.said(done)
            .map(|out| format!("{}\n{out}", moved.trim_end()).trim().to_owned())
    }

    /// The paths below the directory that git tracks, relative to it.
    pub fn tracked(&self) -> Outcome<BTreeSet<String>> {
        let mut paths = BTreeSet::new();
        let own = self.settings.iter().map(String::as_str);
        let args: Vec<&str> = own.chain(["ls-files", "-z"]).collect();
        let done = self.launch.split(&args, &mut |path| {
            paths.insert(String::from_utf8_lossy(path).into_owned());
        })?;
        answer::said(&self.launch.dir, done)?;
        Ok(paths)
    }

    fn commit_hook(&self) -> Option<&'static str> {
        let hooks = self.place.common().join("hooks");
        ["pre-commit", "commit-msg", "prepare-commit-msg"]
            .into_iter()
            .find(|hook| {
                std::fs::metadata(hooks.join(hook))
                    .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
            })
    }

    /// Settings that disarm submodules, for the operations that look into them and have no option against it.
    fn submodules(&self) -> Outcome<Vec<String>> {
        match self.place.top() {
            Some(top) => disarm::submodules(&self.launch.at(top)),
            None => Ok(Vec::new()),
        }
    }

    fn text(&self, args: &[&str]) -> Outcome<String> {
        self.said(self.run(args)?)
    }

    fn said(&self, done: Done) -> Outcome<String> {
        if self.partial && answer::lacks_objects(&done) {
            return Err(answer::not_here(&done));
        }
        answer::said(&self.launch.dir, done)
    }

    fn run(&self, args: &[&str]) -> Outcome<Done> {
        self.run_with(&[], args)
    }

    fn run_with(&self, settings: &[String], args: &[&str]) -> Outcome<Done> {
        let own = self.settings.iter().chain(settings).map(String::as_str);
        self.launch.run(own.chain(args.iter().copied()))
    }
}

/// The identity that the caller's environment names, passed on as settings.
fn identity(env: &Env) -> Vec<String> {
    let pick = |what: &str| {
        env.get(&format!("GIT_AUTHOR_{what}"))
            .or_else(|| env.get(&format!("GIT_COMMITTER_{what}")))
    };
    let mut settings = Vec::new();
    for (what, key) in [("NAME", "user.name"), ("EMAIL", "user.email")] {
        if let Some(value) = pick(what) {
            settings.extend(["-c".to_owned(), format!("{key}={value}")]);
        }
    }
    settings
}

/// `dir` free of links, or as it is when it is not there.
fn plain(dir: &Path) -> PathBuf {
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
