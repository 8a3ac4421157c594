//! Attempts to escape the fence.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{SECRET, Yard, both, fails};
use crate::base::problem::ProblemKind;
use crate::disk::beneath::RelPath;

fn refused(yard: &Yard, path: &str, words: &str) {
    for problem in [yard.read(path).unwrap_err(), yard.write(path).unwrap_err()] {
        let text = problem.for_model();
        assert_eq!(problem.kind, ProblemKind::Refused, "{path:?}: {text}");
        for shown in [words, yard.app.to_str().unwrap(), "── README.md"] {
            assert!(text.contains(shown), "{path:?}: {text}");
        }
        assert!(!text.contains(SECRET), "{path:?}: {text}");
    }
    yard.outside_is_untouched();
}

#[test]
fn paths_that_lead_out_are_refused() {
    both(|yard| {
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
            refused(&yard, path, "Absolute paths not allowed");
        }
        for path in
            ".. ../ ../secret.txt ./../secret.txt ../app/README.md ../app-secret/in/key src/.. \
            src/../../secret.txt src/../README.md src/./../../secret.txt \
            src/deep/../../../secret.txt src//..//..//secret.txt missing/../../secret.txt \
            README.md/../../secret.txt src/deep/.. .././secret.txt"
                .split_ascii_whitespace()
        {
            refused(&yard, path, "Path traversal not allowed");
        }
        refused(&yard, "src/../.tickets/m-1.md", "ticket tools");
        refused(&yard, "README.md\0.txt", "NUL");
        for path in [
            ".tickets",
            ".tickets/",
            ".tickets/m-1.md",
            "./.tickets/m-1.md",
            ".//./.tickets//m-1.md",
            ".tickets/sub/new",
        ] {
            refused(&yard, path, "ticket tools");
        }
        assert_eq!(yard.root.check("").unwrap_err().kind, ProblemKind::Input);
        let absolute = format!("{above}/app/README.md");
        let hint = yard.root.check(&absolute).unwrap_err();
        assert!(hint.one_line().contains("Use \"README.md\""), "{hint}");
    });
}

#[test]
fn links_that_lead_out_are_refused() {
    both(|yard| {
        let above = &yard.above;
        for (link, target) in [
            ("file", "../secret.txt"),
            ("dir", ".."),
            ("sibling", "../app-secret"),
            ("to-root", "/"),
            ("magic", "/proc/self/root"),
            ("magic-cwd", "/proc/self/cwd"),
            ("chain1", "chain2"),
            ("chain2", "src/chain3"),
            ("src/chain3", "../file"),
            ("dchain1", "dchain2"),
            ("dchain2", "src/../src/dchain3"),
            ("src/dchain3", "../.."),
            ("mixed", "src/../../secret.txt"),
            ("dangling-out", "../new.txt"),
            ("dangling-dir-out", "../newdir"),
            ("back", "../app/README.md"),
        ] {
            yard.link(link, target);
        }
        yard.link("file-abs", above.join("secret.txt"));
        yard.link("dir-abs", above);
        yard.link("sibling-abs", above.join("app-secret"));
        for path in "file file-abs dir/secret.txt dir/new.txt dir/new/new.txt dir-abs/secret.txt \
            sibling/in/key sibling/new sibling-abs/in/key sibling-abs/in/new/x \
            to-root/etc/passwd magic/etc/passwd magic-cwd/x chain1 chain2 src/chain3 \
            dchain1/secret.txt dchain1/app/README.md src/dchain3/new/x mixed dangling-out \
            dangling-dir-out/x back"
            .split_ascii_whitespace()
        {
            fails(yard.read(path), "leads outside", path);
            fails(yard.root.check_write(path), "leads outside", path);
            // Removing a link, or moving a file over it, changes only the inside.
            let rel = yard.rel(path);
            for attempt in yard.writes(&rel) {
                fails(attempt, "leads outside", path);
            }
            assert!(yard.root.create_new(&rel, b"got out").is_err(), "{path}");
            yard.outside_is_untouched();
        }
        for path in ["dir", "dir-abs", "sibling", "to-root", "magic", "dchain1"] {
            fails(yard.root.list(&yard.rel(path)), "leads outside", path);
        }
        yard.root.remove_file(&yard.rel("file")).unwrap();
        yard.outside_is_untouched();
    });
}

#[test]
fn a_moved_working_directory_stays_the_same_one() {
    both(|yard| {
        fs::rename(&yard.app, yard.above.join("moved")).unwrap();
        symlink("app-secret", &yard.app).unwrap();
        let rel = RelPath::parse("in/key").unwrap();
        yard.root.put(&rel, b"mine").unwrap();
        let text = |path: &str| fs::read_to_string(yard.above.join(path)).unwrap();
        assert_eq!(text("app-secret/in/key"), SECRET);
        assert_eq!(text("moved/in/key"), "mine");
    });
}

/// One thread swaps a folder with a symlink that leads out while others use it in every way. Nothing outside may be written or read.
#[test]
fn swapping_a_folder_for_a_link_never_leads_out() {
    both(|yard| {
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
        yard.outside_is_untouched();
    });
}
