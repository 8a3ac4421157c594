//! Features: one after the other in a repository, each in a worktree and on a branch of its own.

use std::fs;

use super::{Project, git, words};
use crate::base::testing::{assert_has, assert_lacks};
use crate::pipeline::worktree::merge::MergeForm;
use crate::pipeline::worktree::start::Workplace;
use crate::pipeline::worktree::state::WorkState;

const LOGIN: &str = "People sign in.";
const SEARCH: &str = "People search.";

fn place(project: &Project, task: &str, name: &str) -> Workplace {
    project.place_of("", task, Some(name)).unwrap().unwrap()
}

/// The prompts of the writers of specifications, oldest first.
fn specifications(project: &Project) -> Vec<String> {
    project.stage.prompts("spec-writer")
}

#[test]
fn each_feature_has_its_own_folder_and_branch_and_reads_those_before_it() {
    let project = Project::new();
    project.put(".marvin/spec.md", "The product.");
    project.commit("the product");
    let login = place(&project, LOGIN, "login");
    assert_eq!(
        (login.record.name.as_str(), login.record.branch.as_str()),
        ("001-login", "marvin/001-login")
    );
    project.run(&login, LOGIN).unwrap();
    let made = git(
        &login.record.path,
        &["ls-tree", "-r", "--name-only", "HEAD"],
    );
    assert_has(
        &made,
        &[
            "specs/001-login/spec.md",
            "specs/001-login/ux.md",
            "specs/001-login/design.md",
            "specs/001-login/pipeline_state",
            "specs/001-login/review-history-design.md",
        ],
    );
    // What the product had stays as it was.
    assert_lacks(&made, &[".marvin/ux.md", ".marvin/pipeline_state"]);
    assert_eq!(project.state("login"), WorkState::Finished);
    let prompt = specifications(&project).pop().unwrap();
    assert_has(
        &prompt,
        &[
            "specification of the task to `specs/001-login/spec.md`",
            ".marvin/spec.md",
            "what is built has to agree with them",
        ],
    );
    let writable: Vec<String> = project
        .stage
        .calls()
        .into_iter()
        .filter(|call| call.label == "design-fixer")
        .map(|call| call.bounds)
        .collect();
    assert_has(&writable.concat(), &["writable=specs/001-login/design.md"]);
    let told = project.stage.prompts("implementer").pop().unwrap();
    assert_has(
        &told,
        &[
            "Leave `.marvin/`, `specs/` and `.git/` alone.",
            "Where there are `specs/001-login/spec.md`, `specs/001-login/ux.md`",
            "<document path=\"specs/001-login/design.md\">",
        ],
    );
    // The second one is begun before the first is merged: it has copies.
    let search = place(&project, SEARCH, "search");
    assert_eq!(search.record.branch, "marvin/002-search");
    project.specify(&search, SEARCH).unwrap();
    let copy = ".marvin/logs/002-search/upstream/specs/001-login/spec.md";
    let prompt = specifications(&project).pop().unwrap();
    assert_has(&prompt, &[copy, "specs/002-search/spec.md"]);
    assert_lacks(&prompt, &["\nspecs/001-login/spec.md"]);
    let copied = fs::read_to_string(search.record.path.join(copy)).unwrap();
    assert_has(&copied, &["Line 1 of the document"]);
    // The third sees the first where it is now.
    let merged = project.merge(Some("login"), MergeForm::Squash).unwrap();
    assert_has(&merged, &["marvin/001-login"]);
    let third = place(&project, "More.", "more");
    assert_eq!(third.record.name, "003-more");
    project.specify(&third, "More.").unwrap();
    let prompt = specifications(&project).pop().unwrap();
    assert_has(
        &prompt,
        &[
            "\nspecs/001-login/spec.md",
            ".marvin/logs/003-more/upstream/specs/002-search/spec.md",
        ],
    );
    assert_lacks(&prompt, &["upstream/specs/001-login"]);
}

#[test]
fn a_feature_goes_on_by_its_name_and_refuses_another_task() {
    let project = Project::new();
    let first = place(&project, LOGIN, "login");
    project.block(true);
    project.specify(&first, LOGIN).unwrap_err();
    // Nothing is done yet, and it is that feature's all the same.
    let problem = project.specify(&first, "Something else").unwrap_err();
    assert_has(&words(&problem), &["is for another task"]);
    project.build(&first, LOGIN).unwrap_err();
    project.block(false);
    for name in ["login", "001-login"] {
        let again = place(&project, LOGIN, name);
        assert_eq!(again.record, first.record, "{name}");
    }
    project.build(&first, LOGIN).unwrap();
    assert_eq!(project.state("001-login"), WorkState::Finished);
    let problem = project.build(&first, "Something else").unwrap_err();
    assert_has(
        &words(&problem),
        &[
            "The feature 001-login is for another task",
            "--feature NAME",
        ],
    );
    // The same words without a feature are another run.
    let plain = project.workplace(LOGIN);
    assert_eq!(plain.record.name, "people-sign-in");
    let problem = project.place_of("", LOGIN, Some("005-x")).err().unwrap();
    assert_has(&words(&problem), &["There is no feature 005-x here"]);
    // Merged, it is found in the folder itself.
    project.merge(Some("login"), MergeForm::All).unwrap();
    assert!(
        project
            .place_of("", LOGIN, Some("login"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn another_project_of_the_repository_has_features_of_its_own() {
    let project = Project::new();
    let login = place(&project, LOGIN, "login");
    project.specify(&login, LOGIN).unwrap();
    let inner = project.place_of("sub ü", SEARCH, Some("search"));
    let inner = inner.unwrap().unwrap();
    assert_eq!(inner.record.feature, "001-search");
    project.specify(&inner, SEARCH).unwrap();
    let prompt = specifications(&project).pop().unwrap();
    assert_has(&prompt, &["to `specs/001-search/spec.md`"]);
    assert_lacks(&prompt, &["001-login"]);
}

#[test]
fn a_document_of_a_feature_that_the_user_edits_is_no_work_that_is_not_committed() {
    let project = Project::new();
    let place = place(&project, LOGIN, "login");
    let review = || {
        let request = project.stage.request_until("1a_review");
        project.start(&place, LOGIN, request).unwrap();
    };
    review();
    let spec = place.record.path.join("specs/001-login/spec.md");
    let edited = fs::read_to_string(&spec).unwrap() + "One more line.\n";
    fs::write(&spec, edited).unwrap();
    let before = project.stage.labels().len();
    review();
    let labels = project.stage.labels().split_off(before);
    assert!(
        labels
            .iter()
            .all(|label| label.contains("spec") || label.starts_with("review")),
        "{labels:?}"
    );
    assert!(!labels.is_empty());
}

#[test]
fn a_prepared_folder_is_the_features_and_one_that_was_merged_in_between_goes_on_in_its_worktree() {
    let project = Project::new();
    project.put("specs/001-login/spec.md", "What the user wrote.\n");
    project.commit("a draft");
    let login = place(&project, LOGIN, "login");
    assert_eq!(login.record.feature, "001-login");
    project.build(&login, LOGIN).unwrap();
    project.git(&["merge", "-q", "--no-edit", &login.record.branch]);
    let again = place(&project, LOGIN, "login");
    assert_eq!(again.record.name, login.record.name);
}

#[test]
fn the_name_of_a_worktree_means_it_before_the_feature_of_another_project() {
    let project = Project::new();
    project.put("other/lib.rs", "// there\n");
    project.commit("another project");
    let first = place(&project, LOGIN, "login");
    let second = project.place_of("other", SEARCH, Some("login"));
    let second = second.unwrap().unwrap();
    assert_ne!(first.record.name, second.record.name);
    for record in [&first.record, &second.record] {
        let meant = project.tree().named(Some(&record.name)).unwrap().record;
        assert_eq!(meant.folder, record.folder);
        let meant = project.tree().named(Some(&record.branch)).unwrap().record;
        assert_eq!(meant.folder, record.folder);
    }
}
