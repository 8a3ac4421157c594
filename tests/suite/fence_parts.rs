//! The parts of a project that the fence keeps closed, obstacles in a repository, and texts made to break a parser, through the real binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::{Home, write};
use crate::support::repo::Repo;
use crate::support::run::{Done, Marvin};
use crate::support::words::TextAssertions;

/// Far less than the 30 seconds of a search that waits for a FIFO.
const SOON: Duration = Duration::from_secs(12);

fn call(run: Marvin, name: &str, args: &Value) -> Done {
    run.args(["tool", name, "--json", &args.to_string()])
        .limit(SOON)
        .run()
}

fn tool(home: &Home, name: &str, args: Value) -> Done {
    call(home.marvin(), name, &args)
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn no_closed_part_becomes_the_working_directory() {
    let home = Home::new();
    let work = home.work();
    for folder in [
        ".tickets/sub",
        ".git/hooks",
        ".marvin/upstream",
        ".marvin/notes",
        "src/deep",
        "real-tickets",
        "lib/.git/hooks",
    ] {
        fs::create_dir_all(work.join(folder)).unwrap();
    }
    symlink(".git/hooks", work.join("to-hooks")).unwrap();
    symlink(".marvin", work.join("to-marvin")).unwrap();
    symlink(work.join(".tickets"), home.path().join("to-tickets")).unwrap();
    let set = |path: &Path| {
        home.marvin()
            .args(["tool", "set_working_dir"])
            .arg(format!("path={}", path.display()))
            .limit(SOON)
            .run()
    };
    for part in [
        work.join(".tickets"),
        work.join(".tickets/sub"),
        work.join(".git"),
        work.join(".git/hooks"),
        work.join(".marvin"),
        work.join(".marvin/upstream"),
        work.join(".marvin/notes"),
        work.join("src/../.git"),
        work.join("lib/.git"),
        work.join("to-hooks"),
        work.join("to-marvin"),
        work.join("to-marvin/upstream"),
        home.path().join("to-tickets"),
    ] {
        let output = set(&part).expect(1).errors();
        output.assert_has_for(&part, &["cannot be the working directory"]);
    }
    set(&work.join("src/deep")).expect(0);
    // A link with the part's own name leads to a folder that has another name.
    fs::remove_dir_all(work.join(".tickets")).unwrap();
    symlink("real-tickets", work.join(".tickets")).unwrap();
    set(&work.join("real-tickets")).expect(1);
    // A project of its own name is one like any other.
    let other = home.path().join("marvin");
    fs::create_dir(&other).unwrap();
    set(&other).expect(0);
}

#[test]
fn special_ignore_files_do_not_stop_a_search() {
    for (kind, name) in [
        ("fifo", ".ignore"),
        ("fifo", ".gitignore"),
        ("fifo", ".rgignore"),
        ("/dev/zero", ".ignore"),
        ("/dev/zero", ".gitignore"),
        ("/dev/zero", ".rgignore"),
    ] {
        let home = Home::new();
        let work = home.work();
        fs::create_dir_all(work.join(".git/info")).unwrap();
        fs::create_dir(work.join("sub")).unwrap();
        write(&work.join("sub/plain.txt"), "needle\n");
        for at in [
            work.join(name),
            work.join("sub").join(name),
            work.join(".git/info/exclude"),
        ] {
            match kind {
                "fifo" => fifo(&at),
                device => symlink(device, at).unwrap(),
            }
        }
        let run = |dir: &Path, path: Option<&str>, name: &str| {
            let mut run = home.marvin().dir(dir);
            if let Some(path) = path {
                run = run.env("PATH", path);
            }
            let args = match name {
                "code_grep" => json!({"pattern": "needle"}),
                _ => json!({}),
            };
            call(run, name, &args).expect(0)
        };
        for dir in [work.clone(), work.join("sub")] {
            for path in [None, Some("/nowhere")] {
                run(&dir, path, "code_grep").stdout_has(&["plain.txt:1: needle"]);
            }
            run(&dir, None, "tree").stdout_has(&["plain.txt"]);
        }
    }
}

#[test]
fn an_index_that_is_a_pipe_does_not_stop_a_search() {
    let home = Home::new();
    let repo = Repo::at(&home.work());
    repo.file("a.txt", "needle\n")
        .file("target/b.txt", "needle\n");
    repo.commit("start");
    fs::remove_file(repo.path().join(".git/index")).unwrap();
    fifo(&repo.path().join(".git/index"));
    let found = tool(&home, "code_grep", json!({"pattern": "needle"})).expect(0);
    found
        .text()
        .assert_has(&["1 hit in 1 file", "Not searched: what git tracks"]);
}

#[test]
fn linked_ignore_files_hide_nothing() {
    let home = Home::new();
    write(&home.path().join("list"), "*.txt\n");
    write(&home.work().join("a.txt"), "needle\n");
    symlink("../list", home.work().join(".gitignore")).unwrap();
    symlink("../list", home.work().join(".ignore")).unwrap();
    tool(&home, "code_grep", json!({"pattern": "needle"}))
        .expect(0)
        .stdout_has(&["a.txt:1: needle"]);
    tool(&home, "tree", json!({}))
        .expect(0)
        .stdout_has(&["a.txt"]);
}

#[test]
fn the_deepest_tree_is_listed() {
    let home = Home::new();
    write(&home.work().join("a/b.txt"), "x");
    tool(&home, "tree", json!({"max_depth": 2_147_483_647}))
        .expect(0)
        .stdout_has(&["b.txt"]);
}

#[test]
fn a_move_onto_the_same_file_keeps_it_and_a_move_keeps_its_mode() {
    let home = Home::new();
    let work = home.work();
    let patch = |from: &str, to: &str, old: &str, new: &str| json!({"input": format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n@@\n-{old}\n+{new}\n*** End Patch")});
    write(&work.join("dir/f.sh"), "one\n");
    fs::set_permissions(work.join("dir/f.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("dir", work.join("same-dir")).unwrap();
    symlink("dir/f.sh", work.join("same-file")).unwrap();
    for (from, to, old, new) in [
        ("dir/f.sh", "same-dir/f.sh", "one", "two"),
        ("dir/f.sh", "same-file", "two", "three"),
        ("same-dir/f.sh", "dir/f.sh", "three", "four"),
    ] {
        tool(&home, "apply_patch", patch(from, to, old, new)).expect(0);
        assert_eq!(
            home.read("work/dir/f.sh"),
            format!("{new}\n"),
            "{from} to {to}"
        );
    }
    assert!(
        fs::symlink_metadata(work.join("same-file"))
            .unwrap()
            .is_symlink()
    );
    tool(
        &home,
        "apply_patch",
        patch("dir/f.sh", "new/g.sh", "four", "five"),
    )
    .expect(0);
    assert!(!work.join("dir/f.sh").exists());
    assert_eq!(home.read("work/new/g.sh"), "five\n");
    assert_eq!(mode(&work.join("new/g.sh")), 0o755);
    // A second name of the same file is a file of its own once it is written.
    fs::hard_link(work.join("new/g.sh"), work.join("hard")).unwrap();
    tool(
        &home,
        "apply_patch",
        patch("new/g.sh", "hard", "five", "six"),
    )
    .expect(0);
    assert_eq!(home.read("work/hard"), "six\n");
}

#[test]
fn the_history_of_a_project_is_read_behind_the_fence() {
    let home = Home::new();
    let line = |text: &str| json!({"role": "assistant", "text": text}).to_string() + "\n";
    home.write(
        "outside/context-backup-20260101_120000.jsonl",
        line("a towel outside"),
    );
    fs::create_dir(home.work().join(".marvin")).unwrap();
    symlink("../../outside", home.work().join(".marvin/logs")).unwrap();
    let search =
        |word: &str| tool(&home, "search_history_backups", json!({"query": word})).expect(0);
    search("towel").stdout_lacks(&["outside"]);
    fs::remove_file(home.work().join(".marvin/logs")).unwrap();
    fs::create_dir(home.work().join(".marvin/logs")).unwrap();
    let logs = home.work().join(".marvin/logs");
    symlink(
        "../../../outside/context-backup-20260101_120000.jsonl",
        logs.join("context-backup-20260102_120000.jsonl"),
    )
    .unwrap();
    fifo(&logs.join("context-backup-20260103_120000.jsonl"));
    search("towel").stdout_lacks(&["outside"]);
    let called = json!({"role": "assistant", "text": "", "calls": [
        {"id": "1", "name": "run_command", "args": "{\"command\":\"cargo nextest\"}"}]});
    write(
        &logs.join("context-backup-20260104_120000.jsonl"),
        format!("{called}\n"),
    );
    search("nextest").stdout_has(&["run_command", "cargo nextest"]);
    search("RUN_COMMAND").stdout_has(&["cargo nextest"]);
}

#[test]
fn notes_are_listed_as_what_they_are() {
    let home = Home::new();
    let notes = home.path().join("Notes");
    write(&notes.join("plan.md"), "12345");
    write(&home.path().join("secret.txt"), "x".repeat(77));
    symlink("plan.md", notes.join("also.md")).unwrap();
    symlink("../secret.txt", notes.join("out.md")).unwrap();
    symlink("nothing", notes.join("dead.md")).unwrap();
    fs::create_dir(notes.join("sub")).unwrap();
    symlink("sub", notes.join("to-sub")).unwrap();
    fifo(&notes.join("pipe"));
    let text = home
        .marvin()
        .args(["tool", "notes_ls"])
        .limit(SOON)
        .run()
        .expect(0);
    let text = text.text();
    text.assert_has(&[
        "plan.md (5 bytes)",
        "also.md -> plan.md (link)",
        "out.md -> ../secret.txt (link)",
        "dead.md -> nothing (link)",
        "to-sub -> sub (link)",
        "pipe (named pipe)",
        "~/Notes: 1 folder, 1 note, 5 others.",
    ]);
    text.assert_lacks(&["77"]);
}

#[test]
fn named_and_tracked_files_are_searched() {
    let home = Home::new();
    let repo = Repo::at(&home.path().join("github-clones/ann/demo"));
    repo.file("src/a.js", "needle\n")
        .file("dist/tracked.js", "needle\n")
        .file("vendor/lib/b.js", "needle\n")
        .file(".github/ci.js", "needle\n")
        .file("build/ignored-but-tracked.js", "needle\n");
    let id = repo.commit("start");
    let submodule = format!("160000,{id},dist/sub");
    repo.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    repo.file(".gitignore", "build/\nlocal/\n*.secret\n")
        .file("target/out.js", "needle\n")
        .file("build/new.js", "needle\n")
        .file("dist/new.js", "needle\n")
        .file("dist/sub/s.js", "needle\n")
        .file("local/mine.js", "needle\n")
        .file("node_modules/m/m.js", "needle\n")
        .file(".hidden/h.js", "needle\n");
    let grep = |tool_name: &str, glob: &str| {
        let args = match tool_name {
            "code_grep" => json!({"pattern": "needle", "glob_filter": glob, "context_lines": 0}),
            _ => json!({"repo": "ann/demo", "pattern": "needle", "glob_filter": glob}),
        };
        let output = call(home.marvin().dir(repo.path()), tool_name, &args).expect(0);
        let mut files: Vec<String> = output
            .text()
            .lines()
            .filter(|line| line.contains(":1:"))
            .map(|line| {
                line.trim_start_matches("> ")
                    .split(':')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        files.sort();
        files
    };
    let tracked = [
        ".github/ci.js",
        "build/ignored-but-tracked.js",
        "dist/sub/s.js",
        "dist/tracked.js",
        "src/a.js",
        "vendor/lib/b.js",
    ];
    for name in ["code_grep", "github_grep"] {
        assert_eq!(grep(name, "*"), tracked, "{name}");
        assert_eq!(grep(name, "target/**"), ["target/out.js"], "{name}");
        assert_eq!(
            grep(name, "**/node_modules/**/*.js"),
            ["node_modules/m/m.js"]
        );
        assert_eq!(
            grep(name, "{dist,local}/*.js"),
            ["dist/new.js", "dist/tracked.js", "local/mine.js"]
        );
        assert_eq!(grep(name, "local/mine.js"), ["local/mine.js"], "{name}");
        assert_eq!(grep(name, ".hidden/*"), [".hidden/h.js"], "{name}");
    }
}

#[test]
fn tickets_behind_a_link_that_leads_out_are_not_touched() {
    let home = Home::new();
    let ticket = "---\nid: out-1\nstatus: open\n---\n# A secret ticket\n";
    home.write("outside/out-1.md", ticket);
    symlink("../outside", home.work().join(".tickets")).unwrap();
    let run = |args: &[&str]| {
        home.marvin()
            .args(args.iter().copied())
            .args(["--working-dir", "."])
            .limit(SOON)
            .run()
    };
    for args in [
        &["tool", "ticket_list"][..],
        &["tool", "ticket_show", "ticket_id=out-1"],
        &["tool", "ticket_start", "ticket_id=out-1"],
        &["tool", "create_ticket", "title=New"],
    ] {
        let output = run(args).expect(1);
        let text = output.errors();
        text.assert_has_for(&args, &["link"]);
        text.assert_lacks_for(&args, &["secret ticket"]);
    }
    assert_eq!(home.read("outside/out-1.md"), ticket);
    assert_eq!(
        fs::read_dir(home.path().join("outside")).unwrap().count(),
        1
    );
    // One that stays inside is the user's own arrangement.
    fs::remove_file(home.work().join(".tickets")).unwrap();
    home.write("work/docs/tickets/in-1.md", ticket);
    symlink("docs/tickets", home.work().join(".tickets")).unwrap();
    run(&["tool", "ticket_list"]).expect(0);
}

#[test]
fn notes_behind_a_link_cannot_reach_a_closed_part() {
    for (target, name) in [
        ("../.git", "config"),
        ("../.tickets", "t-1.md"),
        ("upstream", "TOOLS.md"),
    ] {
        let home = Home::new();
        let work = home.work();
        write(&work.join(".git/config"), "[core]\n");
        write(&work.join(".tickets/t-1.md"), "a ticket\n");
        write(&work.join(".marvin/upstream/TOOLS.md"), "tools\n");
        symlink(target, work.join(".marvin/notes")).unwrap();
        let file = work.join(".marvin/notes").join(name);
        let before = fs::read(&file).unwrap();
        let run = |args: &[&str]| {
            let run = home.marvin().args(args.iter().copied());
            run.args(["--working-dir", "."]).limit(SOON).run()
        };
        let path = format!("path={name}");
        run(&["tool", "write_note", &path, "content=mine"]).expect(1);
        run(&["tool", "file_apply_patch", &path, "patch=INSERT 0\nmine"]).expect(1);
        run(&["tool", "notes_mkdir", "path=new"]).expect(1);
        assert_eq!(fs::read(&file).unwrap(), before, "{target}");
        assert!(!work.join(".marvin/notes/new").exists(), "{target}");
    }
}
