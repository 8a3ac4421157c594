//! Runs in worktrees of their own: made, continued, merged and removed, with a user who works on beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::Stage;
use crate::base::problem::{Outcome, Problem};
use crate::base::testing::{assert_has, assert_lacks};
use crate::disk::beneath::Root;
use crate::disk::paths::Paths;
use crate::pipeline::record::{self as run_record, RunRecord};
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::steering::Steering;
use crate::pipeline::worktree::merge::{self, MergeForm, MergeOrder};
use crate::pipeline::worktree::record::WorktreeRecord;
use crate::pipeline::worktree::start::{self, Workplace};
use crate::pipeline::worktree::state::{UserTree, WorkState};
use crate::pipeline::worktree::{record, remove, resolve};

/// Writers write, reviewers are satisfied in the second round; with a file `stop` beside their calls nobody can work.
const WORKERS: &str = r#"
if [ -e "$CALLS/../stop" ]; then exit 127; fi
case "$NAME" in
  spec-writer-*) document .marvin/spec.md;;
  ux-writer-*) document .marvin/ux.md;;
  design-writer-*) document .marvin/design.md;;
  implementer-*) mkdir -p src; echo '// more' >> src/main.rs;;
  review-*) if grep -q "round 2 of 4" "$PROMPT"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
  *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
  merger-*) if [ -e "$CALLS/../lazy" ]; then echo "I looked."; else for f in notes.txt; do printf 'both\n' > $f; done; fi;;
esac
true"#;
const FIRST: &str = "Add a --json flag!";

/// A repository with a commit; its folder `sub ü` is where runs are started.
struct Project {
    stage: Stage,
}

impl Project {
    fn new() -> Self {
        let stage = Stage::new(WORKERS);
        let project = Self { stage };
        project.git(&["config", "user.name", "Ann"]);
        project.git(&["config", "user.email", "ann@example.org"]);
        project.git(&["checkout", "-q", "-b", "main"]);
        project.put("notes.txt", "one\n");
        project.put("sub ü/lib.rs", "// here\n");
        project.commit("first");
        project
    }

    fn git(&self, words: &[&str]) -> String {
        git(&self.top(), words)
    }

    /// Keeps every child from working, or lets them work again.
    fn block(&self, is_blocked: bool) {
        let mark = self.top().parent().unwrap().join("stop");
        match is_blocked {
            true => fs::write(mark, "").unwrap(),
            false => fs::remove_file(mark).unwrap(),
        }
    }

    fn top(&self) -> PathBuf {
        self.stage.path("").canonicalize().unwrap()
    }

    fn put(&self, path: &str, text: &str) {
        self.stage.put(path, text);
    }

    fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// The worktree of a run that is started in `folder`.
    fn place(&self, folder: &str, task: &str) -> Outcome<Option<Workplace>> {
        let root = Root::open(&self.top().join(folder)).unwrap();
        start::for_run(&self.stage.run.ctx, &root, task, true)
    }

    fn workplace(&self, task: &str) -> Workplace {
        self.place("", task).unwrap().unwrap()
    }

    /// Runs the phases there.
    fn run(&self, place: &Workplace, task: &str) -> Outcome<()> {
        let ctx = &self.stage.run.ctx;
        let root = || Root::open(place.root.path()).unwrap();
        ctx.session.working_dir.set(root(), true);
        run::run(
            ctx,
            RunRequest {
                root: Arc::new(root()),
                task: task.to_owned(),
                ticket: None,
                design_first: true,
                tdd: false,
                branch: None,
                allow_dirty: false,
                tiers: self.stage.run.tiers.clone(),
                max_cost: None,
                program: self.stage.run.program.clone(),
                supervisor: None,
                steering: Steering::default(),
            },
        )
        .map(drop)
    }

    /// A worktree in which a run has ended, with one file more.
    fn finished(&self, task: &str, path: &str, text: &str) -> Workplace {
        let place = self.workplace(task);
        let root = place.root.path();
        fs::write(root.join(path), text).unwrap();
        git(root, &["add", "-A"]);
        git(root, &["commit", "-q", "-m", "a step"]);
        RunRecord {
            task: task.to_owned(),
            finished: true,
            ..RunRecord::default()
        }
        .write(&place.root)
        .unwrap();
        place
    }

    fn tree(&self) -> UserTree<'_> {
        let ctx = &self.stage.run.ctx;
        UserTree::open(&self.top(), &ctx.session.env, &ctx.stop).unwrap()
    }

    fn merge(&self, name: Option<&str>, form: MergeForm) -> Outcome<String> {
        self.merge_with(name, form, false)
    }

    fn merge_with(&self, name: Option<&str>, form: MergeForm, force: bool) -> Outcome<String> {
        let tree = self.tree();
        let status = tree.named(name)?;
        let order = MergeOrder {
            status: &status,
            form,
            message: "The story\n\nOf all of it.\n",
            force,
        };
        merge::merge(&tree, &order)
    }

    fn remove(&self, name: &str, force: bool) -> Outcome<String> {
        let tree = self.tree();
        let status = tree.named(Some(name))?;
        remove::remove(&tree, &status, force)
    }

    fn state(&self, name: &str) -> WorkState {
        self.tree().named(Some(name)).unwrap().state
    }

    /// Everything that the user has here: files, index, branch.
    fn whole(&self) -> (BTreeMap<PathBuf, Vec<u8>>, [String; 4]) {
        let mut files = BTreeMap::new();
        read_all(&self.top(), &mut files);
        let git = [
            self.git(&["status", "--porcelain", "--ignored"]),
            self.git(&["rev-parse", "HEAD", "main"]),
            self.git(&["rev-parse", "--abbrev-ref", "HEAD"]),
            self.git(&["ls-files", "--stage"]),
        ];
        (files, git)
    }
}

fn git(dir: &Path, words: &[&str]) -> String {
    let done = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(words)
        .output()
        .unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

fn read_all(dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".git") {
            continue;
        }
        match path.is_dir() {
            true => read_all(&path, files),
            false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
}

/// All that a problem says.
fn words(problem: &Problem) -> String {
    let facts = problem.facts.clone().unwrap_or_default();
    format!("{}\n{facts}", problem.one_line())
}

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
    assert_eq!(place.root.path(), record.path.join("sub ü"));
    assert_eq!(record.path.file_name(), project.top().file_name());
    assert!(!place.root.path().starts_with(project.top()));
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
    let place = start::for_run(&empty.run.ctx, &empty.run.root, FIRST, true);
    assert!(place.unwrap().is_none(), "no commit yet");
    let project = Project::new();
    let root = Root::open(&project.top()).unwrap();
    let begun = |task: &str, working: &str, finished, made_repository| {
        let record = RunRecord {
            task: task.to_owned(),
            working: working.to_owned(),
            finished,
            made_repository,
            ..RunRecord::default()
        };
        record.write(&root).unwrap();
        project.place("", FIRST).unwrap().is_none()
    };
    assert!(begun(FIRST, "", false, false), "the same task");
    assert!(begun(FIRST, "", true, false), "the same task, done");
    assert!(begun("Other", "2a", false, false), "another is in progress");
    assert!(
        begun("Other", "", true, true),
        "a repository of the pipeline's own"
    );
    let held = run_record::lock(&root, &project.stage.run.ctx.stop).unwrap();
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
    let inside = start::for_run(&project.stage.run.ctx, &first.root, FIRST, true).unwrap();
    assert!(inside.is_none(), "in the folder, which is the worktree");
    // A flag that is for the folder itself continues it, and makes none.
    let root = Root::open(&project.top()).unwrap();
    let may_not = |task: &str| start::for_run(&project.stage.run.ctx, &root, task, false).unwrap();
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
    project.run(&again, FIRST).unwrap();
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
        place.root.path().starts_with(&beside),
        "{:?}",
        place.root.path()
    );
}

#[test]
fn instructions_that_git_does_not_track_hold_in_the_worktree_too() {
    let project = Project::new();
    let paths = Paths::new(&project.stage.run.ctx.session.env);
    let own = paths.instructions_for(&project.top()).unwrap();
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "Test with: make check\n").unwrap();
    let place = project.workplace(FIRST);
    let copy = paths.instructions_for(place.root.path()).unwrap();
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
    project.run(&place, FIRST).unwrap();
    let copy = place.root.path().join(".marvin/upstream/MARVIN_SPEC.md");
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
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(project.state("add-a-json-flag"), WorkState::FolderGone);
    project.git(&["worktree", "prune"]);
    let again = project.workplace(FIRST);
    assert_eq!(again.record, first.record);
    assert_has(&again.notes.join("\n"), &["was removed; it is made again"]);
    assert_eq!(fs::read_to_string(path.join("made.txt")).unwrap(), "made\n");
    let run = RunRecord::read(&again.root).unwrap().unwrap();
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
    let restore = format!("git branch {branch} {last}");
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
    project.run(&project.workplace(FIRST), FIRST).unwrap();
}

#[test]
fn a_folder_that_is_gone_in_mid_run_is_told() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    let mut stage = Stage::new("true");
    stage.run.root = Arc::new(Root::open(place.root.path()).unwrap());
    fs::remove_dir_all(place.root.path()).unwrap();
    let problem = crate::pipeline::repository::checkpoint(&stage.run, "A step").unwrap_err();
    assert_has(&words(&problem), &["The folder of this run is gone"]);
}

#[test]
fn one_commit_has_the_story_and_what_the_user_has_begun_stays_out_of_it() {
    let project = Project::new();
    let place = project.finished(FIRST, "made ü.txt", "made\n");
    run_record::save_spent(&place.root, 1.5).unwrap();
    project.put("notes.txt", "begun\n");
    project.put("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    let before = project.git(&["rev-parse", "HEAD"]);
    let said = project.merge(None, MergeForm::Squash).unwrap();
    assert_has(
        &said,
        &[
            "marvin/add-a-json-flag (1 commit) is in main now, as one commit ",
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
    assert!((run_record::spent(&Root::open(&project.top()).unwrap()) - 1.5).abs() < 1e-9);
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
    fs::write(place.root.path().join("made.txt"), "more\n").unwrap();
    refused(&project, true, &["not committed", "made.txt"]);
    git(place.root.path(), &["checkout", "-q", "made.txt"]);
    let mut run = RunRecord::read(&place.root).unwrap().unwrap();
    run.finished = false;
    run.write(&place.root).unwrap();
    refused(&project, false, &["is not done", "--force"]);
    let held = run_record::lock(&place.root, &project.stage.run.ctx.stop).unwrap();
    refused(&project, true, &["add-a-json-flag is at work"]);
    drop(held);
    project.workplace("Other");
    let problem = project.merge(None, MergeForm::Squash).unwrap_err();
    assert_has(&words(&problem), &["several", "add-a-json-flag, other"]);
    let problem = project
        .merge(Some("add-a-jsn-flag"), MergeForm::Squash)
        .unwrap_err();
    assert_has(&words(&problem), &["did you mean \"add-a-json-flag\"?"]);
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
    stage.run.root = Arc::new(Root::open(place.root.path()).unwrap());
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
        resolve::resolve(&stage.run, &tree, &order)
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
fn what_would_be_lost_is_removed_only_by_force_and_what_runs_never() {
    let project = Project::new();
    let place = project.finished(FIRST, "made.txt", "made\n");
    let tip = project.git(&["rev-parse", &place.record.branch]);
    let held = run_record::lock(&place.root, &project.stage.run.ctx.stop).unwrap();
    let problem = project.remove("add-a-json-flag", true).unwrap_err();
    assert_has(
        &words(&problem),
        &["is at work", &std::process::id().to_string()],
    );
    drop(held);
    let problem = project.remove("add-a-json-flag", false).unwrap_err();
    assert_has(&words(&problem), &["1 commit", "would be lost", "--force"]);
    fs::write(place.root.path().join("draft.txt"), "draft\n").unwrap();
    let problem = project.remove("add-a-json-flag", false).unwrap_err();
    assert_has(&words(&problem), &["1 changed file", "draft.txt"]);
    assert!(place.root.path().join("draft.txt").exists());
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
    fs::remove_dir_all(place.root.path()).unwrap();
    project.remove("other", false).unwrap();
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn another_task_begins_from_its_start_although_one_before_it_was_merged() {
    let project = Project::new();
    let place = project.workplace(FIRST);
    project.run(&place, FIRST).unwrap();
    project.merge(None, MergeForm::Squash).unwrap();
    let of_first = project.stage.read(".marvin/spec.md");
    let second = project.workplace("Add a --yaml flag");
    for path in [
        ".marvin/spec.md",
        ".marvin/pipeline_state",
        ".marvin/review-history-spec.md",
    ] {
        assert!(!second.root.path().join(path).exists(), "{path}");
    }
    project.run(&second, "Add a --yaml flag").unwrap();
    assert_eq!(project.stage.read(".marvin/spec.md"), of_first);
    assert!(second.root.path().join(".marvin/spec.md").exists());
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
