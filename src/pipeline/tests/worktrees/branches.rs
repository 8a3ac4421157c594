//! Children that leave the branch of their run.

use super::{FIRST, Project, git, words};
use crate::base::testing::{assert_has, assert_lacks};
use crate::pipeline::{implementation, repository};

/// The first implementer commits its work, looks at an older commit, and fails there.
const LEAVES: &str = r#"
case "$NAME" in
  implementer-*) if nth implementer 1; then
      echo 'fn main() {}' > main.rs; git add main.rs; git commit -q -m wip; git checkout -q HEAD~1; echo begun > more.rs; exit 3
    else echo done >> more.rs; fi;;
  review-*) report REVIEW_CLEAN;;
esac
true"#;

#[test]
fn a_child_that_leaves_the_branch_of_a_worktree_is_followed_by_one_that_finds_all_of_it_there() {
    let mut project = Project::with(LEAVES);
    let place = project.workplace(FIRST);
    project.stage.run.places = place.places.clone();
    project.stage.run.branch.clone_from(&place.record.branch);
    repository::checkpoint(&project.stage.run, "Before").unwrap();
    implementation::implement(&project.stage.run).unwrap();
    let told = project.stage.prompts("implementer");
    assert_eq!(told.len(), 2);
    assert_has(&told[1], &["had left the branch marvin/add-a-json-flag"]);
    let warnings = project.stage.warnings().join("\n");
    assert_has(
        &warnings,
        &["implementer left the branch marvin/add-a-json-flag"],
    );
    let tree = &place.record.path;
    assert_eq!(
        git(tree, &["symbolic-ref", "--short", "HEAD"]),
        place.record.branch
    );
    assert_eq!(git(tree, &["status", "--porcelain", "--", "*.rs"]), "");
    assert_eq!(git(tree, &["show", "HEAD:main.rs"]), "fn main() {}");
    assert_eq!(git(tree, &["show", "HEAD:more.rs"]), "begun\ndone");
    assert_has(&git(tree, &["log", "--format=%s"]), &["wip\nBefore"]);
}

#[test]
fn a_branch_that_lost_a_commit_of_the_run_or_is_gone_is_not_gone_on_with() {
    for (leaves, why, back) in [
        (
            "git checkout -q --detach; git branch -f $MARVIN_BRANCH HEAD~2",
            "no branch is checked out now",
            " checkout marvin/add-a-json-flag",
        ),
        (
            "git update-ref -d refs/heads/$MARVIN_BRANCH",
            "was deleted while this run worked on it",
            " branch marvin/add-a-json-flag ",
        ),
    ] {
        let script = LEAVES.replace("git checkout -q HEAD~1", leaves);
        let mut project = Project::with(&script);
        let place = project.workplace(FIRST);
        project.stage.run.places = place.places.clone();
        project.stage.run.branch.clone_from(&place.record.branch);
        repository::checkpoint(&project.stage.run, "Before").unwrap();
        let problem = implementation::implement(&project.stage.run).unwrap_err();
        assert_has(&words(&problem), &[why, back]);
        assert_eq!(project.stage.labels(), ["implementer"]);
    }
}

#[test]
fn in_the_users_folder_nobody_is_started_on_another_branch_and_nothing_is_moved() {
    let mut project = Project::with(LEAVES);
    project.stage.run.branch = "main".to_owned();
    repository::checkpoint(&project.stage.run, "Before").unwrap();
    let problem = implementation::implement(&project.stage.run).unwrap_err();
    assert_has(
        &words(&problem),
        &["no branch is checked out now", "Go back with: "],
    );
    assert_eq!(project.stage.labels(), ["implementer"]);
    assert_lacks(&project.git(&["branch"]), &["* main"]);
    assert_eq!(project.stage.read("more.rs"), "begun\n");
}
