//! Marvin's own files in a project: in `.marvin`, never in a commit, and without a change to the user's ignore list.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::repo::{Repo, git};
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;

const ALL: &str = ".marvin/logs/\n.marvin/memories/\n.marvin/jobs/\n";

/// Output too long to show goes into the project's log folder.
fn long_output(home: &Home, dir: &Path) {
    git(home, dir, "run_command", json!({"command": "seq 1 20000"})).expect(0);
}

fn page() -> String {
    (1..=100)
        .map(|n| format!("line {n} of a page that is read again and again, and is long enough to count for some tokens\n"))
        .collect()
}

#[test]
fn a_run_that_dumps_what_it_read_commits_none_of_it() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("page.txt", page()).commit("start");
    repo.file(".git/info/exclude", "# mine\r\n*.o");
    let server = Server::answering(|_, n| match n {
        0..40 => Answer::sse(openai::call("", "read_file", json!({"path": "page.txt"}))),
        40 => Answer::sse(openai::call(
            "",
            "git_commit",
            json!({"message": "by the model"}),
        )),
        _ => says("ok"),
    });
    repo.file("new.txt", "of the project\n");
    home.ask(&server.url("/v1"), "read on")
        .args(["--model", "gpt-5.1"])
        .run()
        .expect(0);
    assert!(home.has("work/.marvin/memories/dump-page.txt.txt"));
    committed_by_the_model(&repo);
    assert_eq!(
        repo.read(".git/info/exclude"),
        format!("# mine\r\n*.o\n{ALL}")
    );
}

#[test]
fn a_run_that_backs_its_context_up_commits_none_of_it() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("page.txt", page()).commit("start");
    repo.file(".git/info/exclude", "*.o\n");
    let call = |name: &str, args: serde_json::Value| {
        let message = json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": args}}]});
        Answer::ndjson([format!(
            "{}\n",
            json!({"message": message, "done": true, "done_reason": "stop"})
        )])
    };
    let server = Server::answering(move |_, n| match n {
        0..14 => call("run_command", json!({"command": "cat page.txt"})),
        14 => call("git_commit", json!({"message": "by the model"})),
        _ => Answer::ndjson([format!(
            "{}\n",
            json!({"message": {"role": "assistant", "content": "Done."}, "done": true, "done_reason": "stop"})
        )]),
    });
    repo.file("new.txt", "of the project\n");
    home.marvin()
        .env("OLLAMA_URL", server.url(""))
        .line("--non-interactive --provider ollama --prompt on")
        .run()
        .expect(0);
    let backups = fs::read_dir(repo.path().join(".marvin/logs")).unwrap();
    let is_backup = |name: &str| name.starts_with("context-backup-");
    assert!(
        backups
            .filter_map(Result::ok)
            .any(|entry| is_backup(&entry.file_name().to_string_lossy()))
    );
    assert!(home.has("work/.marvin/memories/INDEX.md"));
    committed_by_the_model(&repo);
    assert_eq!(repo.read(".git/info/exclude"), format!("*.o\n{ALL}"));
}

fn committed_by_the_model(repo: &Repo) {
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "by the model");
    assert_eq!(repo.git(&["ls-files"]), "new.txt\npage.txt");
    assert_eq!(repo.git(&["status", "--short"]), "");
}

#[test]
fn the_lines_are_added_once_where_scratch_is_first_written() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("a.txt", "one\n").commit("start");
    fs::remove_dir_all(repo.path().join(".git/info")).unwrap();
    git(&home, &repo, "run_command", json!({"command": "true"})).expect(0);
    assert!(
        !home.has("work/.git/info/exclude"),
        "nothing was written, nothing is to hide"
    );
    long_output(&home, repo.path());
    long_output(&home, repo.path());
    assert_eq!(repo.read(".git/info/exclude"), ALL);
    assert_eq!(repo.git(&["status", "--short"]), "");
}

#[test]
fn a_part_of_a_repository_and_a_linked_worktree_use_the_one_list() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("part/a.txt", "one\n").commit("start");
    let tree = home.path().join("tree");
    repo.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "side",
        tree.to_str().unwrap(),
    ]);
    repo.file(".git/info/exclude", "");
    long_output(&home, &repo.path().join("part"));
    assert_eq!(repo.git(&["status", "--short"]), "");
    assert_eq!(
        repo.read(".git/info/exclude"),
        "**/.marvin/logs/\n**/.marvin/memories/\n**/.marvin/jobs/\n"
    );
    long_output(&home, &tree);
    git(&home, &tree, "git_commit", json!({"message": "nothing"})).expect(0);
    assert_eq!(
        repo.git(&["ls-tree", "-r", "--name-only", "side"]),
        "part/a.txt"
    );
    assert!(repo.read(".git/info/exclude").ends_with(ALL));
}

#[test]
fn a_list_that_cannot_be_written_or_is_not_ours_is_left_alone() {
    let home = Home::new();
    long_output(&home, &home.work());
    assert!(!home.has("work/.git"), "no repository, none is made");

    // Links that lead out of the repository's folder.
    let repo = Repo::at(&home.path().join("linked"));
    let file = home.write("theirs", "text\n");
    fs::remove_file(repo.path().join(".git/info/exclude")).unwrap();
    std::os::unix::fs::symlink(&file, repo.path().join(".git/info/exclude")).unwrap();
    long_output(&home, repo.path());
    assert_eq!(home.read("theirs"), "text\n");
    fs::remove_dir_all(repo.path().join(".git/info")).unwrap();
    fs::create_dir(home.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("../../folder", repo.path().join(".git/info")).unwrap();
    long_output(&home, repo.path());
    assert_eq!(fs::read_dir(home.path().join("folder")).unwrap().count(), 0);

    // A foreign repository.
    let theirs = Repo::at(&home.path().join("victim"));
    theirs.file(".git/info/exclude", "theirs\n");
    let trap = home.path().join("trap");
    fs::create_dir(&trap).unwrap();
    fs::write(trap.join(".git"), "gitdir: ../victim/.git\n").unwrap();
    long_output(&home, &trap);
    assert_eq!(theirs.read(".git/info/exclude"), "theirs\n");

    // A repository that cannot be written to (as root only a file in the folder's place stops that).
    let repo = Repo::at(&home.path().join("sealed"));
    fs::remove_dir_all(repo.path().join(".git/info")).unwrap();
    repo.file(".git/info", "a file\n");
    let git = repo.path().join(".git");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o555)).unwrap();
    long_output(&home, repo.path());
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(repo.read(".git/info"), "a file\n");
}
