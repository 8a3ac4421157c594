//! How work comes back from a worktree.

use std::fs;

use super::{FIRST, Project, Stage, WORKERS, git, words};
use crate::base::testing::assert_has;
use crate::disk::beneath::Root;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self as run_record, RunRecord};
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::worktree::merge::{MergeForm, MergeOrder};
use crate::pipeline::worktree::state::WorkState;
use crate::pipeline::worktree::{record, resolve, start};

#[test]
fn one_commit_has_the_story_and_what_the_user_has_begun_stays_out_of_it() {
    let project = Project::new();
    project.put(".gitignore", "secret.env\n");
    project.commit("ignore");
    let place = project.finished(FIRST, "made ü.txt", "made\n");
    fs::write(place.places.root.path().join("secret.env"), "x").unwrap();
    run_record::save_spent(&place.places, 1.5).unwrap();
    project.put("notes.txt", "begun\n");
    project.put("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    let before = project.git(&["rev-parse", "HEAD"]);
    let said = project.merge(None, MergeForm::Squash).unwrap();
    assert_has(
        &said,
        &[
            "marvin/add-a-json-flag (1 commit) is in main now, as one commit ",
            "What git ignores there went with it: secret.env.",
            "git branch -D marvin/add-a-json-flag",
        ],
    );
    assert_eq!(project.git(&["rev-parse", "HEAD^"]), before);
    assert_eq!(
        project.git(&["log", "-1", "--format=%B"]),
        "The story\n\nOf all of it."
    );
    assert_eq!(
        project.git(&["show", "--format=", "--name-only", "-z"]),
        "made ü.txt\0"
    );
    assert_eq!(project.stage.read("made ü.txt"), "made\n");
    assert_eq!(project.stage.read("notes.txt"), "begun\n");
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "M notes.txt\nA  staged.txt"
    );
    assert!(!place.record.path.exists());
    assert!(record::all(project.tree().git.common()).is_empty());
    // The same command again finds that it is done.
    assert!(project.place("", FIRST).unwrap().is_none());
    assert!((run_record::spent(&RunPlaces::at(&project.top())) - 1.5).abs() < 1e-9);
}

#[test]
fn all_commits_are_joined_by_a_merge_and_the_branch_goes() {
    let project = Project::new();
    let place = project.finished(FIRST, "made.txt", "made\n");
    let tip = project.git(&["rev-parse", &place.record.branch]);
    project.put("notes.txt", "meanwhile\n");
    project.commit("of the user");
    project
        .merge(Some("add-a-json-flag"), MergeForm::All)
        .unwrap();
    assert_eq!(project.git(&["rev-parse", "HEAD^2"]), tip);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "The story");
    assert_eq!(project.stage.read("notes.txt"), "meanwhile\n");
    assert_eq!(project.git(&["branch", "--list", "marvin/*"]), "");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

/// Nothing changes for the user, and the problem says all of `expected`.
fn refused(project: &Project, force: bool, expected: &[&str]) {
    let before = project.whole();
    for form in [MergeForm::Squash, MergeForm::All] {
        let problem = project.merge_with(None, form, force).unwrap_err();
        assert_has(&words(&problem), expected);
        assert_eq!(project.whole(), before);
        assert_eq!(project.tree().git.unfinished(), None);
    }
}

#[test]
fn a_merge_that_conflicts_changes_nothing_and_names_the_files() {
    let project = Project::new();
    project.finished(FIRST, "notes.txt", "theirs\n");
    project.put("notes.txt", "ours\n");
    project.commit("of the user");
    project.put("other.txt", "begun\n");
    refused(
        &project,
        false,
        &[
            "changed the same lines in 1 file",
            "notes.txt",
            "git merge marvin/add-a-json-flag",
            "--resolve",
        ],
    );
    refused(&project, true, &["--resolve --force --working-dir "]);
}

#[test]
fn a_merge_does_not_touch_files_that_are_not_committed() {
    let project = Project::new();
    project.finished(FIRST, "notes.txt", "theirs\n");
    project.put("notes.txt", "begun\n");
    refused(
        &project,
        false,
        &["you have changed and not committed", "notes.txt"],
    );
    project.git(&["add", "notes.txt"]);
    refused(
        &project,
        false,
        &["you have changed and not committed", "notes.txt"],
    );
    let project = Project::new();
    project.finished(FIRST, "secret.env", "theirs\n");
    let list = project.stage.read(".git/info/exclude");
    project.put(".git/info/exclude", &format!("{list}*.env\n"));
    project.put("secret.env", "mine, and ignored\n");
    refused(
        &project,
        false,
        &["you have changed and not committed", "secret.env"],
    );
}

#[test]
fn a_branch_that_cannot_be_moved_changes_no_file() {
    let project = Project::new();
    project.finished(FIRST, "made.txt", "made\n");
    project.put("notes.txt", "begun\n");
    project.put("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    let lock = project.top().join(".git/refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    refused(&project, false, &["main.lock", "File exists"]);
    fs::remove_file(lock).unwrap();
    project.merge(None, MergeForm::Squash).unwrap();
    assert_eq!(project.stage.read("made.txt"), "made\n");
}

#[test]
fn a_base_that_was_rebased_is_told_with_the_way_on() {
    let project = Project::new();
    project.put("notes.txt", "to be rebased\n");
    let base = project.commit("second");
    let place = project.finished(FIRST, "made.txt", "made\n");
    project.git(&["commit", "-q", "--amend", "-m", "second, in other words"]);
    refused(
        &project,
        false,
        &[
            "does not hold the commit",
            "was rebased",
            "rebase --onto main",
        ],
    );
    git(
        &place.record.path,
        &[
            "rebase",
            "-q",
            "--onto",
            "main",
            &base,
            &place.record.branch,
        ],
    );
    project.merge(None, MergeForm::Squash).unwrap();
    assert_eq!(
        project.git(&["log", "--format=%s"]),
        "The story\nsecond, in other words\nfirst"
    );
}

#[test]
fn a_merge_needs_a_branch_and_finished_committed_work() {
    let project = Project::new();
    let problem = project.merge(None, MergeForm::Squash).unwrap_err();
    assert_has(&words(&problem), &["No run of the pipeline has a worktree"]);
    let place = project.finished(FIRST, "made.txt", "made\n");
    project.git(&["checkout", "-q", "--detach"]);
    refused(&project, false, &["No branch is checked out here"]);
    project.git(&["checkout", "-q", "main"]);
    fs::write(place.places.root.path().join("made.txt"), "more\n").unwrap();
    refused(&project, true, &["not committed", "made.txt"]);
    git(place.places.root.path(), &["checkout", "-q", "made.txt"]);
    let mut run = RunRecord::read(&place.places).unwrap().unwrap();
    run.finished = false;
    run.write(&place.places).unwrap();
    refused(&project, false, &["is not done", "--force"]);
    let held = run_record::lock(&place.places, &project.stage.run.ctx.stop).unwrap();
    refused(&project, true, &["add-a-json-flag is at work"]);
    drop(held);
    project.workplace("Other");
    let problem = project.merge(None, MergeForm::Squash).unwrap_err();
    assert_has(&words(&problem), &["several", "add-a-json-flag, other"]);
    let problem = project
        .merge(Some("add-a-jsn-flag"), MergeForm::Squash)
        .unwrap_err();
    assert_has(&words(&problem), &["Did you mean \"add-a-json-flag\"?"]);
    project
        .merge_with(Some("add-a-json-flag"), MergeForm::Squash, true)
        .unwrap();
}

#[test]
fn nothing_is_merged_into_the_files_of_a_run() {
    let project = Project::new();
    project.finished(FIRST, "made.txt", "made\n");
    let root = Root::open(&project.top()).unwrap();
    let held = crate::pipeline::working_tree::share(&root).unwrap();
    refused(
        &project,
        true,
        &["A pipeline or a review is running in this working tree"],
    );
    drop(held);
    project.merge(None, MergeForm::All).unwrap();
}

#[test]
fn a_merge_by_hand_is_noticed() {
    let project = Project::new();
    project.finished(FIRST, "made.txt", "made\n");
    project.git(&["merge", "-q", "marvin/add-a-json-flag"]);
    assert_eq!(project.state("add-a-json-flag"), WorkState::Merged);
    let said = project.merge(None, MergeForm::Squash).unwrap();
    assert_has(&said, &["is in main already", "Removed the worktree"]);
    assert_eq!(project.git(&["branch", "--list", "marvin/*"]), "");
}

#[test]
fn a_child_resolves_what_conflicts_in_the_worktree() {
    let project = Project::new();
    let place = project.finished(FIRST, "notes.txt", "theirs\n");
    project.put("notes.txt", "ours\n");
    let ours = project.commit("of the user");
    project.put("begun.txt", "begun\n");
    let before = project.whole();
    let tree = project.tree();
    let mut stage = Stage::new(WORKERS);
    stage.run.places = place.places.clone();
    stage.run.branch.clone_from(&place.record.branch);
    let lazy = stage.path("").parent().unwrap().join("lazy");
    fs::write(&lazy, "").unwrap();
    let resolve = || {
        let status = tree.named(None).unwrap();
        let order = MergeOrder {
            status: &status,
            form: MergeForm::Squash,
            message: "",
            force: false,
        };
        resolve::resolve(&stage.run, &tree, &order).map(|(said, _)| said)
    };
    let problem = resolve().unwrap_err();
    assert_has(
        &words(&problem),
        &["conflict markers left in notes.txt", "git merge"],
    );
    assert_eq!(git(&place.record.path, &["status", "--porcelain"]), "");
    fs::remove_file(&lazy).unwrap();
    let said = resolve().unwrap();
    assert_has(
        &said,
        &[
            "main is merged into marvin/add-a-json-flag; 1 file had conflicts.",
            "Tests: ",
        ],
    );
    assert_eq!(project.whole(), before);
    assert_eq!(git(&place.record.path, &["rev-parse", "HEAD^2"]), ours);
    let prompt = stage.prompts("merger").pop().unwrap();
    assert_has(&prompt, &["notes.txt", "`main`", "Do not commit"]);
    project.merge(None, MergeForm::Squash).unwrap();
    assert_eq!(project.stage.read("notes.txt"), "both\n");
}

#[test]
fn another_task_begins_from_its_start_although_one_before_it_was_merged() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    project.run(&place, FIRST).unwrap();
    project.merge(None, MergeForm::Squash).unwrap();
    // Done, it is found; to go back in it would commit on the user's branch.
    let here = RunPlaces::at(&project.top());
    start::check_merged(&here, FIRST, false).unwrap();
    let problem = start::check_merged(&here, FIRST, true).unwrap_err();
    assert_has(&words(&problem), &["is merged", "--in-place"]);
    let of_first = project.stage.read(".marvin/spec.md");
    let second = project.workplace("Add a --yaml flag");
    for path in [
        ".marvin/spec.md",
        ".marvin/pipeline_state",
        ".marvin/review-history-spec.md",
    ] {
        assert!(!second.places.root.path().join(path).exists(), "{path}");
    }
    project.specify(&second, "Add a --yaml flag").unwrap();
    assert_eq!(project.stage.read(".marvin/spec.md"), of_first);
    assert!(second.places.root.path().join(".marvin/spec.md").exists());
}

#[test]
fn a_merge_of_unfinished_work_is_in_nobodys_way_and_its_run_goes_on() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    project.specify(&place, FIRST).unwrap();
    project.merge_with(None, MergeForm::Squash, true).unwrap();
    // Another task has a place of its own.
    assert!(project.place("", "Add a --yaml flag").unwrap().is_some());
    // The same command may go on where the work is now, if the user says so.
    assert!(project.place("", FIRST).unwrap().is_none());
    let here = RunPlaces::at(&project.top());
    let problem = start::check_merged(&here, FIRST, false).unwrap_err();
    assert_has(&words(&problem), &["is merged", "--in-place"]);
    let ctx = &project.stage.run.ctx;
    ctx.session
        .working_dir
        .set(Root::open(&project.top()).unwrap(), true);
    let request = RunRequest {
        task: FIRST.to_owned(),
        ..project.stage.request_until("1a_review")
    };
    let before = project.stage.labels().len();
    run::run(ctx, request).unwrap();
    let labels = project.stage.labels().split_off(before);
    assert!(!labels.is_empty(), "it is reviewed");
    assert!(
        labels.iter().all(|label| !label.ends_with("-writer")),
        "{labels:?}"
    );
    start::check_merged(&here, FIRST, true).unwrap();
}

#[test]
fn a_run_whose_branch_was_merged_by_hand_goes_on_in_its_worktree_until_it_is_done() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    project.specify(&place, FIRST).unwrap();
    let (branch, path) = (&*place.record.branch, &place.record.path);
    project.git(&["merge", "-q", branch]);
    let goes_on = || {
        let again = project.workplace(FIRST);
        assert_eq!((&*again.record.branch, again.is_new), (branch, false));
    };
    goes_on();
    // Without its branch there is nothing of it but what was merged.
    let tip = project.git(&["rev-parse", branch]);
    fs::remove_dir_all(path).unwrap();
    project.git(&["worktree", "prune"]);
    project.git(&["branch", "-q", "-D", branch]);
    assert!(project.place("", FIRST).unwrap().is_none());
    project.git(&["branch", branch, &tip]);
    goes_on();
    fs::write(path.join(".marvin/pipeline_state"), "5").unwrap();
    git(path, &["commit", "-q", "-a", "-m", "the last phase"]);
    project.git(&["merge", "-q", branch]);
    assert!(project.place("", FIRST).unwrap().is_none(), "it is done");
}

#[test]
fn work_whose_folder_is_gone_is_merged_when_it_was_done_or_by_force() {
    let project = Project::new();
    let place = || project.place("sub ü", FIRST).unwrap().unwrap();
    let first = place();
    project.specify(&first, FIRST).unwrap();
    let path = first.record.path.clone();
    fs::remove_dir_all(&path).unwrap();
    let problem = project.merge(None, MergeForm::Squash).unwrap_err();
    assert_has(&words(&problem), &["is not done", "--force"]);
    let again = place();
    let state = again.places.root.path().join(".marvin/pipeline_state");
    fs::write(state, "5").unwrap();
    git(&path, &["commit", "-q", "-a", "-m", "the last phase"]);
    fs::remove_dir_all(&path).unwrap();
    let said = project.merge(None, MergeForm::Squash).unwrap();
    assert_has(&said, &["is in main now"]);
}

#[test]
fn what_git_ignores_of_a_run_is_in_its_commits_and_comes_with_the_merge() {
    let project = Project::new();
    project.put(".gitignore", ".marvin/\n.tickets\n");
    project.commit("ignore");
    let place = project.workplace(FIRST);
    project.run(&place, FIRST).unwrap();
    let told = project.stage.prompts("review-spec-main");
    assert_has(&told[1], &["What the last fixer changed:", "+Corrected."]);
    let warnings = project.stage.warnings();
    let told = warnings
        .iter()
        .filter(|words| words.contains("git ignores .marvin/"));
    assert_eq!(told.count(), 1, "{warnings:?}");
    let ticket = RunRecord::read(&place.places).unwrap().unwrap().ticket;
    project.merge(None, MergeForm::Squash).unwrap();
    let committed = project.git(&["ls-files"]);
    let own = format!(".tickets/{ticket}.md");
    for path in [".marvin/spec.md", ".marvin/review-history-spec.md", &own] {
        assert!(committed.lines().any(|line| line == path), "{committed}");
        assert!(project.top().join(path).exists(), "{path}");
    }
    assert!(!committed.contains(".marvin/logs"), "{committed}");
}

#[test]
fn documents_of_two_runs_side_by_side_are_no_conflict() {
    let project = Project::new();
    let (first, second) = ("Count words", "Count lines");
    let places = [first, second].map(|task| {
        let place = project.workplace(task);
        project.specify(&place, task).unwrap();
        place
    });
    let specs = places
        .each_ref()
        .map(|place| fs::read_to_string(place.places.root.path().join(".marvin/spec.md")).unwrap());
    assert_ne!(specs[0], specs[1]);
    let ticket = RunRecord::read(&places[0].places).unwrap().unwrap().ticket;
    for name in ["count-words", "count-lines"] {
        let said = project.merge_with(Some(name), MergeForm::Squash, true);
        let said = said.unwrap();
        assert_eq!(
            said.contains(".marvin/earlier/"),
            name == "count-lines",
            "{said}"
        );
    }
    assert_eq!(project.stage.read(".marvin/spec.md"), specs[1]);
    let earlier = format!(".marvin/earlier/{ticket}/spec.md");
    assert_eq!(project.stage.read(&earlier), specs[0]);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_child_that_resolves_what_conflicts_gets_no_files_of_marvins_own() {
    let project = Project::new();
    let places = ["Count words", "Count lines"].map(|task| {
        let place = project.workplace(task);
        project.specify(&place, task).unwrap();
        place
    });
    let [_, second] = &places;
    let there = second.places.root.path();
    let own = fs::read_to_string(there.join(".marvin/spec.md")).unwrap();
    fs::write(there.join("notes.txt"), "theirs\n").unwrap();
    git(there, &["commit", "-q", "-a", "-m", "a step"]);
    project.put("notes.txt", "ours\n");
    project.commit("of the user");
    project
        .merge_with(Some("count-words"), MergeForm::Squash, true)
        .unwrap();
    let merge = || project.merge_with(Some("count-lines"), MergeForm::Squash, true);
    let problem = words(&merge().unwrap_err());
    assert_has(&problem, &["in 1 file", "notes.txt"]);
    let tree = project.tree();
    let status = tree.named(Some("count-lines")).unwrap();
    let mut stage = Stage::new(WORKERS);
    stage.run.places = second.places.clone();
    stage.run.branch.clone_from(&second.record.branch);
    let order = MergeOrder {
        status: &status,
        form: MergeForm::Squash,
        message: "",
        force: true,
    };
    let (said, _) = resolve::resolve(&stage.run, &tree, &order).unwrap();
    assert_has(&said, &["1 file had conflicts"]);
    let prompt = stage.prompts("merger").pop().unwrap();
    assert_has(&prompt, &["on one side:\n\nnotes.txt\n\nResolve them:"]);
    merge().unwrap();
    assert_eq!(project.stage.read("notes.txt"), "both\n");
    assert_eq!(project.stage.read(".marvin/spec.md"), own);
    let earlier = project.git(&["ls-files", ".marvin/earlier"]);
    assert_has(&earlier, &["/spec.md"]);
}

#[test]
fn a_merge_that_was_killed_behind_its_commit_makes_no_second_one() {
    for is_recorded in [false, true] {
        let project = Project::new();
        let place = project.finished(FIRST, "made.txt", "made\n");
        project.git(&["merge", "-q", "--squash", &place.record.branch]);
        let commit = project.commit("the story");
        if is_recorded {
            let mut record = place.record.clone();
            record.merged = commit;
            record.write(project.tree().git.common()).unwrap();
            // What the user made of it in between is theirs.
            project.put("made.txt", "made otherwise\n");
            project.commit("of the user");
        }
        let head = project.git(&["rev-parse", "HEAD"]);
        let said = project.merge(None, MergeForm::Squash).unwrap();
        assert_has(&said, &["is in main already", "Removed the worktree"]);
        assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
        assert!(!place.record.path.exists());
    }
}
