//! What a run of the pipeline asks of a repository: commits that record a step, and the changes since one.

use std::path::Path;

use super::head::{self, HeadFile};
use super::launch::Launch;
use super::{DIFF, Git, IGNORE_DIRTY_SUBMODULES, filters, output};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;

/// An operation that somebody has begun in the repository and not finished, by the file that says so.
const UNFINISHED: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisection"),
];

/// The names of what is staged; starts no other program.
const STAGED: [&str; 7] = [
    "diff",
    "--cached",
    "--name-only",
    "-z",
    "--no-ext-diff",
    "--no-textconv",
    IGNORE_DIRTY_SUBMODULES,
];

/// Makes a repository in `dir`, as the user's own `git init` would.
pub(crate) fn init(dir: &Path, env: &Env, stop: &Cancel) -> Outcome<()> {
    let launch = Launch::new(dir, dir.parent(), env, stop);
    let done = launch.run(["init", "--quiet"])?;
    output::git_output(dir, done).map(drop)
}

/// A commit, as far as a list shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LoggedCommit {
    pub id: String,
    pub message: String,
    /// The files that it changed, by their paths from the top; none of a merge.
    pub files: Vec<String>,
}

impl Git<'_> {
    /// Commits everything at and below the directory, even when nothing changed there, so that the commit marks a step. Returns a note about files that
    /// were left out, if there are any.
    pub(crate) fn checkpoint(&self, message: &str) -> Outcome<Option<String>> {
        let left_out = self.stage(&self.launch)?;
        let (settings, _) = self.author();
        let commit = [
            "commit",
            "--quiet",
            "--no-verify",
            "--allow-empty",
            "-m",
            message,
        ];
        self.with_own_staged(|git| git.git_output(git.run_with(&settings, &commit)?))?;
        Ok(filters::list(&left_out).map(|names| {
            format!("Not committed, because they go through a filter such as git-lfs: {names}.")
        }))
    }

    /// Stages those of `paths`, files and folders relative to the directory, that git ignores and has not yet; returns the files.
    pub(crate) fn stage_ignored(&self, paths: &[String]) -> Outcome<Vec<String>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let list = [
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--",
        ];
        let paths = paths.iter().map(String::as_str);
        let args: Vec<&str> = list.into_iter().chain(paths).collect();
        let mut found: Vec<Vec<u8>> = Vec::new();
        let done = self
            .launch
            .split(&self.with_settings(&args), None, &mut |path| {
                found.push(path.to_owned());
            })?;
        output::git_output(&self.launch.dir, done)?;
        let left_out = filters::filtered(&self.launch, &self.settings, &self.filters, &found)?;
        found.retain(|path| !left_out.contains(path));
        if !found.is_empty() {
            let update = self.with_settings(&["update-index", "--add", "-z", "--stdin"]);
            let done = self.launch.feed(update, filters::nul_joined(&found))?;
            output::git_output(&self.launch.dir, done)?;
        }
        let names = found.iter().map(|path| String::from_utf8_lossy(path));
        Ok(names.map(std::borrow::Cow::into_owned).collect())
    }

    /// The id of the current commit; `None` when there is none yet.
    pub(crate) fn head_commit(&self) -> Outcome<Option<String>> {
        match head::read(&self.repository) {
            Some(HeadFile::Branch(_, Some(id)) | HeadFile::Detached(id)) => Ok(Some(id)),
            Some(HeadFile::Branch(_, None)) | None => self.resolved_head(),
        }
    }

    /// The same as git says it.
    pub(super) fn resolved_head(&self) -> Outcome<Option<String>> {
        let found = self.run(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        let id = found.stdout.text().trim().to_owned();
        Ok(found.success().then_some(id))
    }

    /// What changed at and below the directory since `commit`, as a unified diff; of one path when given. Empty when nothing did.
    pub(crate) fn diff_since(&self, commit: &str, path: Option<&str>) -> Outcome<String> {
        // After `--` nothing is an option.
        self.text(&[&DIFF[..], &[commit, "--", path.unwrap_or(".")]].concat())
    }

    /// Paths, relative to the directory and below it, of files that are new or different since `commit`, committed or not.
    pub(crate) fn changed_since(&self, commit: &str) -> Outcome<Vec<String>> {
        let names = [
            "--name-only",
            "-z",
            "--no-renames",
            "--diff-filter=d",
            "--relative",
        ];
        let mut paths = self.listed(&[&DIFF[..], &names, &[commit, "--", "."]].concat())?;
        paths.extend(self.listed(&["ls-files", "-z", "--others", "--exclude-standard"])?);
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// How many lines of each of `paths` have changed since `commit`.
    pub(crate) fn stat_since(&self, commit: &str, paths: &[&str]) -> Outcome<String> {
        let stat = ["--stat=120", "--no-renames", "--relative", commit, "--"];
        self.text(&[&DIFF[..], &stat, paths].concat())
    }

    /// What changed in `paths` since `commit`, as a unified diff.
    pub(crate) fn diff_of(&self, commit: &str, paths: &[&str]) -> Outcome<String> {
        self.text(&[&DIFF[..], &["--relative", commit, "--"], paths].concat())
    }

    pub(crate) fn count_since(&self, commit: &str) -> Outcome<u64> {
        let count = self.text(&["rev-list", "--count", &format!("{commit}..HEAD")])?;
        Ok(count.trim().parse().unwrap_or_default())
    }

    /// The newest `count` commits with their files, the newest first.
    pub(crate) fn log_files(&self, count: u64) -> Outcome<Vec<LoggedCommit>> {
        let number = format!("-n{count}");
        let list = [
            "log",
            &number,
            "-z",
            "--name-only",
            "--no-renames",
            "--no-relative",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            IGNORE_DIRTY_SUBMODULES,
            "--format=commit %H%n%B",
        ];
        let mut found: Vec<LoggedCommit> = Vec::new();
        // What it says of a commit, then a line break and its files.
        let done = self
            .launch
            .split(&self.with_settings(&list), None, &mut |chunk| {
                let chunk = String::from_utf8_lossy(chunk);
                if let Some((id, message)) = commit_head(&chunk) {
                    found.push(LoggedCommit {
                        id: id.to_owned(),
                        message: message.to_owned(),
                        files: Vec::new(),
                    });
                } else if let Some(commit) = found.last_mut() {
                    let file = chunk.trim_start_matches('\n');
                    commit
                        .files
                        .extend((!file.is_empty()).then(|| file.to_owned()));
                }
            })?;
        self.git_output(done)?;
        Ok(found)
    }

    /// Paths, relative to the directory, of what is changed, staged or new and not committed.
    pub(crate) fn uncommitted(&self) -> Outcome<Vec<String>> {
        let listed = |args: &[&str]| self.listed(args);
        let mut paths = listed(&[
            "ls-files",
            "-z",
            "--modified",
            "--others",
            "--exclude-standard",
        ])?;
        if self.head_commit()?.is_some() {
            paths.extend(listed(&[&STAGED[..], &["--relative"]].concat())?);
        } else {
            paths.extend(listed(&["ls-files", "-z"])?);
        }
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Paths, relative to the top of the working tree, that are staged anywhere in it.
    pub(crate) fn staged(&self) -> Outcome<Vec<String>> {
        self.listed(&STAGED)
    }

    /// An operation that was begun and is not finished, such as a merge.
    pub(crate) fn unfinished(&self) -> Option<&'static str> {
        let git = self.repository.git();
        let found = UNFINISHED.iter().find(|(file, _)| git.join(file).exists());
        found.map(|(_, name)| *name)
    }

    /// The user has set that commits are signed. Those that are made here never are: git would start the program for it.
    pub(crate) fn drops_signatures(&self) -> bool {
        let value = self.config.value("commit.gpgsign");
        value.is_some_and(|value| {
            !matches!(&*value.to_ascii_lowercase(), "false" | "no" | "off" | "0")
        })
    }

    /// What git ignores, relative to the directory; a folder that it ignores as a whole is named alone.
    pub(crate) fn ignored(&self) -> Outcome<Vec<String>> {
        self.listed(&[
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ])
    }

    /// Whether git ignores the directory itself, so that nothing which is written there gets into a commit.
    pub(crate) fn is_ignored(&self) -> Outcome<bool> {
        // A list of what is tracked begins with everything being ignored; that is not about the top.
        if self.repository.top() == Some(self.launch.dir.as_path()) {
            return Ok(false);
        }
        // It refuses to take paths as paths; this one has no wildcard.
        let check = [
            "--no-literal-pathspecs",
            "check-ignore",
            "--quiet",
            "--",
            ".",
        ];
        Ok(self.run(&check)?.success())
    }

    /// True in a repository without files.
    pub(crate) fn is_bare(&self) -> bool {
        self.repository.top().is_none()
    }

    pub(super) fn listed(&self, args: &[&str]) -> Outcome<Vec<String>> {
        let mut paths = Vec::new();
        let done = self
            .launch
            .split(&self.with_settings(args), None, &mut |path| {
                paths.push(String::from_utf8_lossy(path).into_owned());
            })?;
        output::git_output(&self.launch.dir, done)?;
        Ok(paths)
    }
}

/// The id and the message of a commit, if this is what a list says of one.
fn commit_head(chunk: &str) -> Option<(&str, &str)> {
    let (id, message) = chunk.strip_prefix("commit ")?.split_once('\n')?;
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some((id, message))
}
