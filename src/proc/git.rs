//! git as typed calls. Nothing that a repository's own configuration names may run, and nothing of the caller's `GIT_*` counts
//! (contract/services/git.md).

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::capture::Keep;
use super::child::{Done, Run};
use super::scrub::git_env;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::{Outcome, Problem};
use crate::base::text;

/// Bytes kept of git's output.
const OUTPUT: usize = 64 * 1024;
/// One call of git.
const LIMIT: Duration = Duration::from_secs(30);
/// Who commits when nobody is configured.
const NOBODY: [&str; 4] = [
    "-c",
    "user.name=Marvin",
    "-c",
    "user.email=marvin@localhost",
];
/// Settings that no repository may choose.
const FIXED: [&str; 12] = [
    "core.quotePath=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    // Clearing up runs gc.recentObjectsHook; a transport that runs any command is never wanted.
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
];
/// Submodules are told by their commit alone: looking into one obeys its own configuration, which nobody disarmed.
const UNENTERED: &str = "--ignore-submodules=dirty";
/// Submodules in submodules that are looked at.
const DEEPEST: u8 = 4;
/// Ends of configuration keys whose values are programs, and what replaces a local value.
const PROGRAMS: [(&str, &str); 16] = [
    (".clean", ""),
    (".smudge", ""),
    (".process", ""),
    (".textconv", ""),
    (".command", ""),
    (".driver", ""),
    (".helper", ""),
    (".program", ""),
    (".cmd", ""),
    (".pager", ""),
    ("editor", ""),
    ("sshcommand", ""),
    ("gitproxy", ""),
    ("alternaterefscommand", ""),
    ("diff.external", ""),
    (".required", "false"),
];

/// git in one directory.
#[derive(Debug)]
pub struct Git<'a> {
    dir: PathBuf,
    env: &'a Env,
    stop: &'a Cancel,
}

impl<'a> Git<'a> {
    /// git for the repository around `dir`.
    pub fn new(dir: &Path, env: &'a Env, stop: &'a Cancel) -> Self {
        Self {
            dir: dir.to_owned(),
            env,
            stop,
        }
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
        if add_all {
            self.text(&["add", "-A"])?;
        }
        let args = ["commit", "--no-verify", "-m", message];
        let mut done = self.run(&args)?;
        let mut notes = String::new();
        if !done.success() && done.stderr.text().contains("tell me who you are") {
            // Half an identity that the caller gave stays.
            let mut settings = NOBODY.map(str::to_owned).to_vec();
            settings.extend(self.identity());
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

    /// Switches to a branch or commit, makes a branch, or restores a path.
    pub fn checkout(&self, target: &str, create: bool) -> Outcome<String> {
        if target.starts_with('-') {
            return Err(Problem::refused(format!(
                "\"{}\" is an option, not a branch, commit or path.",
                text::clip(target, 60)
            )));
        }
        let args: &[&str] = if create {
            &["checkout", "-b", target]
        } else {
            &["checkout", target, "--"]
        };
        let done = self.run(args)?;
        if !done.success() && !create && done.stderr.text().contains("invalid reference") {
            return self.restore(target);
        }
        let moved = done.stderr.text();
        self.said(done)
            .map(|out| format!("{}{out}", moved.trim_end()).trim().to_owned())
    }

    /// Restores one path to what the index holds.
    pub fn restore(&self, path: &str) -> Outcome<String> {
        let done = self.run(&["checkout", "--", path])?;
        self.said(done).map(|_| format!("Restored {path}."))
    }

    /// True when `name` is a branch or commit, so that checking it out is no write to a file.
    pub fn is_commit(&self, name: &str) -> bool {
        self.run(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &format!("{name}^{{commit}}"),
        ])
        .is_ok_and(|done| done.success())
    }

    fn commit_hook(&self) -> Option<&'static str> {
        let dir = self.text(&["rev-parse", "--git-common-dir"]).ok()?;
        let hooks = self.dir.join(dir.trim()).join("hooks");
        ["pre-commit", "commit-msg", "prepare-commit-msg"]
            .into_iter()
            .find(|hook| {
                use std::os::unix::fs::PermissionsExt;
                std::fs::metadata(hooks.join(hook))
                    .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
            })
    }

    fn text(&self, args: &[&str]) -> Outcome<String> {
        self.said(self.run(args)?)
    }

    /// What git said, or its own words as a problem.
    fn said(&self, done: Done) -> Outcome<String> {
        if done.success() {
            return Ok(done.stdout.text().trim_end().to_owned());
        }
        let words = format!(
            "{}\n{}",
            done.stderr.text().trim(),
            done.stdout.text().trim()
        );
        let words = words.trim();
        if done.timed_out {
            return Err(Problem::limit(format!("git {}.", done.ending())));
        }
        let dir = self.dir.display();
        let problem = Problem::input(format!(
            "git: {}",
            if words.is_empty() {
                done.ending()
            } else {
                text::clip(words, 4000)
            }
        ));
        Err(if words.contains("not a git repository") {
            Problem::missing(format!("{dir} is not in a git repository."))
                .next("run_command with \"git init\" makes one.")
        } else if words.contains("would be overwritten") {
            problem.next("Commit these changes first, or restore the files.")
        } else if words.contains("did not match any file") {
            problem.next("git_branch lists the branches, git_log the commits.")
        } else {
            problem
        })
    }

    fn run(&self, args: &[&str]) -> Outcome<Done> {
        self.run_with(&self.identity(), args)
    }

    fn run_with<S: AsRef<str>>(&self, settings: &[S], args: &[&str]) -> Outcome<Done> {
        let top = self.at_home()?;
        let mut all = self.disarm()?;
        // These look into submodules and have no option against it; the settings reach git in there as well.
        if let (Some(top), Some(&("add" | "commit" | "checkout"))) = (top, args.first()) {
            self.disarm_submodules(&top, DEEPEST, &mut all)?;
        }
        all.extend(settings.iter().map(|setting| setting.as_ref().to_owned()));
        all.extend(args.iter().map(|arg| (*arg).to_owned()));
        self.raw(all)
    }

    /// Refuses a repository whose files are not where it is found: core.worktree would let git read and write anywhere.
    /// Gives the top directory, or nothing where there is no working tree.
    fn at_home(&self) -> Outcome<Option<PathBuf>> {
        let asked = ["rev-parse", "--absolute-git-dir", "--show-toplevel"];
        let done = self.raw(asked.map(str::to_owned).to_vec())?;
        let said = done.stdout.text();
        let mut lines = said.lines();
        // Not a repository, or a bare one: the call itself says so.
        let (true, Some(git), Some(top)) = (done.success(), lines.next(), lines.next()) else {
            return Ok(None);
        };
        let entry = Path::new(top).join(".git");
        let named = match std::fs::read_to_string(&entry) {
            Ok(text) => text
                .trim()
                .strip_prefix("gitdir:")
                .map(|path| Path::new(top).join(path.trim())),
            Err(_) => Some(entry),
        };
        let same = |a: &Path| a.canonicalize().ok() == Path::new(git).canonicalize().ok();
        if named.is_some_and(|path| same(&path)) {
            return Ok(Some(PathBuf::from(top)));
        }
        Err(Problem::refused(format!(
            "The repository's configuration puts its files into another directory, {}.",
            text::visible(top)
        ))
        .next("Remove core.worktree from its configuration."))
    }

    fn raw(&self, args: Vec<String>) -> Outcome<Done> {
        self.prepared(args).run(self.stop)?.unless_cancelled()
    }

    fn prepared(&self, args: Vec<String>) -> Run {
        let mut env = git_env(self.env);
        for (name, value) in [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_PAGER", "cat"),
            ("GIT_EDITOR", "true"),
            ("LC_ALL", "C"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            // A path is a path: no `:/` to the repository's top, no wildcard that restores everything.
            ("GIT_LITERAL_PATHSPECS", "1"),
            // Fetching missing objects starts the program of remote.*.uploadpack, which -c cannot replace.
            ("GIT_NO_LAZY_FETCH", "1"),
        ] {
            env.retain(|(set, _)| set != name);
            env.push((name.to_owned(), value.to_owned()));
        }
        let fixed = FIXED.map(|fixed| ["-c".to_owned(), fixed.to_owned()]);
        let fixed = fixed.into_iter().flatten();
        let mut run = Run::new(
            "git",
            std::iter::once("--no-pager".to_owned())
                .chain(fixed)
                .chain(args),
            env,
        );
        run.dir = Some(self.dir.clone());
        run.limit = LIMIT;
        run.stdout = Keep::ends(OUTPUT / 2, OUTPUT / 2);
        run.stderr = Keep::ends(4096, 4096);
        run
    }

    /// `-c` settings that take the place of every program the repository's own configuration names, included files too.
    fn disarm(&self) -> Outcome<Vec<String>> {
        let mut settings = Vec::new();
        for scope in ["--local", "--worktree"] {
            let list = [
                "config",
                scope,
                "--includes",
                "--name-only",
                "--null",
                "--list",
            ];
            let done = self.raw(list.map(str::to_owned).to_vec())?;
            if !done.success() {
                continue;
            }
            let names = done.stdout.bytes();
            for name in names
                .split(|byte| *byte == 0)
                .filter_map(|name| std::str::from_utf8(name).ok())
            {
                let lower = name.to_lowercase();
                let program = PROGRAMS.iter().find(|(end, _)| lower.ends_with(end));
                let replaced = program
                    .map(|(_, value)| *value)
                    .or_else(|| lower.starts_with("alias.").then_some(""));
                // A name with `=` cannot be overridden by -c; git itself then reads the setting, so the call is refused.
                match replaced {
                    Some(_) if name.contains(['=', '\n']) => {
                        return Err(Problem::refused(format!("The repository's configuration names a program in a way that cannot be switched off ({}).", text::visible(&text::clip(name, 80))))
                            .next("Remove that setting from .git/config."));
                    }
                    Some(value) => settings.extend(["-c".to_owned(), format!("{name}={value}")]),
                    None => {}
                }
            }
        }
        settings.dedup();
        Ok(settings)
    }

    /// The same for the submodules below `top` that are there, and for theirs.
    fn disarm_submodules(&self, top: &Path, depth: u8, settings: &mut Vec<String>) -> Outcome<()> {
        let mut found = Vec::new();
        let asked = ["ls-files", "--stage", "-z"].map(str::to_owned);
        Git::new(top, self.env, self.stop)
            .prepared(asked.to_vec())
            .run_split(self.stop, 0, &mut |entry| {
                if let Some(path) = entry.strip_prefix(b"160000 ").and_then(after_tab) {
                    found.push(top.join(std::ffi::OsStr::from_bytes(path)));
                }
                std::ops::ControlFlow::Continue(())
            })?
            .unless_cancelled()?;
        for sub in found.iter().filter(|sub| sub.join(".git").exists()) {
            if depth == 0 {
                return Err(Problem::refused(format!(
                    "Submodules lie too deep in each other at {}.",
                    sub.display()
                )));
            }
            settings.extend(Git::new(sub, self.env, self.stop).disarm()?);
            self.disarm_submodules(sub, depth - 1, settings)?;
        }
        Ok(())
    }

    /// The identity that the caller's environment names, passed on as settings.
    fn identity(&self) -> Vec<String> {
        let pick = |what: &str| {
            self.env
                .get(&format!("GIT_AUTHOR_{what}"))
                .or_else(|| self.env.get(&format!("GIT_COMMITTER_{what}")))
        };
        let mut settings = Vec::new();
        for (what, key) in [("NAME", "user.name"), ("EMAIL", "user.email")] {
            if let Some(value) = pick(what) {
                settings.extend(["-c".to_owned(), format!("{key}={value}")]);
            }
        }
        settings
    }
}

/// The path of an entry of `git ls-files --stage`.
fn after_tab(entry: &[u8]) -> Option<&[u8]> {
    let at = entry.iter().position(|byte| *byte == b'\t')?;
    entry.get(at + 1..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    struct Repo {
        dir: tempfile::TempDir,
        env: Env,
        stop: Cancel,
    }

    impl Repo {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = std::env::var("PATH").unwrap();
            let env = Env::from([
                ("HOME", dir.path().to_str().unwrap()),
                ("PATH", &path),
                ("GIT_DIR", "/nowhere"),
                ("GIT_INDEX_FILE", "/nowhere/index"),
            ]);
            fs::create_dir(dir.path().join("r")).unwrap();
            let repo = Self {
                dir,
                env,
                stop: Cancel::new(),
            };
            repo.sh("git init -q -b main && echo one > a.txt");
            repo
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("r")
        }

        fn sh(&self, script: &str) {
            let status = Command::new("sh")
                .args(["-c", script])
                .current_dir(self.path())
                .env("HOME", self.dir.path())
                .env_remove("GIT_DIR")
                .status()
                .unwrap();
            assert!(status.success(), "{script}");
        }

        fn git(&self) -> Git<'_> {
            Git::new(&self.path(), &self.env, &self.stop)
        }
    }

    #[test]
    fn a_repository_is_read_and_written_without_identity_or_callers_git_variables() {
        let repo = Repo::new();
        assert_eq!(repo.git().log(10, true).unwrap(), "No commits yet.");
        let said = repo.git().commit("First words", true).unwrap();
        assert!(
            said.contains("First words") && said.contains("committed as Marvin <marvin@localhost>"),
            "{said}"
        );
        assert!(repo.git().log(1, true).unwrap().ends_with("First words"));
        assert!(
            repo.git()
                .commit("again", true)
                .unwrap()
                .contains("nothing to commit")
        );
        fs::write(repo.path().join("a.txt"), "two\n").unwrap();
        assert!(repo.git().status().unwrap().contains(" M a.txt"));
        assert!(
            repo.git()
                .diff(false, Some("a.txt"))
                .unwrap()
                .contains("-one\n+two")
        );
        assert_eq!(repo.git().diff(true, None).unwrap(), "No changes.");
        assert!(
            repo.git()
                .blame("a.txt", Some((1, 1)))
                .unwrap()
                .contains("two")
        );
        repo.git().restore("a.txt").unwrap();
        repo.git().checkout("work", true).unwrap();
        assert!(repo.git().branches().unwrap().contains("* work"));
        assert!(repo.git().checkout("-f", false).is_err());
        assert!(
            repo.git()
                .checkout("nowhere", false)
                .unwrap_err()
                .one_line()
                .contains("did not match")
        );
    }

    #[test]
    fn nothing_a_hostile_repository_names_is_run() {
        let repo = Repo::new();
        repo.git().commit("start", true).unwrap();
        let ran = repo.dir.path().join("ran");
        let bait = format!("sh -c 'touch {}; cat'", ran.display());
        fs::write(
            repo.path().join("evil.cfg"),
            format!("[filter \"inc\"]\n\tclean = {bait}\n\tsmudge = {bait}\n\trequired = true\n"),
        )
        .unwrap();
        for key in [
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "diff.external",
            "filter.x.clean",
            "filter.x.smudge",
            "filter.x.process",
            "diff.x.textconv",
            "diff.x.command",
            "alias.status",
            "credential.helper",
            "gpg.program",
            "core.sshCommand",
        ] {
            repo.sh(&format!(
                "git config {key} \"{}\"",
                bait.replace('"', "\\\"")
            ));
        }
        repo.sh("git config include.path ../evil.cfg; git config filter.x.required true; git config commit.gpgSign true; mkdir -p .git/hooks");
        for hook in [
            "pre-commit",
            "commit-msg",
            "post-commit",
            "post-checkout",
            "prepare-commit-msg",
        ] {
            let file = repo.path().join(".git/hooks").join(hook);
            fs::write(&file, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
            repo.sh(&format!("chmod +x .git/hooks/{hook}"));
        }
        fs::write(
            repo.path().join(".gitattributes"),
            "*.txt filter=x diff=x\n*.md filter=inc\n",
        )
        .unwrap();
        fs::write(repo.path().join("a.txt"), "changed\n").unwrap();
        fs::write(repo.path().join("b.md"), "new\n").unwrap();
        let _ = fs::remove_file(&ran);
        let git = repo.git();
        git.status().unwrap();
        git.diff(false, None).unwrap();
        let said = git.commit("second", true).unwrap();
        assert!(said.contains("hook was skipped"), "{said}");
        git.log(5, false).unwrap();
        git.blame("a.txt", None).unwrap();
        git.checkout("other", true).unwrap();
        git.checkout("main", false).unwrap();
        assert!(!ran.exists(), "something of the repository's own was run");
    }

    #[test]
    fn outside_a_repository_the_next_step_is_named() {
        let repo = Repo::new();
        let git = Git::new(repo.dir.path(), &repo.env, &repo.stop);
        assert!(git.status().unwrap_err().one_line().contains("git init"));
    }
}
