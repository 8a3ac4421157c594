//! One configured server of a session, and what is known of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cache::{self, KnownServers, Snapshot};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::disk::paths::Paths;
use crate::mcp::auth::signed_in::SignedIn;
use crate::mcp::client::connection::{Connection, List, Spoken, Wait};
use crate::mcp::client::listing;
use crate::mcp::client::names;
use crate::mcp::client::text::clipped;
use crate::mcp::config::configured::ConfiguredServer;
use crate::mcp::config::entry::ServerEntry;
use crate::tools::engine::context::SessionContext;

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
/// Resources of one server whose changes are told.
const MAX_ATTACHED: usize = 100;
/// Seconds by which what is remembered may hold longer without being written again.
const PROLONGED: i64 = 60;
/// Seconds after which what is remembered is looked at again even where nobody uses the server.
pub(super) const LONG_AGO: i64 = 24 * 60 * 60;

/// How far a server is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    Disabled,
    /// Nobody agreed to it.
    Closed,
    NotStarted,
    Starting(Instant),
    Ready,
    NeedsSignIn,
    Failed(String),
}

pub(crate) struct SessionServer {
    /// As it is configured.
    pub(crate) name: String,
    /// The same for messages.
    pub(crate) shown: String,
    /// The first part of its tools' names.
    pub(super) tool_part: String,
    pub(super) configured: ConfiguredServer,
    opened: OnceLock<OpenedServer>,
    state: Mutex<ServerState>,
}

/// A server that this session may use.
struct OpenedServer {
    entry: ServerEntry,
    connection: Arc<dyn Connection>,
    sign_in: Option<Arc<SignedIn>>,
    /// What it is remembered under.
    key: String,
    paths: Paths,
}

impl OpenedServer {
    fn account(&self) -> Option<String> {
        self.sign_in.as_ref()?.account()
    }
}

struct ServerState {
    phase: Phase,
    snapshot: Option<Arc<Snapshot>>,
    /// Who was signed in when it wanted a sign-in.
    wanted_other_than: Option<String>,
    /// It was asked in this session.
    was_asked: bool,
    /// The session does not have all of the snapshot yet.
    is_news: bool,
    /// When it is known how it wants to be spoken to, while that is being found out.
    settled_by: Option<Instant>,
    /// When it is to be asked.
    due: Instant,
    /// The pause that came before; `None` while nothing has changed.
    pause: Option<Duration>,
    /// Its tools that the session has: its own names for them, with their tokens.
    offered: Vec<(String, u64)>,
    /// Its resources as they were listed last, and whether somebody lists them now.
    resources: Option<Arc<Resources>>,
    is_listing: bool,
    /// Addresses of resources that the conversation has.
    attached: Vec<String>,
}

/// The addresses of a server's resources, and the templates of addresses.
#[derive(Debug, Default)]
pub(super) struct Resources {
    pub uris: Vec<String>,
    pub templates: Vec<String>,
}

impl SessionServer {
    pub(super) fn new(configured: ConfiguredServer, is_taken: impl Fn(&str) -> bool) -> Self {
        let part = names::part(&configured.name);
        let tool_part = match is_taken(&part) {
            true => format!("{part}_2"),
            false => part,
        };
        Self {
            name: configured.name.clone(),
            shown: clipped(&configured.name, MAX_NAME),
            tool_part,
            configured,
            opened: OnceLock::new(),
            state: Mutex::new(ServerState {
                phase: Phase::NotStarted,
                snapshot: None,
                wanted_other_than: None,
                was_asked: false,
                is_news: false,
                settled_by: None,
                due: Instant::now(),
                pause: None,
                offered: Vec::new(),
                resources: None,
                is_listing: false,
                attached: Vec::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its name where one word is needed.
    pub(super) fn word(&self) -> &str {
        match self.name.contains(char::is_whitespace) {
            true => &self.tool_part,
            false => &self.name,
        }
    }

    /// What stands behind `NAME:` if the text begins so, by the name as it is configured or as its tools have it; and how long that was.
    pub(super) fn named<'a>(&self, text: &'a str) -> Option<(usize, &'a str)> {
        let names = [self.name.as_str(), self.tool_part.as_str()].into_iter();
        let mut fitting = names.filter_map(|name| {
            let rest = text.strip_prefix(name)?.strip_prefix(':')?;
            Some((name.len(), rest))
        });
        fitting.next()
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

    pub(super) fn entry(&self) -> Option<&ServerEntry> {
        self.opened.get().map(|opened| &opened.entry)
    }

    /// Takes what is remembered of it, and a way to it; starts nothing.
    pub(super) fn open(
        &self,
        entry: ServerEntry,
        sign_in: Option<Arc<SignedIn>>,
        (known, paths): (&KnownServers, &Paths),
        dial: impl FnOnce(&ServerEntry, Option<Spoken>) -> Arc<dyn Connection>,
    ) {
        let key = cache::key(&entry);
        let account = sign_in.as_ref().and_then(|sign_in| sign_in.account());
        let snapshot = known.find(&key, account.as_deref());
        let spoken = snapshot.as_ref().and_then(|known| known.spoken.clone());
        let opened = OpenedServer {
            connection: dial(&entry, spoken),
            entry,
            sign_in,
            key,
            paths: paths.clone(),
        };
        if self.opened.set(opened).is_ok() {
            let mut state = self.state();
            state.is_news = snapshot.is_some();
            state.snapshot = snapshot.map(Arc::new);
        }
    }

    /// The user agreed to it, or took that back. False when nothing changes; one that has no way to it yet is to be opened.
    pub(super) fn agreed(&self, is_agreed: bool) -> bool {
        let mut state = self.state();
        let before = state.phase.clone();
        state.phase = match (&before, is_agreed) {
            (Phase::Closed, true) => Phase::NotStarted,
            (Phase::Disabled | Phase::Closed, _) | (_, true) => return false,
            (_, false) => Phase::Closed,
        };
        true
    }

    pub(super) fn is_opened(&self) -> bool {
        self.opened.get().is_some()
    }

    pub(crate) fn connection(&self) -> Option<Arc<dyn Connection>> {
        Some(Arc::clone(&self.opened.get()?.connection))
    }

    /// Has it know the folder in which the session works now.
    pub(super) fn follow(&self, session: &SessionContext, stop: &Cancel) {
        if let (Some(connection), Some(root)) = (self.connection(), session.working_dir.root()) {
            connection.move_to(root.path(), stop);
        }
    }

    /// What signs in to it; `None` for one that is a program, or is not used.
    pub(super) fn sign_in(&self) -> Option<Arc<SignedIn>> {
        self.opened.get()?.sign_in.clone()
    }

    /// The way to it.
    ///
    /// # Errors
    /// It is not used in this session.
    pub(crate) fn reachable(&self) -> Outcome<Arc<dyn Connection>> {
        let connection = self.connection();
        let is_closed = self.phase() == Phase::Closed;
        connection.filter(|_| !is_closed).ok_or_else(|| {
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

    /// Nothing is known of it, and nobody asks it. One that had no tools, and may have some by now, would never be called, and so never asked again.
    pub(super) fn wants_start(&self) -> bool {
        let state = self.state();
        let is_known = |snapshot: &Arc<Snapshot>| snapshot.is_fresh() || !snapshot.tools.is_empty();
        let is_known = state.snapshot.as_ref().is_some_and(is_known);
        self.is_opened() && !is_known && state.phase == Phase::NotStarted
    }

    /// A first message waits for it: no tool of it is known.
    pub(super) fn is_awaited(&self) -> bool {
        let state = self.state();
        let has_list = |known: &Arc<Snapshot>| known.is_fresh() || !known.tools.is_empty();
        let has_list = state.snapshot.as_ref().is_some_and(has_list);
        !has_list && matches!(state.phase, Phase::NotStarted | Phase::Starting(_))
    }

    pub(super) fn set_settled_by(&self, at: Instant) {
        self.state().settled_by = Some(at);
    }

    /// When it is known how it wants to be spoken to.
    pub(super) fn settled_by(&self) -> Option<Instant> {
        self.state().settled_by
    }

    /// It is there, and is asked again what it offers.
    pub(super) fn is_looked_at(&self) -> bool {
        let state = self.state();
        let is_asked = state.snapshot.is_some() && matches!(state.phase, Phase::Starting(_));
        drop(state);
        is_asked && self.is_there()
    }

    /// Whether there is a connection to it now.
    pub(super) fn is_there(&self) -> bool {
        (self.opened.get()).is_some_and(|opened| opened.connection.is_open())
    }

    /// It is to be asked: at once, or as one of `changes` that may come in a row after a pause, which doubles while they keep coming.
    pub(super) fn plan(&self, changes: bool) {
        let mut state = self.state();
        let now = Instant::now();
        if state.snapshot.is_none() || !changes {
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

    /// What is remembered of it is out of date, for so many seconds at least, and nobody has asked it in this session. True once.
    pub(super) fn is_to_be_asked(&self, seconds: i64) -> bool {
        let mut state = self.state();
        let is_old = (state.snapshot.as_ref()).is_some_and(|known| known.is_out_of_date(seconds));
        let is_usable = self.is_opened() && state.phase == Phase::NotStarted;
        is_usable && is_old && !std::mem::replace(&mut state.was_asked, true)
    }

    /// Asks what it offers. Returns what is not as it should be.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn ask(&self, stop: &Cancel) -> Outcome<Vec<String>> {
        let Some(opened) = self.opened.get() else {
            return Err(Problem::internal("The server has no entry."));
        };
        let (entry, connection) = (&opened.entry, &opened.connection);
        {
            let mut state = self.state();
            if state.phase == Phase::Closed {
                return Err(Problem::cancelled());
            }
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
            let mut freshness = facts.freshness;
            let mut list = |list: List| -> Outcome<Vec<Value>> {
                if !facts.has(list.capability()) {
                    return Ok(Vec::new());
                }
                let listed = listing::all(&**connection, list, until, stop)?;
                freshness = freshness.strictest(listed.freshness);
                faults.extend(listed.missing.map(|missing| {
                    let what = list.field();
                    format!(
                        "Of the MCP server {} not all {what} are known: {missing}.",
                        self.shown
                    )
                }));
                Ok(listed.items)
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
            Ok((Snapshot::of(&facts, tools, prompts, freshness), faults))
        };
        match ask() {
            Ok((snapshot, mut faults)) => {
                let known = self.snapshot();
                let is_written =
                    known.is_some_and(|known| snapshot.only_prolongs(&known, PROLONGED));
                if !is_written {
                    let account = opened.account();
                    let (key, account) = (&opened.key, account.as_deref());
                    let written = cache::write(&opened.paths, key, account, &snapshot);
                    faults.extend(written.err().map(|problem| problem.one_line()));
                }
                let mut state = self.state();
                if state.phase != Phase::Closed {
                    state.phase = Phase::Ready;
                }
                state.is_news = true;
                state.snapshot = Some(Arc::new(snapshot));
                Ok(faults)
            }
            Err(problem) => {
                let account = opened.account();
                let mut state = self.state();
                state.wanted_other_than = account;
                state.phase = match problem.kind {
                    _ if state.phase == Phase::Closed => Phase::Closed,
                    _ if problem.is_cancelled() => Phase::NotStarted,
                    ProblemKind::Auth | ProblemKind::Declined => Phase::NeedsSignIn,
                    _ => Phase::Failed(problem.one_line()),
                };
                drop(state);
                Err(problem)
            }
        }
    }

    /// What it offers, if the session does not have all of that yet; the tools that it has already.
    pub(super) fn news(&self) -> Option<(Arc<Snapshot>, HashSet<String>)> {
        let mut state = self.state();
        let is_news = std::mem::take(&mut state.is_news);
        let snapshot = state.snapshot.clone().filter(|_| is_news)?;
        let offered = state.offered.iter().map(|(name, _)| name.clone());
        Some((snapshot, offered.collect()))
    }

    pub(super) fn set_offered(&self, tools: Vec<(String, u64)>) {
        self.state().offered.extend(tools);
    }

    /// The tools that the session has, by the names that the server gave them.
    pub(super) fn offered_names(&self) -> HashSet<String> {
        let state = self.state();
        state.offered.iter().map(|(name, _)| name.clone()).collect()
    }

    /// How many of its tools the session has, and their tokens.
    pub(super) fn offered(&self) -> (usize, u64) {
        let state = self.state();
        let tokens = state.offered.iter().map(|(_, tokens)| tokens);
        (state.offered.len(), tokens.sum())
    }

    /// It wanted a sign-in, and since then somebody signed in, perhaps from another Marvin.
    pub(super) fn was_let_in(&self) -> bool {
        let before = {
            let state = self.state();
            if state.phase != Phase::NeedsSignIn {
                return false;
            }
            state.wanted_other_than.clone()
        };
        let now = self.opened.get().and_then(OpenedServer::account);
        now.is_some() && now != before
    }

    /// Starts anew, as if nothing were known.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.was_asked = false;
        state.due = Instant::now();
        state.pause = None;
        state.phase = Phase::NotStarted;
        state.resources = None;
    }

    pub(super) fn resources(&self) -> Option<Arc<Resources>> {
        self.state().resources.clone()
    }

    /// Its resources are not what they were.
    pub(super) fn forget_resources(&self) {
        self.state().resources = None;
    }

    /// True for the one who is to list its resources now.
    pub(super) fn begins_listing(&self) -> bool {
        let mut state = self.state();
        state.resources.is_none() && !std::mem::replace(&mut state.is_listing, true)
    }

    pub(super) fn set_resources(&self, resources: Option<Resources>) {
        let mut state = self.state();
        state.is_listing = false;
        state.resources = resources.map(Arc::new);
    }

    /// The conversation has this resource; all that it has, if it is a new one.
    pub(super) fn attach(&self, uri: &str) -> Option<Vec<String>> {
        let mut state = self.state();
        if state.attached.iter().any(|own| own == uri) || state.attached.len() == MAX_ATTACHED {
            return None;
        }
        state.attached.push(uri.to_owned());
        Some(state.attached.clone())
    }

    /// A resource has changed: whether the conversation has it, and was not told so since.
    pub(super) fn is_outdated(&self, uri: &str) -> bool {
        let mut state = self.state();
        let before = state.attached.len();
        state.attached.retain(|own| own != uri);
        state.attached.len() < before
    }

    pub(super) fn instructions(&self) -> Option<String> {
        let snapshot = self.snapshot()?;
        let said = clipped(snapshot.instructions.as_deref()?, MAX_INSTRUCTIONS);
        (!said.is_empty()).then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::clock::Clock;
    use crate::base::env::Env;
    use crate::mcp::auth::policy::SignInPolicy;
    use crate::mcp::client::dial::{ClientHost, dial};
    use crate::mcp::config::configured::Source;
    use crate::mcp::config::expand::Variables;
    use crate::store::mcp_tokens::{McpTokens, ServerLink, StoredToken};

    #[test]
    fn a_server_that_wanted_a_sign_in_hears_of_one_from_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::from([("HOME", home.path().to_str().unwrap())]);
        let url = "http://127.0.0.1:9/mcp";
        let configured = ConfiguredServer {
            name: "s".to_owned(),
            source: Source::User,
            entry: json!({ "url": url }),
        };
        let variables = Variables {
            env: &env,
            folder: None,
            is_literal: false,
        };
        let (entry, _) = configured.resolve(variables).unwrap();
        let (clock, paths) = (Clock::new(&env), Paths::new(&env));
        let sign_in = SignedIn::of(&entry, &env, &clock, SignInPolicy::Never).unwrap();
        let server = SessionServer::new(configured, |_| false);
        let known = KnownServers::default();
        server.open(
            entry,
            sign_in.map(Arc::new),
            (&known, &paths),
            |entry, _| dial(entry, ClientHost::default()),
        );
        assert!(!server.was_let_in());
        server.state().phase = Phase::NeedsSignIn;
        assert!(!server.was_let_in());
        let tokens = McpTokens::of(&paths, &clock).unwrap();
        let signs_in = |sign_in: &str| {
            let link = ServerLink {
                issuer: "https://as.example".to_owned(),
                resource: url.to_owned(),
                client: None,
                sign_in: Some(sign_in.to_owned()),
            };
            let token = StoredToken {
                access: format!("ACCESS-{sign_in}"),
                ..StoredToken::default()
            };
            let written = tokens.change(|file| {
                file.set_link(url, &link);
                file.set_token(&link, Some(&token));
            });
            written.unwrap();
        };
        signs_in("1");
        assert!(server.was_let_in());
        // With what did not let in before, it is not tried again.
        server.state().wanted_other_than = tokens.account(url);
        assert!(!server.was_let_in());
        signs_in("2");
        assert!(server.was_let_in());
        server.state().phase = Phase::Ready;
        assert!(!server.was_let_in());
    }
}
