//! Which files a search counts: not the hidden, the ignored and the vendored, unless the glob names them or git tracks them.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use super::names::GlobFilter;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::clip;
use crate::base::word_list::WordList;
use crate::disk::beneath::{RelPath, Root, WalkEntry, WalkRun};
use crate::proc::git::Git;

/// Folders with dependencies or build output. Like hidden folders, they are searched only when the glob names them or git tracks their contents.
const VENDOR: WordList =
    WordList("node_modules target vendor venv __pycache__ dist build site-packages");
/// Time limit for git to list tracked files.
const GIT_LIMIT: Duration = Duration::from_secs(5);

pub(super) struct Selection<'env> {
    root: &'env Root,
    env: &'env Env,
    stop: &'env Cancel,
    names: GlobFilter<'env>,
    /// Files tracked by git below the root; looked up only when something would be skipped.
    tracked: Option<BTreeSet<String>>,
    /// Why that could not be looked up.
    pub(super) problem: Option<String>,
}

/// Why a folder is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkStanding {
    /// An ordinary folder: searched.
    Ordinary,
    /// It would be skipped, but the glob names it: ignored files in it are searched as well.
    Named,
    /// It would be skipped, but contains tracked files: only those are searched.
    Tracked,
}

impl<'env> Selection<'env> {
    pub(super) fn new(
        root: &'env Root,
        names: GlobFilter<'env>,
        env: &'env Env,
        stop: &'env Cancel,
    ) -> Self {
        Self {
            root,
            env,
            stop,
            names,
            tracked: None,
            problem: None,
        }
    }

    /// Whether the glob has a file.
    pub(super) fn has(&self, file: &RelPath) -> bool {
        self.names.take(file.as_str())
    }

    /// A file of a run, if it counts.
    pub(super) fn of_run(&mut self, run: &WalkRun<WalkStanding>, name: &str) -> Option<RelPath> {
        let file = run.path(name);
        if !self.has(&file) {
            return None;
        }
        let entry = WalkEntry {
            rel: &file,
            is_folder: false,
        };
        let is_ignored = run.is_ignored(self.root, &file);
        let standing = self.standing(&entry, is_ignored, run.mark);
        standing.map(|_| file)
    }

    /// Why an entry of a folder is walked or searched; none when it is not.
    pub(super) fn standing(
        &mut self,
        entry: &WalkEntry<'_>,
        ignored: bool,
        above: WalkStanding,
    ) -> Option<WalkStanding> {
        let name = entry.rel.name().unwrap_or_default();
        let vendored = entry.is_folder && VENDOR.has(name);
        let out = name.starts_with('.') || vendored || (ignored && above != WalkStanding::Named);
        match above {
            WalkStanding::Ordinary | WalkStanding::Named if !out => Some(above),
            WalkStanding::Ordinary | WalkStanding::Named if self.names.names_explicitly(name) => {
                Some(WalkStanding::Named)
            }
            // A folder that is tracked itself is a submodule, with files of its own.
            _ if entry.is_folder && self.is_tracked(entry.rel, false) => {
                Some(WalkStanding::Ordinary)
            }
            _ => self
                .is_tracked(entry.rel, entry.is_folder)
                .then_some(WalkStanding::Tracked),
        }
    }

    fn is_tracked(&mut self, rel: &RelPath, is_folder: bool) -> bool {
        let (root, env, stop) = (self.root, self.env, self.stop);
        let failed = &mut self.problem;
        let tracked = self.tracked.get_or_insert_with(|| {
            tracked(root, env, stop).unwrap_or_else(|problem| {
                let reason = match problem.kind {
                    // No repository, or no git.
                    ProblemKind::Missing => None,
                    _ if stop.is_fired() => None,
                    ProblemKind::Cancelled => Some(format!(
                        "git did not say it within {} s",
                        GIT_LIMIT.as_secs()
                    )),
                    _ => Some(clip(&problem.what, 200)),
                };
                *failed = reason.map(|reason| {
                    format!("what git tracks in ignored and hidden folders; {reason}")
                });
                BTreeSet::new()
            })
        });
        if !is_folder {
            return tracked.contains(rel.as_str());
        }
        let inside = format!("{rel}/");
        let next = tracked.range(inside.clone()..).next();
        next.is_some_and(|path| path.starts_with(&inside))
    }
}

/// Files tracked by git below `root`. The repository's files may be anything, even pipes, so git gets only a part of the search's time.
fn tracked(root: &Root, env: &Env, stop: &Cancel) -> Outcome<BTreeSet<String>> {
    let (stop, _with_search) = stop.child();
    thread::scope(|scope| {
        let timer = thread::Builder::new().spawn_scoped(scope, || {
            if stop.sleep(GIT_LIMIT) {
                stop.fire();
            }
        });
        timer.map_err(|error| Problem::system("Cannot start a thread", error))?;
        let files = Git::open(root.path(), env, &stop).and_then(|git| git.tracked());
        stop.fire();
        files
    })
}
