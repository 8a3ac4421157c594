//! Attempts to leave the working directory through the real binary: every one is refused and nothing appears outside.

use std::os::unix::fs::symlink;

use crate::support::home::Home;

#[test]
fn every_way_out_is_refused_with_directions() {
    let home = Home::new();
    home.write("secret.txt", "outside");
    home.write("work-secret/x.txt", "sibling");
    home.write("work/inside.txt", "inside");
    home.write("work/.tickets/t.md", "ticket");
    home.write("work/.git/config", "[core]");
    let work = home.work();
    symlink(home.path(), work.join("up")).unwrap();
    symlink(home.path().join("secret.txt"), work.join("link.txt")).unwrap();
    symlink("up", work.join("chain")).unwrap();
    symlink(".tickets", work.join("t")).unwrap();
    symlink("/proc/self/root", work.join("magic")).unwrap();
    let outside = home.path().join("secret.txt").display().to_string();
    let paths = [
        outside.as_str(),
        "/etc/passwd",
        "../secret.txt",
        "a/../../secret.txt",
        "./../secret.txt",
        "inside.txt/../../secret.txt",
        "up/secret.txt",
        "chain/secret.txt",
        "link.txt",
        "magic/etc/passwd",
        ".tickets/t.md",
        "./.tickets/t.md",
        "x/../.tickets/t.md",
        "t/t.md",
        "~/secret.txt",
        "../work-secret/x.txt",
        "..",
        "up/../secret.txt",
    ];
    let mut attempts = 0;
    for path in paths {
        for (tool, rest) in [
            ("read_file", vec![]),
            ("create_file", vec!["content=evil"]),
            ("append_file", vec!["content=evil"]),
            ("apply_patch", vec!["old_str=outside", "new_str=evil"]),
        ] {
            let done = home
                .marvin()
                .args(["tool", tool])
                .arg(format!("path={path}"))
                .args(rest)
                .run();
            assert_eq!(done.code(), Some(1), "{tool} {path}: {}", done.text());
            assert!(done.text().is_empty());
            attempts += 1;
        }
    }
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".marvin/upstream/x.md",
    ] {
        home.marvin()
            .args(["tool", "create_file"])
            .arg(format!("path={path}"))
            .arg("content=evil")
            .run()
            .expect(1);
        attempts += 1;
    }
    assert!(attempts >= 40);
    assert_eq!(
        (
            home.read("secret.txt").as_str(),
            home.read("work-secret/x.txt").as_str(),
            home.read("work/.tickets/t.md").as_str()
        ),
        ("outside", "sibling", "ticket")
    );
    let refusal = |path: &str| {
        home.marvin()
            .args(["tool", "read_file"])
            .arg(format!("path={path}"))
            .run()
            .errors()
    };
    assert!(
        refusal("/etc/passwd").contains("Absolute paths not allowed")
            && refusal("/etc/passwd").contains(&work.display().to_string())
    );
    assert!(
        refusal("../x").contains("Path traversal not allowed")
            && refusal("../x").contains("inside.txt")
    );
    assert!(refusal(".tickets/t.md").contains("ticket tools"));
}

#[test]
fn special_files_never_hang_a_tool() {
    let home = Home::new();
    let work = home.work();
    std::process::Command::new("mkfifo")
        .arg(work.join("fifo"))
        .status()
        .unwrap();
    symlink("/dev/zero", work.join("zero")).unwrap();
    home.write("work/binary", [0u8; 100]);
    home.write("work/large.txt", "line\n".repeat(5_000));
    for path in ["fifo", "zero", "binary", "large.txt", "missing"] {
        home.marvin()
            .args(["tool", "read_file"])
            .arg(format!("path={path}"))
            .run()
            .expect(1);
    }
    let large = home
        .marvin()
        .args(["tool", "read_file", "path=large.txt"])
        .run()
        .errors();
    assert!(
        large.contains("5000 lines") && large.contains("start_line"),
        "{large}"
    );
    home.marvin()
        .args(["tool", "code_grep", "pattern=line"])
        .run()
        .expect(0);
    home.marvin().args(["tool", "tree"]).run().expect(0);
}
