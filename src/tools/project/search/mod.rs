//! Searches a project's text, behind the path fence.
//!
//! Which files are searched the walk beneath the folder's handle decides ([`selection`]), and it is this folder that reads them. Where ripgrep is installed and
//! can be held, it says first which of them have a hit ([`candidates`]); elsewhere all are read, with the crates that ripgrep is made of. The results are the
//! same.

mod candidates;
pub(crate) mod names;
pub(crate) mod parallel;
mod render;
mod ripgrep_pattern;
mod scan;
mod selection;
#[cfg(test)]
mod tests;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use self::candidates::{Candidates, RipgrepSearch, Search};
use self::names::GlobFilter;
use self::ripgrep_pattern::ripgrep_pattern;
use self::scan::{SearchLimits, SearchPattern};
use self::selection::{Selection, WalkStanding};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::base::text::escape_controls;
use crate::disk::beneath::{IGNORE_FILES, RelPath, Root};
use crate::proc::ripgrep::{Ripgrep, SearchedFolder};

/// Time limit of a search; shorter than the call's, so that partial results can be shown.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(25);

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
        let mut candidates =
            Candidates::new(scope, &search, Selection::new(root, names, env, stop));
        root.walk(&IGNORE_FILES, WalkStanding::Ordinary, &mut candidates);
        candidates.finish()
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
