//! Where the committed files of a run are, and its logs are not: a clone, or a working tree that was cleaned.

use std::fs;

use super::{FIRST, Project, words};
use crate::base::problem::Outcome;
use crate::base::testing::assert_has;
use crate::disk::beneath::Root;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::RunRecord;
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::worktree::merge::MergeForm;
use crate::pipeline::worktree::start;

const OTHER: &str = "A web shop";

/// Runs in the folder itself.
fn in_place(project: &Project, task: &str, phase: &'static str) -> Outcome<()> {
    let ctx = &project.stage.run.ctx;
    let root = Root::open(&project.top()).unwrap();
    ctx.session.working_dir.set(root, true);
    let request = RunRequest {
        task: task.to_owned(),
        allow_dirty: true,
        ..project.stage.request_until(phase)
    };
    run::run(ctx, request).map(drop)
}

/// As a clone has it.
fn forget_logs(project: &Project) {
    fs::remove_dir_all(project.top().join(".marvin/logs")).unwrap();
}

#[test]
fn a_task_of_a_clone_is_not_taken_for_that_of_the_run_that_is_done_in_it() {
    let project = Project::new();
    let first = project.workplace(FIRST);
    project.run(&first, FIRST).unwrap();
    let there = first.places.root.path();
    fs::write(there.join(".marvin/pipeline_state"), "5").unwrap();
    super::git(there, &["commit", "-q", "-a", "-m", "the last phase"]);
    project.merge(None, MergeForm::Squash).unwrap();
    let of_first = project.stage.read(".marvin/spec.md");
    let places = RunPlaces::at(&project.top());
    // Its work is merged into this branch, and was not done on it.
    let goes_back = || words(&start::check_merged(&places, FIRST, true).unwrap_err());
    assert_has(&goes_back(), &["is merged", "--in-place"]);
    forget_logs(&project);
    assert_has(&goes_back(), &["came with the repository", "--in-place"]);
    start::check_merged(&places, FIRST, false).unwrap();
    assert!(project.place("", FIRST).unwrap().is_none(), "it is done");
    let second = project.workplace(OTHER);
    assert!(!second.places.root.path().join(".marvin/spec.md").exists());
    in_place(&project, OTHER, "1a").unwrap();
    let folder = fs::read_dir(project.top().join(".marvin/earlier")).unwrap();
    let folder = folder.last().unwrap().unwrap();
    assert!(folder.file_name() != "run", "it is called as its ticket");
    assert_eq!(
        fs::read_to_string(folder.path().join("spec.md")).unwrap(),
        of_first
    );
    assert_eq!(project.stage.read(".marvin/pipeline_task").trim(), OTHER);
    assert_eq!(project.stage.read(".marvin/pipeline_state"), "1a");
}

#[test]
fn a_run_that_is_not_done_goes_on_in_a_clone_with_its_own_task_alone() {
    let project = Project::new();
    in_place(&project, FIRST, "1a").unwrap();
    let record = || RunRecord::read(&project.stage.run.places).unwrap();
    let ticket = record().unwrap().ticket;
    forget_logs(&project);
    start::check_merged(&project.stage.run.places, FIRST, false).unwrap_err();
    let problem = in_place(&project, OTHER, "1a").unwrap_err();
    assert_has(&words(&problem), &["for another task", FIRST]);
    in_place(&project, FIRST, "1a_review").unwrap();
    assert_eq!(record().unwrap().ticket, ticket);
    // An earlier version wrote no task down.
    forget_logs(&project);
    fs::remove_file(project.top().join(".marvin/pipeline_task")).unwrap();
    let problem = in_place(&project, OTHER, "1a_review").unwrap_err();
    assert_has(&words(&problem), &["one that is not recorded here"]);
    in_place(&project, FIRST, "1a_review").unwrap();
    assert_eq!(
        project
            .stage
            .labels()
            .iter()
            .filter(|label| *label == "spec-writer")
            .count(),
        1
    );
}
