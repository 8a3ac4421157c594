//! Stages and commits without git looking into submodules.
//!
//! `git add`, and a commit with nothing to commit, start git in every submodule, and no option prevents it. So changes are listed and added to the
//! index by two plumbing commands that do not, and git is asked to commit only when there is something. What a commit of one folder leaves alone is the
//! subject of [`super::own_index`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;

use super::launch::Launch;
use super::{Git, IGNORE_DIRTY_SUBMODULES, filters, identity};
use crate::base::problem::Outcome;
use crate::base::text::escape_controls;

const FALLBACK_IDENTITY: [(&str, &str); 2] = [("name", "Marvin"), ("email", "marvin@localhost")];

impl Git<'_> {
    /// Commits, first staging everything if `add_all`. "Nothing to commit" is a result, not a failure.
    pub(crate) fn commit(&self, message: &str, add_all: bool) -> Outcome<String> {
        let left_out = if add_all {
            self.stage(&self.at_top())?
        } else {
            BTreeSet::new()
        };
        self.commit_staged(self, &self.at_top(), message, add_all, &left_out)
    }

    /// The same, but of what lies at and below the directory alone: others work in the rest of the repository.
    pub(crate) fn commit_beneath(&self, message: &str, add_all: bool) -> Outcome<String> {
        let left_out = match add_all {
            true => self.stage(&self.launch)?,
            false => BTreeSet::new(),
        };
        let from = match self.unfinished() {
            Some(_) => self.at_top(),
            None => self.launch.at(&self.launch.dir),
        };
        self.with_own_staged(|git| self.commit_staged(git, &from, message, add_all, &left_out))
    }

    /// Commits what is in the index of `git`, which is this one or a part of its index; `from` is where all of it lies.
    pub(super) fn commit_staged(
        &self,
        git: &Git<'_>,
        from: &Launch<'_>,
        message: &str,
        add_all: bool,
        left_out: &BTreeSet<Vec<u8>>,
    ) -> Outcome<String> {
        let mut notes = String::new();
        if let Some(names) = filters::list(left_out) {
            notes.push_str(&format!(
                "\nNot staged: {names}. These files go through a filter (such as git-lfs), which does not run here; run_command with \"git add\" stages them."
            ));
        }
        if !git.has_staged()? && !self.repository.git().join("MERGE_HEAD").exists() {
            let status = self.short_status()?;
            return Ok(format!("There is nothing to commit.\n{status}{notes}"));
        }
        let (settings, note) = self.author();
        let commit = ["commit", "--no-verify", "-m", message];
        let mut done = git.run_with(&settings, &commit)?;
        if add_all && !done.success() && done.stderr.text().contains("unmerged files") {
            self.stage_unmerged(from)?;
            git.stage_unmerged(from)?;
            done = git.run_with(&settings, &commit)?;
        }
        notes.push_str(&note);
        if let Some(hook) = self.commit_hook() {
            notes.push_str(&format!(
                "\nThe repository's {hook} hook was skipped; run_command can run it."
            ));
        }
        Ok(self.git_output(done)? + &notes)
    }

    /// Adds all changes at and below the directory of `from` to the index; returns the files that were left out because of their filter.
    pub(super) fn stage(&self, from: &Launch<'_>) -> Outcome<BTreeSet<Vec<u8>>> {
        let mut changed: Vec<Vec<u8>> = Vec::new();
        let list = [
            "ls-files",
            "-z",
            "--modified",
            "--others",
            "--exclude-standard",
        ];
        let done = from.split(&self.with_settings(&list), None, &mut |path| {
            // A nested repository is listed as a folder.
            changed.push(path.strip_suffix(b"/").unwrap_or(path).to_owned());
        })?;
        self.git_output(done)?;
        let left_out = filters::filtered(from, &self.settings, &self.filters, &changed)?;
        changed.retain(|path| !left_out.contains(path));
        self.update_index(from, &changed)?;
        Ok(left_out)
    }

    /// Stages conflicted files at and below the directory of `from` whose working-tree version equals one side and was therefore not listed as changed: it is
    /// the result of the merge.
    fn stage_unmerged(&self, from: &Launch<'_>) -> Outcome<()> {
        let mut unmerged: Vec<Vec<u8>> = Vec::new();
        let list = self.with_settings(&["ls-files", "-z", "--unmerged"]);
        let here = self.launch.at(&from.dir);
        let done = here.split(&list, None, &mut |entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t');
            let path = tab.and_then(|at| entry.get(at + 1..));
            unmerged.extend(path.map(<[u8]>::to_owned));
        })?;
        self.git_output(done)?;
        unmerged.dedup();
        let left_out = filters::filtered(&here, &self.settings, &self.filters, &unmerged)?;
        unmerged.retain(|path| !left_out.contains(path));
        self.update_index(&here, &unmerged)
    }

    /// Paths are relative to the directory of `from`.
    fn update_index(&self, from: &Launch<'_>, paths: &[Vec<u8>]) -> Outcome<()> {
        if paths.is_empty() {
            return Ok(());
        }
        // A file may replace a folder, and the other way round.
        let update = [
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "-z",
            "--stdin",
        ];
        let update = self.with_settings(&update);
        let done = from.feed(update, filters::nul_joined(paths))?;
        self.git_output(done).map(drop)
    }

    fn has_staged(&self) -> Outcome<bool> {
        let output = self.run(&[
            "diff",
            "--cached",
            "--quiet",
            "--no-ext-diff",
            "--no-textconv",
            "--submodule=short",
            IGNORE_DIRTY_SUBMODULES,
        ])?;
        match output.code {
            Some(1) => Ok(true),
            _ => self.git_output(output).map(|_| false),
        }
    }

    /// Settings that complete an unconfigured identity, and the line that says so.
    pub(super) fn author(&self) -> (Vec<OsString>, String) {
        let mut settings = Vec::new();
        let mut parts = Vec::new();
        for (what, nobody) in FALLBACK_IDENTITY {
            let known = identity(self.launch.env, what).map(str::to_owned);
            let known = known.or_else(|| self.config.value(&format!("user.{what}")));
            // Either of these alone leaves the other one missing.
            let own = self.config.value(&format!("author.{what}"));
            let own = own.filter(|_| self.config.value(&format!("committer.{what}")).is_some());
            parts.push(known.or(own).unwrap_or_else(|| {
                settings.extend(["-c".into(), format!("user.{what}={nobody}").into()]);
                nobody.to_owned()
            }));
        }
        let note = match parts.as_slice() {
            [name, email] if !settings.is_empty() => format!(
                "\nNo identity is configured; committed as {} <{}>. The configuration is unchanged.",
                escape_controls(name),
                escape_controls(email)
            ),
            _ => String::new(),
        };
        (settings, note)
    }

    fn commit_hook(&self) -> Option<&'static str> {
        let hooks = self.repository.common().join("hooks");
        ["pre-commit", "commit-msg", "prepare-commit-msg"]
            .into_iter()
            .find(|hook| {
                std::fs::metadata(hooks.join(hook))
                    .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
            })
    }
}
