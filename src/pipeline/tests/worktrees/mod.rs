//! Runs in worktrees of their own, with a user who works on beside them: [`begin`], [`branches`], [`clones`], [`features`] and [`merges`] share a
//! project.

mod begin;
mod branches;
mod clones;
mod features;
mod merges;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::Stage;
use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::pipeline::feature::FeatureName;
use crate::pipeline::record::RunRecord;
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::worktree::merge::{self, MergeForm, MergeOrder};
use crate::pipeline::worktree::remove;
use crate::pipeline::worktree::start::{self, Workplace};
use crate::pipeline::worktree::state::{UserTree, WorkState};

/// Writers write, the reviewers of documents are satisfied in the second round and those of code at once; with a file `stop` beside their calls nobody
/// can work.
const WORKERS: &str = r#"
if [ -e "$CALLS/../stop" ]; then exit 127; fi
case "$NAME" in
  spec-writer-*|ux-writer-*|design-writer-*) document "$MARVIN_WRITABLE_FILES";;
  implementer-*) mkdir -p src; echo '// more' >> src/main.rs;;
  review-code-*) report REVIEW_CLEAN;;
  review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
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
        Self::with(WORKERS)
    }

    /// The same with other children.
    fn with(script: &str) -> Self {
        let stage = Stage::new(script);
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
        self.place_of(folder, task, None)
    }

    fn place_of(
        &self,
        folder: &str,
        task: &str,
        feature: Option<&str>,
    ) -> Outcome<Option<Workplace>> {
        let root = Arc::new(Root::open(&self.top().join(folder)).unwrap());
        let feature = feature.map(|name| FeatureName::parse(name).unwrap());
        start::for_run(&self.stage.run.ctx, &root, task, feature.as_ref(), true)
    }

    fn workplace(&self, task: &str) -> Workplace {
        self.place("", task).unwrap().unwrap()
    }

    /// Runs all phases there.
    fn run(&self, place: &Workplace, task: &str) -> Outcome<()> {
        self.start(place, task, self.stage.request())
    }

    /// Runs the phases up to that of the specification.
    fn specify(&self, place: &Workplace, task: &str) -> Outcome<()> {
        self.start(place, task, self.stage.request_until("1a"))
    }

    /// Runs the phases without those of the design, so that the run is done soon.
    fn build(&self, place: &Workplace, task: &str) -> Outcome<()> {
        let request = RunRequest {
            design_first: false,
            ..self.stage.request()
        };
        self.start(place, task, request)
    }

    fn start(&self, place: &Workplace, task: &str, request: RunRequest) -> Outcome<()> {
        let ctx = &self.stage.run.ctx;
        let root = Root::open(place.places.root.path()).unwrap();
        ctx.session.working_dir.set(root, true);
        let request = RunRequest {
            places: place.places.clone(),
            task: task.to_owned(),
            ..request
        };
        run::run(ctx, request).map(drop)
    }

    /// A worktree in which a run has ended, with one file more.
    fn finished(&self, task: &str, path: &str, text: &str) -> Workplace {
        let place = self.workplace(task);
        let root = place.places.root.path();
        fs::write(root.join(path), text).unwrap();
        git(root, &["add", "-A"]);
        git(root, &["commit", "-q", "-m", "a step"]);
        RunRecord {
            task: task.to_owned(),
            finished: true,
            ..RunRecord::default()
        }
        .write(&place.places)
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
