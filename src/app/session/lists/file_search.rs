//! Finds files by name while the user types: a thread walks the working directory as git would list it, and reports the best matches as it goes.
//!
//! The walk goes on from one query to the next, since it is the same for all; only the comparison starts again. It ends with the search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use crate::app::session::inbox::Inbox;
use crate::app::session::run::Run;
use crate::app::session::ui_update::FoundFiles;
use crate::app::session::worker_event::WorkerEvent;
use crate::base::fuzzy::{Fit, FuzzyQuery, FuzzyScratch};
use crate::base::shared_sort::SharedSort as _;
use crate::disk::beneath::{RelPath, Root, WalkEntry, WalkFile, WalkVisitor};
use crate::mcp::session::SessionServers;
use crate::tools::engine::context::SessionContext;

/// Most matches that are reported; nobody scrolls further.
const MAX_MATCHES: usize = 200;
/// Paths beyond this number are not looked at.
const MAX_PATHS: usize = 500_000;
/// Most entries of a folder outside the working directory.
const MAX_ENTRIES: usize = 10_000;
/// Time between two reports of a walk.
const REPORT_INTERVAL: Duration = Duration::from_millis(40);
/// Paths between two looks for a newer query.
const CHECK_PATHS: usize = 512;

/// The search that runs while the user types, if one does.
#[derive(Default)]
pub(in crate::app::session) struct FileSearch {
    running: Option<RunningSearch>,
}

/// A running search. Dropping it ends its thread.
struct RunningSearch {
    queries: Sender<String>,
    latest: String,
}

impl FileSearch {
    /// Searches for files whose paths fit `query`, instead of what was searched for before; `None` ends the search. The matches arrive as updates.
    pub(in crate::app::session) fn search(&mut self, query: Option<&str>, run: &Run) {
        let Some(query) = query else {
            self.running = None;
            return;
        };
        match &mut self.running {
            Some(search) if search.latest == query => {}
            Some(search) => {
                query.clone_into(&mut search.latest);
                // The thread lives as long as the sender.
                let _ = search.queries.send(query.to_owned());
            }
            None => {
                let place = SearchPlace::of(&run.context);
                self.running = RunningSearch::start(place, query, Arc::clone(&run.inbox));
            }
        }
    }
}

impl RunningSearch {
    /// `None` when no thread can be started: completion is no reason to bother the user.
    fn start(place: SearchPlace, query: &str, inbox: Arc<Inbox>) -> Option<Self> {
        let (queries, receiver) = unbounded();
        let _ = queries.send(query.to_owned());
        let report = move |found| inbox.send(WorkerEvent::FilesFound(found));
        thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || search(&place, &receiver, &report))
            .ok()?;
        Some(Self {
            queries,
            latest: query.to_owned(),
        })
    }
}

/// Files whose paths fit `query`, the best first: those found within `limit`. For an interface that waits for a key's effect.
pub(crate) fn files_like(context: &SessionContext, query: &str, limit: Duration) -> Vec<String> {
    let place = SearchPlace::of(context);
    let (queries, receiver) = unbounded();
    let (reports, found) = unbounded();
    let _ = queries.send(query.to_owned());
    let started = thread::Builder::new()
        .name("files".to_owned())
        .spawn(move || {
            search(&place, &receiver, &|found: FoundFiles| {
                // Nobody waits after the limit.
                let _ = reports.send(found);
            });
        });
    if started.is_err() {
        return Vec::new();
    }
    let until = Instant::now() + limit;
    let mut best = Vec::new();
    while let Ok(latest) = found.recv_deadline(until) {
        best = latest.paths;
        if latest.is_complete {
            break;
        }
    }
    best
}

/// Where paths start.
pub(super) struct SearchPlace {
    /// `None` without a working directory: then only folders that are typed are listed.
    root: Option<Arc<Root>>,
    home: Option<PathBuf>,
    servers: Arc<SessionServers>,
}

/// Answers queries until their sender is gone.
fn search(place: &SearchPlace, queries: &Receiver<String>, report: &dyn Fn(FoundFiles)) {
    let report = |mut found: FoundFiles| {
        let names = place.servers.names_like(&found.query);
        found.count += names.len();
        found.paths.splice(0..0, names);
        report(found);
    };
    let mut search = SearchRun {
        place,
        queries,
        report: &report,
        ranking: Ranking::new(String::new()),
        paths: Vec::new(),
        reported: Instant::now(),
        unchecked: 0,
        is_answered: false,
        is_over: false,
    };
    let mut is_walked = false;
    while let Ok(query) = queries.recv() {
        search.take_query(query);
        search.poll();
        // A newer query may come while one is answered.
        while !search.is_over && !search.is_answered {
            // Their resources are addresses, and no files are like them.
            let query = search.ranking.query.clone();
            if let Some(paths) = place.servers.resources_like(&query) {
                search.is_answered = true;
                report(FoundFiles {
                    count: paths.len(),
                    paths: (paths.into_iter().filter(|path| can_be_typed(path)))
                        .take(MAX_MATCHES)
                        .collect(),
                    query,
                    is_complete: true,
                });
                continue;
            }
            match (search.place.folder_of(&search.ranking.query), &place.root) {
                (Some((folder, before)), _) => {
                    let found = listed(&folder, &before, &search.ranking.query);
                    search.is_answered = true;
                    report(found);
                }
                (None, Some(root)) if !is_walked => {
                    search.paths.clear();
                    search.ranking.compared = 0;
                    root.walk(&[".gitignore"], (), &mut search);
                    is_walked = !search.leaves_the_walk();
                }
                (None, _) => search.compare_rest(),
            }
        }
    }
}

impl SearchPlace {
    fn of(context: &SessionContext) -> Self {
        Self {
            root: context.working_dir.root(),
            home: context.env.get("HOME").map(PathBuf::from),
            servers: context.modules.get::<SessionServers>(),
        }
    }

    /// The folder that is listed for `query` if it lies outside the working directory, and the part of the query that names it.
    fn folder_of(&self, query: &str) -> Option<(PathBuf, String)> {
        let names_folder = ["/", "~/", "./", "../"]
            .iter()
            .any(|start| query.starts_with(start));
        if self.root.is_some() && !names_folder {
            return None;
        }
        let before = query
            .rfind('/')
            .and_then(|slash| query.get(..=slash))
            .unwrap_or_default();
        let folder = match (before.strip_prefix("~/"), &self.home, &self.root) {
            (Some(rest), Some(home), _) => home.join(rest),
            (_, _, Some(root)) => root.path().join(before),
            (_, _, None) if before.is_empty() => PathBuf::from("."),
            (_, _, None) => PathBuf::from(before),
        };
        Some((folder, before.to_owned()))
    }
}

/// The entries of `folder` that fit the last part of `query`.
fn listed(folder: &Path, before: &str, query: &str) -> FoundFiles {
    let typed = query.strip_prefix(before).unwrap_or(query);
    let (fuzzy, mut scratch) = (FuzzyQuery::new(typed), FuzzyScratch::default());
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<(Reverse<Fit>, String)> = entries
        .filter_map(Result::ok)
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let hidden = name.starts_with('.') && !typed.starts_with('.');
            if hidden || name == ".git" || !can_be_typed(&name) {
                return None;
            }
            let fit = fuzzy.fit(&name, &mut scratch)?;
            let slash = if entry.path().is_dir() { "/" } else { "" };
            Some((Reverse(fit), format!("{before}{name}{slash}")))
        })
        .collect();
    found.sort();
    let count = found.len();
    FoundFiles {
        query: query.to_owned(),
        paths: found
            .into_iter()
            .take(MAX_MATCHES)
            .map(|(_, path)| path)
            .collect(),
        count,
        is_complete: true,
    }
}

/// Whether a name can be written in the input and read from it again.
fn can_be_typed(name: &str) -> bool {
    !name.contains(|c: char| c.is_control() || matches!(c, '"' | char::REPLACEMENT_CHARACTER))
}

/// The state of a search on its thread.
struct SearchRun<'a> {
    place: &'a SearchPlace,
    queries: &'a Receiver<String>,
    report: &'a dyn Fn(FoundFiles),
    ranking: Ranking,
    /// Every path seen so far, in the order of the walk.
    paths: Vec<Box<str>>,
    reported: Instant,
    /// Paths since the last look for a newer query.
    unchecked: usize,
    /// All matches of the query were reported.
    is_answered: bool,
    /// Nobody asks any more.
    is_over: bool,
}

/// The paths that fit a query, as far as they were compared with it.
struct Ranking {
    query: String,
    fuzzy: FuzzyQuery,
    scratch: FuzzyScratch,
    /// The best matches by fit and place in the walk; the worst of them on top.
    best: BinaryHeap<Reverse<(Fit, Reverse<usize>)>>,
    count: usize,
    /// How many paths were compared.
    compared: usize,
}

impl Ranking {
    fn new(query: String) -> Self {
        Self {
            fuzzy: FuzzyQuery::new(&query),
            query,
            scratch: FuzzyScratch::default(),
            best: BinaryHeap::new(),
            count: 0,
            compared: 0,
        }
    }

    /// Compares some of the paths that were not compared yet.
    fn compare_some(&mut self, paths: &[Box<str>], most: usize) {
        let until = paths.len().min(self.compared.saturating_add(most));
        let next = paths.iter().enumerate();
        for (index, path) in next.take(until).skip(self.compared) {
            let Some(fit) = self.fuzzy.fit(path, &mut self.scratch) else {
                continue;
            };
            self.count += 1;
            let ranked = Reverse((fit, Reverse(index)));
            if self.best.len() < MAX_MATCHES {
                self.best.push(ranked);
            } else if let Some(mut worst) = self.best.peek_mut()
                && worst.0 < ranked.0
            {
                *worst = ranked;
            }
        }
        self.compared = until;
    }

    /// The best matches so far.
    fn found(&self, paths: &[Box<str>], is_complete: bool) -> FoundFiles {
        let mut best: Vec<(Fit, Reverse<usize>)> =
            self.best.iter().map(|Reverse(ranked)| *ranked).collect();
        best.shared_sort_by(|one, other| other.cmp(one));
        let best = best.iter();
        let best = best.filter_map(|(_, Reverse(index))| paths.get(*index));
        FoundFiles {
            query: self.query.clone(),
            paths: best.map(|path| path.to_string()).collect(),
            count: self.count,
            is_complete,
        }
    }
}

impl SearchRun<'_> {
    fn take_query(&mut self, query: String) {
        self.ranking = Ranking::new(query);
        self.is_answered = false;
    }

    /// Takes a newer query if there is one.
    fn poll(&mut self) {
        loop {
            match self.queries.try_recv() {
                Ok(query) => self.take_query(query),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    return;
                }
            }
        }
    }

    /// Whether the query that came during a walk makes it useless.
    fn leaves_the_walk(&self) -> bool {
        self.is_over || self.place.folder_of(&self.ranking.query).is_some()
    }

    /// Compares everything that is left and reports the result, unless another query came that needs no walk.
    fn compare_rest(&mut self) {
        loop {
            self.poll();
            if self.leaves_the_walk() {
                return;
            }
            if self.ranking.compared >= self.paths.len() {
                break;
            }
            self.ranking.compare_some(&self.paths, CHECK_PATHS * 8);
        }
        self.send_report(true);
    }

    fn send_report(&mut self, is_complete: bool) {
        self.reported = Instant::now();
        self.is_answered = is_complete;
        (self.report)(self.ranking.found(&self.paths, is_complete));
    }

    /// Takes a path of the walk.
    fn add(&mut self, path: &str, is_folder: bool) {
        if !can_be_typed(path) {
            return;
        }
        let path = match is_folder {
            true => format!("{path}/").into_boxed_str(),
            false => Box::from(path),
        };
        self.paths.push(path);
    }

    /// Between two steps of the walk: keeps up with the queries and reports.
    fn keep_up(&mut self) {
        self.unchecked += 1;
        if self.unchecked < CHECK_PATHS && self.reported.elapsed() < REPORT_INTERVAL {
            return;
        }
        self.unchecked = 0;
        self.poll();
        self.ranking.compare_some(&self.paths, CHECK_PATHS * 8);
        let is_due = self.reported.elapsed() >= REPORT_INTERVAL;
        if is_due && self.ranking.compared == self.paths.len() && !self.ranking.best.is_empty() {
            self.send_report(false);
        }
    }
}

impl WalkVisitor for SearchRun<'_> {
    type Mark = ();

    fn enter(&mut self, entry: &WalkEntry<'_>, ignored: bool, (): ()) -> Option<()> {
        if ignored {
            return None;
        }
        if entry.is_folder {
            self.add(entry.rel.as_str(), true);
        }
        Some(())
    }

    fn file(&mut self, file: WalkFile) -> ControlFlow<()> {
        self.add(file.rel.as_str(), false);
        match self.paths.len() < MAX_PATHS {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    // What cannot be read cannot be attached either.
    fn unreadable(&mut self, _: &RelPath, _: io::Error) {}

    fn is_over(&mut self) -> bool {
        self.keep_up();
        self.leaves_the_walk()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Mutex;

    /// The last report for each query, in their order; the next query is sent after the complete report of the one before.
    fn found(root: &Path, asked: &[&str]) -> Vec<FoundFiles> {
        let place = SearchPlace {
            root: Some(Root::open(root).unwrap().into()),
            home: Some(root.to_owned()),
            servers: Arc::default(),
        };
        let (sender, queries) = unbounded();
        let sender = Mutex::new(Some(sender));
        let send = |query: Option<&&str>| match query {
            Some(query) => {
                let guard = sender.lock().unwrap();
                guard.as_ref().unwrap().send((*query).to_owned()).unwrap();
            }
            None => *sender.lock().unwrap() = None,
        };
        let reports = Mutex::new(Vec::new());
        send(asked.first());
        search(&place, &queries, &|found| {
            if found.is_complete {
                reports.lock().unwrap().push(found);
                send(asked.get(reports.lock().unwrap().len()));
            }
        });
        reports.into_inner().unwrap()
    }

    fn paths(found: &FoundFiles) -> Vec<&str> {
        found.paths.iter().map(String::as_str).collect()
    }

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            (".git/config", ""),
            (".gitignore", "target\n*.log\n"),
            (".github/ci.yml", ""),
            ("README.md", ""),
            ("src/main.rs", ""),
            ("src/my notes/été.txt", ""),
            ("src/deep/er/mail.rs", ""),
            ("target/debug/main", ""),
            ("run.log", ""),
            ("odd\"name", ""),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn what_git_would_list_is_found_and_folders_too() {
        let dir = project();
        let found = found(dir.path(), &["", "mai", "ete", "éTÉ", "git/", "zzz"]);
        let everything = [
            "src/",
            "README.md",
            ".github/",
            ".gitignore",
            "src/deep/",
            "src/main.rs",
            "src/my notes/",
            ".github/ci.yml",
            "src/deep/er/",
            "src/my notes/été.txt",
            "src/deep/er/mail.rs",
        ];
        let mut all = paths(&found[0]);
        let mut expected = everything.to_vec();
        assert_eq!(all[0], expected[0], "the nearest first");
        all.sort_unstable();
        expected.sort_unstable();
        assert_eq!(all, expected);
        assert_eq!(paths(&found[1]), ["src/main.rs", "src/deep/er/mail.rs"]);
        assert!(found[2].paths.is_empty());
        assert_eq!(paths(&found[3]), ["src/my notes/été.txt"]);
        assert_eq!(paths(&found[4]), [".github/", ".github/ci.yml"]);
        assert!(found[5].paths.is_empty() && found[5].is_complete);
    }

    #[test]
    fn folders_outside_are_listed_as_they_are_typed() {
        let dir = project();
        let work = dir.path().join("src");
        let place = |query: &str| {
            let place = SearchPlace {
                root: Some(Root::open(&work).unwrap().into()),
                home: Some(dir.path().to_owned()),
                servers: Arc::default(),
            };
            let (folder, before) = place.folder_of(query).unwrap();
            listed(&folder, &before, query)
        };
        assert_eq!(paths(&place("../READ")), ["../README.md"]);
        assert_eq!(paths(&place("~/tar")), ["~/target/"]);
        assert_eq!(paths(&place("./ma")), ["./main.rs"]);
        assert!(place("~/.git").paths.iter().all(|path| path != "~/.git/"));
        assert!(place("/no such folder/x").paths.is_empty());
    }

    #[test]
    fn only_the_best_are_reported_and_all_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        for folder in 0..10 {
            let folder = dir.path().join(format!("folder{folder}"));
            fs::create_dir(&folder).unwrap();
            for file in 0..100 {
                fs::write(folder.join(format!("file{file}")), "").unwrap();
            }
        }
        let found = found(dir.path(), &["file", "folder7/file42", "f"]);
        assert_eq!(found[0].count, 1000);
        assert_eq!(found[0].paths.len(), MAX_MATCHES);
        assert_eq!(paths(&found[1]), ["folder7/file42"]);
        assert_eq!(found[2].count, 1010);
    }

    #[test]
    fn a_search_that_nobody_wants_ends() {
        let dir = project();
        let place = SearchPlace {
            root: Some(Root::open(dir.path()).unwrap().into()),
            home: None,
            servers: Arc::default(),
        };
        let (sender, queries) = unbounded();
        sender.send("a".to_owned()).unwrap();
        drop(sender);
        search(&place, &queries, &|_| ());
    }
}
