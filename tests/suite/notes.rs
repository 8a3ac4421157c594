//! Notes through the real binary: both homes, names as models write them, the fence, patches, many writers at once and kill -9.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::words::TextAssertions;

/// As above, in the project that `--working-dir` selects.
fn in_project(home: &Home, name: &str, args: Value) -> String {
    let run = home
        .tool(name, &args)
        .args([Path::new("--working-dir"), &home.work()]);
    run.run().expect(0).text().to_owned()
}

#[test]
fn a_given_working_directory_keeps_its_own_notes() {
    let home = Home::new();
    let note = json!({"path": "plan.md", "content": "mine"});
    assert_eq!(
        home.said("write_note", note),
        "Wrote ~/Notes/plan.md (5 bytes).\n"
    );
    let note = json!({"filename": "plan.md", "content": "of the project\n"});
    assert_eq!(
        in_project(&home, "write_note", note),
        "Wrote .marvin/notes/plan.md (15 bytes).\n"
    );
    assert_eq!(home.read("Notes/plan.md"), "mine\n");
    assert_eq!(home.read("work/.marvin/notes/plan.md"), "of the project\n");
    for (name, own, project) in [
        ("read_note", "mine\n", "of the project\n"),
        ("notes_ls", "plan.md (5 bytes)\n", "plan.md (15 bytes)\n"),
        ("search_notes", "no matches", "plan.md:1: of the project"),
        ("file_read_lines", "1. mine", "1. of the project"),
    ] {
        let args = match name {
            "notes_ls" => json!({}),
            "search_notes" => json!({"query": "project"}),
            _ => json!({"path": "plan"}),
        };
        let of_own = home.said(name, args.clone()).to_lowercase();
        assert!(of_own.contains(own), "{name}: {of_own}");
        let of_project = in_project(&home, name, args);
        assert!(of_project.contains(project), "{name}: {of_project}");
    }
    // Only the notes folder holds anything new: no lock files, no temporary ones.
    let names = |dir: &str| -> Vec<String> {
        let list = fs::read_dir(home.path().join(dir)).unwrap();
        list.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    };
    assert_eq!(names("Notes"), ["plan.md"]);
    assert_eq!(names("work/.marvin/notes"), ["plan.md"]);
}

#[test]
fn a_session_follows_its_coding_mode_and_headless_is_always_in_it() {
    let home = Home::new();
    let input = "note: buy milk\n!code\nnote that the build is red\n!code\nnote: and bread\n";
    let talk = home.marvin().args(["--plain", "--provider", "offline"]);
    talk.stdin(input)
        .prints(&["~/Notes/inbox.md", ".marvin/notes/inbox.md"]);
    assert_eq!(home.read("Notes/inbox.md"), "buy milk\nand bread\n");
    assert_eq!(
        home.read("work/.marvin/notes/inbox.md"),
        "the build is red\n"
    );
    let one = home
        .marvin()
        .args(["--non-interactive", "--provider", "offline"]);
    one.args(["--prompt", "Note: buy eggs"]).run().expect(0);
    assert_eq!(
        home.read("work/.marvin/notes/inbox.md"),
        "the build is red\nbuy eggs\n"
    );
}

#[test]
fn near_miss_names_find_the_note() {
    let home = Home::new();
    let absolute = home.path().join("Notes/a/x.md").display().to_string();
    for (n, path) in [
        "a/x",
        "a/x.md",
        "~/Notes/a/x.md",
        "~/notes/a/x",
        "Notes/a/x",
        "notes/a/x.md",
        "./a//x.md",
        " a/x ",
        "$HOME/Notes/a/x",
        ".marvin/notes/a/x",
        &absolute,
    ]
    .into_iter()
    .enumerate()
    {
        let note = json!({"path": path, "content": n.to_string(), "append": true});
        let text = home.said("write_note", note);
        assert!(text.contains("~/Notes/a/x.md"), "{path}: {text}");
        assert!(
            home.said("read_note", json!({"path": path}))
                .ends_with(&format!("{n}\n")),
            "{path}"
        );
    }
    assert_eq!(
        fs::read_dir(home.path().join("Notes/a")).unwrap().count(),
        1
    );
    assert!(
        home.said("read_note", json!({"path": "a/X"}))
            .starts_with("0\n")
    );
    // A folder that is really called Notes is not stripped.
    home.write("Notes/Notes/deep.md", "deep\n");
    assert_eq!(
        home.said("read_note", json!({"path": "Notes/deep"})),
        "deep\n"
    );
    // Endings of one's own stay.
    let note = json!({"path": "list.txt", "content": "x"});
    home.said("write_note", note)
        .assert_has(&["~/Notes/list.txt"]);
    home.write("Notes/a/garden.md", "g");
    home.refused("read_note", json!({"path": "a/gardn"}))
        .assert_has(&["Not found", "Did you mean \"a/garden.md\"?"]);
}

#[test]
fn nothing_outside_the_folder_is_read_or_written() {
    let home = Home::new();
    home.write("secret.md", "secret\n");
    home.write("outside/in.md", "secret\n");
    home.write("Notes/in.md", "inside\n");
    let notes = home.path().join("Notes");
    symlink("../secret.md", notes.join("link.md")).unwrap();
    symlink(home.path().join("outside"), notes.join("folder")).unwrap();
    symlink("in.md", notes.join("alias.md")).unwrap();
    assert_eq!(home.said("read_note", json!({"path": "alias"})), "inside\n");
    for path in [
        "../secret.md",
        "a/../../secret.md",
        "link.md",
        "link",
        "folder/in.md",
        "folder/new.md",
        "/etc/hostname",
        "~/secret.md",
        "~/Notes/../secret.md",
        "a\u{0}b",
        "..",
        "",
        "   ",
        "line\nbreak",
        ".tickets/x.md",
        ".git/hooks/post-checkout",
    ] {
        for name in [
            "write_note",
            "read_note",
            "file_apply_patch",
            "notes_mkdir",
            "file_read_lines",
            "notes_ls",
        ] {
            let args = json!({"path": path, "content": "x", "patch": "REPLACE 1\nx"});
            // The whole folder, and a new folder next to link.md.
            if (name == "notes_ls" && path.trim().is_empty())
                || (name == "notes_mkdir" && path == "link")
            {
                continue;
            }
            let output = home.tool(name, &args).run().expect(1);
            assert!(!output.errors().contains("secret\n"), "{name} {path:?}");
            output.stderr_lacks(&["working directory"]);
        }
    }
    assert_eq!(home.read("secret.md"), "secret\n");
    assert!(!home.has("outside/new.md"));
    assert!(
        home.said("search_notes", json!({"query": "secret"}))
            .starts_with("No matches")
    );
    // Nor may the project's notes lead outside.
    fs::create_dir(home.work().join(".marvin")).unwrap();
    symlink(
        home.path().join("outside"),
        home.work().join(".marvin/notes"),
    )
    .unwrap();
    let note = json!({"path": "x", "content": "x"});
    let run = home
        .tool("write_note", &note)
        .args([Path::new("--working-dir"), &home.work()]);
    run.run().expect(1);
    assert_eq!(
        fs::read_dir(home.path().join("outside")).unwrap().count(),
        1
    );
}

#[test]
fn odd_names_are_notes_or_are_refused_with_a_message() {
    let home = Home::new();
    for path in [
        "🦀 crab",
        "-dash",
        "a b/c d",
        "naïve.md",
        "--help",
        "v1.2",
        "'; rm -rf ~",
        "$(x)",
    ] {
        let note = json!({"path": path, "content": format!("of {path}")});
        home.said("write_note", note);
        assert_eq!(
            home.said("read_note", json!({"path": path})),
            format!("of {path}\n")
        );
    }
    assert!(home.has("Notes/v1.2.md"));
    let long = "n".repeat(300);
    home.refused("write_note", json!({"path": long, "content": "x"}))
        .assert_has(&["too long"]);
    home.refused("read_note", json!({"path": long}));
    let max = "n".repeat(252);
    home.said("write_note", json!({"path": max, "content": "x"}))
        .assert_has(&[".md"]);
    let listing = home.said("notes_ls", json!({}));
    assert!(
        listing.starts_with("📁 a b/\n") && listing.ends_with("~/Notes: 1 folder, 8 notes.\n"),
        "{listing}"
    );
    home.refused("write_note", json!({"path": "x", "content": ""}));
    // A folder is not a note, but a note of the same name may be next to it.
    home.said("write_note", json!({"path": "a b", "content": "x"}))
        .assert_has(&["a b.md"]);
}

#[test]
fn a_restricted_process_writes_no_notes_but_a_read_only_one_does() {
    let home = Home::new();
    home.write("Notes/a.md", "a\n");
    let calls = [
        ("write_note", json!({"path": "b", "content": "x"})),
        ("notes_mkdir", json!({"path": "sub"})),
        (
            "file_apply_patch",
            json!({"path": "a", "patch": "REPLACE 1\nx"}),
        ),
    ];
    for (name, args) in &calls {
        let run = home
            .tool(name, args)
            .env("MARVIN_WRITABLE_FILES", "spec.md");
        run.run().expect(1);
    }
    assert_eq!(fs::read_dir(home.path().join("Notes")).unwrap().count(), 1);
    let readonly = |(name, args): &(&str, Value)| {
        let output = home.tool(name, args).env("MARVIN_READONLY", "1").run();
        output.code()
    };
    let codes: Vec<_> = calls.iter().map(readonly).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(1)]);
}

#[test]
fn concurrent_writers_lose_no_line() {
    let home = Home::new();
    let running: Vec<_> = (0..12)
        .map(|n| {
            let text = format!("line {n} {}", "x".repeat(5_000));
            let args = json!({"path": "log", "content": text, "append": true});
            home.tool("write_note", &args).spawn()
        })
        .collect();
    for one in running {
        one.wait().expect(0);
    }
    let text = home.read("Notes/log.md");
    for n in 0..12 {
        let line = format!("line {n} ");
        assert_eq!(
            text.lines()
                .filter(|found| found.starts_with(&line))
                .count(),
            1,
            "{n}"
        );
    }
    assert!(text.lines().all(|line| line.ends_with(&"x".repeat(5_000))));
}
