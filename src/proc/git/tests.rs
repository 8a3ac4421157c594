//! git against real repositories, harmless and hostile.

mod worktrees;

use super::*;
use crate::base::testing::assert_has;
use std::fs;
use std::path::PathBuf;
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
        Git::open(&self.path(), &self.env, &self.stop).unwrap()
    }
}

#[test]
fn git_works_without_identity_and_ignores_the_callers_variables() {
    let repo = Repo::new();
    assert_eq!(repo.git().log(10, true).unwrap(), "No commits yet.");
    let shows = |output: Outcome<String>, words: &str| {
        let output = output.unwrap();
        assert!(output.contains(words), "{output}");
    };
    let first = repo.git().commit("First words", true).unwrap();
    let identity = "committed as Marvin <marvin@localhost>";
    assert_has(&first, &["First words", identity]);
    assert!(repo.git().log(1, true).unwrap().ends_with("First words"));
    shows(repo.git().commit("again", true), "nothing to commit");
    fs::write(repo.path().join("a.txt"), "two\n").unwrap();
    shows(repo.git().status(), " M a.txt");
    shows(repo.git().diff(false, Some("a.txt")), "-one\n+two");
    assert_eq!(repo.git().diff(true, None).unwrap(), "No changes.");
    shows(repo.git().blame("a.txt", Some((1, 1))), "two");
    let path = |path: &str| repo.git().checkout(path, || Ok(path.to_owned()));
    assert_eq!(path("a.txt").unwrap(), "Restored a.txt.");
    repo.git().create_branch("work").unwrap();
    assert!(repo.git().branches().unwrap().contains("* work"));
    assert!(path("-f").is_err());
    let unknown = path("nowhere").unwrap_err().one_line();
    assert!(unknown.contains("did not match"), "{unknown}");
}

#[test]
fn programs_named_by_a_hostile_repository_never_run() {
    let repo = Repo::new();
    repo.git().commit("start", true).unwrap();
    let ran = repo.dir.path().join("ran");
    let bait = format!("sh -c 'touch {}; cat'", ran.display());
    fs::write(
        repo.path().join("evil.cfg"),
        format!("[filter \"inc\"]\n\tclean = {bait}\n\tsmudge = {bait}\n\trequired = true\n"),
    )
    .unwrap();
    for key in "core.fsmonitor core.pager core.editor diff.external filter.x.clean filter.x.smudge \
        filter.x.process diff.x.textconv diff.x.command alias.status credential.helper \
        gpg.program core.sshCommand"
        .split_ascii_whitespace()
    {
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
    let git_output = git.commit("second", true).unwrap();
    assert!(git_output.contains("hook was skipped"), "{git_output}");
    git.log(5, false).unwrap();
    git.blame("a.txt", None).unwrap();
    git.create_branch("other").unwrap();
    git.checkout("main", || unreachable!()).unwrap();
    assert!(!ran.exists(), "something of the repository's own was run");
}

#[test]
fn outside_a_repository_the_error_names_the_next_step() {
    let repo = Repo::new();
    let problem = Git::open(repo.dir.path(), &repo.env, &repo.stop).unwrap_err();
    assert!(problem.one_line().contains("git init"));
}

/// Every setting that the installed git knows and that is not on the list, with a value that could be a program or a number.
#[test]
fn disallowed_settings_have_no_effect() {
    let known = Command::new("git")
        .args(["help", "--config-for-completion"])
        .output()
        .unwrap();
    let known = String::from_utf8(known.stdout).unwrap();
    for value in ["program", "1"] {
        let repo = Repo::new();
        repo.git().commit("start", true).unwrap();
        repo.sh("git branch other");
        let ran = repo.dir.path().join("ran");
        let value = match value {
            "program" => format!("touch {}; false", ran.display()),
            number => number.to_owned(),
        };
        let mut text = fs::read_to_string(repo.path().join(".git/config")).unwrap();
        let mut count = 0;
        for key in known
            .lines()
            .filter(|key| !key.contains('_') && key.contains('.'))
        {
            // A name that ends with a dot stands for a whole family of settings.
            let key = match key.strip_suffix('.') {
                Some(family) => format!("{family}.x.command"),
                None => key.to_owned(),
            };
            let lower = key.to_lowercase();
            // The blame files are checked one by one; git itself refuses an invalid colour or column.
            let typed = ["blame.ignorerevsfile", "color.", "column."];
            if allowed::is_data(lower.as_bytes())
                || allowed::is_fixed(lower.as_bytes())
                || typed.iter().any(|name| lower.starts_with(name))
            {
                continue;
            }
            let (section, variable) = key.split_once('.').unwrap();
            text.push_str(&match variable.rsplit_once('.') {
                Some((below, variable)) => {
                    format!("[{section} \"{below}\"]\n\t{variable} = \"{value}\"\n")
                }
                None => format!("[{section}]\n\t{variable} = \"{value}\"\n"),
            });
            count += 1;
        }
        assert!(count > 100, "{known}");
        fs::write(repo.path().join(".git/config"), text).unwrap();
        fs::write(repo.path().join("a.txt"), "changed\n").unwrap();
        let git = repo.git();
        git.status().unwrap();
        git.diff(false, None).unwrap();
        git.log(5, false).unwrap();
        git.blame("a.txt", None).unwrap();
        git.branches().unwrap();
        git.commit("second", true).unwrap();
        git.create_branch("new").unwrap();
        git.checkout("other", || unreachable!()).unwrap();
        assert!(!ran.exists());
    }
}

#[test]
fn what_is_checked_out_is_read_as_git_says_it() {
    let repo = Repo::new();
    let asked = |script: &str| {
        let command = format!("cd '{}' && {script}", repo.path().display());
        let output = Command::new("sh").args(["-c", &command]).output();
        String::from_utf8(output.unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    };
    let now = || {
        let git = repo.git();
        (git.head().unwrap(), git.head_commit().unwrap())
    };
    let branch = |name: &str| (Some(name.to_owned()), true);
    repo.sh("git checkout -q -b unborn");
    assert_eq!(now(), ((Some("unborn".to_owned()), false), None));
    repo.sh("git -c user.name=a -c user.email=b@c commit -q --allow-empty -m one");
    for (script, head) in [
        ("true", branch("unborn")),
        ("git checkout -q -b some/branch", branch("some/branch")),
        ("git pack-refs --all", branch("some/branch")),
        ("git checkout -q --detach", (None, true)),
        (
            "git checkout -q -b linked && git -c user.name=a -c user.email=b@c commit -q --allow-empty -m two && rm .git/HEAD && ln -s refs/heads/linked .git/HEAD",
            branch("linked"),
        ),
    ] {
        repo.sh(script);
        let commit = asked("git rev-parse HEAD");
        assert_eq!(now(), (head, Some(commit)), "{script}");
    }
}
