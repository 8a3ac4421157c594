//! The repository that the git tools work in: never one that does not record the working directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::git_folder::state;
use crate::support::home::Home;
use crate::support::repo::{Repo, git};
use crate::support::words::TextAssertions;

/// Every tool says that it does not work here, and why.
fn refused(home: &Home, dir: &Path, reason: &str) {
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_log", json!({})),
        ("git_blame", json!({"path": "a.txt"})),
        ("git_branch", json!({})),
        ("git_commit", json!({"message": "take it"})),
        ("git_checkout", json!({"target": "a.txt"})),
    ] {
        let output = git(home, dir, name, args).expect(1);
        output.errors().assert_has_for(&name, &[reason]);
    }
}

fn works(home: &Home, dir: &Path) {
    let old = fs::read_to_string(dir.join("a.txt")).unwrap();
    fs::write(dir.join("a.txt"), old + "changed\n").unwrap();
    git(home, dir, "git_status", json!({}))
        .expect(0)
        .stdout_has(&[" M a.txt"]);
    git(home, dir, "git_commit", json!({"message": "here"})).expect(0);
    git(home, dir, "git_log", json!({}))
        .expect(0)
        .stdout_has(&["here"]);
}

/// Puts a `.git` into a folder.
type Trap<'a> = &'a dyn Fn(&Path);

#[test]
fn a_git_entry_pointing_to_a_foreign_repository_is_refused() {
    let home = Home::new();
    let victim = Repo::at(&home.path().join("victim"));
    victim.file("a.txt", "theirs\n").commit("theirs");
    victim.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let before = state(&victim);
    let real = victim.path().join(".git");
    let traps: [(&str, Trap<'_>); 5] = [
        ("file", &|trap| {
            fs::write(trap.join(".git"), format!("gitdir: {}\n", real.display())).unwrap();
        }),
        ("relative", &|trap| {
            fs::write(trap.join(".git"), "gitdir: ../../victim/.git").unwrap();
        }),
        ("worktree", &|trap| {
            fs::write(
                trap.join(".git"),
                "gitdir: ../../victim/.git/worktrees/side\n",
            )
            .unwrap();
        }),
        ("link", &|trap| symlink(&real, trap.join(".git")).unwrap()),
        ("shared", &|trap| {
            // A folder of its own that borrows the branches, the settings and the objects.
            let own = trap.join(".git");
            fs::create_dir(&own).unwrap();
            fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(own.join("commondir"), real.to_str().unwrap()).unwrap();
            fs::write(own.join("gitdir"), own.to_str().unwrap()).unwrap();
        }),
    ];
    for (name, set) in traps {
        let trap = home.path().join("traps").join(name);
        fs::create_dir_all(&trap).unwrap();
        fs::write(trap.join("a.txt"), "mine\n").unwrap();
        set(&trap);
        refused(&home, &trap, "knows nothing of this directory");
        fs::create_dir(trap.join("below")).unwrap();
        let output = git(&home, trap.join("below"), "git_log", json!({})).expect(1);
        assert!(output.errors().contains("knows nothing"), "{name}");
        assert_eq!(state(&victim), before, "{name}");
    }
}

#[test]
fn worktrees_and_submodules_of_each_other_are_followed() {
    let home = Home::new();
    let library = Repo::at(&home.path().join("library"));
    library.file("a.txt", "one\n").commit("library");
    let repo = Repo::at(&home.path().join("main"));
    repo.file("a.txt", "one\n").commit("start");
    let from = library.path().to_str().unwrap();
    let allow = "protocol.file.allow=always";
    repo.git(&["-c", allow, "submodule", "--quiet", "add", from, "lib"]);
    repo.commit("with a submodule");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let side = home.path().join("side");
    repo.git(&[
        "-C",
        "../side",
        "-c",
        allow,
        "submodule",
        "--quiet",
        "update",
        "--init",
    ]);
    repo.git(&[
        "-C",
        "lib",
        "worktree",
        "add",
        "--quiet",
        "-b",
        "x",
        "../../of-lib",
    ]);
    for dir in ["main", "side", "main/lib", "side/lib", "of-lib"] {
        let dir = home.path().join(dir);
        for (key, value) in [("user.name", "Zaphod"), ("user.email", "z@example.org")] {
            library.git(&["-C", dir.to_str().unwrap(), "config", key, value]);
        }
        works(&home, &dir);
    }
    // Paths of a worktree may be relative to its records.
    fs::write(
        repo.path().join(".git/worktrees/side/gitdir"),
        "../../../../side/.git\n",
    )
    .unwrap();
    git(&home, &side, "git_log", json!({})).expect(0);
    // With settings of its own each worktree has its own core.worktree, or none.
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    git(&home, &side, "git_log", json!({})).expect(0);
    let elsewhere = home.work();
    repo.git(&[
        "-C",
        "../side",
        "config",
        "--worktree",
        "core.worktree",
        elsewhere.to_str().unwrap(),
    ]);
    refused(&home, &side, "core.worktree");
}

#[test]
fn a_repository_kept_apart_must_name_its_directory() {
    let home = Home::new();
    let top = home.path().join("top");
    let apart = home.path().join("apart");
    let repo = Repo::at(&top);
    repo.file("a.txt", "one\n").commit("start");
    fs::rename(top.join(".git"), &apart).unwrap();
    fs::write(top.join(".git"), "gitdir: ../apart\n").unwrap();
    refused(&home, &top, "git config core.worktree");
    repo.git(&["config", "core.worktree", top.to_str().unwrap()]);
    works(&home, &top);
    // Inside the directory it can only be its own.
    repo.git(&["config", "--unset", "core.worktree"]);
    fs::rename(&apart, top.join("inner")).unwrap();
    fs::write(top.join(".git"), "gitdir: inner\n").unwrap();
    fs::write(top.join("inner/info/exclude"), "/inner\n").unwrap();
    works(&home, &top);
}

#[test]
fn an_invalid_git_entry_is_explained() {
    let home = Home::new();
    let repo = Repo::at(&home.path().join("main"));
    repo.file("a.txt", "one\n").commit("start");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    fs::rename(home.path().join("side"), home.path().join("moved")).unwrap();
    let moved = home.path().join("moved");
    refused(&home, &moved, "git worktree repair");
    repo.git(&["worktree", "repair", "../moved"]);
    works(&home, &moved);
    fs::rename(repo.path(), home.path().join("gone")).unwrap();
    refused(&home, &moved, "which is not there");
    for text in ["", "nonsense\n", "gitdir:\0\n"] {
        fs::write(moved.join(".git"), text).unwrap();
        let output = git(&home, &moved, "git_status", json!({})).expect(1);
        output.errors().assert_has_for(&text, &[".git"]);
    }
}

#[test]
fn folders_that_only_look_like_repositories_are_skipped() {
    let home = Home::new();
    let repo = Repo::at(&home.path().join("main"));
    repo.file("below/a.txt", "one\n").commit("start");
    fs::create_dir(repo.path().join("below/.git")).unwrap();
    works(&home, &repo.path().join("below"));
    // git does not recognise this as a repository and would search further up; it is kept here.
    fs::write(repo.path().join("below/.git/HEAD"), "nonsense").unwrap();
    git(&home, repo.path().join("below"), "git_log", json!({}))
        .expect(1)
        .stderr_has(&["not in a git repository"]);
    // A bare one has a history and no working tree.
    repo.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = home.path().join("bare.git");
    git(&home, &bare, "git_log", json!({})).expect(0);
    git(&home, &bare, "git_status", json!({}))
        .expect(1)
        .stderr_has(&["work tree"]);
}

#[test]
fn a_program_in_the_middle_of_a_very_long_configuration_does_not_run() {
    let home = Home::new();
    let repo = Repo::new();
    repo.file(".gitattributes", "*.txt filter=x\n")
        .file("a.txt", "one\n")
        .commit("start");
    let mark = home.path().join("ran");
    let padding = |from: usize| -> String {
        let key = |n| format!("\tkey{n} = \"{}\"\n", "v".repeat(40));
        format!(
            "[user]\n{}",
            (from..from + 4000).map(key).collect::<String>()
        )
    };
    let bait = format!(
        "{}[filter \"x\"]\n\tclean = touch {}; cat\n{}",
        padding(0),
        mark.display(),
        padding(4000)
    );
    let config = repo.read(".git/config");
    repo.file(".git/config", format!("{config}{bait}"));
    repo.file("a.txt", "two\n");
    git(&home, &repo, "git_status", json!({})).expect(0);
    git(&home, &repo, "git_commit", json!({"message": "long"})).expect(0);
    assert!(!mark.exists(), "the filter ran");
    // Unknown settings would have to be disabled one by one.
    let config = repo
        .read(".git/config")
        .replace("[user]\n\tkey", "[padding]\n\tkey");
    repo.file(".git/config", config);
    git(&home, &repo, "git_status", json!({}))
        .expect(1)
        .stderr_has(&["8,001 settings"]);
    assert!(!mark.exists(), "the filter ran");
}
