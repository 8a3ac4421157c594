//! git against real repositories, harmless and hostile.

mod own_index;
mod put_back;
mod worktrees;

use super::*;
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
