//! Attempts to escape the fence, each with both ways of opening.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::open_beneath::OpenMethod;
use super::{FileKind, RelPath, Root};
use crate::base::problem::{Problem, ProblemKind};

const SECRET: &str = "the secret outside";

/// A working directory `app` with a sibling `app-secret` and a file above.
struct Yard {
    _dir: tempfile::TempDir,
    above: PathBuf,
    app: PathBuf,
    root: Root,
}

fn yard(engine: OpenMethod) -> Yard {
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().canonicalize().unwrap();
    let app = above.join("app");
    for folder in [
        "app/src/deep",
        "app/.tickets/sub",
        "app/.git/hooks",
        "app/.marvin/upstream",
        "app/vendor/lib/.git/hooks",
        "app-secret/in",
    ] {
        fs::create_dir_all(above.join(folder)).unwrap();
    }
    for (name, text) in [
        ("secret.txt", SECRET),
        ("app-secret/in/key", SECRET),
        ("app/README.md", "read me"),
        ("app/src/main.rs", "fn main() {}"),
        ("app/src/deep/x", "deep"),
        ("app/.tickets/m-1.md", "ticket"),
        ("app/.git/config", "[core]"),
        ("app/.marvin/upstream/TOOLS.md", "tools"),
        ("app/.marvin/spec.md", "spec"),
    ] {
        fs::write(above.join(name), text).unwrap();
    }
    let root = Root::open_with(&app, engine).unwrap();
    Yard {
        _dir: dir,
        above,
        app,
        root,
    }
}

fn both(test: impl Fn(OpenMethod)) {
    test(OpenMethod::Kernel);
    test(OpenMethod::Walk);
}

impl Yard {
    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.app.join(name)).unwrap();
    }

    fn read(&self, path: &str) -> Result<String, Problem> {
        let rel = self.root.check(path)?;
        let bytes = self.root.read(&rel, 1 << 20)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    /// Tries every way to write; the first that works wins.
    fn write(&self, path: &str) -> Result<(), Problem> {
        let rel = self.root.check(path)?;
        let root = &self.root;
        let mut failure = root.create_new(&rel, b"got out").err();
        for attempt in [
            root.put(&rel, b"got out"),
            root.replace(&rel, b"got out"),
            root.append(&rel, b"got out").map(drop),
            root.remove_file(&rel),
        ] {
            match attempt {
                Ok(()) => return Ok(()),
                Err(problem) => failure = Some(problem),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn refused(&self, path: &str, words: &str) {
        for problem in [self.read(path).unwrap_err(), self.write(path).unwrap_err()] {
            let text = problem.for_model();
            assert!(text.contains(words), "{path:?}: {text}");
            assert_eq!(problem.kind, ProblemKind::Refused, "{path:?}: {text}");
            assert!(
                text.contains(self.app.to_str().unwrap()),
                "{path:?}: {text}"
            );
            assert!(text.contains("── README.md"), "{path:?}: {text}");
            assert!(!text.contains(SECRET), "{path:?}: {text}");
        }
        self.outside_is_untouched();
    }

    fn refused_write(&self, path: &str) {
        let text = self.write(path).unwrap_err().for_model();
        assert!(text.contains("git alone"), "{path}: {text}");
    }

    fn outside_is_untouched(&self) {
        let mut names: Vec<String> = Vec::new();
        collect(&self.above, &self.above, &mut names);
        names.retain(|name| !name.starts_with("app/"));
        names.sort();
        assert_eq!(names, ["app-secret/in/key", "secret.txt"]);
        for name in names {
            assert_eq!(fs::read_to_string(self.above.join(name)).unwrap(), SECRET);
        }
    }
}

fn collect(base: &Path, dir: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(base, &entry.path(), names);
        } else {
            let path = entry.path();
            let rel = path.strip_prefix(base).unwrap();
            names.push(rel.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    both(|engine| {
        let yard = yard(engine);
        let above = yard.above.display().to_string();
        for path in [
            "/etc/passwd",
            "/",
            "//etc/passwd",
            "/proc/self/root/etc/passwd",
            "/proc/self/cwd/x",
            "/dev/fd/3",
            "~",
            "~/x",
            "C:\\Windows",
            "c:/Windows",
            &format!("{above}/secret.txt"),
            &format!("{above}/app/README.md"),
            &format!("{above}/app-secret/in/key"),
        ] {
            yard.refused(path, "Absolute paths not allowed");
        }
        for path in [
            "..",
            "../",
            "../secret.txt",
            "./../secret.txt",
            "../app/README.md",
            "../app-secret/in/key",
            "src/..",
            "src/../../secret.txt",
            "src/../README.md",
            "src/./../../secret.txt",
            "src/deep/../../../secret.txt",
            "src//..//..//secret.txt",
            "missing/../../secret.txt",
            "README.md/../../secret.txt",
            "src/deep/..",
            ".././secret.txt",
        ] {
            yard.refused(path, "Path traversal not allowed");
        }
        yard.refused("src/../.tickets/m-1.md", "ticket tools");
        yard.refused("README.md\0.txt", "NUL");
        for path in [
            ".tickets",
            ".tickets/",
            ".tickets/m-1.md",
            "./.tickets/m-1.md",
            ".//./.tickets//m-1.md",
            ".tickets/sub/new",
        ] {
            yard.refused(path, "ticket tools");
        }
        assert_eq!(yard.root.check("").unwrap_err().kind, ProblemKind::Input);
        let hint = yard
            .root
            .check(&format!("{above}/app/README.md"))
            .unwrap_err();
        assert!(hint.one_line().contains("Use \"README.md\""), "{hint}");
    });
}

#[test]
fn links_that_lead_out_are_refused() {
    both(|engine| {
        let yard = yard(engine);
        let above = &yard.above;
        yard.link("file", "../secret.txt");
        yard.link("file-abs", above.join("secret.txt"));
        yard.link("dir", "..");
        yard.link("dir-abs", above);
        yard.link("sibling", "../app-secret");
        yard.link("sibling-abs", above.join("app-secret"));
        yard.link("to-root", "/");
        yard.link("magic", "/proc/self/root");
        yard.link("magic-cwd", "/proc/self/cwd");
        yard.link("chain1", "chain2");
        yard.link("chain2", "src/chain3");
        yard.link("src/chain3", "../file");
        yard.link("dchain1", "dchain2");
        yard.link("dchain2", "src/../src/dchain3");
        yard.link("src/dchain3", "../..");
        yard.link("mixed", "src/../../secret.txt");
        yard.link("dangling-out", "../new.txt");
        yard.link("dangling-dir-out", "../newdir");
        yard.link("back", "../app/README.md");
        for path in [
            "file",
            "file-abs",
            "dir/secret.txt",
            "dir/new.txt",
            "dir/new/new.txt",
            "dir-abs/secret.txt",
            "sibling/in/key",
            "sibling/new",
            "sibling-abs/in/key",
            "sibling-abs/in/new/x",
            "to-root/etc/passwd",
            "magic/etc/passwd",
            "magic-cwd/x",
            "chain1",
            "chain2",
            "src/chain3",
            "dchain1/secret.txt",
            "dchain1/app/README.md",
            "src/dchain3/new/x",
            "mixed",
            "dangling-out",
            "dangling-dir-out/x",
            "back",
        ] {
            let problem = yard.read(path).unwrap_err();
            assert!(
                problem.what.contains("leads outside"),
                "{path}: {}",
                problem.what
            );
            let gate = yard.root.check_write(path).unwrap_err();
            assert!(gate.what.contains("leads outside"), "{path}: {}", gate.what);
            // Removing a link, or moving a file over it, changes only the inside.
            let rel = yard.root.check(path).unwrap();
            for attempt in [
                yard.root.put(&rel, b"got out"),
                yard.root.replace(&rel, b"got out"),
                yard.root.append(&rel, b"got out").map(drop),
            ] {
                assert!(
                    attempt.unwrap_err().what.contains("leads outside"),
                    "{path}"
                );
            }
            assert!(yard.root.create_new(&rel, b"got out").is_err(), "{path}");
            yard.outside_is_untouched();
        }
        for path in ["dir", "dir-abs", "sibling", "to-root", "magic", "dchain1"] {
            let rel = yard.root.check(path).unwrap();
            let problem = yard.root.list(&rel).unwrap_err();
            assert!(problem.what.contains("leads outside"), "{path}: {problem}");
        }
        let rel = yard.root.check("file").unwrap();
        yard.root.remove_file(&rel).unwrap();
        yard.outside_is_untouched();
    });
}

#[test]
fn links_inside_work() {
    both(|engine| {
        let yard = yard(engine);
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
        let rel = |path: &str| yard.root.check(path).unwrap();
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
fn guarded_folders_are_found_under_any_name() {
    both(|engine| {
        let yard = yard(engine);
        yard.link("t", ".tickets");
        yard.link("tt", "t");
        yard.link("src/t", "../.tickets");
        yard.link("one", ".tickets/m-1.md");
        yard.link("tabs", yard.app.join(".tickets"));
        yard.link("g", ".git");
        yard.link("conf", ".git/config");
        yard.link("h", "vendor/lib/.git/hooks");
        yard.link("u", ".marvin/upstream");
        for path in [
            "t/m-1.md",
            "tt/m-1.md",
            "tt/new",
            "src/t/m-1.md",
            "src/t/sub/new",
            "one",
            "tabs/m-1.md",
            "tabs/new/new",
        ] {
            let problem = yard.read(path).unwrap_err();
            assert!(
                path.ends_with("new/new") || problem.for_model().contains("ticket tools"),
                "{path}: {problem}"
            );
            let rel = yard.root.check(path).unwrap();
            let problem = yard.root.put(&rel, b"x").unwrap_err();
            assert!(
                problem.for_model().contains("ticket tools"),
                "{path}: {problem}"
            );
            let problem = yard.root.check_write(path).unwrap_err();
            assert!(
                problem.for_model().contains("ticket tools"),
                "{path}: {problem}"
            );
        }
        for path in ["t", "tt", "src/t", "tabs"] {
            let rel = yard.root.check(path).unwrap();
            assert!(
                yard.root
                    .list(&rel)
                    .unwrap_err()
                    .for_model()
                    .contains("ticket tools")
            );
        }
        assert_eq!(yard.read(".git/config").unwrap(), "[core]");
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            ".git",
            ".git/new/x",
            "g/hooks/pre-commit",
            "g/config",
            "g/new/x",
            "conf",
            "h/post-checkout",
            "vendor/lib/.git/hooks/x",
            "src/.git",
            "src/.git/hooks/x",
        ] {
            let problem = yard.root.check_write(path).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Refused, "{path}: {problem}");
            assert!(problem.what.contains("by git alone"), "{path}: {problem}");
            let rel = yard.root.check(path).unwrap();
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
            let problem = yard.root.check_write(path).unwrap_err();
            assert!(problem.what.contains("upstream"), "{path}: {problem}");
            let rel = yard.root.check(path).unwrap();
            assert!(yard.root.put(&rel, b"x").is_err(), "{path}");
            assert!(yard.root.remove_file(&rel).is_err(), "{path}");
        }
        assert_eq!(yard.read("u/TOOLS.md").unwrap(), "tools");
        yard.root.check_write(".marvin/notes/new.md").unwrap();
        assert_eq!(
            fs::read_dir(yard.app.join(".git/hooks")).unwrap().count(),
            0
        );
        let shown = yard.root.list(&RelPath::here()).unwrap();
        assert!(shown.iter().all(|entry| entry.name != ".tickets"));
    });
}

#[test]
fn a_tickets_folder_through_a_link_is_refused_before_it_exists() {
    both(|engine| {
        let yard = yard(engine);
        fs::remove_dir_all(yard.app.join(".tickets")).unwrap();
        yard.link("t", ".tickets");
        yard.link("src/t", "../.tickets/new.md");
        for path in ["t/x", "src/t"] {
            let rel = yard.root.check(path).unwrap();
            assert!(yard.root.put(&rel, b"x").is_err(), "{path}");
        }
        assert!(yard.app.join(".tickets").symlink_metadata().is_err());
    });
}

#[test]
fn only_regular_files_are_read_and_nothing_blocks() {
    both(|engine| {
        let yard = yard(engine);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            yard.app.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(yard.app.join("sock")).unwrap();
        let start = Instant::now();
        for (path, words) in [("pipe", "FIFO"), ("sock", "socket"), ("src", "a folder")] {
            let problem = yard.read(path).unwrap_err();
            assert!(problem.what.contains(words), "{path}: {problem}");
            let rel = yard.root.check(path).unwrap();
            for attempt in [
                yard.root.put(&rel, b"x"),
                yard.root.replace(&rel, b"x"),
                yard.root.append(&rel, b"x").map(drop),
            ] {
                let problem = attempt.unwrap_err();
                assert!(problem.what.contains(words), "{path}: {problem}");
            }
        }
        assert!(start.elapsed() < Duration::from_secs(2));
        let problem = yard.read(".").unwrap_err();
        assert!(problem.what.contains("a folder"), "{problem}");
        assert!(yard.root.put(&RelPath::here(), b"x").is_err());
        assert!(yard.root.remove_file(&RelPath::here()).is_err());
    });
}

#[test]
fn odd_names_get_clear_errors() {
    both(|engine| {
        let yard = yard(engine);
        let long = "x".repeat(300);
        let deep = vec!["d"; 3_000].join("/");
        for path in [long.as_str(), &format!("{long}/y"), &deep] {
            let problem = yard.write(path).unwrap_err();
            assert!(problem.for_model().len() < 3_000, "{problem}");
        }
        assert!(
            yard.read(&long)
                .unwrap_err()
                .what
                .contains("name is too long")
        );
        yard.link("loop", "loop2");
        yard.link("loop2", "loop");
        for path in ["loop", "loop/x"] {
            let problem = yard.read(path).unwrap_err();
            assert!(
                problem.what.contains("too many symbolic links"),
                "{problem}"
            );
        }
        fs::write(yard.app.join(OsStr::from_bytes(b"caf\xe9")), "x").unwrap();
        let names = yard.root.list(&RelPath::here()).unwrap();
        assert!(names.iter().any(|entry| entry.name == "caf\u{fffd}"));
        let problem = yard.read("src/mian.rs").unwrap_err();
        assert!(
            problem.one_line().contains("Did you mean \"src/main.rs\"?"),
            "{problem}"
        );
        assert_eq!(problem.kind, ProblemKind::Missing);
        let problem = yard.read("README.md/x").unwrap_err();
        assert!(problem.what.contains("is a file"), "{problem}");
        assert_eq!(yard.read("./src//main.rs/").unwrap(), "fn main() {}");
        for path in ["...", "..a", "a..", "-rf", "a b", "a\nb", "*", "$HOME"] {
            yard.root
                .create_new(&yard.root.check(path).unwrap(), b"x")
                .unwrap();
            assert_eq!(yard.read(path).unwrap(), "x");
        }
    });
}

#[test]
fn writes_keep_permissions_and_leave_nothing_behind() {
    both(|engine| {
        let yard = yard(engine);
        let rel = |path: &str| yard.root.check(path).unwrap();
        let tool = yard.app.join("tool.sh");
        fs::write(&tool, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o751)).unwrap();
        yard.root.replace(&rel("tool.sh"), b"new").unwrap();
        assert_eq!(
            tool.metadata().unwrap().permissions().mode() & 0o7777,
            0o751
        );
        assert_eq!(
            yard.root.metadata(&rel("tool.sh")).unwrap().kind,
            FileKind::File
        );
        assert_eq!(
            yard.root.metadata(&rel("src")).unwrap().kind,
            FileKind::Folder
        );
        let problem = yard.root.create_new(&rel("tool.sh"), b"x").unwrap_err();
        assert!(problem.what.contains("exists already"), "{problem}");
        assert!(yard.root.replace(&rel("missing"), b"x").is_err());
        assert!(yard.root.append(&rel("missing"), b"x").is_err());
        yard.root.create_new(&rel("a/b/c/d.txt"), b"").unwrap();
        assert!(yard.root.exists(&rel("a/b/c/d.txt")).unwrap());
        assert!(!yard.root.exists(&rel("README.md/x")).unwrap());
        yard.root.remove_file(&rel("a/b/c/d.txt")).unwrap();
        assert!(!yard.root.exists(&rel("a/b/c/d.txt")).unwrap());
        assert!(yard.root.remove_file(&rel("a")).is_err());
        let mut names = Vec::new();
        collect(&yard.app, &yard.app, &mut names);
        assert!(
            names.iter().all(|name| !name.ends_with(".tmp")),
            "{names:?}"
        );
    });
}

#[test]
fn a_deleted_working_directory_is_said_plainly() {
    both(|engine| {
        let yard = yard(engine);
        fs::remove_dir_all(&yard.app).unwrap();
        let rel = RelPath::parse("src/main.rs").unwrap();
        for problem in [
            yard.root.read(&rel, 10).unwrap_err(),
            yard.root.put(&rel, b"x").unwrap_err(),
            yard.root.exists(&rel).unwrap_err(),
            yard.root.list(&RelPath::here()).unwrap_err(),
            yard.root.check("/etc").unwrap_err(),
        ] {
            assert!(
                problem.what.contains("does not exist any more"),
                "{problem}"
            );
        }
        let problem = Root::open(&yard.app).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Missing);
    });
}

#[test]
fn a_moved_working_directory_stays_the_same_one() {
    both(|engine| {
        let yard = yard(engine);
        fs::rename(&yard.app, yard.above.join("moved")).unwrap();
        symlink("app-secret", &yard.app).unwrap();
        let rel = RelPath::parse("in/key").unwrap();
        yard.root.put(&rel, b"mine").unwrap();
        assert_eq!(
            fs::read_to_string(yard.above.join("app-secret/in/key")).unwrap(),
            SECRET
        );
        assert_eq!(
            fs::read_to_string(yard.above.join("moved/in/key")).unwrap(),
            "mine"
        );
    });
}

/// One thread swaps a folder with a symlink that leads out while others use it in every way. Nothing outside may be written or read.
#[test]
fn swapping_a_folder_for_a_link_never_leads_out() {
    both(|engine| {
        let yard = yard(engine);
        fs::create_dir(yard.app.join("swap")).unwrap();
        fs::write(yard.app.join("swap/secret.txt"), "inside").unwrap();
        fs::write(yard.app.join("f"), "inside").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let swapper = {
            let (app, stop) = (yard.app.clone(), stop.clone());
            std::thread::spawn(move || {
                symlink("..", app.join("swap-link")).unwrap();
                symlink("../secret.txt", app.join("f-link")).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    for name in ["swap", "f"] {
                        let (real, link) = (app.join(name), app.join(format!("{name}-link")));
                        let away = app.join(format!("{name}-real"));
                        let _ = fs::rename(&real, &away);
                        let _ = fs::rename(&link, &real);
                        let _ = fs::rename(&real, &link);
                        let _ = fs::rename(&away, &real);
                    }
                }
            })
        };
        let done = AtomicUsize::new(0);
        let until = Instant::now() + Duration::from_millis(700);
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let (yard, done) = (&yard, &done);
                scope.spawn(move || {
                    let rel = |path: &str| RelPath::parse(path).unwrap();
                    while Instant::now() < until {
                        let root = &yard.root;
                        let ok = match worker {
                            0 => root.put(&rel("swap/new.txt"), b"x").is_ok(),
                            1 => {
                                let made = root.create_new(&rel("swap/sub/new2"), b"x").is_ok();
                                let _ = root.append(&rel("swap/secret.txt"), b"+");
                                let _ = root.append(&rel("f"), b"+");
                                let _ = root.remove_file(&rel("swap/sub/new2"));
                                made
                            }
                            _ => ["swap/secret.txt", "f"].into_iter().any(|path| {
                                root.read(&rel(path), 1 << 20).is_ok_and(|bytes| {
                                    let text = String::from_utf8_lossy(&bytes).into_owned();
                                    assert!(!text.contains(SECRET), "read outside");
                                    true
                                })
                            }),
                        };
                        done.fetch_add(usize::from(ok), Ordering::Relaxed);
                    }
                });
            }
        });
        stop.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        assert!(done.load(Ordering::Relaxed) > 0, "no act ever succeeded");
        let mut names = Vec::new();
        collect(&yard.above, &yard.above, &mut names);
        names.retain(|name| !name.starts_with("app/"));
        names.sort();
        assert_eq!(names, ["app-secret/in/key", "secret.txt"], "{engine:?}");
        assert_eq!(
            fs::read_to_string(yard.above.join("secret.txt")).unwrap(),
            SECRET
        );
    });
}

/// A full disk keeps the old content. Needs the right to mount a small file system.
#[test]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn a_full_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(dir.path())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        eprintln!("skipped: no right to mount a small file system");
        return;
    }
    let root = Root::open(dir.path()).unwrap();
    let rel = root.check("f").unwrap();
    root.put(&rel, b"old").unwrap();
    let big = vec![b'x'; 1 << 20];
    let new = root.check("new").unwrap();
    let outcomes = [
        root.replace(&rel, &big).unwrap_err(),
        root.append(&rel, &big).map(drop).unwrap_err(),
        root.create_new(&new, &big).unwrap_err(),
    ];
    let left = fs::read_dir(dir.path()).unwrap().count();
    let text = fs::read_to_string(dir.path().join("f")).unwrap();
    drop(root);
    std::process::Command::new("umount")
        .arg("-l")
        .arg(dir.path())
        .status()
        .unwrap();
    for problem in outcomes {
        assert!(problem.what.contains("no space left"), "{problem}");
    }
    assert_eq!((left, text.as_str()), (1, "old"));
}

#[test]
fn a_repository_under_another_name_is_closed_for_writing() {
    both(|engine| {
        let yard = yard(engine);
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
            yard.refused_write(path);
        }
        for path in ["hooks/mine", "bare/main/config", "config", "bare/notes.md"] {
            yard.write(path).unwrap();
        }
        let inner = Root::open_with(&yard.app.join("way"), engine).unwrap();
        assert!(yard.root.closed_part(&inner).unwrap().is_some());
    });
}

#[test]
fn guarded_parts_are_known_under_any_name_and_below() {
    both(|engine| {
        let yard = yard(engine);
        yard.link("hooks", ".git/hooks");
        let part = |path: &str| {
            let inner = Root::open_with(&yard.app.join(path), engine).unwrap();
            yard.root.closed_part(&inner).unwrap()
        };
        for (path, wanted) in [
            ("", None),
            ("src/deep", None),
            (".tickets/sub", Some(".tickets")),
            (".git", Some(".git")),
            ("hooks", Some(".git")),
            (".marvin", Some(".marvin")),
            (".marvin/upstream", Some(".marvin/upstream")),
        ] {
            assert_eq!(part(path), wanted, "{path}");
        }
        let open = |path: &Path| Root::open_with(path, engine).unwrap();
        assert!(yard.root.holds(&open(&yard.app.join("src/deep"))).unwrap());
        assert!(yard.root.holds(&yard.root).unwrap());
        assert!(!yard.root.holds(&open(&yard.above)).unwrap());
        assert!(
            !yard
                .root
                .holds(&open(&yard.above.join("app-secret")))
                .unwrap()
        );
    });
}

#[test]
fn what_a_project_closes_stays_closed_from_the_folder_above_it() {
    both(|engine| {
        let yard = yard(engine);
        let first = Arc::new(yard.root.clone());
        let above = Root::open_with(&yard.above, engine).unwrap();
        let above = above.keeping_closed(&first);
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
