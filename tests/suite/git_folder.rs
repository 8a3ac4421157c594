//! The allowed contents of a repository's folder: nothing is read or written through a symlink that leads out of it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::repo::{Repo, git};

fn every_call() -> [(&'static str, Value); 9] {
    [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_diff", json!({"staged": true})),
        ("git_log", json!({})),
        ("git_blame", json!({"path": "a.txt"})),
        ("git_branch", json!({})),
        ("git_commit", json!({"message": "echo pwned"})),
        (
            "git_checkout",
            json!({"target": "x", "create_branch": true}),
        ),
        ("git_checkout", json!({"target": "a.txt"})),
    ]
}

/// The call that writes most, and another one: all of them look at the folder in one place, and over many links each has its turn.
fn some_calls(n: usize) -> [(&'static str, Value); 2] {
    let all = every_call();
    [all[6].clone(), all[n % all.len()].clone()]
}

/// What a repository must keep: its branches, its index and its settings.
pub(crate) fn state(repo: &Repo) -> (String, String, Vec<u8>) {
    (
        repo.git(&["for-each-ref"]),
        repo.read(".git/config"),
        fs::read(repo.path().join(".git/index")).unwrap(),
    )
}

fn put_link(repo: &Repo, name: &str, target: &Path) {
    let place = repo.path().join(".git").join(name);
    match place.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(&place).unwrap(),
        Ok(_) => fs::remove_file(&place).unwrap(),
        Err(_) => fs::create_dir_all(place.parent().unwrap()).unwrap(),
    }
    symlink(target, &place).unwrap();
}

#[test]
fn a_link_that_leads_out_is_neither_read_nor_written() {
    let home = Home::new();
    let theirs = Repo::at(&home.path().join("theirs"));
    theirs.file("a.txt", "theirs\n").commit("swordfish");
    theirs.git(&["pack-refs", "--all"]);
    let text = "the password is swordfish\n";
    let file = home.write("secret", text);
    let real = theirs.path().join(".git");
    let before = state(&theirs);
    let links = [
        ("packed-refs", &file),
        ("shallow", &file),
        ("objects/info/alternates", &file),
        ("objects/info", &real.join("objects/info")),
        ("info/grafts", &file),
        ("info/sparse-checkout", &file),
        ("info/attributes", &file),
        ("info", &real.join("info")),
        ("MERGE_HEAD", &file),
        ("MERGE_MSG", &file),
        ("MERGE_RR", &file),
        ("CHERRY_PICK_HEAD", &file),
        ("COMMIT_EDITMSG", &file),
        ("COMMIT_EDITMSG", &home.path().join("not-yet")),
        ("config", &file),
        ("config", &real.join("config")),
        ("config.worktree", &file),
        ("commondir", &file),
        ("HEAD", &real.join("HEAD")),
        ("index", &real.join("index")),
        ("refs", &real.join("refs")),
        ("refs/heads", &real.join("refs/heads")),
        ("refs/heads/main", &real.join("refs/heads/main")),
        ("objects", &real.join("objects")),
        ("objects/pack", &real.join("objects/pack")),
        ("ORIG_HEAD", &file),
        ("logs", &real.join("logs")),
        ("logs/HEAD", &file),
        ("logs/refs/heads/main", &file),
        ("reftable", &file),
        ("rebase-merge", &home.path()),
        ("FETCH_HEAD", &file),
        ("unheard-of", &file),
    ];
    for (n, (name, target)) in links.into_iter().enumerate() {
        let repo = Repo::at(&home.path().join("trap"));
        repo.file("a.txt", "mine\n").commit("start");
        put_link(&repo, name, target);
        repo.file("a.txt", "changed\n");
        for (tool, args) in some_calls(n) {
            let result = git(&home, &repo, tool, args).expect(1);
            let output = result.output();
            assert!(!output.contains("swordfish"), "{name}, {tool}: {output}");
            assert!(
                output.contains("leads out of the repository") || name == "commondir",
                "{name}, {tool}: {output}"
            );
        }
        assert_eq!(home.read("secret"), text, "{name}");
        assert!(!home.has("not-yet"), "{name}");
        fs::remove_dir_all(repo.path()).unwrap();
    }
    assert_eq!(state(&theirs), before);
}

#[test]
fn the_list_of_a_borrowed_object_folder_is_not_quoted() {
    let home = Home::new();
    let text = "the password is swordfish\n";
    let file = home.write("secret", text);
    let repo = Repo::at(&home.path().join("trap"));
    repo.file("a.txt", "mine\n").commit("start");
    repo.file("more/info/x", "")
        .file(".git/objects/info/alternates", "../../more\n");
    symlink(&file, repo.path().join("more/info/alternates")).unwrap();
    for (tool, args) in every_call() {
        let result = git(&home, &repo, tool, args).expect(1);
        let output = result.output();
        assert!(!output.contains("swordfish"), "{tool}: {output}");
    }
}

#[test]
fn a_link_to_an_unchecked_inner_folder_is_refused() {
    let home = Home::new();
    let file = home.write("secret", "the password is swordfish\n");
    for (n, hidden) in ["lfs/info", "hooks/info", "unheard-of/info"]
        .into_iter()
        .enumerate()
    {
        let repo = Repo::at(&home.path().join("trap"));
        repo.file("a.txt", "mine\n").commit("start");
        put_link(&repo, "info", Path::new(hidden));
        put_link(&repo, &format!("{hidden}/grafts"), &file);
        for (tool, args) in some_calls(n) {
            let result = git(&home, &repo, tool, args).expect(1);
            let output = result.output();
            assert!(!output.contains("swordfish"), "{hidden}, {tool}: {output}");
        }
        fs::remove_dir_all(repo.path()).unwrap();
    }
}

#[test]
fn references_of_a_nested_repository_disclose_nothing() {
    let home = Home::new();
    let file = home.write("secret", "the password is swordfish\n");
    let repo = Repo::at(&home.path().join("trap"));
    repo.file("a.txt", "mine\n").commit("start");
    let below = Repo::at(&repo.path().join("below"));
    below.file("b.txt", "b\n").commit("below");
    for tracked in [false, true] {
        if tracked {
            repo.git(&["add", "below"]);
        }
        let own = below.path().join(".git");
        let kept = fs::read(own.join("refs/heads/main")).unwrap();
        fs::remove_file(own.join("refs/heads/main")).unwrap();
        symlink(&file, own.join("packed-refs")).unwrap();
        for (tool, args) in every_call() {
            let result = git(&home, &repo, tool, args);
            let output = result.output();
            assert!(!output.contains("swordfish"), "{tool}: {output}");
        }
        fs::remove_file(own.join("packed-refs")).unwrap();
        fs::write(own.join("refs/heads/main"), kept).unwrap();
    }
}

#[test]
fn a_fifo_in_place_of_a_file_does_not_block_a_call() {
    let home = Home::new();
    let repo = Repo::at(&home.path().join("trap"));
    repo.file("a.txt", "mine\n").commit("start");
    let fifo = repo.path().join(".git/shallow");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    git(&home, &repo, "git_log", json!({}))
        .expect(1)
        .stderr_has(&["shallow"]);
}

#[test]
fn links_that_git_does_not_follow_here_may_lead_out() {
    let home = Home::new();
    let hooks = home.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let patterns = home.write("patterns", "*.o\n");
    let repo = Repo::at(&home.path().join("own"));
    repo.file("a.txt", "one\n").commit("start");
    put_link(&repo, "hooks", &hooks);
    put_link(&repo, "info/exclude", &patterns);
    put_link(&repo, "lfs", &hooks);
    repo.file("a.o", "object\n").file("a.txt", "two\n");
    git(&home, &repo, "git_status", json!({}))
        .expect(0)
        .stdout_lacks(&["a.o"]);
    git(&home, &repo, "git_commit", json!({"message": "two"})).expect(0);
    assert_eq!(home.read("patterns"), "*.o\n");
    // A HEAD that is a link inside, as git itself once made it; before the first commit it points to nothing.
    let repo = Repo::at(&home.path().join("unborn"));
    put_link(&repo, "HEAD", Path::new("refs/heads/main"));
    repo.file("a.txt", "one\n");
    git(&home, &repo, "git_commit", json!({"message": "first"})).expect(0);
}

#[test]
fn a_parent_repository_is_never_used_by_name() {
    for (n, name) in ["a:b", "a\u{e9}:", "plain"]
        .map(OsStr::new)
        .into_iter()
        .chain([OsStr::from_bytes(b"x\xff")])
        .enumerate()
    {
        let home = Home::new();
        let outer = Repo::at(&home.path().join(Path::new(name)));
        outer.file("a.txt", "theirs\n").commit("theirs");
        // git takes this for no repository and looks higher.
        let inner = outer.path().join("inner");
        fs::create_dir_all(inner.join(".git/objects")).unwrap();
        fs::create_dir_all(inner.join(".git/refs")).unwrap();
        fs::write(inner.join(".git/HEAD"), "nonsense").unwrap();
        fs::write(inner.join("a.txt"), "mine\n").unwrap();
        for (tool, args) in some_calls(n) {
            let output = git(&home, &inner, tool, args).expect(1);
            assert!(
                output.errors().contains("not in a git repository"),
                "{name:?}, {tool}: {}",
                output.errors()
            );
        }
        assert_eq!(outer.git(&["log", "--all", "--format=%s"]), "theirs");
        // A repository in such a folder works.
        outer.file("a.txt", "two\n");
        let output = git(&home, &outer, "git_commit", json!({"message": "here"}));
        output.expect(0);
        assert_eq!(outer.git(&["log", "-1", "--format=%s"]), "here");
    }
}

#[test]
fn hiding_scratch_writes_nothing_through_a_lock_that_is_a_link() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("a.txt", "one\n").commit("start");
    let file = home.write("theirs", "0123456789 text\n");
    put_link(&repo, "info/exclude.lock", &file);
    let args = json!({"command": "seq 1 20000"});
    git(&home, &repo, "run_command", args).expect(0);
    assert_eq!(home.read("theirs"), "0123456789 text\n");
}
