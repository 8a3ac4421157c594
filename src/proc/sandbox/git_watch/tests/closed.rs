//! Folders that nobody can list hide nothing. Whom the system lets into every folder would see nothing of it: it is tried as another user.

use super::*;
use std::process::Command;
use std::thread;

use rustix::process::geteuid;
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Runs `act` as a user who is not root.
fn as_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let user = scope.spawn(|| {
            if geteuid().is_root() {
                let (group, user) = (Gid::from_raw(65_534), Uid::from_raw(65_534));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
            }
            act()
        });
        user.join().unwrap()
    })
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// A repository as git makes it, with a commit.
fn real_repository() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    fs::write(path.join("mine"), "mine\n").unwrap();
    fs::create_dir(path.join("work")).unwrap();
    let work = path.join("work");
    assert!(git(&work, &["init", "-q", "."]));
    assert!(git(
        &work,
        &["commit", "-q", "--allow-empty", "-m", "touch one"]
    ));
    fs::create_dir(work.join("e")).unwrap();
    assert!(git(&work, &["init", "-q", "e/known"]));
    (dir, work)
}

fn git(dir: &Path, args: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=n", "-c", "user.email=e@example.org"])
        .args(args)
        .current_dir(dir)
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    git.output().unwrap().status.success()
}

#[test]
fn a_folder_that_cannot_be_listed_hides_nothing_that_git_would_write_or_run() {
    as_user(|| {
        let link_at = |work: &Path, name: &str| {
            let link = work.join(".git").join(name);
            let _none = fs::remove_file(&link);
            symlink(work.join("../mine"), link).unwrap();
        };
        let program_at = |work: &Path, config: &str| {
            let text = format!(
                "[core]\n\tfsmonitor = \"echo evil > {}; false\"\n",
                work.join("../mine").display()
            );
            let config = work.join(config);
            fs::create_dir_all(config.parent().unwrap()).unwrap();
            let before = fs::read_to_string(&config).unwrap_or_default();
            fs::write(config, before + &text).unwrap();
        };
        type Attack<'a> = (
            &'a dyn Fn(&Path),
            &'a [(&'a str, u32)],
            &'a dyn Fn(&Path) -> bool,
        );
        let commit =
            |work: &Path| git(work, &["commit", "-q", "--allow-empty", "-m", "touch evil"]);
        let attacks: [Attack<'_>; 8] = [
            (
                &|work| link_at(work, "logs/HEAD"),
                &[(".git/logs", 0o311)],
                &commit,
            ),
            (
                &|work| link_at(work, "COMMIT_EDITMSG"),
                &[(".git", 0o311)],
                &commit,
            ),
            (
                &|work| link_at(work, "logs/HEAD"),
                &[(".git/logs", 0o311), (".git", 0o311), ("", 0o311)],
                &commit,
            ),
            (
                &|work| {
                    fs::create_dir_all(work.join("d")).unwrap();
                    assert!(git(work, &["init", "-q", "d/evil"]));
                    program_at(work, "d/evil/.git/config");
                },
                &[("d", 0o311)],
                &|work| git(&work.join("d/evil"), &["status"]),
            ),
            (
                &|work| program_at(work, "e/known/.git/config"),
                &[("e/known", 0o311), ("e", 0o100)],
                &|work| git(&work.join("e/known"), &["status"]),
            ),
            (
                &|work| program_at(work, "e/known/.git/config"),
                &[("e/known/.git", 0o111), ("e/known", 0o111)],
                &|work| git(&work.join("e/known"), &["status"]),
            ),
            (
                &|work| {
                    let hook = work.join(".git/hooks/post-commit");
                    fs::write(&hook, "#!/bin/sh\necho evil > ../mine\n").unwrap();
                    chmod(&hook, 0o755);
                },
                &[(".git/hooks", 0o511)],
                &commit,
            ),
            (
                &|work| {
                    let hook = work.join(".git/hooks/post-commit");
                    fs::write(&hook, "#!/bin/sh\necho evil > ../mine\n").unwrap();
                    chmod(&hook, 0o755);
                },
                &[(".git/hooks", 0o111)],
                &commit,
            ),
        ];
        for (number, (attack, closed, act)) in attacks.into_iter().enumerate() {
            let (_dir, work) = real_repository();
            for is_watched in [true, false] {
                let watch = watch_of(&work);
                attack(&work);
                for (folder, mode) in closed {
                    chmod(&work.join(folder), *mode);
                }
                if is_watched {
                    let changes = watch.changes();
                    let done = watch.put_back(&changes.git, None);
                    assert_eq!(done.failed, paths(&[]), "{number}");
                    assert_eq!(changes.closed, paths(&[]), "{number}");
                    for (folder, mode) in closed {
                        let is_told = changes.given_back.contains(&PathBuf::from(folder));
                        assert_eq!(is_told, mode & 0o500 != 0o500, "{number} {changes:?}");
                    }
                    assert_eq!(watch.changes(), WatchedChanges::default(), "{number}");
                }
                act(&work);
                let mine = fs::read_to_string(work.join("../mine")).unwrap();
                assert_eq!(mine == "mine\n", is_watched, "{number}: {mine}");
                for (folder, _) in closed.iter().rev() {
                    chmod(&work.join(folder), 0o755);
                }
            }
        }
    });
}

#[test]
fn a_folder_that_the_user_has_closed_stays_so_and_what_cannot_be_seen_is_told() {
    let (_dir, work, watch) = as_user(|| {
        let (dir, work) = real_repository();
        for folder in ["closed", "own"] {
            fs::create_dir(work.join(folder)).unwrap();
        }
        chmod(&work.join("closed"), 0o311);
        chmod(&work.join(".git/info"), 0o311);
        let watch = watch_of(&work);
        assert!(watch.cut_words().is_some());
        chmod(&work.join("own"), 0o311);
        fs::write(work.join("closed/new"), "").unwrap();
        let changes = watch.changes();
        assert_eq!(changes.given_back, paths(&["own"]));
        assert_eq!(changes.closed, paths(&[]));
        assert_eq!(changes.git, paths(&[]));
        assert_eq!(mode(&work.join("closed")), 0o311);
        assert_eq!(mode(&work.join(".git/info")), 0o311);
        chmod(&work.join("closed"), 0o755);
        chmod(&work.join(".git/info"), 0o755);
        (dir, work, watch)
    });
    if !geteuid().is_root() {
        return;
    }
    // What belongs to somebody else.
    for folder in ["others", ".git/logs/others"] {
        fs::create_dir(work.join(folder)).unwrap();
        chmod(&work.join(folder), 0o700);
    }
    let changes = as_user(|| watch.changes());
    assert_eq!(changes.closed, paths(&[".git/logs/others", "others"]));
    assert_eq!(changes.given_back, paths(&[]));
    assert!(changes.folder_words("The command")[0].contains(".git/logs/others, others"));
}

#[test]
fn links_are_looked_for_only_in_folders_that_have_changed() {
    let (_dir, path) = repository();
    let logs = path.join(".git/logs/refs/heads");
    fs::create_dir_all(&logs).unwrap();
    symlink(path.join("users"), logs.join("users")).unwrap();
    // A folder that has just changed is read again.
    thread::sleep(std::time::Duration::from_millis(60));
    let watch = watch_of(&path);
    let before = PathBuf::from(".git/logs/refs/heads");
    assert!(watch.seen.contains_key(&before));
    let later = GitWatch::note_after(watch.places.clone(), Some(watch));
    assert_eq!(later.changes(), WatchedChanges::default());
    symlink(path.join("users"), path.join("moved")).unwrap();
    fs::rename(path.join("moved"), logs.join("main")).unwrap();
    fs::create_dir_all(path.join(".git/logs/refs/new/deep")).unwrap();
    symlink("/evil", path.join(".git/logs/refs/new/deep/x")).unwrap();
    fs::remove_file(logs.join("users")).unwrap();
    let changed = [".git/logs/refs/heads/users", ".git/logs/refs/new/deep/x"];
    // The link of the user under another name is theirs.
    assert_eq!(later.changes().git, paths(&changed));
    assert!(undo(&later).is_empty());
    assert!(fs::symlink_metadata(logs.join("users")).is_ok());
}
