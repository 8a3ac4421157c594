//! Searches a project's text, behind the path fence.
//!
//! Which files are searched the walk beneath the folder's handle decides, and it is this folder that reads them. Where ripgrep is installed and can be held, it
//! says first which of them have a hit ([`candidates`]); elsewhere all are read, with the crates that ripgrep is made of. The results are the same.

mod candidates;
pub(crate) mod names;
pub(crate) mod parallel;
mod render;
mod ripgrep_pattern;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use self::candidates::{Candidates, RipgrepSearch, Search};
use self::names::GlobFilter;
use self::ripgrep_pattern::ripgrep_pattern;
use self::scan::{SearchLimits, SearchPattern};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls};
use crate::base::word_list::WordList;
use crate::disk::beneath::{
    IGNORE_FILES, RelPath, Root, WalkEntry as Entry, WalkFile, WalkVisitor,
};
use crate::proc::git::Git;
use crate::proc::ripgrep::{Ripgrep, SearchedFolder};

/// Folders with dependencies or build output. Like hidden folders, they are searched only when the glob names them or git tracks their contents.
const VENDOR: WordList =
    WordList("node_modules target vendor venv __pycache__ dist build site-packages");
/// Time limit of a search; shorter than the call's, so that partial results can be shown.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(25);
/// Time limit for git to list tracked files.
const GIT_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct SearchQuery<'a> {
    /// Regular expression in the `regex` crate's syntax.
    pub(crate) pattern: &'a str,
    /// File name glob; `*` is every file.
    pub(crate) glob: &'a str,
    /// Lines shown around a hit.
    pub(crate) context: usize,
    /// Maximum hits.
    pub(crate) max: usize,
}

/// One line of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HitLine {
    path: String,
    number: u64,
    text: String,
    hit: bool,
}

/// Searches below `root` and returns `path:line` blocks with context, hits marked, and a count.
///
/// # Errors
/// An invalid regular expression (with the engine's message) or glob, or the search was cancelled.
pub(crate) fn search(
    root: &Root,
    query: &SearchQuery<'_>,
    env: &Env,
    stop: &Cancel,
) -> Outcome<String> {
    Ok(render::render(&find(root, query, env, stop)?, query))
}

/// Searches and returns `path:line:text`, one hit a line; the flag says that there were more.
///
/// # Errors
/// As [`search`].
pub(crate) fn hits(
    root: &Root,
    query: &SearchQuery<'_>,
    env: &Env,
    stop: &Cancel,
) -> Outcome<(Vec<String>, bool)> {
    let found = find(root, query, env, stop)?;
    let line = |line: &HitLine| format!("{}:{}:{}", line.path, line.number, line.text);
    let hits = found.lines.iter().filter(|line| line.hit);
    Ok((hits.map(line).collect(), found.more))
}

fn find(root: &Root, query: &SearchQuery<'_>, env: &Env, stop: &Cancel) -> Outcome<SearchHits> {
    let names = GlobFilter::new(query.glob)?;
    let search = Search {
        root,
        query,
        pattern: SearchPattern::new(query.pattern)?,
        limits: SearchLimits {
            stop,
            until: Instant::now() + SEARCH_TIMEOUT,
        },
        ripgrep: ripgrep(root, query.pattern, env),
    };
    let mut found = thread::scope(|scope| {
        let mut finder = Finder {
            search: &search,
            env,
            names,
            tracked: None,
            candidates: Candidates::new(scope, &search),
        };
        root.walk(&IGNORE_FILES, WalkStanding::Ordinary, &mut finder);
        finder.candidates.finish()
    });
    stop.check()?;
    if !found.more && Instant::now() >= search.limits.until {
        found.problems.push(format!(
            "the rest; the search took longer than {} s",
            SEARCH_TIMEOUT.as_secs()
        ));
    }
    found.trim(query.context);
    Ok(found)
}

/// ripgrep for this search, where it is installed and can be held to the folder.
fn ripgrep(root: &Root, pattern: &str, env: &Env) -> Option<RipgrepSearch> {
    let program = Ripgrep::find(env)?;
    Some(RipgrepSearch {
        program,
        pattern: ripgrep_pattern(pattern)?,
        folder: SearchedFolder {
            dir: root.child_path(),
            readable: root.top_entries().ok()?,
        },
    })
}

struct Finder<'scope, 'env> {
    search: &'env Search<'env>,
    env: &'env Env,
    names: GlobFilter<'env>,
    /// Files tracked by git below the root; looked up only when something would be skipped.
    tracked: Option<BTreeSet<String>>,
    candidates: Candidates<'scope, 'env>,
}

/// Why a folder is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkStanding {
    /// An ordinary folder: searched.
    Ordinary,
    /// It would be skipped, but the glob names it: ignored files in it are searched as well.
    Named,
    /// It would be skipped, but contains tracked files: only those are searched.
    Tracked,
}

impl Finder<'_, '_> {
    fn is_tracked(&mut self, rel: &RelPath, is_folder: bool) -> bool {
        let (root, env, stop) = (self.search.root, self.env, self.search.limits.stop);
        let problems = &mut self.candidates.found.problems;
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
                problems.extend(reason.map(|reason| {
                    format!("what git tracks in ignored and hidden folders; {reason}")
                }));
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

impl WalkVisitor for Finder<'_, '_> {
    type Mark = WalkStanding;

    fn enter(
        &mut self,
        entry: &Entry<'_>,
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

    fn file(&mut self, file: WalkFile) -> ControlFlow<()> {
        if self.names.take(file.rel.as_str()) {
            self.candidates.push(file);
        }
        if self.candidates.found.more {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn unreadable(&mut self, folder: &RelPath, reason: io::Error) {
        self.candidates.found.cannot(folder, &reason);
    }

    fn is_over(&mut self) -> bool {
        self.search.limits.are_reached()
    }
}

/// Lines found, in order of path and number; whether there was more; what could not be read.
#[derive(Debug, Default, PartialEq, Eq)]
struct SearchHits {
    lines: Vec<HitLine>,
    hits: usize,
    more: bool,
    problems: Vec<String>,
}

/// Maximum problems that are kept; fewer are shown.
const MAX_PROBLEMS: usize = 20;

impl SearchHits {
    /// Adds a file's lines until there are `max` hits.
    fn take(&mut self, hits: scan::Hits, max: usize) {
        for line in hits.lines {
            if line.hit && self.hits == max {
                self.more = true;
                return;
            }
            self.hits += usize::from(line.hit);
            self.lines.push(line);
        }
        self.problems.extend(hits.problem);
    }

    fn cannot(&mut self, path: &RelPath, reason: &io::Error) {
        if self.problems.len() < MAX_PROBLEMS {
            let path = escape_controls(path.as_str());
            self.problems.push(format!("{path}: {reason}"));
        }
    }

    /// Drops the context lines of hits that were cut off: those more than `context` after the last hit.
    fn trim(&mut self, context: usize) {
        let Some(last) = self.lines.iter().rposition(|line| line.hit) else {
            return self.lines.clear();
        };
        let Some(hit) = self.lines.get(last).cloned() else {
            return;
        };
        let near =
            |line: &HitLine| line.path == hit.path && line.number <= hit.number + context as u64;
        let keep = self
            .lines
            .iter()
            .skip(last + 1)
            .take_while(|line| near(line))
            .count();
        self.lines.truncate(last + 1 + keep);
    }
}
