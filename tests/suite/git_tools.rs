//! The git tools through the binary: malicious repositories, worktrees, submodules, identities, and the caller's GIT_*.

use std::fs;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::repo::{Repo, bait, call, git, ran};
use crate::support::words::TextAssertions;

/// Every reading and writing tool once; what they say is not of interest.
fn all_of_them(home: &Home, dir: &Repo) {
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_diff", json!({"staged": true})),
        ("git_log", json!({"oneline": false})),
        ("git_blame", json!({"path": "a.x"})),
        ("git_branch", json!({})),
        ("git_commit", json!({"message": "by a tool"})),
        ("git_checkout", json!({"target": "other"})),
        ("git_checkout", json!({"target": "a.x"})),
        (
            "git_checkout",
            json!({"target": "new", "create_branch": true}),
        ),
    ] {
        git(home, dir, name, args);
    }
}

fn poison(repo: &Repo, bait: &str) {
    for key in "core.fsmonitor core.pager core.editor core.sshCommand core.askPass \
        core.alternateRefsCommand sequence.editor diff.external diff.x.command diff.x.textconv \
        merge.x.driver filter.x.clean filter.x.smudge filter.x.process credential.helper \
        gpg.program gpg.ssh.program gpg.ssh.defaultKeyCommand gc.recentObjectsHook pager.status \
        pager.log alias.status alias.commit trailer.x.command trailer.x.cmd \
        interactive.diffFilter uploadpack.packObjectsHook"
        .split_ascii_whitespace()
    {
        let shell = if key.starts_with("alias") { "!" } else { "" };
        repo.git(&["config", key, &format!("{shell}{bait}")]);
    }
    for (key, value) in [
        ("filter.x.required", "true"),
        ("commit.gpgSign", "true"),
        ("log.showSignature", "true"),
        ("gc.auto", "1"),
        ("gc.autoDetach", "false"),
        ("maintenance.autoDetach", "false"),
        ("core.hooksPath", ".githooks"),
        ("diff.submodule", "diff"),
        ("status.submoduleSummary", "true"),
    ] {
        repo.git(&["config", key, value]);
    }
    for dir in [".githooks", ".git/hooks"] {
        for hook in [
            "pre-commit",
            "commit-msg",
            "post-commit",
            "post-checkout",
            "post-index-change",
            "pre-auto-gc",
            "reference-transaction",
        ] {
            let path = repo.path().join(dir).join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            std::os::unix::fs::symlink(bait, &path).unwrap();
        }
    }
}

#[test]
fn nothing_that_a_hostile_repository_names_runs() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::new();
    repo.file(".gitattributes", "*.x filter=x diff=x merge=x\n")
        .file("a.x", "one\n")
        .commit("start");
    repo.git(&["branch", "other"]);
    repo.file("a.x", "two\n").file("b.x", "new\n");
    poison(&repo, &bait);
    all_of_them(&home, &repo);
    let ran = ran(&mark);
    assert_eq!(ran, "", "the repository's programs ran");
    repo.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "log.showSignature=false",
        "log",
        "--all",
        "--format=%s",
    ])
    .assert_has(&["by a tool"]);
}

#[test]
fn included_files_and_names_in_odd_spelling_run_nothing_either() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::new();
    repo.file(".gitattributes", "*.x filter=Odd.Name\n*.y filter=inc\n")
        .file("a.x", "one\n")
        .file("a.y", "one\n")
        .commit("start");
    repo.git(&["branch", "other"]);
    repo.file(
        "evil.cfg",
        format!("[filter \"inc\"]\n\tclean = {bait}\n\tsmudge = {bait}\n"),
    );
    repo.git(&["config", "include.path", "../evil.cfg"]);
    repo.git(&["config", "filter.Odd.Name.clean", &bait]);
    repo.git(&["config", "filter.Odd.Name.smudge", &bait]);
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    repo.git(&["config", "--worktree", "core.fsmonitor", &bait]);
    repo.file("a.x", "two\n").file("a.y", "two\n");
    all_of_them(&home, &repo);
    assert_eq!(ran(&mark), "");
}

#[test]
fn a_submodule_that_means_harm_runs_nothing() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::new();
    repo.file("a.x", "one\n").commit("start");
    let inner = Repo::at(&repo.path().join("inner"));
    inner
        .file(".gitattributes", "*.x filter=x diff=x\n")
        .file("b.x", "one\n")
        .commit("inner");
    repo.git(&["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    repo.commit("with a submodule");
    repo.git(&["branch", "other"]);
    poison(&inner, &bait);
    inner.file("b.x", "two\n");
    repo.file("a.x", "two\n");
    all_of_them(&home, &repo);
    assert_eq!(ran(&mark), "");
}

#[test]
fn missing_objects_are_not_fetched_by_a_program_of_the_repository() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::new();
    repo.file("a.x", "one\n").commit("start");
    let blob = repo.git(&["rev-parse", "HEAD:a.x"]);
    let object = repo
        .path()
        .join(".git/objects")
        .join(&blob[..2])
        .join(&blob[2..]);
    fs::remove_file(object).unwrap();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", repo.path().to_str().unwrap()),
        ("remote.origin.uploadpack", &bait),
        ("protocol.ext.allow", "always"),
    ] {
        repo.git(&["config", key, value]);
    }
    repo.file("a.x", "two\n");
    all_of_them(&home, &repo);
    assert_eq!(ran(&mark), "");
}

#[test]
fn core_worktree_does_not_move_the_working_directory() {
    let home = Home::new();
    let victim = home.path().join("victim");
    for place in [victim.clone(), home.path()] {
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("theirs.txt"), "theirs\n").unwrap();
        let repo = Repo::at(&home.work().join("repo"));
        repo.file("theirs.txt", "mine\n").commit("start");
        repo.git(&["branch", "other"]);
        repo.git(&["config", "core.worktree", place.to_str().unwrap()]);
        for (name, args) in [
            ("git_status", json!({})),
            ("git_diff", json!({})),
            ("git_commit", json!({"message": "take it"})),
            ("git_checkout", json!({"target": "other"})),
            ("git_checkout", json!({"target": "theirs.txt"})),
        ] {
            let output = git(&home, &repo, name, args).expect(1);
            output.errors().assert_has_for(&name, &["core.worktree"]);
        }
        assert_eq!(
            fs::read_to_string(victim.join("theirs.txt")).unwrap(),
            "theirs\n"
        );
        assert!(!home.path().join("theirs.txt").exists());
        fs::remove_dir_all(home.work().join("repo")).unwrap();
    }
}

#[test]
fn the_callers_git_variables_are_ignored() {
    let home = Home::new();
    let repo = Repo::new();
    repo.file("a.txt", "one\n").commit("start");
    let other = Repo::new();
    other.file("b.txt", "other\n").commit("elsewhere");
    let git_dir = other.path().join(".git");
    let run = |name: &str, args: Value| {
        call(&home, &repo, name, &args)
            .env("GIT_DIR", &git_dir)
            .env("GIT_WORK_TREE", other.path())
            .env("GIT_INDEX_FILE", git_dir.join("index"))
            .env("GIT_OBJECT_DIRECTORY", git_dir.join("objects"))
            .env("GIT_NAMESPACE", "x")
            .env("GIT_EXTERNAL_DIFF", "false")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "alias.log")
            .env("GIT_CONFIG_VALUE_0", "!false")
            .run()
    };
    run("git_log", json!({})).expect(0).stdout_has(&["start"]);
    repo.file("a.txt", "two\n");
    run("git_diff", json!({})).expect(0).stdout_has(&["+two"]);
    run("git_commit", json!({"message": "here"})).expect(0);
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "here");
    assert_eq!(other.git(&["log", "-1", "--format=%s"]), "elsewhere");
    // A command sees none of it either.
    run("run_command", json!({"command": "git status --short; env"}))
        .expect(0)
        .stdout_lacks(&["GIT_"]);
}

#[test]
fn commits_name_the_ticket_and_the_hook_that_was_skipped() {
    let home = Home::new();
    let (bait, mark) = bait(&home);
    let repo = Repo::new();
    repo.file("a.txt", "one\n").commit("start");
    std::os::unix::fs::symlink(&bait, repo.path().join(".git/hooks/pre-commit")).unwrap();
    repo.file("a.txt", "two\n");
    git(
        &home,
        &repo,
        "git_commit",
        json!({"message": "- dash; $(x)\n\nbody"}),
    )
    .expect(0)
    .stdout_has(&["pre-commit hook was skipped"]);
    assert_eq!(
        repo.git(&["log", "-1", "--format=%B"]),
        "- dash; $(x)\n\nbody"
    );
    assert!(!mark.exists());
    git(&home, &repo, "git_commit", json!({"message": "x"}))
        .expect(0)
        .stdout_has(&["nothing to commit"]);
}

#[test]
fn names_that_are_not_plain_are_shown_and_taken_as_they_are() {
    let home = Home::new();
    let repo = Repo::new();
    for name in ["n\u{e4}me.txt", "with space.txt", "-dash.txt", "*.txt"] {
        repo.file(name, "one\n");
    }
    repo.commit("start");
    for name in ["n\u{e4}me.txt", "with space.txt", "-dash.txt", "*.txt"] {
        repo.file(name, "two\n");
    }
    git(&home, &repo, "git_status", json!({}))
        .expect(0)
        .stdout_has(&["n\u{e4}me.txt"]);
    git(&home, &repo, "git_diff", json!({"path": "*.txt"}))
        .expect(0)
        .stdout_lacks(&["space"]);
    git(&home, &repo, "git_blame", json!({"path": "-dash.txt"}))
        .expect(0)
        .stdout_has(&["two"]);
    git(&home, &repo, "git_checkout", json!({"target": "*.txt"})).expect(0);
    assert_eq!(
        (repo.read("*.txt"), repo.read("-dash.txt")),
        ("one\n".into(), "two\n".into())
    );
    git(&home, &repo, "git_checkout", json!({"target": "-dash.txt"})).expect(1);
    git(
        &home,
        &repo,
        "git_checkout",
        json!({"target": "./-dash.txt"}),
    )
    .expect(0);
    assert_eq!(repo.read("-dash.txt"), "one\n");
}

#[test]
fn outside_a_repository_the_message_is_plain() {
    let home = Home::new();
    git(&home, home.work(), "git_status", json!({}))
        .expect(1)
        .stderr_has(&["not in a git repository", "git init"]);
    let repo = Repo::new();
    assert_eq!(
        git(&home, &repo, "git_log", json!({})).expect(0).text(),
        "No commits yet.\n"
    );
    assert_eq!(
        git(&home, &repo, "git_branch", json!({})).expect(0).text(),
        "No branches yet.\n"
    );
    git(&home, &repo, "git_status", json!({}))
        .expect(0)
        .stdout_has(&["No commits yet"]);
}
