//! One run in a working tree, and on its branch.

use super::Stage;
use crate::base::cancel::Cancel;
use crate::base::problem::ProblemKind;
use crate::base::testing::assert_has;
use crate::pipeline::{repository, working_tree};

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
    stage.run.branch = repository::branch(&stage.run.ctx, &stage.run.root).unwrap();
    git(&stage, &["checkout", "-q", "-b", "own-work"]);
    let before = git(&stage, &["rev-parse", "HEAD"]);
    stage.put("b.txt", "b");
    let problem = repository::checkpoint(&stage.run, "A step").unwrap_err();
    assert_has(
        &problem.to_string(),
        &["\"own-work\" is checked out now", "git checkout "],
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
fn a_review_works_alone_and_pipelines_beside_each_other() {
    let stage = Stage::new("true");
    let (root, stop) = (&stage.run.root, Cancel::new());
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
