//! What commands change of what git runs, and what becomes of it.

use super::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

mod closed;

fn repository() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    for folder in [".git/hooks", ".git/info", ".git/modules/a/b/hooks"] {
        fs::create_dir_all(path.join(folder)).unwrap();
    }
    fs::write(path.join(".git/config"), "[core]\n").unwrap();
    fs::write(path.join(".git/hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    fs::write(path.join(".git/modules/a/b/HEAD"), "ref: x\n").unwrap();
    fs::write(path.join(".git/modules/a/b/config"), "[core]\n").unwrap();
    (dir, path)
}

fn watch_of(dir: &Path) -> GitWatch {
    GitWatch::note(WatchedPlaces {
        dir: dir.to_owned(),
        ..WatchedPlaces::default()
    })
}

/// Puts everything back, and says what could not be.
fn undo(watch: &GitWatch) -> Vec<PathBuf> {
    let keep = tempfile::tempdir().unwrap();
    let changed = watch.changes().git;
    let done = watch.put_back(&changed, Some(&keep.path().join("kept")));
    done.failed
}

fn paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(PathBuf::from).collect()
}

#[test]
fn what_git_would_run_is_put_back_and_the_rest_is_left() {
    let (_dir, path) = repository();
    let watch = watch_of(&path);
    assert_eq!(watch.changes(), WatchedChanges::default());
    fs::write(path.join(".git/HEAD"), "ref: y\n").unwrap();
    fs::write(path.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
    fs::remove_file(path.join(".git/hooks/pre-commit")).unwrap();
    fs::write(path.join(".git/hooks/post-commit"), "evil").unwrap();
    fs::write(path.join(".git/hooks/update.sample"), "never run").unwrap();
    fs::write(path.join(".git/commondir"), "/evil").unwrap();
    fs::write(path.join(".git/modules/a/b/config"), "evil").unwrap();
    fs::write(path.join(".git/info/attributes"), "* filter=evil").unwrap();
    fs::write(path.join(".envrc"), "evil").unwrap();
    let changes = watch.changes();
    let mut git = changes.git.clone();
    git.sort();
    let expected = [
        ".git/commondir",
        ".git/config",
        ".git/hooks/post-commit",
        ".git/hooks/pre-commit",
        ".git/info/attributes",
        ".git/modules/a/b/config",
    ];
    assert_eq!(git, paths(&expected));
    assert_eq!(changes.told, paths(&[".envrc"]));
    assert!(undo(&watch).is_empty());
    assert!(watch.changes().git.is_empty());
    let kept = fs::read_to_string(path.join(".git/hooks/pre-commit")).unwrap();
    assert_eq!(kept, "#!/bin/sh\n");
    assert_eq!(
        fs::read_to_string(path.join(".git/HEAD")).unwrap(),
        "ref: y\n"
    );
    assert!(path.join(".envrc").exists());
}

#[test]
fn a_link_in_place_of_a_folder_leads_nothing_out() {
    let (_dir, path) = repository();
    let outside = tempfile::tempdir().unwrap();
    let watch = watch_of(&path);
    fs::rename(path.join(".git/hooks"), path.join("moved")).unwrap();
    symlink(outside.path(), path.join(".git/hooks")).unwrap();
    let changes = watch.changes();
    assert!(undo(&watch).is_empty(), "{changes:?}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert!(
        fs::symlink_metadata(path.join(".git/hooks"))
            .unwrap()
            .is_dir()
    );
    assert!(path.join(".git/hooks/pre-commit").exists());
    // The repository itself.
    fs::rename(path.join(".git"), path.join("moved2")).unwrap();
    symlink(outside.path(), path.join(".git")).unwrap();
    let changes = watch.changes();
    assert!(changes.git.contains(&PathBuf::from(".git/config")));
    undo(&watch);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_link_through_which_git_would_write_elsewhere_is_removed() {
    let (_dir, path) = repository();
    let outside = tempfile::tempdir().unwrap();
    let real = outside.path().canonicalize().unwrap();
    let linked = real.join("linked");
    let common = path.join(".git");
    let own = common.join("worktrees/w");
    for folder in [&linked, &own, &common.join("logs/refs/heads")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(linked.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    let back = format!("{}\n", linked.join(".git").display());
    fs::write(own.join("gitdir"), back).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    for folder in ["objects/info", "lost-found/other"] {
        fs::create_dir_all(common.join(folder)).unwrap();
    }
    symlink(&real, common.join("rr-cache")).unwrap();
    let elsewhere = [
        "COMMIT_EDITMSG",
        "lost-found/other/0123",
        "objects/info/commit-graph",
        "logs/HEAD",
        "logs/refs/heads/main",
        "refs",
        "worktrees/w/FETCH_HEAD",
    ];
    // The repository around a linked worktree is watched from there too.
    for dir in [&path, &linked] {
        let watch = watch_of(dir);
        for link in elsewhere {
            symlink(real.join("file"), common.join(link)).unwrap();
        }
        symlink("refs/heads/main", common.join("HEAD")).unwrap();
        assert_eq!(watch.changes().git.len(), elsewhere.len());
        assert!(undo(&watch).is_empty());
        for link in elsewhere {
            assert!(fs::symlink_metadata(common.join(link)).is_err(), "{link}");
        }
        assert!(common.join("rr-cache").is_dir());
        fs::remove_file(common.join("HEAD")).unwrap();
    }
}

#[test]
fn a_folder_in_place_of_a_file_goes_aside() {
    let (_dir, path) = repository();
    let watch = watch_of(&path);
    for file in [".git/config", ".git/hooks/pre-commit"] {
        fs::remove_file(path.join(file)).unwrap();
        fs::create_dir_all(path.join(file).join("kept")).unwrap();
    }
    let done = watch.put_back(&watch.changes().git, None);
    assert_eq!(done.failed, paths(&[]));
    let config = fs::read_to_string(path.join(".git/config")).unwrap();
    assert_eq!(config, "[core]\n");
    assert_eq!(done.aside.len(), 2);
    for aside in &done.aside {
        assert!(path.join(aside).join("kept").is_dir());
        assert!(done.where_words().contains(aside.to_str().unwrap()));
    }
    assert!(watch.changes().git.is_empty());
}

#[test]
fn a_large_folder_hides_nothing_and_worktrees_come_and_go() {
    let (_dir, path) = repository();
    let worktrees = path.join(".git/worktrees");
    for name in ["kept", "removed"] {
        fs::create_dir_all(worktrees.join(name)).unwrap();
        fs::write(worktrees.join(name).join("commondir"), "../..\n").unwrap();
    }
    let watch = watch_of(&path);
    // What git never runs hides nothing, however much of it there is.
    let hooks = path.join(".git/hooks");
    for n in 0..super::super::noted_files::MAX_FILES + 20 {
        match n % 2 {
            0 => fs::write(hooks.join(format!("{n}.sample")), "").unwrap(),
            _ => fs::create_dir(hooks.join(format!("folder{n}"))).unwrap(),
        }
    }
    fs::write(hooks.join("post-commit"), "evil").unwrap();
    assert_eq!(watch.changes().git, paths(&[".git/hooks/post-commit"]));
    for n in 0..super::super::noted_files::MAX_FILES + 20 {
        fs::write(hooks.join(format!("h{n}")), "evil").unwrap();
    }
    fs::write(hooks.join("pre-commit"), "evil").unwrap();
    assert_eq!(watch.changes().git, paths(&[".git/hooks"]));
    fs::create_dir(worktrees.join("new")).unwrap();
    fs::write(worktrees.join("new/commondir"), "../..\n").unwrap();
    fs::write(worktrees.join("kept/commondir"), "/evil\n").unwrap();
    fs::remove_dir_all(worktrees.join("removed")).unwrap();
    let changes = watch.changes();
    let kept = PathBuf::from(".git/worktrees").join("kept/commondir");
    assert!(changes.git.contains(&kept));
    assert!(undo(&watch).is_empty());
    let left = fs::read_dir(&hooks).unwrap().map(Result::unwrap);
    let left = left.filter(|entry| entry.file_type().unwrap().is_file());
    let names = left.map(|entry| entry.file_name().into_string().unwrap());
    let names: Vec<String> = names.filter(|name| !name.ends_with(".sample")).collect();
    assert_eq!(names, ["pre-commit"]);
    let hook = fs::read_to_string(hooks.join("pre-commit")).unwrap();
    assert_eq!(hook, "#!/bin/sh\n");
    let text = fs::read_to_string(path.join(&kept)).unwrap();
    assert_eq!(text, "../..\n");
    assert!(worktrees.join("new/commondir").exists());
    assert!(!worktrees.join("removed").exists());
}

#[test]
fn a_hook_that_becomes_a_program_is_a_change_and_so_is_another_name_of_a_file() {
    let (_dir, path) = repository();
    let watch = watch_of(&path);
    let hook = path.join(".git/hooks/pre-commit");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let changes = watch.changes();
    assert_eq!(changes.git, paths(&[".git/hooks/pre-commit"]));
    undo(&watch);
    assert_eq!(hook.metadata().unwrap().permissions().mode() & 0o111, 0);

    // What is written to the other name later would be written here.
    fs::hard_link(path.join(".git/config"), path.join("other")).unwrap();
    assert_eq!(watch.changes().git, paths(&[".git/config"]));
    undo(&watch);
    fs::write(path.join("other"), "evil").unwrap();
    assert_eq!(watch.changes().git, paths(&[]));
}

#[test]
fn what_a_command_makes_anew_keeps_only_what_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    let put = |file: &str, text: &str| {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    put("own/.git/config", "[core]\nsshCommand = mine\n");
    put("own/.git/hooks/pre-push", "mine");
    fs::create_dir(path.join("plain")).unwrap();
    let watch = watch_of(&path);
    let config = "[core]\n\tbare = false\n\tfsmonitor = evil\n[remote \"origin\"]\n\turl = x\n";
    for repository in [".git", "plain/.git", "new/deep/.git", "bare", "data"] {
        put(&format!("{repository}/HEAD"), "ref: refs/heads/main\n");
        put(&format!("{repository}/config"), config);
        put(&format!("{repository}/hooks/a.sample"), "");
        put(&format!("{repository}/hooks/post-commit"), "evil");
        for folder in ["objects", "refs"] {
            fs::create_dir(path.join(repository).join(folder)).unwrap();
        }
    }
    put("split/HEAD", "ref: refs/heads/main\n");
    put("split/commondir", "../elsewhere\n");
    put("linked/.git", "gitdir: ../data\n");
    put("hidden/config", "[core]\n\tfsmonitor = evil\n");
    put("hidden/worktrees/x/commondir", "../..\n");
    put("linked2/.git", "gitdir: ../hidden/worktrees/x\n");
    put("away/.git", "gitdir: /evil\n");
    put(".git/worktrees/good/commondir", "../..\n");
    put(".git/worktrees/bad/commondir", "../../../elsewhere\n");
    // What the user had is theirs in another place too.
    fs::rename(path.join("own"), path.join("moved")).unwrap();
    let mut changed = watch.changes().git;
    changed.sort();
    let expected = [
        ".git/config",
        ".git/hooks/post-commit",
        ".git/worktrees/bad/commondir",
        "away/.git",
        "bare/config",
        "bare/hooks/post-commit",
        "data/config",
        "data/hooks/post-commit",
        "hidden/config",
        "new/deep/.git/config",
        "new/deep/.git/hooks/post-commit",
        "plain/.git/config",
        "plain/.git/hooks/post-commit",
        "split/commondir",
    ];
    assert_eq!(changed, paths(&expected));
    assert!(undo(&watch).is_empty());
    let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
    for left in [".git/config", "bare/config", "new/deep/.git/config"] {
        assert_eq!(fs::read_to_string(path.join(left)).unwrap(), config);
    }
    assert!(path.join("linked/.git").exists() && !path.join("away/.git").exists());
    // The next command finds them.
    let watch = watch_of(&path);
    put("bare/hooks/post-commit", "evil");
    put("new/deep/.git/config", "evil");
    assert_eq!(watch.changes().git.len(), 2);
}

#[test]
fn a_rebase_keeps_its_commits_and_no_command_that_is_new() {
    let (_dir, path) = repository();
    fs::create_dir_all(path.join(".git/rebase-merge")).unwrap();
    let todo = path.join(".git/rebase-merge/git-rebase-todo");
    fs::write(&todo, "pick 1 one\nexec mine\npick 2 two\n").unwrap();
    let watch = watch_of(&path);
    fs::write(&todo, "exec mine\npick 2 two\n").unwrap();
    assert_eq!(watch.changes().git, paths(&[]));
    fs::write(&todo, "x evil\nexec mine\npick 2 two\n").unwrap();
    assert!(undo(&watch).is_empty());
    let left = fs::read_to_string(&todo).unwrap();
    assert_eq!(left, "exec mine\npick 2 two\n");
    fs::remove_dir_all(path.join(".git/rebase-merge")).unwrap();
    assert_eq!(watch.changes().git, paths(&[]));
}

#[test]
fn another_folder_in_the_place_of_the_workspace_is_left_alone() {
    let (_dir, path) = repository();
    let above = path.join("above");
    fs::create_dir_all(above.join("work/.git/hooks")).unwrap();
    fs::write(above.join("work/.git/config"), "[core]\n").unwrap();
    let (_other_dir, other) = repository();
    fs::create_dir_all(other.join("work/.git/hooks")).unwrap();
    fs::write(other.join("work/.git/hooks/pre-push"), "mine").unwrap();
    fs::write(other.join("work/.git/config"), "mine").unwrap();
    let watch = watch_of(&above.join("work"));
    fs::write(above.join("work/.git/config"), "evil").unwrap();
    fs::rename(&above, path.join("moved")).unwrap();
    symlink(&other, &above).unwrap();
    assert!(!undo(&watch).is_empty());
    for file in ["hooks/pre-push", "config"] {
        let text = fs::read_to_string(other.join("work/.git").join(file)).unwrap();
        assert_eq!(text, "mine");
    }
    let config = fs::read_to_string(path.join("moved/work/.git/config")).unwrap();
    assert_eq!(config, "[core]\n");
}

#[test]
fn repositories_in_the_workspace_and_beside_it_are_watched_too() {
    let (_dir, path) = repository();
    let (_other_dir, other) = repository();
    for folder in ["sub/deep", "gone", "sub/module"] {
        fs::create_dir_all(path.join(folder)).unwrap();
    }
    for folder in ["sub/deep/.git/hooks", "gone/.git"] {
        fs::create_dir_all(path.join(folder)).unwrap();
    }
    for config in ["sub/deep/.git/config", "gone/.git/config"] {
        fs::write(path.join(config), "[core]\n").unwrap();
    }
    fs::write(
        path.join("sub/module/.git"),
        "gitdir: ../../.git/modules/a/b\n",
    )
    .unwrap();
    let watch = GitWatch::note(WatchedPlaces {
        dir: path.clone(),
        added: vec![other.clone()],
        ..WatchedPlaces::default()
    });
    fs::write(path.join("sub/deep/.git/hooks/post-commit"), "evil").unwrap();
    fs::write(path.join("sub/module/.git"), "gitdir: /evil\n").unwrap();
    fs::write(other.join(".git/config"), "evil").unwrap();
    // What is removed or made whole is no change of what is run.
    fs::remove_dir_all(path.join("gone")).unwrap();
    fs::create_dir_all(path.join("new/.git")).unwrap();
    fs::write(path.join("new/.git/config"), "[core]\n").unwrap();
    let mut changed = watch.changes().git;
    changed.sort();
    let expected = [
        other.join(".git/config"),
        "sub/deep/.git/hooks/post-commit".into(),
        "sub/module/.git".into(),
    ];
    assert_eq!(changed, expected);
    let keep = tempfile::tempdir().unwrap();
    let keep = keep.path().join("kept");
    let done = watch.put_back(&changed, Some(&keep));
    assert_eq!(done.failed, paths(&[]));
    assert_eq!(done.kept.as_deref(), Some(keep.as_path()));
    assert_eq!(
        fs::read_to_string(other.join(".git/config")).unwrap(),
        "[core]\n"
    );
    assert!(!path.join("sub/deep/.git/hooks/post-commit").exists());
    assert!(!path.join("gone").exists() && path.join("new/.git/config").exists());
    let copy = fs::read_to_string(keep.join("sub%module%.git")).unwrap();
    assert_eq!(copy, "gitdir: /evil\n");
}

#[test]
fn a_large_workspace_is_searched_whole_and_later_looks_read_what_has_changed() {
    let (_dir, path) = repository();
    for n in 0..600 {
        fs::create_dir(path.join(format!("f{n}"))).unwrap();
    }
    let make = |folder: &str| {
        fs::create_dir_all(path.join(folder).join(".git/hooks")).unwrap();
        fs::write(path.join(folder).join(".git/config"), "[core]\n").unwrap();
    };
    let change = |folder: &str| fs::write(path.join(folder).join(".git/config"), "evil").unwrap();
    make("f599/sub/first");
    let watch = watch_of(&path);
    change("f599/sub/first");
    assert_eq!(watch.changes().git, paths(&["f599/sub/first/.git/config"]));
    assert_eq!(undo(&watch), paths(&[]));
    // Somebody makes one between two commands, and removes another.
    make("f598/second");
    fs::remove_dir_all(path.join("f599/sub/first")).unwrap();
    let watch = GitWatch::note_after(watch.places.clone(), Some(watch));
    assert_eq!(watch.repositories.found, paths(&["f598/second/.git"]));
    change("f598/second");
    assert_eq!(watch.changes().git, paths(&["f598/second/.git/config"]));
    assert_eq!(undo(&watch), paths(&[]));
    assert_eq!(watch.cut_words(), None);
    fs::create_dir_all(path.join("d/".repeat(60))).unwrap();
    let watch = GitWatch::note_after(watch.places.clone(), Some(watch));
    assert!(watch.cut_words().unwrap().contains("too deep"));
}

#[test]
fn what_was_moved_is_found_and_a_workspace_that_became_a_link_is_told() {
    let (_dir, path) = repository();
    let work = path.join("work");
    fs::create_dir_all(work.join("a/deep")).unwrap();
    let watch = watch_of(&work);
    fs::rename(work.join("a"), work.join("b")).unwrap();
    symlink("b", work.join("a")).unwrap();
    fs::create_dir_all(work.join("b/deep/.git/hooks")).unwrap();
    let hook = PathBuf::from("b/deep/.git/hooks/post-commit");
    fs::write(work.join(&hook), "evil").unwrap();
    let changes = watch.changes();
    assert!(changes.git.contains(&hook) && changes.closed.is_empty());
    assert_eq!(undo(&watch), paths(&[]));
    assert!(!work.join(&hook).exists());
    fs::rename(&work, path.join("moved")).unwrap();
    symlink("moved", &work).unwrap();
    assert_eq!(watch.changes().closed, paths(&[""]));
}

#[test]
fn what_the_configuration_names_in_the_workspace_is_put_back() {
    let (_dir, path) = repository();
    let user = path.join("user.gitconfig");
    fs::write(&user, "[core]\n\thooksPath = made\n").unwrap();
    let module = path.join(".git/modules/a/b/hooks");
    fs::remove_dir(&module).unwrap();
    symlink("../../../../linked", &module).unwrap();
    let config = "[core]\n\thooksPath = .githooks\n\tfsmonitor = \"./tools/watch --fast\"\n\
        [diff \"x\"]\n\ttextconv = tools/text\n[alias]\n\tx = !evil\n[include]\n\tpath = ../own.config\n\
        [core]\n\tworktree = ..\n\tpager = less\n";
    fs::write(path.join(".git/config"), config).unwrap();
    fs::create_dir_all(path.join(".githooks")).unwrap();
    fs::create_dir_all(path.join("tools")).unwrap();
    for file in [
        ".githooks/pre-push",
        "tools/watch",
        "tools/text",
        "own.config",
    ] {
        fs::write(path.join(file), "before").unwrap();
    }
    let watch = GitWatch::note(WatchedPlaces {
        dir: path.clone(),
        user_config: vec![user],
        ..WatchedPlaces::default()
    });
    for folder in ["made", "linked"] {
        fs::create_dir(path.join(folder)).unwrap();
    }
    for file in [
        ".githooks/pre-push",
        "tools/watch",
        "tools/text",
        "own.config",
        "less",
        "made/pre-commit",
        "linked/pre-commit",
    ] {
        fs::write(path.join(file), "after").unwrap();
    }
    let changed = [
        ".githooks/pre-push",
        "linked/pre-commit",
        "made/pre-commit",
        "own.config",
        "tools/text",
        "tools/watch",
    ];
    let changes = watch.changes();
    assert_eq!(changes.git, paths(&changed));
    assert_eq!(changes.told, paths(&[]));
    assert_eq!(undo(&watch), paths(&[]));
    for file in &changed {
        let now = fs::read_to_string(path.join(file)).ok();
        let before = (!file.ends_with("pre-commit")).then_some("before");
        assert_eq!(now.as_deref(), before, "{file}");
    }
    assert_eq!(fs::read_to_string(path.join("less")).unwrap(), "after");
}

#[test]
fn the_configuration_of_a_worktree_keeps_what_git_writes_there() {
    let (_dir, path) = repository();
    let own = path.join(".git/worktrees/w");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::write(
        path.join(".git/config.worktree"),
        "[core]\n\tpager = mine\n",
    )
    .unwrap();
    let watch = watch_of(&path);
    let sparse = "[core]\n\tsparseCheckout = true\n[index]\n\tsparse = false\n";
    fs::write(
        own.join("config.worktree"),
        format!("{sparse}[url \"evil:\"]\n\tinsteadOf = https:\n[core]\n\tworktree = /evil\n"),
    )
    .unwrap();
    let users = format!("[core]\n\tpager = mine\n{sparse}");
    fs::write(path.join(".git/config.worktree"), &users).unwrap();
    let changed = ".git/worktrees/w/config.worktree";
    assert_eq!(watch.changes().git, paths(&[changed]));
    assert!(undo(&watch).is_empty());
    let left = fs::read_to_string(path.join(changed)).unwrap();
    assert_eq!(left, format!("{sparse}[url \"evil:\"]\n[core]\n"));
    let left = fs::read_to_string(path.join(".git/config.worktree")).unwrap();
    assert_eq!(left, users);
    fs::write(own.join("config.worktree"), sparse).unwrap();
    fs::write(
        path.join(".git/config.worktree"),
        "[http]\n\tproxy = evil\n",
    )
    .unwrap();
    assert_eq!(watch.changes().git, paths(&[".git/config.worktree"]));
    assert!(undo(&watch).is_empty());
    let left = fs::read_to_string(path.join(".git/config.worktree")).unwrap();
    assert_eq!(left, "[core]\n\tpager = mine\n");
}

#[test]
fn a_submodule_says_where_its_files_are() {
    let (_dir, path) = repository();
    fs::write(path.join(".git/config"), "[include]\n\tpath = made\n").unwrap();
    let watch = watch_of(&path);
    // The user's configuration includes it as soon as it is there.
    fs::write(path.join(".git/made"), "[core]\n\tpager = evil\n").unwrap();
    let module = |name: &str, top: &str, leads_to: &str| {
        let repository = path.join(".git/modules").join(name);
        fs::create_dir_all(&repository).unwrap();
        fs::create_dir_all(path.join("sub").join(name)).unwrap();
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = format!("[core]\n\tbare = false\n\tworktree = {top}\n");
        fs::write(repository.join("config"), config).unwrap();
        let leads_to = format!("gitdir: ../../.git/modules/{leads_to}\n");
        fs::write(path.join("sub").join(name).join(".git"), leads_to).unwrap();
    };
    module("good", "../../../sub/good", "good");
    module("other", "../../../sub/good", "other");
    module("out", "../../../../sub/out", "out");
    module("top", "../../..", "top");
    module("link", "../../../sub/link", "link");
    fs::rename(path.join("sub/link"), path.join("real")).unwrap();
    symlink("../real", path.join("sub/link")).unwrap();
    let left = ["link", "other", "out", "top"];
    let left = left.map(|name| format!(".git/modules/{name}/config"));
    let mut changed = vec![".git/made"];
    changed.extend(left.iter().map(String::as_str));
    // It was moved, and leads elsewhere now.
    changed.push("real/.git");
    assert_eq!(watch.changes().git, paths(&changed));
}
