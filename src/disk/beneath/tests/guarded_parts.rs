//! Tickets, repositories and upstream documents: found however they are reached.

use std::fs;
use std::sync::Arc;

use super::{both, fails};
use crate::base::problem::{Outcome, ProblemKind};
use crate::disk::beneath::RelPath;

/// The failure says that there are tools for tickets.
fn names_the_ticket_tools<T>(outcome: Outcome<T>, path: &str) {
    let text = fails(outcome, "", path).for_model();
    assert!(text.contains("ticket tools"), "{path}: {text}");
}

#[test]
fn guarded_folders_are_found_under_any_name() {
    both(|yard| {
        yard.link("t", ".tickets");
        yard.link("tt", "t");
        yard.link("src/t", "../.tickets");
        yard.link("one", ".tickets/m-1.md");
        yard.link("tabs", yard.app.join(".tickets"));
        yard.link("g", ".git");
        yard.link("conf", ".git/config");
        yard.link("h", "vendor/lib/.git/hooks");
        yard.link("u", ".marvin/upstream");
        for path in
            "t/m-1.md tt/m-1.md tt/new src/t/m-1.md src/t/sub/new one tabs/m-1.md tabs/new/new"
                .split_ascii_whitespace()
        {
            match path.ends_with("new/new") {
                true => assert!(yard.read(path).is_err(), "{path}"),
                false => names_the_ticket_tools(yard.read(path), path),
            }
            names_the_ticket_tools(yard.root.put(&yard.rel(path), b"x"), path);
            names_the_ticket_tools(yard.root.check_write(path), path);
        }
        for path in ["t", "tt", "src/t", "tabs"] {
            names_the_ticket_tools(yard.root.list(&yard.rel(path)), path);
        }
        assert_eq!(yard.read(".git/config").unwrap(), "[core]");
        for path in ".git/hooks/pre-commit .git/config .git .git/new/x g/hooks/pre-commit g/config \
            g/new/x conf h/post-checkout vendor/lib/.git/hooks/x src/.git src/.git/hooks/x"
            .split_ascii_whitespace()
        {
            let problem = fails(yard.root.check_write(path), "by git alone", path);
            assert_eq!(problem.kind, ProblemKind::Refused, "{path}: {problem}");
            let rel = yard.rel(path);
            assert!(yard.root.put(&rel, b"x").is_err(), "{path}");
            assert!(yard.root.create_new(&rel, b"x").is_err(), "{path}");
            assert!(yard.root.append(&rel, b"x").is_err(), "{path}");
            fs::write(yard.app.join("README.md"), "read me").unwrap();
        }
        for path in [
            ".marvin/upstream/TOOLS.md",
            ".marvin/upstream/new",
            "u/new",
            "u/TOOLS.md",
            ".marvin/upstream",
        ] {
            fails(yard.root.check_write(path), "upstream", path);
            let rel = yard.rel(path);
            assert!(yard.root.put(&rel, b"x").is_err(), "{path}");
            assert!(yard.root.remove_file(&rel).is_err(), "{path}");
        }
        assert_eq!(yard.read("u/TOOLS.md").unwrap(), "tools");
        yard.root.check_write(".marvin/notes/new.md").unwrap();
        let hooks = fs::read_dir(yard.app.join(".git/hooks")).unwrap();
        assert_eq!(hooks.count(), 0);
        let shown = yard.root.list(&RelPath::here()).unwrap();
        assert!(shown.iter().all(|entry| entry.name != ".tickets"));
    });
}

#[test]
fn a_tickets_folder_through_a_link_is_refused_before_it_exists() {
    both(|yard| {
        fs::remove_dir_all(yard.app.join(".tickets")).unwrap();
        yard.link("t", ".tickets");
        yard.link("src/t", "../.tickets/new.md");
        for path in ["t/x", "src/t"] {
            let rel = yard.rel(path);
            assert!(yard.root.put(&rel, b"x").is_err(), "{path}");
        }
        assert!(yard.app.join(".tickets").symlink_metadata().is_err());
    });
}

#[test]
fn a_repository_under_another_name_is_closed_for_writing() {
    both(|yard| {
        for folder in ["hooks", "objects", "refs", "main"] {
            fs::create_dir_all(yard.app.join("bare").join(folder)).unwrap();
        }
        fs::create_dir(yard.app.join("hooks")).unwrap();
        fs::write(yard.app.join("bare/HEAD"), "ref: refs/heads/main").unwrap();
        yard.link("way", "bare/hooks");
        for path in [
            "bare/hooks/post-checkout",
            "bare/config",
            "way/pre-commit",
            "bare/refs/x",
        ] {
            let text = yard.write(path).unwrap_err().for_model();
            assert!(text.contains("git alone"), "{path}: {text}");
        }
        for path in ["hooks/mine", "bare/main/config", "config", "bare/notes.md"] {
            yard.write(path).unwrap();
        }
        let inner = yard.open("way");
        assert!(yard.root.closed_part(&inner).unwrap().is_some());
    });
}

#[test]
fn guarded_parts_are_known_under_any_name_and_below() {
    both(|yard| {
        yard.link("hooks", ".git/hooks");
        for (path, wanted) in [
            ("", None),
            ("src/deep", None),
            (".tickets/sub", Some(".tickets")),
            (".git", Some(".git")),
            ("hooks", Some(".git")),
            (".marvin", Some(".marvin")),
            (".marvin/upstream", Some(".marvin/upstream")),
        ] {
            let part = yard.root.closed_part(&yard.open(path)).unwrap();
            assert_eq!(part, wanted, "{path}");
        }
        let holds = |path: &str| yard.root.holds(&yard.open(path)).unwrap();
        assert!(yard.root.holds(&yard.root).unwrap());
        assert!(holds("src/deep") && !holds("..") && !holds("../app-secret"));
    });
}

#[test]
fn what_a_project_closes_stays_closed_from_the_folder_above_it() {
    both(|yard| {
        let first = Arc::new(yard.root.clone());
        let above = yard.open("..").keeping_closed(&first);
        let write = |path: &str| above.put(&above.check(path).unwrap(), b"mine");
        for path in [
            "app/.tickets/m-1.md",
            "app/.tickets/new.md",
            "app/.git/config",
            "app/.marvin/upstream/TOOLS.md",
        ] {
            let problem = write(path).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Refused, "{path}: {problem:?}");
        }
        let ticket = above.check("app/.tickets/m-1.md").unwrap();
        assert!(above.read(&ticket, 99).is_err());
        write("app/src/main.rs").unwrap();
        write("app/.marvin/spec.md").unwrap();
    });
}
