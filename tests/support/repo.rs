//! Real git repositories for tests, isolated from the machine's git configuration.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::home::{self, Home};
use super::run::{Done, Marvin};

/// A repository; a temporary one is gone when dropped.
pub struct Repo {
    path: PathBuf,
    _dir: Option<TempDir>,
}

impl AsRef<Path> for Repo {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// One of Marvin's tools, to be called in `dir` without the machine's settings of git.
pub fn call(home: &Home, dir: impl AsRef<Path>, name: &str, args: &Value) -> Marvin {
    home.tool(name, args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .dir(dir.as_ref())
}

/// Calls one.
pub fn git(home: &Home, dir: impl AsRef<Path>, name: &str, args: Value) -> Done {
    call(home, dir, name, &args).run()
}

/// A script that adds a line to a file outside every repository when it runs, and that file.
pub fn bait(home: &Home) -> (String, PathBuf) {
    let mark = home.path().join("ran");
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", mark.display());
    (home.program("bait.sh", text).display().to_string(), mark)
}

/// What the script of [`bait`] left there.
pub fn ran(mark: &Path) -> String {
    std::fs::read_to_string(mark).unwrap_or_default()
}

impl Repo {
    /// An empty repository with branch `main` in a temporary folder.
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("marvin-repo-").expect("a temporary folder");
        let path = dir.path().canonicalize().expect("an existing folder");
        let repo = Self::at(&path);
        Self {
            path: repo.path,
            _dir: Some(dir),
        }
    }

    /// An empty repository with branch `main` in this folder, which the test removes itself.
    pub fn at(path: &Path) -> Self {
        std::fs::create_dir_all(path).expect("a folder");
        let repo = Self {
            path: path.to_owned(),
            _dir: None,
        };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.git(&["config", "user.name", "Arthur Dent"]);
        repo.git(&["config", "user.email", "arthur@example.org"]);
        repo
    }

    /// Where it is, free of symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file.
    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        home::write(&self.path.join(path), text);
        self
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path.join(path)).expect("a file in the repository")
    }

    /// Commits everything and returns the commit's id. Dates are fixed, so ids are the same in every run.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git in it with this on its standard input.
    pub fn feed(&self, args: &[&str], input: &str) {
        let mut git = Command::new("git")
            .args(args)
            .current_dir(&self.path)
            .env("HOME", &self.path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("git on PATH");
        let mut pipe = git.stdin.take().expect("a pipe");
        pipe.write_all(input.as_bytes()).expect("git reads");
        drop(pipe);
        assert!(git.wait().expect("git").success(), "git {args:?} failed");
    }

    /// Runs git in it and returns the trimmed output; fails the test when git fails.
    pub fn git(&self, args: &[&str]) -> String {
        let date = "2026-01-01T12:00:00+00:00";
        let output = Command::new("git")
            .args(args)
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date)
            .output()
            .expect("git on PATH");
        assert!(
            output.status.success(),
            "git {args:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}
