//! A branch that somebody left is checked out again, by Marvin or by the command that it tells.

use super::Repo;
use crate::proc::git::Git;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A worktree on the branch `x`, whose second commit changed `a.txt` and made `step.txt`; on `main` there is another one.
struct Left {
    repo: Repo,
    tree: PathBuf,
}

impl Left {
    /// After `script` was run in the worktree.
    fn by(script: &str) -> Self {
        let repo = Repo::new();
        repo.git().commit("first", true).unwrap();
        let tree = repo.dir.path().canonicalize().unwrap().join("a tree ü/r");
        fs::create_dir(tree.parent().unwrap()).unwrap();
        let base = repo.git().head_commit().unwrap().unwrap();
        repo.git().add_worktree(&tree, "x", Some(&base)).unwrap();
        let left = Self { repo, tree };
        for (name, text) in [("a.txt", "two\n"), ("step.txt", "step\n")] {
            fs::write(left.tree.join(name), text).unwrap();
        }
        left.git().checkpoint("step").unwrap();
        fs::write(left.repo.path().join("of-main.txt"), "main\n").unwrap();
        left.repo.git().commit("main", true).unwrap();
        left.sh(script);
        left
    }

    fn git(&self) -> Git<'_> {
        Git::open(&self.tree, &self.repo.env, &self.repo.stop).unwrap()
    }

    fn sh(&self, script: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&self.tree);
        shell
            .env("HOME", self.repo.dir.path())
            .env_remove("GIT_DIR");
        for who in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{who}_NAME"), "A");
            shell.env(format!("GIT_{who}_EMAIL"), "a@example.org");
        }
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{script}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn put_back(&self) -> crate::base::problem::Outcome<()> {
        let tip = self.git().branch_commit("x").unwrap().unwrap();
        self.git().put_back("x", &tip, "beside")
    }
}

#[test]
fn everything_that_was_done_beside_the_branch_is_on_it() {
    let all = "a.txt two\nstep.txt step\n";
    let with = |more: &str| format!("a.txt two\n{more}step.txt step\n");
    for (script, files, log) in [
        ("git checkout -q --detach", all.to_owned(), "step first"),
        ("git checkout -q HEAD~1", all.to_owned(), "step first"),
        (
            "git checkout -q HEAD~1; touch a.txt",
            all.to_owned(),
            "step first",
        ),
        (
            "git checkout -q --detach main",
            all.to_owned(),
            "step first",
        ),
        (
            "git checkout -q -b other main; echo n > new.txt",
            with("new.txt n\n"),
            "step first",
        ),
        // What was committed before, and is not there now.
        (
            "echo w > kept.txt; git add .; git commit -qm wip; git checkout -q HEAD~1",
            with("kept.txt w\n"),
            "wip step first",
        ),
        // What is ignored on the branch is no more of a file there.
        (
            "mkdir made; echo m > made/m; echo made/ > .gitignore; git add .; git commit -qm wip; git checkout -q HEAD~1",
            format!(".gitignore made/\n{all}"),
            "wip step first",
        ),
        // Its own version of a file is the last one, and so is that it removed one.
        (
            "git checkout -q HEAD~1; echo mine > step.txt; echo n > new.txt; rm a.txt",
            "new.txt n\nstep.txt mine\n".to_owned(),
            "step first",
        ),
        (
            "git checkout -q HEAD~1; mkdir step.txt; echo mine > step.txt/below",
            "a.txt two\nstep.txt/below mine\n".to_owned(),
            "step first",
        ),
        (
            "git checkout -q --detach; echo n > new.txt; git add .; git commit -qm new; echo l > later.txt",
            with("later.txt l\nnew.txt n\n"),
            "new step first",
        ),
        (
            "git checkout -q HEAD~1; echo n > new.txt; git add .; git commit -qm new; git rm -q a.txt; echo l > later.txt",
            "later.txt l\nnew.txt n\nstep.txt step\n".to_owned(),
            "beside new step first",
        ),
    ] {
        let left = Left::by(script);
        left.put_back().unwrap();
        let git = left.git();
        assert_eq!(git.head().unwrap().0.as_deref(), Some("x"), "{script}");
        assert_eq!(
            left.sh("git log --topo-order --format=%s")
                .trim()
                .replace('\n', " "),
            log,
            "{script}"
        );
        git.checkpoint("then").unwrap();
        let found = left.sh("git ls-files | while read -r name; do echo \"$name $(cat \"$name\")\"; done; git status --porcelain");
        assert_eq!(found, files, "{script}");
    }
    // Nothing is guessed in the middle of something.
    let left = Left::by("git rebase -q main --exec false 2>/dev/null || true");
    assert!(left.put_back().is_err());
    assert_eq!(left.git().head().unwrap().0, None);
}

#[test]
fn the_command_that_is_told_leads_back() {
    for (script, why) in [
        ("git checkout -q HEAD~1", "no branch is checked out now"),
        ("git checkout -q -b other", "\"other\" is checked out now"),
        (
            "git checkout -q HEAD~1; echo mine > step.txt",
            "no branch is checked out now",
        ),
        (
            "git checkout -q HEAD~1; mkdir step.txt; echo mine > step.txt/below; echo mine > a.txt",
            "no branch is checked out now",
        ),
        (
            "git rebase -q main --exec false 2>/dev/null || true",
            "no branch is checked out now",
        ),
        (
            "git bisect start HEAD HEAD~1 >/dev/null; git checkout -q HEAD~1",
            "no branch is checked out now",
        ),
        (
            "git checkout -q -b other; git branch -q -D x",
            "\"other\" is checked out now",
        ),
        (
            "git update-ref -d refs/heads/x",
            "was deleted while this run worked on it",
        ),
    ] {
        let left = Left::by(script);
        let found = left.git().off_branch("x").unwrap();
        let (said, back) = found.unwrap_or_else(|| panic!("{script}"));
        assert!(said.contains(why), "{said}");
        let (_, command) = back.split_once(": ").unwrap();
        left.sh(command);
        assert_eq!(left.git().off_branch("x").unwrap(), None, "{back}");
        assert_eq!(
            left.sh("git log -1 --format=%s; cat step.txt"),
            "step\nstep\n",
            "{back}"
        );
    }
}
