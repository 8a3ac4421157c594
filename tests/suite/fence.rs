//! Escapes from the working directory and non-regular files, tried through the real binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::downloads::files;
use crate::support::home::{Home, write};
use crate::support::repo::Repo;
use crate::support::run::{Done, program};
use crate::support::shared::skip;
use crate::support::words::TextAssertions;

const SECRET: &str = "what lies outside";
const ABSOLUTE: &str = "Absolute paths not allowed";
const PARENT: &str = "Path traversal not allowed";
const TICKETS: &str = "ticket tools";
const OUTSIDE: &str = "outside the working directory";

/// A home whose working directory has links to what lies outside, and a secret next to it.
fn trap() -> Home {
    let home = Home::new();
    let work = home.work();
    write(&home.path().join("secret.txt"), SECRET);
    write(&home.path().join("outside/inner.txt"), SECRET);
    write(&work.join("a/in.txt"), "inside\n");
    write(&work.join(".tickets/t1.md"), SECRET);
    symlink(home.path().join("secret.txt"), work.join("abs-link")).unwrap();
    symlink("../secret.txt", work.join("rel-link")).unwrap();
    symlink("../outside", work.join("dir-link")).unwrap();
    symlink("dir-link", work.join("link-to-link")).unwrap();
    symlink(".tickets", work.join("tickets-link")).unwrap();
    symlink("loop-link", work.join("loop-link")).unwrap();
    home
}

fn tool(home: &Home, name: &str, args: &Value) -> Done {
    home.marvin()
        .args(["tool", name, "--json", &args.to_string()])
        .limit(Duration::from_secs(20))
        .run()
}

/// Everything below a folder except the working directory: names and contents.
fn snapshot(dir: &Path, without: &Path) -> Vec<(String, Vec<u8>)> {
    let all = files(dir).into_iter().filter(|path| {
        !path.starts_with(without) && !path.components().any(|part| part.as_os_str() == "config")
    });
    let read = |path: PathBuf| (path.display().to_string(), fs::read(&path).unwrap());
    let mut all: Vec<_> = all.map(read).collect();
    all.sort();
    all
}

fn add(path: &str) -> Value {
    json!({ "input": format!("*** Begin Patch\n*** Add File: {path}\n+mine\n*** End Patch") })
}

fn update(path: &str, to: Option<&str>) -> Value {
    let to = to.map_or_else(String::new, |to| format!("*** Move to: {to}\n"));
    json!({ "input": format!("*** Begin Patch\n*** Update File: {path}\n{to}@@\n-inside\n+mine\n*** End Patch") })
}

fn delete(path: &str) -> Value {
    json!({ "input": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch") })
}

/// Each tool by each way out; every form of a path is tried in `src/disk/beneath/tests/escapes.rs`.
#[test]
fn no_attempt_leaves_the_working_directory() {
    let home = trap();
    let work = home.work();
    let secret = home.path().join("secret.txt").display().to_string();
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let create = |path: &str| ("create_file", json!({ "path": path, "content": "mine" }));
    let append = |path: &str| ("append_file", json!({ "path": path, "content": "mine" }));
    let patch = |path: &str| {
        (
            "apply_patch",
            json!({ "path": path, "old_str": SECRET, "new_str": "mine" }),
        )
    };
    let tree = |path: &str| ("tree", json!({ "path": path }));
    let blame = |path: &str| ("git_blame", json!({ "path": path }));
    let diff = |path: &str| ("git_diff", json!({ "path": path }));
    let checkout = |target: &str| ("git_checkout", json!({ "target": target }));
    let whole = |args: Value| ("apply_patch", args);
    let attempts: Vec<((&str, Value), &str)> = vec![
        (read(&secret), ABSOLUTE),
        (read("../secret.txt"), PARENT),
        (read("rel-link"), OUTSIDE),
        (read("loop-link"), "link"),
        (read(".tickets/t1.md"), TICKETS),
        (read("a\u{0}b"), "NUL"),
        (create("/tmp/marvin-escape.txt"), ABSOLUTE),
        (create("../new.txt"), PARENT),
        (create("dir-link/new.txt"), OUTSIDE),
        (create(".tickets/new.md"), TICKETS),
        (create("tickets-link/new.md"), TICKETS),
        (create(".git/hooks/post-checkout"), ".git"),
        (create("a/.GIT/config"), "git alone"),
        (create(".marvin/upstream/TOOLS.md"), "upstream"),
        (append(&secret), ABSOLUTE),
        (append("../secret.txt"), PARENT),
        (append("rel-link"), OUTSIDE),
        (append(".tickets/t1.md"), TICKETS),
        (patch(&secret), ABSOLUTE),
        (patch("../secret.txt"), PARENT),
        (patch("link-to-link/inner.txt"), OUTSIDE),
        (patch("tickets-link/t1.md"), TICKETS),
        (whole(add("/tmp/marvin-escape.txt")), ABSOLUTE),
        (whole(add("../new.txt")), PARENT),
        (whole(add("dir-link/new.txt")), OUTSIDE),
        (whole(add(".tickets/new.md")), TICKETS),
        (whole(add(".git/hooks/pre-commit")), ".git"),
        (whole(update("../secret.txt", None)), PARENT),
        (whole(update("a/in.txt", Some("../moved.txt"))), PARENT),
        (
            whole(update("a/in.txt", Some("dir-link/moved.txt"))),
            OUTSIDE,
        ),
        (
            whole(update("a/in.txt", Some("/tmp/marvin-moved.txt"))),
            ABSOLUTE,
        ),
        (whole(delete("../secret.txt")), PARENT),
        (whole(delete("dir-link/inner.txt")), OUTSIDE),
        (whole(delete(".tickets/t1.md")), TICKETS),
        (tree("/"), ABSOLUTE),
        (tree(".."), PARENT),
        (tree("dir-link"), OUTSIDE),
        (tree(".tickets"), TICKETS),
        (tree("tickets-link"), TICKETS),
        (blame("../secret.txt"), PARENT),
        (blame("rel-link"), OUTSIDE),
        (diff("/etc/passwd"), ABSOLUTE),
        (diff("../secret.txt"), PARENT),
        (checkout("../secret.txt"), PARENT),
        (checkout("/etc/passwd"), ABSOLUTE),
        (checkout(".tickets/t1.md"), TICKETS),
    ];
    assert!(attempts.len() >= 40);
    let before = snapshot(&home.path(), &work);
    let mut faults = Vec::new();
    for ((name, args), text) in &attempts {
        let result = tool(&home, name, args);
        let output = result.errors();
        let mut fault = |what: &str| faults.push(format!("{name} {args}: {what}: {output}"));
        if result.code() != Some(1) || !result.stdout.is_empty() {
            fault("status 1 with nothing on standard output is wanted");
        }
        if !output.contains(text) {
            fault(&format!("does not say {text:?}"));
        }
        if output.contains(SECRET) {
            fault("shows what lies outside");
        }
        if [ABSOLUTE, PARENT, TICKETS, OUTSIDE].contains(text) {
            if !output.contains(&work.display().to_string()) {
                fault("does not name the working directory");
            }
            if !output.contains("in.txt") {
                fault("shows no tree");
            }
        }
        if output.lines().count() > 60 {
            fault("the tree is not short");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        snapshot(&home.path(), &work),
        before,
        "something outside changed"
    );
    assert_eq!(
        fs::read_to_string(work.join("a/in.txt")).unwrap(),
        "inside\n"
    );
    assert!(!Path::new("/tmp/marvin-escape.txt").exists());
}

#[test]
fn only_the_named_files_are_written_in_a_restricted_process() {
    let home = trap();
    let run = |name: &str, args: Value| {
        home.marvin()
            .env("MARVIN_WRITABLE_FILES", "a/in.txt, ok.txt")
            .args(["tool", name, "--json", &args.to_string()])
            .run()
    };
    run("create_file", json!({"path": "./ok.txt", "content": "x"})).expect(0);
    for (name, args) in [
        ("create_file", json!({"path": "no.txt", "content": "x"})),
        ("apply_patch", add("no.txt")),
        ("apply_patch", update("a/in.txt", Some("no.txt"))),
        ("apply_patch", delete("abs-link")),
        ("git_checkout", json!({"target": "a/in.txt"})),
        ("run_command", json!({"command": "touch no.txt"})),
    ] {
        let output = run(name, args.clone()).expect(1).errors();
        assert!(
            output.contains("ok.txt"),
            "{name} {args} names no allowed file: {output}"
        );
    }
    assert!(!home.work().join("no.txt").exists());
}

/// A folder with everything that is not an ordinary text file.
fn oddities(work: &Path) {
    write(&work.join("plain.txt"), "needle in plain\n");
    write(&work.join("binary.bin"), b"needle\0\x01\x02needle\n");
    write(&work.join("latin.txt"), b"needle caf\xe9\n");
    write(&work.join("shut.txt"), "needle behind a lock\n");
    fs::set_permissions(work.join("shut.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::File::create(work.join("huge.txt"))
        .unwrap()
        .set_len(4 << 30)
        .unwrap();
    let status = std::process::Command::new("mkfifo")
        .arg(work.join("pipe"))
        .status()
        .unwrap();
    assert!(status.success());
    std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap();
}

#[test]
fn special_files_are_named_and_never_block() {
    let home = Home::new();
    let work = home.work();
    oddities(&work);
    let read = |path: &str| tool(&home, "read_file", &json!({ "path": path }));
    for (path, expected) in [
        ("pipe", "FIFO"),
        ("socket", "socket"),
        ("binary.bin", "binary"),
        ("huge.txt", "bytes"),
        (".", "folder"),
    ] {
        let output = read(path).expect(1);
        output.errors().assert_has_for(&path, &[expected]);
        assert!(
            output.took() < Duration::from_secs(30),
            "{path} took {:?}",
            output.took()
        );
    }
    read("latin.txt")
        .expect(0)
        .stdout_has(&["needle caf\u{fffd}"]);
    for name in ["append_file", "apply_patch"] {
        let args = json!({"path": "pipe", "content": "x", "old_str": "x"});
        tool(&home, name, &args).expect(1).stderr_has(&["FIFO"]);
    }
    let tree = tool(&home, "tree", &json!({})).expect(0);
    tree.text()
        .assert_has(&["pipe", "socket", "huge.txt", "shut.txt", "plain.txt"]);
    // With and without ripgrep; the huge file is one line of NUL, which is binary.
    for path in [None, Some("/nowhere")] {
        let mut run = home.marvin().args(["tool", "code_grep", "pattern=needle"]);
        if let Some(path) = path {
            run = run.env("PATH", path);
        }
        let output = run.limit(Duration::from_secs(40)).run().expect(0);
        let text = output.text();
        text.assert_has(&["plain.txt:1: needle in plain"]);
        text.assert_lacks(&["binary.bin", "huge.txt"]);
    }
}

#[test]
fn devices_are_refused() {
    let home = Home::new();
    let device = home.work().join("zero");
    let made = std::process::Command::new("mknod")
        .arg(&device)
        .args(["c", "1", "5"])
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !made {
        return skip("devices_are_no_files", "mknod needs a privilege");
    }
    for name in ["read_file", "append_file", "apply_patch"] {
        let args = json!({"path": "zero", "content": "x", "old_str": "x"});
        tool(&home, name, &args).expect(1).stderr_has(&["device"]);
    }
    tool(&home, "code_grep", &json!({"pattern": "x"}))
        .expect(0)
        .stdout_starts_with("No match");
}

#[test]
fn unreadable_files_are_reported_and_the_rest_is_searched() {
    let name = "files_without_permission_are_told_and_the_rest_is_searched";
    let home = Home::new();
    oddities(&home.work());
    // The superuser reads everything; step down where that is possible.
    let root = rustix::process::geteuid().is_root();
    let Some(setpriv) = program("setpriv").filter(|_| root) else {
        if root {
            return skip(name, "runs as root, and there is no setpriv");
        }
        let output = tool(&home, "read_file", &json!({"path": "shut.txt"}))
            .expect(1)
            .errors();
        return assert!(output.contains("ermission denied"), "{output}");
    };
    for dir in [home.path(), home.work(), home.config()] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
    }
    // The build is in a place that only root can enter.
    let marvin = home.path().join("marvin");
    // Copied by another process: a child that another test starts at the same time would inherit our descriptor, which is open for writing, and such
    // a file cannot be executed (ETXTBSY).
    let copied = std::process::Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_marvin"))
        .arg(&marvin)
        .status();
    assert!(copied.unwrap().success());
    let mut texts = Vec::new();
    for path in [std::env::var("PATH").unwrap(), "/nowhere".to_owned()] {
        let run = |text: &[&str]| {
            crate::support::run::Marvin::new(&setpriv)
                .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
                .arg(&marvin)
                .args(text.iter().copied())
                .env("PATH", &path)
                .env("HOME", home.path())
                .env("MARVIN_CONFIG_DIR", home.config())
                .dir(&home.work())
                .run()
        };
        run(&["tool", "read_file", "path=shut.txt"])
            .expect(1)
            .stderr_has(&["ermission denied"]);
        let found = run(&["tool", "code_grep", "pattern=needle"]).expect(0);
        found.stdout_has(&["plain.txt:1", "Not searched: shut.txt"]);
        texts.push(found.text().to_owned());
    }
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn git_stays_below_a_working_directory_that_is_a_part_of_the_repository() {
    let repo = Repo::new();
    repo.file("top.txt", "top\n")
        .file("sub/in.txt", "in\n")
        .commit("start");
    repo.file("top.txt", "changed\n")
        .file("sub/in.txt", "changed\n");
    let home = Home::new();
    let run = |name: &str, args: Value| {
        home.marvin()
            .dir(&repo.path().join("sub"))
            .args(["tool", name, "--json", &args.to_string()])
            .run()
    };
    for magic in [
        ":/",
        ":/top.txt",
        ":(top)top.txt",
        ":(exclude)x",
        ":!x",
        "*",
    ] {
        let output = run("git_diff", json!({ "path": magic }));
        output.text().assert_lacks_for(&magic, &["top.txt"]);
        run("git_checkout", json!({ "target": magic })).expect(1);
        assert_eq!(repo.read("top.txt"), "changed\n", "{magic}");
        assert_eq!(repo.read("sub/in.txt"), "changed\n", "{magic}");
    }
    run("git_checkout", json!({"target": "in.txt"})).expect(0);
    assert_eq!(repo.read("sub/in.txt"), "in\n");
}
