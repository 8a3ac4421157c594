//! Every git tool in ordinary repositories of every kind, with real git, which starts no other process in any of them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::git_quiet::Traced;
use crate::support::repo::Repo;
use crate::support::run::Done;
use crate::support::words::TextAssertions;

impl Traced {
    /// Calls a tool; fails the test if git starts anything.
    fn run(&self, dir: &Path, name: &str, args: &Value) -> Done {
        let output = self.git(dir, name, args.clone());
        let trace = fs::read_to_string(&self.trace).unwrap_or_default();
        let started: Vec<&str> = trace
            .lines()
            .filter(|line| line.contains("\"event\":\"child_start\""))
            .collect();
        assert!(started.is_empty(), "{name} started {started:#?}");
        output
    }

    fn said(&self, dir: &Path, name: &str, args: &Value) -> String {
        self.run(dir, name, args).expect(0).text().to_owned()
    }

    /// Every tool once, with the expected output. There is a file `a.txt` and a branch `main`.
    fn every_tool_works(&self, kind: &str, dir: &Path, branch: &str) {
        let file = dir.join("a.txt");
        let old = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{old}of {kind}\n")).unwrap();
        fs::write(dir.join("new.txt"), "new\n").unwrap();
        let has = |name: &str, args: Value, expected: &str| {
            let output = self.said(dir, name, &args);
            assert!(output.contains(expected), "{kind}, {name}: {output}");
        };
        has("git_status", json!({}), "M a.txt");
        has("git_status", json!({}), "?? new.txt");
        has("git_diff", json!({"path": "a.txt"}), &format!("+of {kind}"));
        has("git_diff", json!({"staged": true}), "");
        has("git_log", json!({}), "start");
        has("git_blame", json!({"path": "a.txt"}), &format!("of {kind}"));
        has("git_branch", json!({}), branch);
        has("git_commit", json!({"message": format!("in {kind}")}), kind);
        has("git_log", json!({"max_count": 1}), &format!("in {kind}"));
        has("git_status", json!({}), branch);
        let clean = self.said(dir, "git_status", &json!({}));
        assert!(!clean.contains("a.txt"), "{kind}: {clean}");
        has(
            "git_commit",
            json!({"message": "again"}),
            "nothing to commit",
        );
        let create = json!({"target": "topic", "create_branch": true});
        has("git_checkout", create, "topic");
        has("git_checkout", json!({"target": branch}), branch);
        fs::write(&file, "thrown away\n").unwrap();
        has(
            "git_checkout",
            json!({"target": "a.txt"}),
            "Restored a.txt.",
        );
        assert!(
            fs::read_to_string(&file)
                .unwrap()
                .ends_with(&format!("of {kind}\n"))
        );
    }
}

fn started(path: &Path) -> Repo {
    let repo = Repo::at(path);
    repo.file("a.txt", "one\n").commit("start");
    repo
}

#[test]
fn every_tool_works_in_plain_packed_and_sparse_repositories() {
    let traced = Traced::new();
    let at = |name: &str| traced.home.path().join(name);
    let plain = started(&at("plain"));
    traced.every_tool_works("plain", plain.path(), "main");

    let packed = started(&at("packed"));
    packed.git(&["gc", "--quiet"]);
    packed.git(&["pack-refs", "--all"]);
    packed.git(&["commit-graph", "write", "--reachable"]);
    packed.git(&["update-index", "--split-index", "--untracked-cache"]);
    traced.every_tool_works("packed", packed.path(), "main");

    let sparse = started(&at("sparse"));
    sparse.file("away/b.txt", "b\n").commit("more");
    sparse.git(&["sparse-checkout", "set", "here"]);
    assert!(!sparse.path().join("away").exists());
    traced.every_tool_works("sparse", sparse.path(), "main");
    assert_eq!(
        sparse.git(&["ls-tree", "--name-only", "HEAD", "away/"]),
        "away/b.txt"
    );

    // A link inside, as git itself once made HEAD.
    let linked = started(&at("linked"));
    fs::remove_file(linked.path().join(".git/HEAD")).unwrap();
    std::os::unix::fs::symlink("refs/heads/main", linked.path().join(".git/HEAD")).unwrap();
    traced.every_tool_works("linked", linked.path(), "main");
}

#[test]
fn every_tool_works_in_repositories_of_newer_formats() {
    let traced = Traced::new();
    for (kind, option) in [
        ("sha256", "--object-format=sha256"),
        ("reftable", "--ref-format=reftable"),
    ] {
        let path = traced.home.path().join(kind);
        fs::create_dir(&path).unwrap();
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
            git.args(args).current_dir(&path);
            git.env("HOME", traced.home.path()).output().unwrap()
        };
        let made = git(&["init", "--quiet", "--initial-branch=main", option]);
        if !made.status.success() {
            eprintln!("skipped: this git does not know {option}");
            continue;
        }
        fs::write(path.join("a.txt"), "one\n").unwrap();
        assert!(git(&["add", "a.txt"]).status.success());
        assert!(git(&["commit", "--quiet", "-m", "start"]).status.success());
        traced.every_tool_works(kind, &path, "main");
    }
}

#[test]
fn every_tool_works_in_worktrees_submodules_and_clones() {
    let traced = Traced::new();
    let at = |name: &str| traced.home.path().join(name);
    let origin = started(&at("origin"));
    origin.file("a.txt", "two\n").commit("start again");
    let from = origin.path().to_str().unwrap();

    origin.git(&["worktree", "add", "--quiet", "-b", "side", "../tree"]);
    traced.every_tool_works("worktree", &at("tree"), "side");
    // What a worktree does is in the repository that it belongs to.
    assert_eq!(
        origin.git(&["log", "-1", "--format=%s", "side"]),
        "in worktree"
    );
    origin.git(&["branch", "-D", "topic"]);

    let url = format!("file://{from}");
    origin.git(&["clone", "--quiet", "--depth=1", &url, "../shallow"]);
    assert!(at("shallow/.git/shallow").is_file());
    traced.every_tool_works("shallow", &at("shallow"), "main");

    origin.git(&["clone", "--quiet", "--shared", from, "../shared"]);
    assert!(at("shared/.git/objects/info/alternates").is_file());
    origin.git(&[
        "clone",
        "--quiet",
        "--shared",
        "../shared",
        "../shared-twice",
    ]);
    traced.every_tool_works("shared", &at("shared"), "main");
    traced.every_tool_works("shared-twice", &at("shared-twice"), "main");

    origin.git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--separate-git-dir=../apart.git",
        "../apart",
    ]);
    origin.git(&[
        "-C",
        "../apart",
        "config",
        "core.worktree",
        at("apart").to_str().unwrap(),
    ]);
    origin.git(&["-C", "../apart", "pull", "--quiet", from, "main"]);
    traced.every_tool_works("apart", &at("apart"), "main");

    let whole = started(&at("whole"));
    let allow = "protocol.file.allow=always";
    whole.git(&["-c", allow, "submodule", "--quiet", "add", from, "lib"]);
    whole.commit("with a submodule");
    traced.every_tool_works("whole", whole.path(), "main");
    traced.every_tool_works("submodule", &whole.path().join("lib"), "main");
    // The new commit of the submodule is a change of the whole, and can be committed.
    traced
        .said(whole.path(), "git_status", &json!({}))
        .assert_has(&["M lib"]);
    traced
        .said(whole.path(), "git_diff", &json!({}))
        .assert_has(&["+Subproject commit"]);
    traced.said(whole.path(), "git_commit", &json!({"message": "newer lib"}));
    assert_eq!(whole.git(&["show", "--format=", "--name-only"]), "lib");
}

#[test]
fn a_merge_is_detected_and_concluded() {
    let traced = Traced::new();
    let repo = started(&traced.home.path().join("merge"));
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.file("a.txt", "side\n")
        .file("gone.txt", "x\n")
        .commit("theirs");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.file("a.txt", "main\n").commit("ours");
    repo.git(&["config", "rerere.enabled", "true"]);
    let merge = ["-c", "user.name=A", "merge", "side"];
    let merged = std::process::Command::new("git")
        .args(merge)
        .current_dir(repo.path())
        .env("HOME", traced.home.path())
        .output()
        .unwrap();
    assert!(!merged.status.success(), "there was no conflict");
    let has = |name: &str, args: Value, expected: &str| {
        let output = traced.said(repo.path(), name, &args);
        assert!(output.contains(expected), "{name}: {output}");
    };
    has("git_status", json!({}), "UU a.txt");
    has("git_diff", json!({}), "<<<<<<<");
    has("git_log", json!({}), "ours");
    has("git_blame", json!({"path": "a.txt"}), "main");
    has("git_branch", json!({}), "* main");
    repo.file("a.txt", "both\n");
    has("git_commit", json!({"message": "merged"}), "merged");
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "HEAD^2"]), "theirs");
    assert_eq!(repo.read("a.txt"), "both\n");
    assert_eq!(repo.git(&["status", "--short"]), "");
    // What only one side has may be taken unchanged.
    let blob = repo.git(&["rev-parse", "HEAD:gone.txt"]);
    repo.git(&["update-index", "--force-remove", "gone.txt"]);
    let entry = format!("100644 {blob} 2\tgone.txt\n");
    repo.feed(&["update-index", "--index-info"], &entry);
    repo.file("a.txt", "both again\n");
    has("git_commit", json!({"message": "taken"}), "taken");
    assert_eq!(repo.git(&["status", "--short"]), "");
    // A merge without changes of its own is concluded too.
    repo.git(&["checkout", "--quiet", "-b", "more"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "empty"]);
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "--no-commit", "more"]);
    has(
        "git_commit",
        json!({"message": "merged more"}),
        "merged more",
    );
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "HEAD^2"]), "empty");
}

#[test]
fn every_kind_of_change_is_staged() {
    let traced = Traced::new();
    let repo = started(&traced.home.path().join("changes"));
    repo.file("gone.txt", "x\n")
        .file("kind.txt", "x\n")
        .file("deep/er/b.txt", "b\n");
    repo.file("folder/c.txt", "c\n")
        .file(".gitignore", "*.o\n")
        .commit("more");
    fs::remove_file(repo.path().join("gone.txt")).unwrap();
    fs::remove_file(repo.path().join("kind.txt")).unwrap();
    std::os::unix::fs::symlink("a.txt", repo.path().join("kind.txt")).unwrap();
    fs::remove_dir_all(repo.path().join("folder")).unwrap();
    repo.file("folder", "a file now\n")
        .file("skip.o", "no\n")
        .file("new/-x y\n.txt", "new\n");
    let inner = started(&repo.path().join("inner"));
    // From a folder below, as from the top.
    let below = repo.path().join("deep");
    traced.said(&below, "git_commit", &json!({"message": "all of it"}));
    assert_eq!(repo.git(&["status", "--short"]), "");
    let tree = repo.git(&["ls-tree", "-r", "--name-only", "-z", "HEAD"]);
    let names: Vec<&str> = tree.split('\0').filter(|name| !name.is_empty()).collect();
    assert_eq!(
        names,
        [
            ".gitignore",
            "a.txt",
            "deep/er/b.txt",
            "folder",
            "inner",
            "kind.txt",
            "new/-x y\n.txt"
        ]
    );
    assert!(
        repo.git(&["ls-tree", "HEAD", "inner", "kind.txt"])
            .starts_with("160000 commit")
    );
    assert_eq!(inner.git(&["status", "--short"]), "");
}

#[test]
fn an_ignore_revs_file_of_the_project_is_used() {
    let traced = Traced::new();
    let repo = started(&traced.home.path().join("blame"));
    repo.file("a.txt", "one\nmine\n").commit("content");
    let noise = repo.file("a.txt", "  one\n  mine\n").commit("indent");
    repo.file(".git-blame-ignore-revs", format!("# format\n{noise}\n"))
        .commit("list");
    repo.git(&["config", "blame.ignoreRevsFile", ".git-blame-ignore-revs"]);
    let blame = traced.said(repo.path(), "git_blame", &json!({"path": "a.txt"}));
    assert!(!blame.contains(&noise[..7]), "{blame}");
    // The user's own list may be anywhere.
    let own = traced.home.write("own-list", format!("{noise}\n"));
    repo.git(&["config", "--unset", "blame.ignoreRevsFile"]);
    let settings = traced.home.read(".gitconfig");
    let with_list = format!("{settings}[blame]\n\tignoreRevsFile = {}\n", own.display());
    traced.home.write(".gitconfig", with_list);
    let blame = traced.said(repo.path(), "git_blame", &json!({"path": "a.txt"}));
    assert!(!blame.contains(&noise[..7]), "{blame}");
    traced.home.write(".gitconfig", settings);

    let secret = traced.home.write("secret", "the password is swordfish\n");
    fs::remove_file(repo.path().join(".git-blame-ignore-revs")).unwrap();
    std::os::unix::fs::symlink(&secret, repo.path().join(".git-blame-ignore-revs")).unwrap();
    for list in [
        ".git-blame-ignore-revs",
        "~/secret",
        secret.to_str().unwrap(),
        "../secret",
    ] {
        repo.git(&["config", "blame.ignoreRevsFile", list]);
        let output = traced
            .run(repo.path(), "git_blame", &json!({"path": "a.txt"}))
            .expect(1);
        output
            .errors()
            .assert_has_for(&list, &["blame.ignoreRevsFile"]);
        output.errors().assert_lacks_for(&list, &["swordfish"]);
    }
}
