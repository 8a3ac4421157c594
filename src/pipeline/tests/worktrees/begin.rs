//! Where runs work: worktrees that are made, continued, damaged and removed.

use std::fs;
use std::sync::Arc;

use super::{FIRST, Project, Stage, WORKERS, git, words};
use crate::base::testing::{assert_has, assert_lacks};
use crate::disk::beneath::Root;
use crate::disk::paths::Paths;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self as run_record, RunRecord};
use crate::pipeline::worktree::merge::MergeForm;
use crate::pipeline::worktree::record::{self, WorktreeRecord};
use crate::pipeline::worktree::start;
use crate::pipeline::worktree::state::WorkState;

#[test]
fn a_run_works_beside_the_user_and_takes_nothing_of_theirs() {
    let project = Project::new();
    project.put(".gitignore", "node_modules/\n");
    project.commit("ignored");
    // What the user has begun: changed, staged, new and ignored files.
    project.put("notes.txt", "two\n");
    project.put("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    project.put("sub ü/new.txt", "new\n");
    project.put("sub ü/node_modules/x/index.js", "x\n");
    let before = project.whole();
    let base = project.git(&["rev-parse", "HEAD"]);
    let place = project.place("sub ü", FIRST).unwrap().unwrap();
    let record = &place.record;
    assert_eq!(
        (record.name.as_str(), record.branch.as_str()),
        ("add-a-json-flag", "marvin/add-a-json-flag")
    );
    assert_eq!((&record.base, record.base_branch.as_str()), (&base, "main"));
    assert_eq!(place.places.root.path(), record.path.join("sub ü"));
    assert_eq!(record.path.file_name(), project.top().file_name());
    assert!(!place.places.root.path().starts_with(project.top()));
    let started = |root: &Root| record::started_in(root);
    assert_eq!(started(&place.places.root), project.top().join("sub ü"));
    assert_has(
        &place.notes.join("\n"),
        &[
            "on the new branch marvin/add-a-json-flag from main; your files stay as they are.",
            "Not in it, because git does not track them: node_modules.",
        ],
    );
    project.run(&place, FIRST).unwrap();
    assert_eq!(project.whole(), before);
    let made = git(
        &record.path,
        &["ls-tree", "-r", "--name-only", "-z", "HEAD"],
    );
    assert_has(&made, &["sub ü/src/main.rs", "sub ü/.marvin/spec.md"]);
    assert_lacks(&made, &["staged.txt", "new.txt", "node_modules", "logs/"]);
    let changed = project.git(&["diff", "--name-only", "-z", "main", &record.branch]);
    assert_lacks(&changed, &["notes.txt"]);
    assert_eq!(project.state("add-a-json-flag"), WorkState::Finished);
}

#[test]
fn a_run_is_in_the_folder_itself_where_one_was_begun_or_nothing_is_committed() {
    let empty = Stage::new(WORKERS);
    let place = start::for_run(&empty.run.ctx, empty.run.root(), FIRST, None, true);
    assert!(place.unwrap().is_none(), "no commit yet");
    let project = Project::new();
    let begun = |task: &str, working: &str, finished, made_repository| {
        let record = RunRecord {
            task: task.to_owned(),
            working: working.to_owned(),
            finished,
            made_repository,
            ..RunRecord::default()
        };
        record.write(&RunPlaces::at(&project.top())).unwrap();
        project.place("", FIRST).unwrap().is_none()
    };
    assert!(begun(FIRST, "", false, false), "the same task");
    assert!(begun(FIRST, "", true, false), "the same task, done");
    assert!(begun("Other", "2a", false, false), "another is in progress");
    assert!(
        !begun("Other", "", true, true),
        "another one is done in a repository that it made"
    );
    assert!(!begun("Other", "", false, false), "another came to nothing");
    let held =
        run_record::lock(&RunPlaces::at(&project.top()), &project.stage.run.ctx.stop).unwrap();
    fs::remove_file(project.top().join(".marvin/logs/pipeline.json")).unwrap();
    assert!(
        project.place("", FIRST).unwrap().is_none(),
        "one is running"
    );
    drop(held);
    assert!(!begun("Other", "", true, false), "another one is done");
}

#[test]
fn the_same_task_goes_on_where_it_is_and_another_one_has_a_place_of_its_own() {
    let project = Project::new();
    let first = project.workplace(FIRST);
    project.block(true);
    let problem = project.run(&first, FIRST).unwrap_err();
    assert_has(&words(&problem), &["Run the same command again"]);
    let again = project.workplace(&format!("  {FIRST}\n"));
    assert_eq!(again.record, first.record);
    assert_has(&again.notes.join("\n"), &["Goes on in"]);
    // From the worktree itself it is found too.
    let inside = start::for_run(
        &project.stage.run.ctx,
        &first.places.root,
        FIRST,
        None,
        true,
    )
    .unwrap();
    assert!(inside.is_none(), "in the folder, which is the worktree");
    // A flag that is for the folder itself continues it, and makes none.
    let root = Arc::new(Root::open(&project.top()).unwrap());
    let may_not =
        |task: &str| start::for_run(&project.stage.run.ctx, &root, task, None, false).unwrap();
    assert_eq!(
        may_not(FIRST).map(|place| place.record),
        Some(first.record.clone())
    );
    assert!(may_not("Add a JSON flag").is_none());
    let other = project.workplace("Add a JSON flag");
    assert_eq!(other.record.name, "add-a-json-flag-2");
    assert_eq!(other.record.branch, "marvin/add-a-json-flag-2");
    let elsewhere = project.place("sub ü", FIRST).unwrap().unwrap();
    assert_eq!(elsewhere.record.name, "add-a-json-flag-3");
    project.block(false);
    project.specify(&again, FIRST).unwrap();
}

#[test]
fn a_run_in_place_is_not_begun_beside_a_worktree_that_has_its_task() {
    let project = Project::new();
    project.workplace(FIRST);
    let root = Arc::new(Root::open(&project.top()).unwrap());
    let check = |task: &str| start::check_in_place(&project.stage.run.ctx, &root, task);
    let problem = check(FIRST).unwrap_err();
    let dir = project.top().display().to_string();
    assert_has(
        &words(&problem),
        &[
            "A run of this task was begun in a worktree",
            "marvin pipeline merge add-a-json-flag --force --working-dir ",
            &dir,
        ],
    );
    check("Add a --yaml flag").unwrap();
}

#[test]
fn a_branch_called_marvin_is_no_obstacle() {
    let project = Project::new();
    project.git(&["branch", "marvin"]);
    assert_eq!(project.workplace("Go").record.branch, "marvin-go");
}

#[test]
fn where_marvins_own_folder_is_not_writable_the_worktree_is_beside_the_repository() {
    let project = Project::new();
    let paths = Paths::new(&project.stage.run.ctx.session.env);
    let home = paths.home().unwrap();
    fs::write(home.join(".local"), "in the way").unwrap();
    let place = project.workplace(FIRST);
    let beside = project.top().parent().unwrap().join(".marvin-worktrees");
    assert!(
        place.places.root.path().starts_with(&beside),
        "{:?}",
        place.places.root.path()
    );
}

#[test]
fn where_no_worktree_can_be_made_the_way_without_one_is_told() {
    let project = Project::new();
    project.put(".git/marvin", "in the way");
    let problem = project.place("", FIRST).err().unwrap();
    assert_has(&words(&problem), &["--in-place"]);
    fs::remove_file(project.top().join(".git/marvin")).unwrap();
    let paths = Paths::new(&project.stage.run.ctx.session.env);
    fs::write(paths.home().unwrap().join(".local"), "in the way").unwrap();
    let beside = project.top().parent().unwrap().join(".marvin-worktrees");
    fs::write(beside, "in the way").unwrap();
    let problem = project.place("", FIRST).err().unwrap();
    assert_has(&words(&problem), &["--in-place"]);
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.git(&["branch", "--list", "marvin/*"]), "");
    assert!(record::all(project.tree().git.common()).is_empty());
}

#[test]
fn instructions_that_git_does_not_track_hold_in_the_worktree_too() {
    let project = Project::new();
    let paths = Paths::new(&project.stage.run.ctx.session.env);
    let own = paths.instructions_for(&project.top()).unwrap();
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "Test with: make check\n").unwrap();
    let place = project.workplace(FIRST);
    let copy = paths.instructions_for(place.places.root.path()).unwrap();
    assert_eq!(
        fs::read_to_string(&copy).unwrap(),
        "Test with: make check\n"
    );
    project.remove("add-a-json-flag", false).unwrap();
    assert!(!copy.exists() && own.exists());
}

#[test]
fn documents_of_the_folder_above_come_from_where_the_run_was_started() {
    let project = Project::new();
    let above = project.top().parent().unwrap().join("MARVIN_SPEC.md");
    fs::write(above, "The specification above.\n").unwrap();
    let place = project.workplace(FIRST);
    project.specify(&place, FIRST).unwrap();
    let copy = place
        .places
        .root
        .path()
        .join(".marvin/upstream/MARVIN_SPEC.md");
    assert_eq!(
        fs::read_to_string(copy).unwrap(),
        "The specification above.\n"
    );
}

#[test]
fn a_worktree_that_was_removed_by_hand_is_made_again_from_its_branch() {
    let project = Project::new();
    let first = project.finished(FIRST, "made.txt", "made\n");
    let path = first.record.path.clone();
    record::keep_spent(&first.places.root, 1.25);
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(project.state("add-a-json-flag"), WorkState::FolderGone);
    project.git(&["worktree", "prune"]);
    let again = project.workplace(FIRST);
    assert_eq!(again.record.branch, first.record.branch);
    // The ceiling on cost is for what was spent before, too.
    assert_eq!(run_record::spent(&again.places), 1.25);
    assert_has(&again.notes.join("\n"), &["was removed; it is made again"]);
    assert_eq!(fs::read_to_string(path.join("made.txt")).unwrap(), "made\n");
    let run = RunRecord::read(&again.places).unwrap().unwrap();
    assert_eq!((run.base, run.finished), (first.record.base.clone(), false));
    // Something else lies there.
    fs::remove_dir_all(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let problem = project.place("", FIRST).err().unwrap();
    assert_has(
        &words(&problem),
        &[
            "no worktree of this repository any more",
            "git worktree repair",
        ],
    );
    fs::remove_dir(&path).unwrap();
    // Without its branch there is nothing to make it from.
    project.git(&["worktree", "prune"]);
    project.git(&["branch", "-q", "-D", &first.record.branch]);
    let problem = project.place("", FIRST).err().unwrap();
    assert_has(
        &words(&problem),
        &[
            "both are gone",
            "marvin pipeline worktrees --remove add-a-json-flag",
        ],
    );
    project.remove("add-a-json-flag", false).unwrap();
    project.workplace(FIRST);
}

#[test]
fn a_worktree_that_was_recorded_and_not_made_is_made() {
    let project = Project::new();
    let record = project.workplace(FIRST).record;
    project.remove(&record.name, true).unwrap();
    // As a start leaves it that is killed behind its record.
    record.write(project.tree().git.common()).unwrap();
    project.put("more.txt", "more\n");
    project.commit("of the user");
    let place = project.workplace(FIRST);
    assert_eq!((&place.record, place.is_new), (&record, true));
    assert_eq!(git(&record.path, &["rev-parse", "HEAD"]), record.base);
    assert_has(&place.notes.join("\n"), &["on the new branch"]);
    project.specify(&place, FIRST).unwrap();
}

#[test]
fn a_branch_that_is_deleted_in_mid_run_gets_no_commit_and_can_be_brought_back() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    project.block(true);
    project.run(&place, FIRST).unwrap_err();
    project.block(false);
    let branch = place.record.branch.as_str();
    let last = project.git(&["rev-parse", branch]);
    project.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    let problem = project.run(&place, FIRST).unwrap_err();
    let restore = format!(" branch {branch} {last}");
    assert_has(
        &words(&problem),
        &["was deleted while this run worked on it", &restore],
    );
    assert_eq!(project.git(&["branch", "--list", "marvin/*"]), "");
    let problem = project.place("", FIRST).err().unwrap();
    assert_has(&words(&problem), &["was deleted", &restore]);
    let problem = project.merge(None, MergeForm::Squash).unwrap_err();
    assert_has(&words(&problem), &["was deleted", &restore]);
    assert_eq!(project.state("add-a-json-flag"), WorkState::BranchGone);
    project.git(&["branch", branch, &last]);
    project.specify(&project.workplace(FIRST), FIRST).unwrap();
}

#[test]
fn a_folder_that_is_gone_in_mid_run_is_told() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    let mut stage = Stage::new("true");
    stage.run.places = place.places.clone();
    fs::remove_dir_all(place.places.root.path()).unwrap();
    let problem = crate::pipeline::repository::checkpoint(&stage.run, "A step").unwrap_err();
    assert_has(&words(&problem), &["The folder of this run is gone"]);
}

#[test]
fn a_folder_that_holds_nothing_but_logs_counts_as_removed() {
    let project = Project::new();
    let first = project.finished(FIRST, "made.txt", "made\n");
    let path = first.record.path.clone();
    for (left, is_made_again) in [
        (".marvin/logs/implementer-1.tools.jsonl", true),
        ("a.txt", false),
    ] {
        fs::remove_dir_all(&path).unwrap();
        let left = path.join(left);
        fs::create_dir_all(left.parent().unwrap()).unwrap();
        fs::write(&left, "{}").unwrap();
        let place = project.place("", FIRST);
        assert_eq!(place.is_ok(), is_made_again, "{left:?}");
        assert_eq!(left.exists(), !is_made_again);
        assert_eq!(path.join("made.txt").exists(), is_made_again);
    }
}

#[test]
fn what_would_be_lost_is_removed_only_by_force_and_what_runs_never() {
    let project = Project::new();
    let place = project.finished(FIRST, "made.txt", "made\n");
    let tip = project.git(&["rev-parse", &place.record.branch]);
    let held = run_record::lock(&place.places, &project.stage.run.ctx.stop).unwrap();
    let problem = project.remove("add-a-json-flag", true).unwrap_err();
    assert_has(
        &words(&problem),
        &["is at work", &std::process::id().to_string()],
    );
    drop(held);
    let problem = project.remove("add-a-json-flag", false).unwrap_err();
    assert_has(&words(&problem), &["1 commit", "would be lost", "--force"]);
    fs::write(place.places.root.path().join("draft.txt"), "draft\n").unwrap();
    let problem = project.remove("add-a-json-flag", false).unwrap_err();
    assert_has(&words(&problem), &["1 changed file", "draft.txt"]);
    assert!(place.places.root.path().join("draft.txt").exists());
    let said = project.remove("add-a-json-flag", true).unwrap();
    assert_has(
        &said,
        &[&format!("git branch marvin/add-a-json-flag {tip}")],
    );
    assert!(!place.record.path.exists());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(project.git(&["branch", "--list", "marvin/*"]), "");
    // Somebody removed the folder of another one.
    let place = project.workplace("Other");
    fs::remove_dir_all(place.places.root.path()).unwrap();
    project.remove("other", false).unwrap();
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_record_that_leads_elsewhere_is_not_followed() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    let other = Project::new();
    let mut record = place.record.clone();
    record.path = other.top();
    record.write(project.tree().git.common()).unwrap();
    let problem = project.place("", FIRST).err().unwrap();
    assert_has(
        &words(&problem),
        &["no worktree of this repository any more"],
    );
    let said = project.remove("add-a-json-flag", true).unwrap();
    assert_has(&said, &["stays"]);
    assert!(other.top().join("notes.txt").exists());
    // One of another repository, which says that it was started here.
    let stranger = other.workplace(FIRST);
    let there = stranger.places.root.path();
    let mut record_there = stranger.record.clone();
    record_there.origin = project.top();
    record_there.write(other.tree().git.common()).unwrap();
    assert_eq!(record::started_in(&stranger.places.root), there);
    for hostile in [
        WorktreeRecord {
            folder: "../../..".into(),
            ..record.clone()
        },
        WorktreeRecord {
            base: "--output=x".to_owned(),
            ..record.clone()
        },
        WorktreeRecord {
            branch: "x\u{1b}[2J".to_owned(),
            ..record.clone()
        },
    ] {
        hostile.write(project.tree().git.common()).unwrap();
        assert!(
            project.tree().worktrees().unwrap().is_empty(),
            "{hostile:?}"
        );
    }
}

#[test]
fn a_worktree_whose_files_were_not_all_written_is_made_again() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    let path = place.record.path.clone();
    // As a kill between the making of the worktree and its checkout leaves it.
    let index = git(
        &path,
        &["rev-parse", "--path-format=absolute", "--git-path", "index"],
    );
    fs::remove_file(index).unwrap();
    fs::remove_file(path.join("notes.txt")).unwrap();
    let again = project.workplace(FIRST);
    assert_eq!(again.record.name, place.record.name);
    assert!(path.join("notes.txt").exists());
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
}

#[test]
fn a_folder_that_git_ignores_is_refused_before_anything_is_made() {
    let project = Project::new();
    project.put(".gitignore", "build/\n");
    project.put("build/new/a.txt", "a");
    project.commit("ignore");
    let problem = project.place("build/new", FIRST).map(|_| ()).unwrap_err();
    assert_has(&words(&problem), &["ignores ", "git init "]);
    assert_eq!(project.git(&["branch", "--list", "marvin/*"]), "");
    // A list of what is tracked begins with everything being ignored.
    project.put(".gitignore", "*\n!notes.txt\n");
    project.commit("a list");
    assert!(project.place("", FIRST).unwrap().is_some());
}
