//! Files inside the fence: what works, and what errors say.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use super::{both, fails, files};
use crate::base::problem::ProblemKind;
use crate::disk::beneath::{FileKind, RelPath, Root};
use crate::disk::tests::{make_fifo, small_disk};

#[test]
fn links_inside_work() {
    both(|yard| {
        yard.link("m", "src/main.rs");
        yard.link("d", "src/deep");
        yard.link("abs", yard.app.join("src/deep"));
        yard.link("absfile", yard.app.join("src/main.rs"));
        yard.link("src/up", "../README.md");
        yard.link("src/deep/round", "../../src/./deep/../main.rs");
        yard.link("new", "src/made.txt");
        assert_eq!(yard.read("m").unwrap(), "fn main() {}");
        assert_eq!(yard.read("d/x").unwrap(), "deep");
        assert_eq!(yard.read("abs/x").unwrap(), "deep");
        assert_eq!(yard.read("absfile").unwrap(), "fn main() {}");
        assert_eq!(yard.read("d/../m").unwrap_err().kind, ProblemKind::Refused);
        assert_eq!(yard.read("src/up").unwrap(), "read me");
        assert_eq!(yard.read("d/round").unwrap(), "fn main() {}");
        let rel = |path: &str| yard.rel(path);
        yard.root.replace(&rel("m"), b"changed").unwrap();
        yard.root.put(&rel("new"), b"made").unwrap();
        yard.root.put(&rel("d/y/z"), b"made").unwrap();
        assert_eq!(yard.read("src/main.rs").unwrap(), "changed");
        assert_eq!(yard.read("src/made.txt").unwrap(), "made");
        assert_eq!(yard.read("src/deep/y/z").unwrap(), "made");
        assert!(yard.app.join("m").symlink_metadata().unwrap().is_symlink());
        assert_eq!(yard.root.append(&rel("m"), b"!").unwrap(), 8);
    });
}

#[test]
fn another_name_of_a_file_keeps_what_it_has() {
    both(|yard| {
        let other = yard.app.join(".git-config");
        fs::hard_link(yard.app.join("README.md"), &other).unwrap();
        assert_eq!(yard.root.append(&yard.rel("README.md"), b"!").unwrap(), 8);
        assert_eq!(yard.read("README.md").unwrap(), "read me!");
        assert_eq!(fs::read_to_string(other).unwrap(), "read me");
    });
}

#[test]
fn only_regular_files_are_read_and_nothing_blocks() {
    both(|yard| {
        make_fifo(&yard.app.join("pipe"));
        let _socket = std::os::unix::net::UnixListener::bind(yard.app.join("sock")).unwrap();
        // Opening a FIFO would wait for ever.
        for (path, words) in [("pipe", "FIFO"), ("sock", "socket"), ("src", "a folder")] {
            fails(yard.read(path), words, path);
            for attempt in yard.writes(&yard.rel(path)) {
                fails(attempt, words, path);
            }
        }
        fails(yard.read("."), "a folder", ".");
        assert!(yard.root.put(&RelPath::here(), b"x").is_err());
        assert!(yard.root.remove_file(&RelPath::here()).is_err());
    });
}

#[test]
fn odd_names_get_clear_errors() {
    both(|yard| {
        let long = "x".repeat(300);
        let deep = vec!["d"; 3_000].join("/");
        for path in [long.as_str(), &format!("{long}/y"), &deep] {
            let problem = yard.write(path).unwrap_err();
            assert!(problem.for_model().len() < 3_000, "{problem}");
        }
        fails(yard.read(&long), "name is too long", &long);
        yard.link("loop", "loop2");
        yard.link("loop2", "loop");
        for path in ["loop", "loop/x"] {
            fails(yard.read(path), "too many symbolic links", path);
        }
        fs::write(yard.app.join(OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
        let names = yard.root.list(&RelPath::here()).unwrap();
        assert!(names.iter().any(|entry| entry.name == "caf\u{fffd}"));
        let problem = yard.read("src/mian.rs").unwrap_err();
        let line = problem.one_line();
        assert!(line.contains("Did you mean \"src/main.rs\"?"), "{line}");
        assert_eq!(problem.kind, ProblemKind::Missing);
        fails(yard.read("README.md/x"), "is a file", "README.md/x");
        assert_eq!(yard.read("./src//main.rs/").unwrap(), "fn main() {}");
        for path in ["...", "..a", "a..", "-rf", "a b", "a\nb", "*", "$HOME"] {
            yard.root.create_new(&yard.rel(path), b"x").unwrap();
            assert_eq!(yard.read(path).unwrap(), "x");
        }
    });
}

#[test]
fn writes_keep_permissions_and_leave_nothing_behind() {
    both(|yard| {
        let rel = |path: &str| yard.rel(path);
        let tool = yard.app.join("tool.sh");
        fs::write(&tool, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o751)).unwrap();
        yard.root.replace(&rel("tool.sh"), b"new").unwrap();
        let mode = tool.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o751);
        let kind = |path: &str| yard.root.metadata(&rel(path)).unwrap().kind;
        assert_eq!(kind("tool.sh"), FileKind::File);
        assert_eq!(kind("src"), FileKind::Folder);
        let again = yard.root.create_new(&rel("tool.sh"), b"x");
        fails(again, "exists already", "tool.sh");
        assert!(yard.root.replace(&rel("missing"), b"x").is_err());
        assert!(yard.root.append(&rel("missing"), b"x").is_err());
        yard.root.create_new(&rel("a/b/c/d.txt"), b"").unwrap();
        assert!(yard.root.exists(&rel("a/b/c/d.txt")).unwrap());
        assert!(!yard.root.exists(&rel("README.md/x")).unwrap());
        yard.root.remove_file(&rel("a/b/c/d.txt")).unwrap();
        assert!(!yard.root.exists(&rel("a/b/c/d.txt")).unwrap());
        assert!(yard.root.remove_file(&rel("a")).is_err());
        let names = files(&yard.app);
        let has_temporary = names.iter().any(|name| name.ends_with(".tmp"));
        assert!(!has_temporary, "{names:?}");
    });
}

#[test]
fn a_deleted_working_directory_is_said_plainly() {
    both(|yard| {
        fs::remove_dir_all(&yard.app).unwrap();
        let rel = RelPath::parse("src/main.rs").unwrap();
        for (act, outcome) in [
            ("read", yard.root.read(&rel, 10).map(drop)),
            ("put", yard.root.put(&rel, b"x")),
            ("exists", yard.root.exists(&rel).map(drop)),
            ("list", yard.root.list(&RelPath::here()).map(drop)),
            ("check", yard.root.check("/etc").map(drop)),
        ] {
            fails(outcome, "does not exist any more", act);
        }
        let problem = Root::open(&yard.app).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Missing);
    });
}

#[test]
fn a_full_disk_loses_nothing() {
    small_disk(|dir| {
        let root = Root::open(dir).unwrap();
        let (old, new) = (root.check("f").unwrap(), root.check("new").unwrap());
        root.put(&old, b"old").unwrap();
        let big = vec![b'x'; 1 << 20];
        for (act, outcome) in [
            ("replace", root.replace(&old, &big)),
            ("append", root.append(&old, &big).map(drop)),
            ("create", root.create_new(&new, &big)),
        ] {
            fails(outcome, "no space left", act);
        }
        assert_eq!(files(dir), ["f"]);
        assert_eq!(fs::read_to_string(dir.join("f")).unwrap(), "old");
    });
}
