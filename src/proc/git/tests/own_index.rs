//! Commits of one folder beside what a person has staged elsewhere.

use super::Repo;
use crate::base::testing::assert_has;
use crate::proc::git::Git;
use std::fs;

const AS: &str = "git -c user.name=a -c user.email=b@c";

/// A repository with a folder of ours and one of theirs.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.sh(
        "mkdir our their && echo 1 > our/a && for name in b c d e; do echo 1 > their/$name; done",
    );
    repo.git().commit("first", true).unwrap();
    repo
}

fn said(repo: &Repo, command: &str) -> String {
    let out = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(repo.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{command}: {out:?}");
    String::from_utf8(out.stdout).unwrap()
}

fn ours(repo: &Repo) -> Git<'_> {
    Git::open(&repo.path().join("our"), &repo.env, &repo.stop).unwrap()
}

#[test]
fn whatever_they_have_staged_is_in_their_index_at_every_moment() {
    for theirs in [
        "echo 2 > their/b && git add their/b && echo 3 > their/b",
        "git rm -q their/c && git mv their/d their/moved && git update-index --chmod=+x their/e",
        "echo x > their/new && git add -N their/new && echo 2 > their/b && git add their/b",
        // A submodule, of which only the commit is staged.
        "git init -q their/sub && cd their/sub && git -c user.name=a -c user.email=b@c commit -q --allow-empty -m s && cd ../.. && git add their/sub 2>&1",
    ] {
        let repo = repo();
        repo.sh(theirs);
        repo.sh("echo 2 > our/a && echo new > our/intended && git add -N our/intended && echo 1 > our/b");
        let listed = || {
            said(
                &repo,
                "git ls-files --stage their; git status --porcelain their",
            )
        };
        let before = listed();
        let git = ours(&repo);
        git.stage(&git.launch).unwrap();
        let index = || fs::read(repo.path().join(".git/index")).unwrap();
        let staged = index();
        git.with_own_staged(|own| {
            // A kill here, or at any moment until the end, leaves this file.
            assert!(index() == staged, "{theirs}");
            let made = own.commit_staged(own, &git.launch, "ours", true, &Default::default());
            assert!(index() == staged, "{theirs}");
            made
        })
        .unwrap();
        assert_eq!(listed(), before, "{theirs}");
        let made = said(&repo, "git show --format=%s --name-status HEAD");
        assert_eq!(
            made, "ours\n\nM\tour/a\nA\tour/b\nA\tour/intended\n",
            "{theirs}"
        );
        assert_eq!(said(&repo, "git status --porcelain our"), "", "{theirs}");
        assert!(!repo.path().join(".git/marvin-index").exists());
    }
}

#[test]
fn a_conflict_of_theirs_stays_theirs_and_what_a_killed_commit_left_is_no_obstacle() {
    let repo = repo();
    repo.sh(&format!(
        "echo 2 > their/b && {AS} stash -q && echo 3 > their/b && {AS} commit -qam theirs; git stash pop >/dev/null 2>&1; true"
    ));
    repo.sh("echo 2 > our/a && touch .git/marvin-index .git/marvin-index.lock");
    let listed = || {
        said(
            &repo,
            "git ls-files --unmerged; git status --porcelain their",
        )
    };
    let before = listed();
    assert_has(&before, &["UU their/b"]);
    let git = ours(&repo);
    git.commit_beneath("ours", true).unwrap();
    git.checkpoint("a step").unwrap();
    assert_eq!(listed(), before);
    let made = said(&repo, "git log -2 --format=%s --name-only");
    assert_eq!(made, "a step\nours\n\nour/a\n");
}

#[test]
fn the_first_commit_and_those_of_a_linked_worktree_are_of_the_folder_alone_too() {
    let repo = repo();
    repo.sh("git worktree add -q ../linked && mkdir ../linked/our/deep && echo 1 > ../linked/our/deep/a && echo 2 > ../linked/their/b && git -C ../linked add their");
    let there = repo.dir.path().join("linked");
    Git::open(&there.join("our/deep"), &repo.env, &repo.stop)
        .unwrap()
        .commit_beneath("linked", true)
        .unwrap();
    let asked = |command: &str| said(&repo, &format!("cd ../linked && {command}"));
    assert_eq!(asked("git show --format= --name-only HEAD"), "our/deep/a\n");
    assert_eq!(asked("git status --porcelain"), "M  their/b\n");
    let repo = Repo::new();
    repo.sh("mkdir our && echo 1 > our/a && git add a.txt");
    ours(&repo).checkpoint("first").unwrap();
    assert_eq!(said(&repo, "git ls-tree -r --name-only HEAD"), "our/a\n");
    assert_eq!(said(&repo, "git status --porcelain"), "A  a.txt\n");
}
