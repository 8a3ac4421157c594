//! The files of a search, batch by batch: ripgrep says which files in the folders of a batch have a line that matches, while the walk goes on; those of them
//! that count are then read here, beneath the folder's handle, so that the lines are the same with it and without.
//!
//! Of 100,000 files few have a hit, so the walk hands over names, and whether a file counts is asked of those that ripgrep has named.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use super::parallel::{MAX_BATCH_FILES, in_parallel};
use super::scan::{self, ScanOptions, SearchLimits, SearchPattern};
use super::selection::{Selection, WalkStanding};
use super::{SearchHits, SearchQuery};
use crate::disk::beneath::{RelPath, Root, WalkEntry, WalkFile, WalkRun, WalkVisitor};
use crate::proc::ripgrep::{Ripgrep, SearchedFolder};

/// Files of the first batch. Few are enough where hits are many; each further batch is larger.
const FIRST_BATCH_FILES: usize = 2_000;
/// How much larger.
const BATCH_GROWTH: usize = 8;
/// Maximum bytes of the names of a batch's folders: they are arguments of one program.
const MAX_BATCH_BYTES: usize = 768 << 10;

/// What a search is, from its beginning to its end.
pub(super) struct Search<'a> {
    pub root: &'a Root,
    pub query: &'a SearchQuery<'a>,
    pub pattern: SearchPattern,
    pub limits: SearchLimits<'a>,
    pub ripgrep: Option<RipgrepSearch>,
}

/// ripgrep, the pattern as it takes it, and the folder.
pub(super) struct RipgrepSearch {
    pub program: Ripgrep,
    pub pattern: String,
    pub folder: SearchedFolder,
}

/// Files that may have hits.
enum Candidate {
    /// It counts, and ripgrep is not asked about it.
    Held(WalkFile),
    /// Those of a folder that ripgrep names, if they count; the folder as ripgrep is asked about it.
    Run(String, WalkRun<WalkStanding>),
}

/// A file that is read: by its path, or as it was found.
struct CountedFile {
    rel: RelPath,
    held: Option<WalkFile>,
}

/// Batches, and what was found in them so far.
pub(super) struct Candidates<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    search: &'env Search<'env>,
    selection: Selection<'env>,
    batch: Vec<Candidate>,
    /// Files in the batch, and how many there may be.
    files: usize,
    max_files: usize,
    held: usize,
    /// Folders that ripgrep is to search for this batch, and the bytes of their names.
    folders: Vec<String>,
    bytes: usize,
    /// Folders that it has searched, or searches, or is to search.
    asked: HashSet<String>,
    /// Files that it has found, by their folders.
    named: HashMap<String, HashSet<String>>,
    /// The batch for which it searches.
    running: Option<(Vec<Candidate>, ScopedJoinHandle<'scope, Answer>)>,
    /// It could not search, and is not asked again.
    has_failed: bool,
    found: SearchHits,
}

/// The names of files that may have hits; none when ripgrep could not tell.
type Answer = Option<HashSet<String>>;

impl<'scope, 'env> Candidates<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        search: &'env Search<'env>,
        selection: Selection<'env>,
    ) -> Self {
        Self {
            scope,
            search,
            selection,
            batch: Vec::new(),
            files: 0,
            max_files: FIRST_BATCH_FILES,
            held: 0,
            folders: Vec::new(),
            bytes: 0,
            asked: HashSet::new(),
            named: HashMap::new(),
            running: None,
            has_failed: false,
            found: SearchHits::default(),
        }
    }

    /// Adds the next files in the order of paths.
    fn push(&mut self, candidate: Candidate) -> ControlFlow<()> {
        match &candidate {
            Candidate::Held(_) => {
                self.files += 1;
                self.held += 1;
            }
            Candidate::Run(folder, run) => {
                self.files += run.names.len();
                if !self.asked.contains(folder) {
                    self.bytes += folder.len() + size_of::<usize>();
                    self.asked.insert(folder.clone());
                    self.folders.push(folder.clone());
                }
            }
        }
        self.batch.push(candidate);
        let is_full = self.files >= self.max_files || self.bytes >= MAX_BATCH_BYTES;
        if is_full || self.held >= MAX_BATCH_FILES {
            self.flush();
        }
        match self.found.more {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Searches what is left.
    pub(super) fn finish(mut self) -> SearchHits {
        self.flush();
        self.settle();
        self.found.problems.extend(self.selection.problem.take());
        self.found
    }

    fn ripgrep(&self) -> Option<&'env RipgrepSearch> {
        let ripgrep = self.search.ripgrep.as_ref();
        ripgrep.filter(|_| !self.has_failed)
    }

    /// Has the batch searched, after the one before it.
    fn flush(&mut self) {
        self.settle();
        let batch = std::mem::take(&mut self.batch);
        let folders = std::mem::take(&mut self.folders);
        (self.files, self.bytes, self.held) = (0, 0, 0);
        let Some(ripgrep) = self.ripgrep().filter(|_| !self.must_end()) else {
            return self.scan_all(batch);
        };
        if folders.is_empty() {
            return self.scan_named(batch);
        }
        self.max_files = self.max_files.saturating_mul(BATCH_GROWTH);
        let limits = &self.search.limits;
        let asking = move || {
            let left = limits.until.saturating_duration_since(Instant::now());
            let RipgrepSearch {
                program,
                pattern,
                folder,
            } = ripgrep;
            program.files_with(pattern, &folders, folder, left, limits.stop)
        };
        let thread = std::thread::Builder::new().name("ripgrep".into());
        match thread.spawn_scoped(self.scope, asking) {
            Ok(answer) => self.running = Some((batch, answer)),
            Err(_) => {
                self.has_failed = true;
                self.scan_all(batch);
            }
        }
    }

    /// Waits for the batch for which ripgrep searches, and adds its hits.
    fn settle(&mut self) {
        let Some((batch, answer)) = self.running.take() else {
            return;
        };
        match answer.join().unwrap_or_default() {
            Some(names) => {
                for file in names {
                    if let Some((folder, name)) = file.rsplit_once('/') {
                        let files = self.named.entry(folder.to_owned()).or_default();
                        files.insert(name.to_owned());
                    }
                }
                self.scan_named(batch);
            }
            None => {
                self.has_failed = true;
                self.scan_all(batch);
            }
        }
    }

    /// Reads those that ripgrep has named, and those about which it was not asked.
    fn scan_named(&mut self, mut batch: Vec<Candidate>) {
        batch.retain_mut(|candidate| match candidate {
            Candidate::Held(_) => true,
            Candidate::Run(folder, run) => {
                let Some(named) = self.named.get(folder) else {
                    return false;
                };
                run.names.retain(|name| named.contains(name));
                !run.names.is_empty()
            }
        });
        self.scan_all(batch);
    }

    /// Reads those that count.
    fn scan_all(&mut self, batch: Vec<Candidate>) {
        let mut files = Vec::new();
        for candidate in batch {
            match candidate {
                Candidate::Held(file) => files.push(CountedFile {
                    rel: file.rel.clone(),
                    held: Some(file),
                }),
                Candidate::Run(_, run) => {
                    let selection = &mut self.selection;
                    let counted = run
                        .names
                        .iter()
                        .filter_map(|name| selection.of_run(&run, name));
                    files.extend(counted.map(|rel| CountedFile { rel, held: None }));
                }
            }
        }
        self.scan(&files);
    }

    fn must_end(&self) -> bool {
        self.found.more || self.search.limits.are_reached()
    }

    /// Reads files and adds their hits in the order of the files.
    fn scan(&mut self, batch: &[CountedFile]) {
        let Search {
            root,
            query,
            pattern,
            limits,
            ..
        } = self.search;
        for files in batch.chunks(MAX_BATCH_FILES) {
            if self.must_end() {
                return;
            }
            let options = ScanOptions {
                context: query.context,
                max: query.max.saturating_sub(self.found.hits),
            };
            let results = in_parallel(files, || {
                let (pattern, mut buffer) = (pattern.clone(), Vec::new());
                let options = &options;
                move |file: &CountedFile| -> io::Result<scan::Hits> {
                    if limits.are_reached() {
                        return Ok(scan::Hits::default());
                    }
                    let opened = match &file.held {
                        Some(held) => held.open()?,
                        None => root.open_found(&file.rel)?,
                    };
                    let path = file.rel.as_str();
                    scan::file(opened, path, &pattern, options, limits, &mut buffer)
                }
            });
            for (file, result) in files.iter().zip(results) {
                if self.found.more {
                    break;
                }
                match result {
                    Ok(hits) => self.found.take(hits, query.max),
                    Err(error) => self.found.cannot(&file.rel, &error),
                }
            }
        }
    }
}

impl WalkVisitor for Candidates<'_, '_> {
    type Mark = WalkStanding;

    fn enter(
        &mut self,
        entry: &WalkEntry<'_>,
        ignored: bool,
        above: WalkStanding,
    ) -> Option<WalkStanding> {
        self.selection.standing(entry, ignored, above)
    }

    fn file(&mut self, file: WalkFile) -> ControlFlow<()> {
        match self.selection.has(&file.rel) {
            true => self.push(Candidate::Held(file)),
            false => ControlFlow::Continue(()),
        }
    }

    /// Where ripgrep is asked. A name with other bytes than UTF-8 is shown with a character of its own, and leads nowhere.
    fn takes_runs(&mut self, folder: &RelPath) -> bool {
        self.ripgrep().is_some() && !folder.as_str().contains(char::REPLACEMENT_CHARACTER)
    }

    fn run(&mut self, run: WalkRun<WalkStanding>) -> ControlFlow<()> {
        let mut names = run.names.iter();
        match names.any(|name| self.selection.of_run(&run, name).is_some()) {
            true => self.push(Candidate::Run(argument(&run.folder), run)),
            false => ControlFlow::Continue(()),
        }
    }

    fn unreadable(&mut self, folder: &RelPath, reason: io::Error) {
        self.found.cannot(folder, &reason);
    }

    fn is_over(&mut self) -> bool {
        self.search.limits.are_reached()
    }
}

/// A folder, never an option, whatever it is called.
fn argument(rel: &RelPath) -> String {
    match rel.is_here() {
        true => rel.to_string(),
        false => format!("./{rel}"),
    }
}
