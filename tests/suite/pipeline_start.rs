//! Where a run of the pipeline starts and where it does not: the state of the folder, of the repository, of an earlier run. None of these reaches a model.

use std::fs;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::support::cost::Cost;
use crate::support::home::Home;
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};

const TASK: &str = "A program that counts words.";

/// A run in `dir`; the model's address is closed.
fn start(home: &Home, dir: &Path) -> Marvin {
    home.marvin()
        .line("--non-interactive --design-first --provider openai-compat")
        .args(["--model", "all=m", "--prompt", TASK])
        .arg("--working-dir")
        .arg(dir)
        .env("OPENAI_COMPAT_URL", "http://127.0.0.1:9/v1")
        .env("OPENAI_COMPAT_API_KEY", "k")
}

/// The run is refused with these words and a cost line of nothing, and says nothing on standard output.
fn refused(done: &Done, words: &[&str]) {
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{errors}");
    assert!(
        done.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&done.stdout)
    );
    assert_eq!(Cost::last_line(&errors).llm_turns, 0);
    for word in words {
        assert!(errors.contains(word), "\"{word}\" is missing in: {errors}");
    }
}

/// What a repository holds besides its working tree.
fn refs(repo: &Repo) -> String {
    [
        &["for-each-ref", "--format=%(refname) %(objectname)"][..],
        &["symbolic-ref", "--quiet", "HEAD"],
        &["stash", "list"],
        &["config", "--local", "--list"],
    ]
    .map(|args| repo.git(args))
    .join("\n")
}

fn repo_with_commit() -> Repo {
    let repo = Repo::new();
    repo.file("src/main.py", "print(1)\n").commit("first");
    repo
}

#[test]
fn a_folder_is_needed_and_must_exist() {
    let home = Home::new();
    let bare = home
        .marvin()
        .args(["--non-interactive", "--design-first", "--prompt", TASK]);
    refused(&bare.run(), &["--working-dir"]);
    refused(
        &start(&home, &home.path().join("absent")).run(),
        &["absent", "--working-dir"],
    );
}

#[test]
fn without_a_provider_the_run_says_what_to_set() {
    let home = Home::new();
    let run = home
        .marvin()
        .args([
            "--non-interactive",
            "--design-first",
            "--prompt",
            TASK,
            "--provider",
            "offline",
        ])
        .arg("--working-dir")
        .arg(home.work());
    refused(&run.run(), &["No model", "doctor"]);
    assert!(
        !home.has("work/.git") && !home.has("work/.marvin"),
        "nothing is made"
    );
}

#[test]
fn uncommitted_work_is_named_and_left_alone() {
    let home = Home::new();
    let repo = repo_with_commit();
    repo.file("src/main.py", "print(2)\n")
        .file("notes.txt", "mine\n");
    repo.file("staged.txt", "mine too\n")
        .git(&["add", "staged.txt"]);
    let before = (refs(&repo), repo.git(&["status", "--porcelain"]));
    // The caller's variables lead to another repository, which is clean.
    let other = repo_with_commit();
    let led = start(&home, repo.path())
        .env("GIT_DIR", other.path().join(".git"))
        .env("GIT_WORK_TREE", other.path())
        .env("GIT_INDEX_FILE", other.path().join(".git/index"));
    for run in [start(&home, repo.path()), led] {
        let named = ["--allow-dirty", "src/main.py", "notes.txt", "staged.txt"];
        refused(&run.arg("--in-place").run(), &named);
    }
    let after = repo.git(&["status", "--porcelain"]);
    assert_eq!((refs(&repo), after), before);
    assert_eq!(repo.read("src/main.py"), "print(2)\n");
}

#[test]
fn a_repository_in_the_middle_of_something_is_refused() {
    let home = Home::new();
    let repo = repo_with_commit();
    repo.git(&["checkout", "--quiet", "-b", "other"]);
    repo.file("src/main.py", "print(3)\n").commit("theirs");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.file("src/main.py", "print(4)\n").commit("ours");
    let merge = std::process::Command::new("git")
        .args([
            "-C",
            repo.path().to_str().unwrap(),
            "merge",
            "--quiet",
            "other",
        ])
        .output()
        .unwrap();
    assert!(!merge.status.success(), "the branches conflict");
    refused(&start(&home, repo.path()).run(), &["merge", "abort"]);
    repo.git(&["merge", "--abort"]);
    repo.git(&["checkout", "--quiet", "--detach"]);
    let run = start(&home, repo.path()).arg("--in-place");
    refused(&run.run(), &["detached", "--branch"]);
}

#[test]
fn without_git_the_run_says_what_is_missing() {
    let home = Home::new();
    fs::create_dir(home.path().join("empty")).unwrap();
    let run = start(&home, &home.work()).env("PATH", home.path().join("empty"));
    refused(&run.run(), &["git", "Install"]);
    assert!(!home.has("work/.git") && !home.has("work/.tickets"));
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let home = Home::new();
    let (inner, outer) = (repo_with_commit(), repo_with_commit());
    let url = inner.path().display().to_string();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    outer.git(&[&add[..], &[&url, "part"]].concat());
    outer.commit("with a part");
    let part = outer.path().join("part");
    fs::write(part.join("notes.txt"), "of the user").unwrap();
    let in_place = || start(&home, &part).arg("--in-place");
    refused(&in_place().run(), &["--allow-dirty", "notes.txt"]);
    // As it is after an update of submodules.
    fs::remove_file(part.join("notes.txt")).unwrap();
    outer.git(&["-C", "part", "checkout", "--quiet", "--detach"]);
    refused(&in_place().run(), &["detached", "--branch"]);
}

#[test]
fn where_children_could_write_nothing_no_run_is_begun() {
    let home = Home::new();
    let repo = repo_with_commit();
    let before = (
        refs(&repo),
        repo.git(&["status", "--porcelain", "--ignored"]),
    );
    for (flags, words) in [
        ("--permission-mode plan", ["look and plan", "acceptEdits"]),
        (
            "--sandbox read-only",
            ["may change no files", "workspace-write"],
        ),
        (
            "--tools none",
            ["no tool that writes files", "without --tools"],
        ),
        (
            "--tools web",
            ["no tool that writes files", "without --tools"],
        ),
        (
            "--disallowed-tools create_file",
            ["no tool that writes files", "create_file"],
        ),
    ] {
        let done = start(&home, repo.path()).line(flags).run();
        refused(&done, &words);
        refused(&done, &["so it is with its children"]);
    }
    let readonly = start(&home, repo.path()).env("MARVIN_READONLY", "1").run();
    refused(
        &readonly,
        &["MARVIN_READONLY", "so it is with its children"],
    );
    let after = (
        refs(&repo),
        repo.git(&["status", "--porcelain", "--ignored"]),
    );
    assert_eq!(after, before);
    assert!(
        !home.has(".local/share/marvin/worktrees"),
        "no worktree is made"
    );
}

#[test]
fn a_bare_repository_is_refused() {
    let home = Home::new();
    let bare = home.path().join("bare.git");
    fs::create_dir(&bare).unwrap();
    let done = std::process::Command::new("git")
        .args(["init", "--quiet", "--bare"])
        .arg(&bare)
        .output()
        .unwrap();
    assert!(done.status.success());
    refused(&start(&home, &bare).run(), &["bare"]);
}

#[test]
fn a_start_that_is_refused_leaves_no_worktree() {
    let home = Home::new();
    let repo = repo_with_commit();
    repo.file(".tickets", "no folder").commit("tickets");
    let before = refs(&repo);
    let done = start(&home, repo.path()).run();
    refused(&done, &[".tickets", "Removed the worktree"]);
    assert_eq!(refs(&repo), before);
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
    // A ceiling below which nothing can be done.
    let repo = repo_with_commit();
    let before = refs(&repo);
    let done = start(&home, repo.path()).args(["--max-cost", "0"]).run();
    refused(
        &done,
        &[
            "ceiling of $0.00",
            "higher --max-cost",
            "Removed the worktree",
        ],
    );
    assert_eq!(refs(&repo), before);
    let name = std::os::unix::ffi::OsStrExt::from_bytes(b"in\xff");
    let dir = home.path().join::<&std::ffi::OsStr>(name);
    fs::create_dir(&dir).unwrap();
    refused(&start(&home, &dir).run(), &["is not UTF-8"]);
}

#[test]
fn a_second_run_in_the_same_folder_is_refused_with_the_process_of_the_first() {
    let home = Home::new();
    let repo = repo_with_commit();
    repo.file(".marvin/logs/pipeline.lock", "4242424   \n");
    let lock = fs::File::open(repo.path().join(".marvin/logs/pipeline.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    refused(
        &start(&home, repo.path()).run(),
        &["running", "4242424", "marvin pipeline status"],
    );
}

#[test]
fn an_unknown_word_in_the_state_file_stops_the_run_and_stays() {
    let home = Home::new();
    let repo = repo_with_commit();
    repo.file(".marvin/pipeline_state", "9z");
    refused(&start(&home, repo.path()).run(), &["9z", "pipeline_state"]);
    assert_eq!(repo.read(".marvin/pipeline_state"), "9z");
}

#[test]
fn a_run_for_another_task_is_not_continued() {
    let home = Home::new();
    let repo = repo_with_commit();
    repo.file(".marvin/pipeline_state", "1a");
    let record = r#"{"task":"A game of chess.","ticket":"","started":"","base":"","working":"","finished":false}"#;
    repo.file(".marvin/logs/pipeline.json", record);
    refused(
        &start(&home, repo.path()).run(),
        &["A game of chess.", "another directory"],
    );
}

#[test]
fn a_finished_run_has_nothing_left_to_do() {
    let home = Home::new();
    let repo = repo_with_commit();
    let text = "A line of the document.\n".repeat(50);
    for name in ["spec", "ux", "design"] {
        repo.file(&format!(".marvin/{name}.md"), &text);
    }
    repo.file(".marvin/pipeline_state", "5\n");
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let done = start(&home, repo.path()).run();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{errors}");
    assert_eq!(
        repo.git(&["rev-parse", "HEAD"]),
        commit,
        "no commit is made"
    );
}

#[test]
fn links_out_of_the_project_are_not_followed() {
    let home = Home::new();
    let repo = repo_with_commit();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path().join(".marvin")).unwrap();
    let done = start(&home, repo.path()).run();
    refused(&done, &["symbolic link"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}
