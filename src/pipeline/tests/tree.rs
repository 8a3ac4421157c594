//! One run in a working tree, and on its branch.

use super::Stage;
use crate::base::cancel::Cancel;
use crate::base::problem::ProblemKind;
use crate::base::testing::assert_has;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::repository::Uncommitted;
use crate::pipeline::{record, repository, working_tree};
use crate::proc::git::Git;

fn git(stage: &Stage, words: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.current_dir(stage.path(""));
    git.args(["-c", "user.name=A", "-c", "user.email=a@b.example"]);
    let done = git.args(words).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_branch_that_was_switched_gets_no_commit() {
    let mut stage = Stage::new("true");
    stage.put("a.txt", "a");
    repository::checkpoint(&stage.run, "Before").unwrap();
    stage.run.branch = repository::branch(&stage.run.ctx, stage.run.root()).unwrap();
    git(&stage, &["checkout", "-q", "-b", "own-work"]);
    let before = git(&stage, &["rev-parse", "HEAD"]);
    stage.put("b.txt", "b");
    let problem = repository::checkpoint(&stage.run, "A step").unwrap_err();
    assert_has(
        &problem.to_string(),
        &["\"own-work\" is checked out now", " checkout "],
    );
    assert_eq!(git(&stage, &["rev-parse", "HEAD"]), before);
    assert_eq!(git(&stage, &["status", "--porcelain"]).trim(), "?? b.txt");
    git(&stage, &["checkout", "-q", "--detach"]);
    let problem = repository::checkpoint(&stage.run, "A step").unwrap_err();
    assert_has(&problem.to_string(), &["no branch is checked out now"]);
    let own = stage.run.branch.clone();
    git(&stage, &["checkout", "-q", &own]);
    repository::checkpoint(&stage.run, "A step").unwrap();
}

#[test]
fn pipelines_in_folders_of_one_repository_wait_for_each_others_git() {
    let (mut stage, mut other) = (Stage::new("true"), Stage::new("true"));
    stage.put("one/a.txt", "a");
    stage.put("two/a.txt", "a");
    repository::checkpoint(&stage.run, "Before").unwrap();
    stage.run.places = RunPlaces::at(&stage.path("one"));
    other.run.places = RunPlaces::at(&stage.path("two"));
    std::thread::scope(|scope| {
        for (run, folder) in [(&stage.run, "one"), (&other.run, "two")] {
            scope.spawn(move || {
                for number in 0..8 {
                    let path = run.root().path().join(format!("{number}.txt"));
                    std::fs::write(path, "text").unwrap();
                    repository::checkpoint(run, &format!("in {folder}")).unwrap();
                }
            });
        }
    });
    for folder in ["one", "two"] {
        let names = ["log", "--name-only", "--format=", "--grep"];
        let grep = format!("in {folder}");
        let names = git(&stage, &[&names[..], &[grep.as_str()]].concat());
        assert_eq!(names.lines().filter(|line| !line.is_empty()).count(), 8);
        assert!(
            names
                .lines()
                .all(|line| line.is_empty() || line.starts_with(folder))
        );
    }
}

#[test]
fn a_commit_of_a_run_in_a_folder_leaves_the_rest_of_the_repository_as_it_is() {
    let mut stage = Stage::new("true");
    for path in ["one/a.txt", "two/a.txt", "two/old.txt", "two/mode.sh"] {
        stage.put(path, "before\n");
    }
    repository::checkpoint(&stage.run, "Before").unwrap();
    // What a person does beside it: staged, changed, removed and new files.
    stage.put("two/a.txt", "staged\n");
    stage.put("two/new ü.txt", "new\n");
    git(&stage, &["update-index", "--chmod=+x", "two/mode.sh"]);
    git(&stage, &["rm", "-q", "two/old.txt"]);
    git(&stage, &["add", "two/a.txt", "two/new ü.txt"]);
    stage.put("two/a.txt", "changed\n");
    let theirs = |stage: &Stage| {
        let status = git(stage, &["status", "--porcelain", "--", "two"]);
        (status, git(stage, &["ls-files", "--stage", "two"]))
    };
    let before = theirs(&stage);
    stage.put("one/b.txt", "step\n");
    stage.run.places = RunPlaces::at(&stage.path("one"));
    repository::checkpoint(&stage.run, "A step").unwrap();
    stage.put("one/c.txt", "child\n");
    let session = &stage.run.ctx.session;
    let open = Git::open(&stage.path("one"), &session.env, &stage.run.ctx.stop).unwrap();
    open.commit_beneath("Of a child", true).unwrap();
    let nothing = open.commit_beneath("Nothing", true).unwrap();
    assert_has(&nothing, &["nothing to commit"]);
    let made = git(&stage, &["log", "-2", "--name-only", "--format=%s"]);
    assert_eq!(made, "Of a child\n\none/c.txt\nA step\n\none/b.txt\n");
    assert_eq!(theirs(&stage), before);
    assert!(!stage.path(".git/marvin-index").exists());
}

#[test]
fn signatures_that_are_dropped_are_told() {
    let stage = Stage::new("true");
    let prepare = || repository::prepare(&stage.run, None, Uncommitted::Take, false).unwrap();
    git(&stage, &["config", "commit.gpgSign", "no"]);
    prepare();
    assert_eq!(stage.warnings(), [] as [&str; 0]);
    git(&stage, &["config", "commit.gpgSign", "true"]);
    prepare();
    let warnings = stage.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_has(&warnings[0], &["the commits of the run are not signed"]);
}

#[test]
fn prompts_that_a_killed_run_left_go_at_the_next_start() {
    let stage = Stage::new("true");
    stage.put(".marvin/logs/spec-writer-1.prompt.md", "the task");
    stage.put(".marvin/logs/spec-writer-1.log", "its log");
    record::wait_for_children(&stage.run.places, &Cancel::new()).unwrap();
    assert!(!stage.path(".marvin/logs/spec-writer-1.prompt.md").exists());
    assert_eq!(stage.read(".marvin/logs/spec-writer-1.log"), "its log");
}

#[test]
fn a_review_works_alone_and_pipelines_beside_each_other() {
    let stage = Stage::new("true");
    let (root, stop) = (stage.run.root(), Cancel::new());
    let first = working_tree::share(root).unwrap();
    let second = working_tree::share(root).unwrap();
    assert!(first.is_some() && second.is_some());
    let refused = working_tree::hold(root, &stop).unwrap_err();
    assert_eq!(refused.kind, ProblemKind::Refused);
    drop((first, second));
    let review = working_tree::hold(root, &stop).unwrap();
    assert_has(
        &working_tree::share(root).unwrap_err().to_string(),
        &["A review is running in this working tree"],
    );
    drop(review);
    assert!(working_tree::share(root).unwrap().is_some());
}
