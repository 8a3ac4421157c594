//! Searches a project's text with the crates that ripgrep is made of, behind the path fence.
//!
//! Not by running ripgrep: it opens files by path, so a folder swapped for a symlink leads it out, and it reads devices or pipes that have the name
//! of an ignore file. [`Root::walk`] holds a handle on every folder instead, and files are searched on several threads, so it is as fast.

pub(crate) mod names;
pub(crate) mod parallel;
mod render;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use self::names::GlobFilter;
use self::parallel::{MAX_BATCH_FILES, in_parallel};
use self::scan::{ScanOptions, SearchLimits, SearchPattern};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls};
use crate::base::word_list::WordList;
use crate::disk::beneath::{
    IGNORE_FILES, RelPath, Root, WalkEntry as Entry, WalkFile, WalkVisitor,
};
use crate::proc::git::Git;

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
    let mut finder = Finder {
        root,
        query,
        env,
        names: GlobFilter::new(query.glob)?,
        pattern: SearchPattern::new(query.pattern)?,
        limits: SearchLimits {
            stop,
            until: Instant::now() + SEARCH_TIMEOUT,
        },
        tracked: None,
        batch: Vec::with_capacity(MAX_BATCH_FILES),
        found: SearchHits::default(),
    };
    root.walk(&IGNORE_FILES, WalkStanding::Ordinary, &mut finder);
    finder.scan();
    stop.check()?;
    let mut found = finder.found;
    if !found.more && Instant::now() >= finder.limits.until {
        found.problems.push(format!(
            "the rest; the search took longer than {} s",
            SEARCH_TIMEOUT.as_secs()
        ));
    }
    found.trim(query.context);
    Ok(found)
}

struct Finder<'a> {
    root: &'a Root,
    query: &'a SearchQuery<'a>,
    env: &'a Env,
    names: GlobFilter<'a>,
    pattern: SearchPattern,
    limits: SearchLimits<'a>,
    /// Files tracked by git below the root; looked up only when something would be skipped.
    tracked: Option<BTreeSet<String>>,
    batch: Vec<WalkFile>,
    found: SearchHits,
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

impl Finder<'_> {
    fn is_tracked(&mut self, rel: &RelPath, is_folder: bool) -> bool {
        let (root, env, stop) = (self.root, self.env, self.limits.stop);
        let problems = &mut self.found.problems;
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

    /// Searches the files collected so far, and adds the hits in file order.
    fn scan(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let options = ScanOptions {
            context: self.query.context,
            max: self.query.max.saturating_sub(self.found.hits),
        };
        let (pattern, limits) = (&self.pattern, &self.limits);
        let results = in_parallel(&batch, || {
            let (pattern, mut buffer) = (pattern.clone(), Vec::new());
            let options = &options;
            move |file: &WalkFile| {
                if limits.are_reached() {
                    return Ok(scan::Hits::default());
                }
                let path = file.rel.as_str();
                scan::file(file.open()?, path, &pattern, options, limits, &mut buffer)
            }
        });
        for (file, result) in batch.iter().zip(results) {
            if self.found.more {
                break;
            }
            match result {
                Ok(hits) => self.found.take(hits, self.query.max),
                Err(error) => self.found.cannot(&file.rel, &error),
            }
        }
        self.batch = batch;
        self.batch.clear();
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

impl WalkVisitor for Finder<'_> {
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
            self.batch.push(file);
        }
        if self.batch.len() >= MAX_BATCH_FILES {
            self.scan();
        }
        if self.found.more {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn unreadable(&mut self, folder: &RelPath, reason: io::Error) {
        self.found.cannot(folder, &reason);
    }

    fn is_over(&mut self) -> bool {
        self.limits.are_reached()
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
