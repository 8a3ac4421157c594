//! What a run records of who worked on what: the tickets that its children made, and the commits.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;
use crate::disk::paths::TICKETS;
use crate::formats::front_matter::FrontMatter;
use crate::pipeline::first_line;
use crate::pipeline::implementation::IMPLEMENTED;
use crate::pipeline::places::{self, RunPlaces};
use crate::pipeline::record::RunRecord;
use crate::proc::git::Git;
use crate::proc::git::checkpoint::LoggedCommit;
use crate::store::tickets::folder::Ticket;
use crate::store::tickets::location::TicketLocation;

/// Commits beyond this number are left out.
const MAX_COMMITS: u64 = 2_000;
/// Tickets above a ticket that are looked at; a circle ends there.
const MAX_DEPTH: usize = 20;

#[derive(Debug, Default, Clone, Serialize)]
pub(crate) struct ReportCommit {
    pub id: String,
    pub subject: String,
    #[serde(skip)]
    pub message: String,
    /// The files of the project that it changed, by their paths from there, without what is the pipeline's own.
    #[serde(skip)]
    pub files: Vec<String>,
    /// Ids of the tickets that it changed.
    #[serde(skip)]
    pub tickets: Vec<String>,
}

/// A ticket below that of the run.
#[derive(Debug)]
pub(super) struct WorkTicket {
    ticket: Ticket,
    /// The whole file.
    text: String,
}

impl WorkTicket {
    pub(super) fn shown(&self) -> String {
        let Ticket {
            id, title, status, ..
        } = &self.ticket;
        format!("{id} {title} ({status})")
    }
}

/// Tickets and commits of a run.
#[derive(Debug, Default)]
pub(super) struct RecordedWork {
    pub commits: Vec<ReportCommit>,
    tickets: Vec<WorkTicket>,
    /// First lines of the messages of the run's own commits.
    checkpoints: BTreeSet<String>,
}

impl RecordedWork {
    /// What is recorded of the run with the ticket `epic`; what cannot be read is not there.
    pub(super) fn read(
        places: &RunPlaces,
        epic: &str,
        checkpoints: BTreeSet<String>,
        env: &Env,
        stop: &Cancel,
    ) -> Self {
        let tickets = tickets(places, epic, env, stop).unwrap_or_default();
        Self {
            commits: commits(places, epic, &tickets, env, stop).unwrap_or_default(),
            tickets,
            checkpoints,
        }
    }

    /// The tickets about a requirement, and those below them.
    pub(super) fn tickets_about(&self, about: &dyn Fn(&str, &str) -> bool) -> Vec<&WorkTicket> {
        let is_own = |one: &WorkTicket| about(&one.ticket.title, &one.text);
        let own: BTreeSet<&str> = self
            .tickets
            .iter()
            .filter(|one| is_own(one))
            .map(|one| one.ticket.id.as_str())
            .collect();
        let all = self.tickets.iter();
        all.filter(|one| line(&self.tickets, one).any(|above| own.contains(above.id.as_str())))
            .collect()
    }

    /// The commits about a requirement: what says so itself, what was done for one of `tickets`, what has changed the files `tests`, in which its tests
    /// stand. Where only tests are found, also what built the product.
    pub(super) fn commits_about(
        &self,
        about: &dyn Fn(&str, &str) -> bool,
        tickets: &[&WorkTicket],
        tests: &BTreeSet<&str>,
    ) -> Vec<String> {
        let mut found: Vec<(u8, String)> = Vec::new();
        for commit in &self.commits {
            let shown = format!("{} {}", commit.id, commit.subject);
            let ticket = tickets.iter().map(|one| one.ticket.id.as_str());
            let ticket = || ticket.clone().find(|id| commit.is_for(id));
            let test = || {
                commit
                    .files
                    .iter()
                    .find(|file| tests.contains(file.as_str()))
            };
            if about(&commit.subject, &commit.message) {
                found.push((0, shown));
            } else if let Some(id) = ticket() {
                found.push((1, format!("{shown} (ticket {id})")));
            } else if let Some(file) = test() {
                found.push((3, format!("{shown} ({file})")));
            }
        }
        let is_only_tests = found.iter().all(|(rank, _)| *rank == 3);
        if is_only_tests && !tests.is_empty() {
            let built = self.built().iter().filter(|commit| {
                let is_test = |file: &String| tests.contains(file.as_str());
                !commit.files.is_empty() && !commit.files.iter().any(is_test)
            });
            found.extend(built.map(|commit| {
                let shown = format!("{} {} (built the product)", commit.id, commit.subject);
                (2, shown)
            }));
        }
        found.shared_sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, shown)| shown).collect()
    }

    /// The commits of the child that built the product: those after the run's own before it, up to the run's own after it.
    fn built(&self) -> &[ReportCommit] {
        let mut subjects = self.commits.iter().map(|commit| &commit.subject);
        let Some(end) = subjects.rposition(|subject| subject == IMPLEMENTED) else {
            return &[];
        };
        let before = self.commits.get(..end).unwrap_or_default();
        let start = before
            .iter()
            .rposition(|commit| self.checkpoints.contains(&commit.subject));
        let range = start.map_or(end, |at| at + 1)..=end;
        self.commits.get(range).unwrap_or_default()
    }
}

impl ReportCommit {
    /// Whether it says that it is for this ticket, or has changed it together with something else.
    fn is_for(&self, ticket: &str) -> bool {
        let names = names(&self.message, ticket);
        names || !self.files.is_empty() && self.tickets.iter().any(|id| id == ticket)
    }
}

/// Whether a text has the id as a word.
fn names(text: &str, id: &str) -> bool {
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
    !id.is_empty() && words.any(|word| word == id)
}

/// A ticket and those above it.
fn line<'t>(all: &'t [WorkTicket], of: &'t WorkTicket) -> impl Iterator<Item = &'t Ticket> {
    let parent = |one: &&'t WorkTicket| {
        let mut all = all.iter();
        all.find(|other| other.ticket.id == one.ticket.parent)
    };
    std::iter::successors(Some(of), parent)
        .take(MAX_DEPTH)
        .map(|one| &one.ticket)
}

/// The tickets below `epic`.
fn tickets(places: &RunPlaces, epic: &str, env: &Env, stop: &Cancel) -> Outcome<Vec<WorkTicket>> {
    let place = TicketLocation::from(env, places.root.path()).check_inside()?;
    let folder = place.open()?;
    let mut all = folder.map(&folder.names()?, stop, |bytes| {
        Some(WorkTicket {
            ticket: Ticket::read(&FrontMatter::parse(bytes))?,
            text: String::from_utf8_lossy(bytes).into_owned(),
        })
    })?;
    let is_below = |one: &WorkTicket| {
        let mut line = line(&all, one);
        !epic.is_empty() && line.any(|above| above.parent == epic)
    };
    let kept: Vec<bool> = all.iter().map(is_below).collect();
    let mut kept = kept.into_iter();
    all.retain(|_| kept.next().unwrap_or(false));
    Ok(all)
}

/// The commits since the run began, oldest first; where that commit is not known or was rebased away, those that name a ticket of the run.
fn commits(
    places: &RunPlaces,
    epic: &str,
    tickets: &[WorkTicket],
    env: &Env,
    stop: &Cancel,
) -> Outcome<Vec<ReportCommit>> {
    let record = RunRecord::read(places)?;
    let git = Git::open(places.root.path(), env, stop)?;
    // An id and nothing else: git would take other words for options.
    let is_id = |base: &&str| base.len() >= 40 && base.bytes().all(|byte| byte.is_ascii_hexdigit());
    let base = record.as_ref().map(|record| record.base.as_str());
    let since = match base {
        // It began in a new repository.
        Some("") => Some(MAX_COMMITS),
        base => base
            .filter(is_id)
            .and_then(|base| git.count_since(base).ok()),
    };
    if since == Some(0) {
        return Ok(Vec::new());
    }
    let mut logged = git.log_files(since.unwrap_or(MAX_COMMITS).min(MAX_COMMITS))?;
    if since.is_none() {
        let ids = || tickets.iter().map(|one| one.ticket.id.as_str());
        logged.retain(|one| ids().chain([epic]).any(|id| names(&one.message, id)));
    }
    let top = git.top()?;
    let folder = places.root.path().strip_prefix(top).unwrap_or(top);
    let folder = folder.to_string_lossy();
    let mut found: Vec<ReportCommit> = logged
        .into_iter()
        .map(|one| commit(one, folder.trim_start_matches('/')))
        .collect();
    found.reverse();
    Ok(found)
}

/// A commit of a run in `folder`, by its path from the top.
fn commit(logged: LoggedCommit, folder: &str) -> ReportCommit {
    let mut files = Vec::new();
    let mut tickets = Vec::new();
    for path in logged.files {
        let mut parts = path.rsplit('/');
        if let (Some(name), Some(TICKETS)) = (parts.next(), parts.next()) {
            tickets.extend(name.strip_suffix(".md").map(str::to_owned));
        } else if let Some(own) = beneath(&path, folder)
            && !places::is_own(own)
        {
            files.push(own.to_owned());
        }
    }
    ReportCommit {
        id: logged.id.get(..10).unwrap_or(&logged.id).to_owned(),
        subject: first_line(&logged.message),
        message: logged.message,
        files,
        tickets,
    }
}

/// The path from `folder` of what lies in it.
fn beneath<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    match folder {
        "" => Some(path),
        folder => path.strip_prefix(folder)?.strip_prefix('/'),
    }
}
