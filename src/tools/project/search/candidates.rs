//! The files of a search, batch by batch: ripgrep says which files in the folders of a batch have a line that matches, while the walk goes on; those that the walk
//! has found too are then read here, beneath the folder's handle, so that the lines are the same with it and without.

use std::collections::HashSet;
use std::io;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use super::parallel::{MAX_BATCH_FILES, in_parallel};
use super::scan::{self, ScanOptions, SearchLimits, SearchPattern};
use super::{SearchHits, SearchQuery};
use crate::disk::beneath::{RelPath, Root, WalkFile};
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

/// A file that may have hits.
struct Candidate {
    rel: RelPath,
    /// None: ripgrep is asked about it, and it is opened by its path.
    held: Option<WalkFile>,
}

/// Batches, and what was found in them so far.
pub(super) struct Candidates<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    search: &'env Search<'env>,
    batch: Vec<Candidate>,
    max_files: usize,
    held: usize,
    /// Folders that ripgrep is to search for this batch, and the bytes of their names.
    folders: Vec<String>,
    bytes: usize,
    /// Folders that it has searched, or searches, or is to search.
    asked: HashSet<String>,
    /// Files that it has found.
    named: HashSet<String>,
    /// The batch for which it searches.
    running: Option<(Vec<Candidate>, ScopedJoinHandle<'scope, Answer>)>,
    /// It could not search, and is not asked again.
    has_failed: bool,
    pub found: SearchHits,
}

/// The names of files that may have hits; none when ripgrep could not tell.
type Answer = Option<HashSet<String>>;

impl<'scope, 'env> Candidates<'scope, 'env> {
    pub(super) fn new(scope: &'scope Scope<'scope, 'env>, search: &'env Search<'env>) -> Self {
        Self {
            scope,
            search,
            batch: Vec::with_capacity(MAX_BATCH_FILES),
            max_files: FIRST_BATCH_FILES,
            held: 0,
            folders: Vec::new(),
            bytes: 0,
            asked: HashSet::new(),
            named: HashSet::new(),
            running: None,
            has_failed: false,
            found: SearchHits::default(),
        }
    }

    /// Adds the next file in the order of paths.
    pub(super) fn push(&mut self, file: WalkFile) {
        // A name with other bytes than UTF-8 is shown with this character, and leads nowhere.
        let is_exact = !file.rel.as_str().contains(char::REPLACEMENT_CHARACTER);
        let is_asked = is_exact && self.ripgrep().is_some();
        if is_asked {
            let folder = argument(&file.rel.parent());
            if !self.asked.contains(&folder) {
                self.bytes += folder.len() + size_of::<usize>();
                self.asked.insert(folder.clone());
                self.folders.push(folder);
            }
        }
        self.held += usize::from(!is_asked);
        self.batch.push(Candidate {
            rel: file.rel.clone(),
            held: (!is_asked).then_some(file),
        });
        let is_full = self.batch.len() >= self.max_files || self.bytes >= MAX_BATCH_BYTES;
        if is_full || self.held >= MAX_BATCH_FILES {
            self.flush();
        }
    }

    /// Searches what is left.
    pub(super) fn finish(mut self) -> SearchHits {
        self.flush();
        self.settle();
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
        (self.bytes, self.held) = (0, 0);
        let Some(ripgrep) = self.ripgrep().filter(|_| !self.is_over()) else {
            return self.scan(&batch);
        };
        self.max_files = self.max_files.saturating_mul(BATCH_GROWTH);
        if folders.is_empty() {
            return self.scan_named(batch);
        }
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
                self.scan(&batch);
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
                self.named.extend(names);
                self.scan_named(batch);
            }
            None => {
                self.has_failed = true;
                self.scan(&batch);
            }
        }
    }

    /// Reads those that ripgrep has named, and those about which it was not asked.
    fn scan_named(&mut self, mut batch: Vec<Candidate>) {
        batch.retain(|candidate| {
            candidate.held.is_some() || self.named.contains(&argument(&candidate.rel))
        });
        self.scan(&batch);
    }

    fn is_over(&self) -> bool {
        self.found.more || self.search.limits.are_reached()
    }

    /// Reads files and adds their hits in the order of the files.
    fn scan(&mut self, batch: &[Candidate]) {
        let Search {
            root,
            query,
            pattern,
            limits,
            ..
        } = self.search;
        for files in batch.chunks(MAX_BATCH_FILES) {
            if self.is_over() {
                return;
            }
            let options = ScanOptions {
                context: query.context,
                max: query.max.saturating_sub(self.found.hits),
            };
            let results = in_parallel(files, || {
                let (pattern, mut buffer) = (pattern.clone(), Vec::new());
                let options = &options;
                move |file: &Candidate| -> io::Result<scan::Hits> {
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

/// Never an option or standard input, whatever it is called.
fn argument(rel: &RelPath) -> String {
    match rel.is_here() {
        true => rel.to_string(),
        false => format!("./{rel}"),
    }
}
