//! One configured server of a session, and what is known of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::cache::{self, Snapshot};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::disk::paths::Paths;
use crate::mcp::client::connection::{Connection, List, Spoken, Wait};
use crate::mcp::client::listing;
use crate::mcp::client::names;
use crate::mcp::client::text::clipped;
use crate::mcp::config::configured::ConfiguredServer;
use crate::mcp::config::entry::ServerEntry;

/// Characters of a name in messages.
const MAX_NAME: usize = 64;
/// Characters of what a server says of how its tools are to be used.
const MAX_INSTRUCTIONS: usize = 2_048;
/// Changes of a list that come within this time are one.
const FOLDED: Duration = Duration::from_millis(200);
/// The longest pause before a server whose lists keep changing is asked again.
const MAX_FOLDED: Duration = Duration::from_secs(60);
/// Changes that come this long after the pause still keep coming: some servers tell of one whenever they are asked, and are slow.
const KEEPS_COMING: Duration = Duration::from_secs(5);
/// Seconds by which what is remembered may hold longer without being written again.
const PROLONGED: i64 = 60;

/// How far a server is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    Disabled,
    /// Nobody agreed to it.
    Closed,
    NotStarted,
    Starting(Instant),
    Ready,
    Failed(String),
}

pub(crate) struct SessionServer {
    /// As it is configured.
    pub(crate) name: String,
    /// The same for messages.
    pub(crate) shown: String,
    /// The first part of its tools' names.
    pub(super) tool_part: String,
    entry: Option<ServerEntry>,
    connection: Option<Arc<dyn Connection>>,
    /// What it is remembered under.
    key: String,
    paths: Option<Paths>,
    state: Mutex<ServerState>,
}

struct ServerState {
    phase: Phase,
    snapshot: Option<Arc<Snapshot>>,
    /// It was asked in this session.
    was_asked: bool,
    /// The session does not have all of the snapshot yet.
    is_news: bool,
    /// When it is to be asked.
    due: Instant,
    /// The pause that came before; `None` while nothing has changed.
    pause: Option<Duration>,
    /// Its tools that the session has: its own names for them, with their tokens.
    offered: Vec<(String, u64)>,
}

impl SessionServer {
    pub(super) fn new(configured: &ConfiguredServer, is_taken: impl Fn(&str) -> bool) -> Self {
        let part = names::part(&configured.name);
        let tool_part = match is_taken(&part) {
            true => format!("{part}_2"),
            false => part,
        };
        Self {
            name: configured.name.clone(),
            shown: clipped(&configured.name, MAX_NAME),
            tool_part,
            entry: None,
            connection: None,
            key: String::new(),
            paths: None,
            state: Mutex::new(ServerState {
                phase: Phase::NotStarted,
                snapshot: None,
                was_asked: false,
                is_news: false,
                due: Instant::now(),
                pause: None,
                offered: Vec::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its tools' names begin with this part.
    pub(super) fn is_called(&self, part: &str) -> bool {
        self.tool_part == part
    }

    pub(super) fn disable(&self) {
        self.state().phase = Phase::Disabled;
    }

    pub(super) fn close_off(&self) {
        self.state().phase = Phase::Closed;
    }

    pub(super) fn fail(&self, words: String) {
        self.state().phase = Phase::Failed(words);
    }

    pub(super) fn set_entry(&mut self, entry: ServerEntry) {
        self.key = cache::key(&entry);
        self.entry = Some(entry);
    }

    pub(super) fn entry(&self) -> Option<&ServerEntry> {
        self.entry.as_ref()
    }

    /// Takes what is remembered of it, and a way to it; starts nothing.
    pub(super) fn connect(
        &mut self,
        known: &Map<String, Value>,
        paths: &Paths,
        dial: impl FnOnce(Option<Spoken>) -> Arc<dyn Connection>,
    ) {
        let snapshot = cache::find(known, &self.key);
        let spoken = snapshot
            .as_ref()
            .and_then(|snapshot| snapshot.spoken.clone());
        self.connection = Some(dial(spoken));
        self.paths = Some(paths.clone());
        let mut state = self.state();
        state.is_news = snapshot.is_some();
        state.snapshot = snapshot.map(Arc::new);
    }

    pub(crate) fn connection(&self) -> Option<Arc<dyn Connection>> {
        self.connection.clone()
    }

    /// The way to it.
    ///
    /// # Errors
    /// It is not used in this session.
    pub(crate) fn reachable(&self) -> Outcome<Arc<dyn Connection>> {
        self.connection.clone().ok_or_else(|| {
            let problem = Problem::refused(format!(
                "The MCP server {} is not used in this session.",
                self.shown
            ));
            problem.next(format!("/mcp {} says why.", self.shown))
        })
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state().phase.clone()
    }

    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.state().snapshot.clone()
    }

    /// Nothing is known of it, and nobody asks it.
    pub(super) fn wants_start(&self) -> bool {
        let state = self.state();
        self.connection.is_some() && state.snapshot.is_none() && state.phase == Phase::NotStarted
    }

    /// It is to be asked: at once if nothing is known of it, else after a pause, which doubles while changes keep coming.
    pub(super) fn plan(&self) {
        let mut state = self.state();
        let now = Instant::now();
        if state.snapshot.is_none() {
            state.due = now;
            return;
        }
        let since = now.saturating_duration_since(state.due);
        let before = state.pause.filter(|pause| since <= *pause + KEEPS_COMING);
        let pause = before.map_or(FOLDED, |pause| (pause * 2).min(MAX_FOLDED));
        state.pause = Some(pause);
        state.due = now + pause;
    }

    /// Whether the pause before it is asked is over.
    pub(super) fn is_due(&self) -> bool {
        self.state().due <= Instant::now()
    }

    /// It was used for the first time although what is remembered of it may be out of date.
    pub(super) fn is_to_be_asked(&self) -> bool {
        let mut state = self.state();
        let is_fresh = state
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.is_fresh());
        !std::mem::replace(&mut state.was_asked, true) && !is_fresh
    }

    /// Asks what it offers. Returns what is not as it should be.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn ask(&self, stop: &Cancel) -> Outcome<Vec<String>> {
        let (Some(entry), Some(connection)) = (&self.entry, &self.connection) else {
            return Err(Problem::internal("The server has no entry."));
        };
        {
            let mut state = self.state();
            state.was_asked = true;
            if state.phase != Phase::Ready {
                state.phase = Phase::Starting(Instant::now());
            }
        }
        let until = Instant::now() + entry.limits.startup;
        let ask = || -> Outcome<(Snapshot, Vec<String>)> {
            let wait = Wait::new(entry.limits.startup, stop).set_by("startupTimeout");
            let facts = connection.open(wait)?;
            let mut faults = Vec::new();
            let mut list = |list: List| -> Outcome<Vec<Value>> {
                if !facts.has(list.capability()) {
                    return Ok(Vec::new());
                }
                let (items, missing) = listing::all(&**connection, list, until, stop)?;
                faults.extend(missing.map(|missing| {
                    let what = list.field();
                    format!(
                        "Of the MCP server {} not all {what} are known: {missing}.",
                        self.shown
                    )
                }));
                Ok(items)
            };
            let tools = list(List::Tools)?;
            // A server without prompts that does not say so is no failure.
            let prompts = list(List::Prompts).or_else(|problem| match problem.is_cancelled() {
                true => Err(problem),
                false => Ok(Vec::new()),
            })?;
            for (tool, why) in connection.refused_tools() {
                faults.push(format!(
                    "The tool {tool} of the MCP server {} is left out: {why}",
                    self.shown
                ));
            }
            Ok((Snapshot::of(&facts, tools, prompts), faults))
        };
        match ask() {
            Ok((snapshot, mut faults)) => {
                let known = self.snapshot();
                let is_written =
                    known.is_some_and(|known| snapshot.only_prolongs(&known, PROLONGED));
                if let Some(paths) = self.paths.as_ref().filter(|_| !is_written)
                    && let Err(problem) = cache::write(paths, &self.key, &snapshot)
                {
                    faults.push(problem.one_line());
                }
                let mut state = self.state();
                state.phase = Phase::Ready;
                state.is_news = true;
                state.snapshot = Some(Arc::new(snapshot));
                Ok(faults)
            }
            Err(problem) => {
                self.state().phase = match problem.is_cancelled() {
                    true => Phase::NotStarted,
                    false => Phase::Failed(problem.one_line()),
                };
                Err(problem)
            }
        }
    }

    /// What it offers, if the session does not have all of that yet; the tools that it has already.
    pub(super) fn news(&self) -> Option<(Arc<Snapshot>, Vec<String>)> {
        let mut state = self.state();
        let is_news = std::mem::take(&mut state.is_news);
        let snapshot = state.snapshot.clone().filter(|_| is_news)?;
        let offered = state.offered.iter().map(|(name, _)| name.clone());
        Some((snapshot, offered.collect()))
    }

    pub(super) fn set_offered(&self, tools: Vec<(String, u64)>) {
        self.state().offered.extend(tools);
    }

    /// How many of its tools the session has, and their tokens.
    pub(super) fn offered(&self) -> (usize, u64) {
        let state = self.state();
        let tokens = state.offered.iter().map(|(_, tokens)| tokens);
        (state.offered.len(), tokens.sum())
    }

    /// Starts anew, as if nothing were known.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.was_asked = false;
        state.due = Instant::now();
        state.pause = None;
        state.phase = Phase::NotStarted;
    }

    pub(super) fn instructions(&self) -> Option<String> {
        let snapshot = self.snapshot()?;
        let said = clipped(snapshot.instructions.as_deref()?, MAX_INSTRUCTIONS);
        (!said.is_empty()).then_some(said)
    }
}
