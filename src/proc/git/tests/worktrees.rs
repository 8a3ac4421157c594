//! Linked worktrees and merges without a working tree.

use super::Repo;
use crate::base::env::Env;
use crate::base::testing::assert_has;
use crate::proc::git::Git;
use crate::proc::git::merge::MergeResult;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// A repository with a commit, and the place of a worktree with spaces and letters that are not ASCII.
fn repo() -> (Repo, PathBuf) {
    let repo = Repo::new();
    repo.git().commit("first", true).unwrap();
    let tree = repo.dir.path().canonicalize().unwrap().join("a tree ü/r");
    fs::create_dir(tree.parent().unwrap()).unwrap();
    (repo, tree)
}

fn head(repo: &Repo) -> String {
    repo.git().head_commit().unwrap().unwrap()
}

#[test]
fn a_worktree_is_made_on_a_branch_of_its_own_listed_and_removed() {
    let (repo, tree) = repo();
    let base = head(&repo);
    repo.git()
        .add_worktree(&tree, "marvin/größe", Some(&base))
        .unwrap();
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap(), "one\n");
    let there = Git::open(&tree, &repo.env, &repo.stop).unwrap();
    assert_eq!(there.head().unwrap().0.as_deref(), Some("marvin/größe"));
    assert_eq!(there.uncommitted().unwrap(), [] as [&str; 0]);
    assert_eq!(
        there.common(),
        repo.path().canonicalize().unwrap().join(".git")
    );
    assert_eq!(repo.git().head().unwrap().0.as_deref(), Some("main"));
    let listed = repo.git().worktrees().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&listed[1].path, listed[1].branch.as_deref()),
        (&tree, Some("marvin/größe"))
    );
    repo.git().remove_worktree(&tree).unwrap();
    assert!(!tree.exists() && repo.git().worktrees().unwrap().len() == 1);
    repo.git().remove_worktree(&tree).unwrap();
    assert_eq!(
        repo.git().branch_commit("marvin/größe").unwrap(),
        Some(base.clone())
    );
    // On the branch as it is, after its folder was removed by hand.
    repo.git()
        .add_worktree(&tree, "marvin/größe", None)
        .unwrap();
    fs::remove_dir_all(&tree).unwrap();
    repo.git().remove_worktree(&tree).unwrap();
    repo.git()
        .add_worktree(&tree, "marvin/größe", None)
        .unwrap();
    assert!(tree.join("a.txt").exists());
}

#[test]
fn a_worktree_runs_no_hook_and_no_filter_and_names_what_is_stored() {
    let (repo, tree) = repo();
    repo.sh("echo 'big.bin filter=bait' > .gitattributes; echo pointer > big.bin; git add -A; git -c user.name=a -c user.email=b commit -qm files");
    let mark = repo.dir.path().join("ran");
    let script = format!("#!/bin/sh\necho ran >> '{}'\ncat\n", mark.display());
    let bait = repo.dir.path().join("bait");
    fs::write(&bait, script).unwrap();
    fs::set_permissions(&bait, fs::Permissions::from_mode(0o755)).unwrap();
    repo.sh(&format!(
        "mkdir -p .git/hooks; cp '{0}' .git/hooks/post-checkout; git config filter.bait.smudge '{0}'; git config core.fsmonitor '{0}'",
        bait.display()
    ));
    let base = head(&repo);
    let note = repo.git().add_worktree(&tree, "x", Some(&base)).unwrap();
    assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());
    assert_has(&note.unwrap(), &["big.bin", "stored"]);
    assert!(tree.join("big.bin").exists());
}

#[test]
fn what_fails_leaves_neither_worktree_nor_branch() {
    let (repo, tree) = repo();
    let base = head(&repo);
    assert!(repo.git().add_worktree(&tree, "-x", Some(&base)).is_err());
    assert!(repo.git().add_worktree(&tree, "main", None).is_err());
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("of the user"), "").unwrap();
    assert!(repo.git().add_worktree(&tree, "y", Some(&base)).is_err());
    assert!(tree.join("of the user").exists());
    assert_eq!(repo.git().worktrees().unwrap().len(), 1);
    repo.git().remove_worktree(&tree).unwrap();
    assert!(tree.join("of the user").exists(), "it is no worktree");
}

#[test]
fn a_merge_is_computed_without_a_file_and_names_its_conflicts() {
    let (repo, tree) = repo();
    let base = head(&repo);
    repo.git().add_worktree(&tree, "x", Some(&base)).unwrap();
    let there = || Git::open(&tree, &repo.env, &repo.stop).unwrap();
    fs::write(tree.join("b ü.txt"), "new\n").unwrap();
    there().checkpoint("b").unwrap();
    fs::write(repo.path().join("c.txt"), "mine\n").unwrap();
    repo.git().commit("c", true).unwrap();
    let (ours, theirs) = (head(&repo), there().head_commit().unwrap().unwrap());
    let MergeResult::Tree(id) = repo.git().merge_trees(&ours, &theirs).unwrap() else {
        panic!("no conflict was made");
    };
    let commit = repo
        .git()
        .commit_tree(&id, &[&ours], "Both\n\nAs one.")
        .unwrap();
    assert_eq!(head(&repo), ours, "nothing moves before the last step");
    fs::write(repo.path().join("a.txt"), "not committed\n").unwrap();
    fs::write(repo.path().join("staged.txt"), "s\n").unwrap();
    repo.sh("git add staged.txt");
    let (changed, added) = repo.git().paths_between(&ours, &commit).unwrap();
    assert_eq!(
        (&changed[..], &added[..]),
        (&["b ü.txt".to_owned()][..], &["b ü.txt".to_owned()][..])
    );
    repo.git().fast_forward(&commit).unwrap();
    assert_eq!(head(&repo), commit);
    let status = repo.git().status().unwrap();
    assert_has(&status, &[" M a.txt", "A  staged.txt"]);
    assert_eq!(
        fs::read_to_string(repo.path().join("b ü.txt")).unwrap(),
        "new\n"
    );
    // The same line on both sides.
    repo.sh("git checkout -q a.txt; git rm -q --cached staged.txt");
    fs::write(repo.path().join("a.txt"), "main\n").unwrap();
    repo.git().commit("ours", true).unwrap();
    fs::write(tree.join("a.txt"), "branch\n").unwrap();
    there().checkpoint("theirs").unwrap();
    let (ours, theirs) = (head(&repo), there().head_commit().unwrap().unwrap());
    let MergeResult::Conflicts { paths } = repo.git().merge_trees(&ours, &theirs).unwrap() else {
        panic!("both changed the same line");
    };
    assert_eq!(paths, ["a.txt"]);
    // The file of the branch is taken, and the other one has a new place.
    let git = repo.git();
    let of = |commit: &str| git.files_of(commit, &paths).unwrap().remove("a.txt");
    let files = BTreeMap::from([
        ("a.txt".to_owned(), of(&theirs)),
        ("old ü/of main/a.txt".to_owned(), of(&ours)),
        ("b ü.txt".to_owned(), None),
        ("not/there.txt".to_owned(), None),
    ]);
    let id = git.tree_with(&git.tree_of(&ours).unwrap(), &files).unwrap();
    let commit = git.commit_tree(&id, &[&ours], "Both").unwrap();
    assert_eq!(git.tree_of(&commit).unwrap(), id);
    repo.sh(&format!(
        "test \"$(git show {commit}:a.txt)\" = branch && test \"$(git show '{commit}:old ü/of main/a.txt')\" = main && ! git cat-file -e '{commit}:b ü.txt' 2>/dev/null"
    ));
    assert_eq!(there().begin_merge(&ours).unwrap(), ["a.txt"]);
    assert_eq!(there().unfinished(), Some("merge"));
    there().abort_merge().unwrap();
    assert_eq!(there().unfinished(), None);
    assert!(!repo.git().is_ancestor(&ours, &theirs).unwrap());
    assert!(repo.git().is_ancestor(&base, &theirs).unwrap());
}

#[test]
fn a_deleted_branch_is_known_by_the_log_of_its_worktree() {
    let (repo, tree) = repo();
    let base = head(&repo);
    repo.git().add_worktree(&tree, "x", Some(&base)).unwrap();
    let there = || Git::open(&tree, &repo.env, &repo.stop).unwrap();
    there().checkpoint("step").unwrap();
    let last = there().head_commit().unwrap().unwrap();
    repo.sh("git update-ref -d refs/heads/x");
    assert_eq!(there().head().unwrap(), (Some("x".to_owned()), false));
    assert_eq!(there().logged_head(), Some(last));
}

#[test]
fn a_git_that_cannot_merge_trees_is_told_with_the_way_on() {
    let (repo, _) = repo();
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|dir| dir.join("git"))
        .find(|git| git.is_file())
        .unwrap();
    // As git 2.34 does.
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' merge-tree '*) echo 'usage: git merge-tree <base-tree> <branch1> <branch2>' >&2; exit 129;; esac\nexec '{}' \"$@\"\n",
        real.display()
    );
    let old = repo.dir.path().join("old");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("git"), script).unwrap();
    fs::set_permissions(old.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let env = Env::from([
        ("HOME", repo.dir.path().to_str().unwrap()),
        ("PATH", &format!("{}:{path}", old.display())),
    ]);
    let git = Git::open(&repo.path(), &env, &repo.stop).unwrap();
    let head = head(&repo);
    let problem = git.merge_trees(&head, &head).unwrap_err();
    assert_has(
        &problem.one_line(),
        &["git 2.38 or newer", "git merge BRANCH"],
    );
}
