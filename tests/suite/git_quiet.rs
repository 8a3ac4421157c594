//! The processes that git starts: counted and named by git's own trace, which only the user's settings can enable.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::repo::{Repo, git};
use crate::support::run::Done;
use crate::support::words::TextAssertions;

/// A home in which everything that git does is logged.
pub(crate) struct Traced {
    pub(crate) home: Home,
    pub(crate) trace: PathBuf,
}

impl Traced {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let trace = home.path().join("trace");
        home.write(
            ".gitconfig",
            format!(
                "[user]\n\tname = Zaphod\n\temail = z@example.org\n[trace2]\n\teventTarget = {}\n\tconfigParams = gc.*,maintenance.*\n",
                trace.display()
            ),
        );
        Self { home, trace }
    }

    pub(crate) fn git(&self, dir: &Path, name: &str, args: Value) -> Done {
        let _ = fs::remove_file(&self.trace);
        git(&self.home, dir, name, args)
    }

    /// Events of one kind since the last call began.
    fn events(&self, kind: &str) -> Vec<Value> {
        fs::read_to_string(&self.trace)
            .expect("a trace; git before 2.22 has none")
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|event| event["event"] == kind)
            .collect()
    }

    /// Arguments of every git that ran, those that git started itself too.
    fn started(&self) -> Vec<String> {
        let text = |event: &Value| event["argv"].to_string();
        self.events("start").iter().map(text).collect()
    }
}

#[test]
fn a_call_starts_few_processes() {
    let traced = Traced::new();
    let repo = Repo::new();
    repo.file("a.txt", "one\n").commit("start");
    repo.git(&["branch", "other"]);
    for (name, args, max) in [
        ("git_status", json!({}), 2),
        ("git_diff", json!({"path": "a.txt"}), 2),
        ("git_log", json!({}), 2),
        ("git_blame", json!({"path": "a.txt"}), 2),
        ("git_branch", json!({}), 2),
        ("git_commit", json!({"message": "two"}), 5),
        ("git_checkout", json!({"target": "other"}), 4),
        ("git_checkout", json!({"target": "a.txt"}), 4),
        (
            "git_checkout",
            json!({"target": "new", "create_branch": true}),
            4,
        ),
    ] {
        if name == "git_commit" {
            repo.file("b.txt", "new\n");
        }
        traced.git(repo.path(), name, args).expect(0);
        let started = traced.started();
        assert!(started.len() <= max, "{name}: {started:#?}");
    }
}

#[test]
fn no_garbage_collection_runs_and_no_file_is_left() {
    let traced = Traced::new();
    let repo = Repo::new();
    repo.file("a.txt", "one\n").commit("start");
    for (key, value) in [
        ("gc.auto", "1"),
        ("gc.autoDetach", "true"),
        ("maintenance.auto", "true"),
        ("maintenance.autoDetach", "true"),
        ("maintenance.gc.enabled", "true"),
        ("core.fsmonitor", "true"),
    ] {
        repo.git(&["config", key, value]);
    }
    for n in 0..30 {
        repo.file(&format!("{n}.txt"), format!("{n}\n"));
    }
    traced
        .git(repo.path(), "git_commit", json!({"message": "many"}))
        .expect(0);
    for run in traced.started() {
        for word in ["\"gc\"", "maintenance\"", "fsmonitor--daemon", "repack"] {
            assert!(!run.contains(word), "git started {run}");
        }
    }
    assert!(!repo.path().join(".git/gc.log").exists());
    let loose = repo.git(&["count-objects"]);
    assert!(!loose.starts_with("0 "), "objects were packed: {loose}");
    // Older git knows only some of these, and asks them elsewhere.
    let settings = traced.events("def_param");
    for (key, expected) in [
        ("gc.auto", "0"),
        ("gc.autodetach", "false"),
        ("maintenance.auto", "false"),
        ("maintenance.autodetach", "false"),
    ] {
        // What git takes of several is the last.
        let last: HashMap<&str, &str> = settings
            .iter()
            .filter(|event| event["param"] == key)
            .filter_map(|event| Some((event["sid"].as_str()?, event["value"].as_str()?)))
            .collect();
        assert!(!last.is_empty(), "{key} is never set");
        assert!(
            last.values().all(|value| *value == expected),
            "{key}: {last:?}"
        );
    }
}

#[test]
fn a_partial_clone_reports_missing_objects_without_fetching() {
    let traced = Traced::new();
    let origin = Repo::new();
    origin
        .file("a.txt", "one\n")
        .file("b.txt", "other\n")
        .commit("start");
    origin.file("a.txt", "two\n").commit("second");
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = Repo::at(&traced.home.work());
    let url = format!("file://{}", origin.path().display());
    clone.git(&["remote", "add", "origin", &url]);
    clone.git(&["fetch", "--quiet", "--filter=blob:none", "origin", "main"]);
    clone.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    let missing = || clone.git(&["rev-list", "--objects", "--all", "--missing=print"]);
    let before = missing();
    assert!(before.contains('?'), "everything is there");

    traced.git(clone.path(), "git_status", json!({})).expect(0);
    traced.git(clone.path(), "git_log", json!({})).expect(0);
    for (name, args) in [
        ("git_blame", json!({"path": "a.txt"})),
        ("git_checkout", json!({"target": "HEAD~1"})),
    ] {
        let result = traced.git(clone.path(), name, args).expect(1);
        let output = result.errors();
        output.assert_has_for(
            &name,
            &[
                "not all of this repository's objects are here",
                "run_command",
            ],
        );
        traced
            .started()
            .join("\n")
            .assert_lacks(&["fetch", "upload-pack"]);
    }
    assert_eq!(missing(), before, "objects were fetched");
    assert_eq!(clone.read("a.txt"), "two\n");
}
